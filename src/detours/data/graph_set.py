"""`GraphSet`: graphs with their classes, labels and attributes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float32, Int64
from detours.data.attributes import Attributes
from detours.errors import InputError, short_repr
from detours.graph import Graph


@dataclass(frozen=True)
class GraphSet:
    """Graphs with their classes, and the labels and attributes of their nodes and edges.

    >>> from detours.data import rings
    >>> data = rings(10)
    >>> len(data), data.level, data.y[:4].tolist()
    (10, 'graph', [0, 1, 0, 1])
    """

    name: str
    graphs: list[Graph]
    y: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    """The target of every graph or, if `level` is "node", of every node: int64 [rows] for classes, float64 [rows] or
    [rows, columns] for regression, [rows, columns] of 0, 1 and NaN (unknown) for several labels each. Empty for data
    without targets, on which a trained model can predict."""
    labels: list[Int64] | None = None
    """The label of every node, graph by graph; None if the data set has none."""
    pairs: list[tuple[int, int]] | None = None
    """The pairs of graphs to tell apart; None if the data set has none."""
    level: Literal["graph", "node"] = "graph"
    edge_labels: list[Int64] | None = None
    """The label of every edge, graph by graph, in the order of its `edge_index`; None if the data set has none."""
    x: Sequence[Float32] | None = None
    """The attributes of the nodes, float32 [nodes, columns] graph by graph; None if the data set has none. Files
    are read on first use."""
    root: Path | None = None
    """The root folder it was read from, where `splits` looks for its folds."""
    edge_x: Sequence[Float32] | None = None
    """The attributes of the edges, float32 [edges, columns] in the same order; None if the data set has none."""
    folds: list[tuple[Int64, Int64, Int64]] | None = None
    """The training, validation and test parts of the folds that come with the data; None if there are none,
    empty if some masks are missing."""
    class_names: tuple[str, ...] | None = None
    """The names of the classes 0, 1, … if they were given as strings, else None."""
    unknown: NDArray[np.bool_] | None = None
    """Whether the target of each graph or node is unknown, and that in `y` a placeholder; None if all are known."""

    def __post_init__(self) -> None:
        """Raise `InputError` for targets that do not fit the graphs, and labels or attributes that are no arrays."""
        y, nodes = self.y, self.level == "node"
        if not isinstance(y, np.ndarray) or y.dtype.kind not in "iubf" or y.ndim not in (1, 2):
            kind = f"has the type {y.dtype}" if isinstance(y, np.ndarray) else f"is a {type(y).__name__}"
            raise InputError(f"y must be a NumPy array of numbers with one or two dimensions, but it {kind}.")
        rows = sum(graph.num_nodes for graph in self.graphs) if nodes else len(self.graphs)
        if self.graphs and len(y) not in (0, rows):
            raise InputError(f"y must have a row for each of the {rows:,} {self.level}s, but it has {len(y):,}.")
        for name in ("labels", "x", "edge_labels", "edge_x"):
            values = getattr(self, name)
            if values is None or isinstance(values, Attributes):
                continue
            wrong = next((each for each in values if not isinstance(each, np.ndarray)), None)
            if wrong is not None:
                raise InputError(f"{name} must be NumPy arrays, one for each graph, but one is {short_repr(wrong)}.")
        if self.class_names is not None and set(self.classes.tolist()) - set(range(len(self.class_names))):
            count = len(self.class_names)
            raise InputError(f"class_names has {count} names, for the classes 0 to {count - 1}, but y has others.")

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        nodes = sum(graph.num_nodes for graph in self.graphs)
        pairs = "" if self.pairs is None else f", {len(self.pairs):,} pairs"
        graphs = f"{len(self):,} graph{'s' * (len(self) != 1)}"
        return f"GraphSet({self.name}: {graphs}, {nodes:,} nodes, {self.about_targets}{pairs})"

    @property
    def about_targets(self) -> str:
        """The number of classes, or of labels or values for each graph or node, in words."""
        if not len(self.y):
            return "no targets"
        if self.task == "classification":
            return f"{len(self.classes)} class{'es' * (len(self.classes) != 1)}"
        columns = self.y.size // max(1, len(self.y))
        return f"{columns} {'label' if self.task == 'multilabel' else 'number'}{'s' * (columns != 1)} each"

    @property
    def task(self) -> Literal["classification", "regression", "multilabel"]:
        """The task that the type of `y` implies: "multilabel" for a table of 0, 1 and NaN, "classification" for one
        integer each, "regression" for anything else."""
        if self.y.ndim == 2 and (np.isnan(self.y) | (self.y == 0) | (self.y == 1)).all():
            return "multilabel"
        return "classification" if self.y.dtype.kind in "iub" and self.y.ndim == 1 else "regression"

    @cached_property
    def classes(self) -> Int64:
        """int64 [c]: the distinct classes, sorted; any integers. Empty if the targets are not classes."""
        return np.unique(self.y).astype(np.int64) if self.task == "classification" else np.empty(0, np.int64)

    @property
    def classes_as_given(self) -> list[int | str]:
        """The distinct classes by name if they have names, else as integers."""
        classes: list[int | str] = self.classes.tolist()
        return classes if self.class_names is None else [self.class_names[index] for index in self.classes]

    @property
    def targets(self) -> Int64:
        """int64: the class of every graph (or node) as its index 0 .. c-1 in `classes`."""
        return np.searchsorted(self.classes, self.y)

    def check_graphs(self) -> None:
        """Raise `InputError` if there is no graph, or one without nodes."""
        if not self.graphs:
            raise InputError(f"{self.name} contains no graph; give at least one.")
        empty = next((at for at, graph in enumerate(self.graphs) if not graph.num_nodes), None)
        if empty is not None:
            raise InputError(f"graph {empty} of {self.name} has no nodes; leave it out.")

    def check_targets(self) -> None:
        """Raise `InputError` if there are graphs but no targets."""
        if self.graphs and not len(self.y):
            raise InputError(f"{self.name} has no targets to learn; give y, without which a model can only predict.")

    def subset(self, kept: Sequence[int]) -> GraphSet:
        """Return the graphs with these indices, in this order; pairs are not kept."""
        if self.level == "node":
            raise InputError(f"{self.name} is one graph whose nodes have classes; it has no subset of graphs.")
        labels, edge_labels = (
            None if each is None else [each[i] for i in kept] for each in (self.labels, self.edge_labels)
        )
        x, edge_x = (
            each.subset(kept) if isinstance(each, Attributes) else each and [each[i] for i in kept]
            for each in (self.x, self.edge_x)
        )
        return replace(
            self,
            graphs=[self.graphs[i] for i in kept],
            y=self.y[list(kept)] if len(self.y) else self.y,
            unknown=None if self.unknown is None else self.unknown[list(kept)],
            labels=labels,
            pairs=None,
            edge_labels=edge_labels,
            x=x,
            edge_x=edge_x,
            folds=None,
        )

    @cached_property
    def digest(self) -> str:
        """A digest of the content in 16 hexadecimal digits: equal for equal graphs, classes and labels.

        Labels of edges belong to their order in `edge_index`, so another order has another digest.

        Attributes of nodes are left out, since counts and kernels do not depend on them; see `full_digest`.
        """
        content = sha256()
        for graph in self.graphs:
            content.update(f"{graph.num_nodes} {graph.num_arcs} {graph.directed};".encode())
            content.update(graph.indptr.astype("<i8").tobytes() + graph.indices.astype("<i4").tobytes())
        if self.task != "classification":
            content.update(f"{self.y.shape};".encode() + self.y.astype("<f8").tobytes())
        for values in ([self.y] if self.task == "classification" else []) + (self.labels or []):
            content.update(f"{len(values)};".encode() + values.astype("<i8").tobytes())
        for values in self.edge_labels or ():
            content.update(f"{len(values)} of edges;".encode() + values.astype("<i8").tobytes())
        if self.edge_labels is not None or self.edge_x is not None:
            for graph in self.graphs:
                content.update(_order_of_edges(graph))
        if self.class_names is not None:
            content.update(json.dumps(self.class_names).encode())
        return content.hexdigest()[:16]

    @cached_property
    def full_digest(self) -> str:
        """As `digest`, with the attributes of nodes and edges; equal to it if there are none."""
        if self.x is None and self.edge_x is None:
            return self.digest
        content = sha256(self.digest.encode())
        if self.x is None:
            content.update(b"of edges;")
        for values in (*(self.x or ()), *(self.edge_x or ())):
            content.update(f"{values.shape};".encode() + values.astype("<f4").tobytes())
        return content.hexdigest()[:16]


def _order_of_edges(graph: Graph) -> bytes:
    """Return the edges in their order, to which features belong; nothing if all arcs are sorted, as in most files."""
    source, target = graph.to_edge_index()
    sorted_arcs = np.stack([source, target])
    return b"" if np.array_equal(graph.edge_index, sorted_arcs) else graph.edge_index.astype("<i8").tobytes()
