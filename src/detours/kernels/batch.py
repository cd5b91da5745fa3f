"""`Batch`: the graphs given to a kernel as one disjoint union, with their labels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from detours.arrays import Bool, Int64
from detours.errors import InputError, short_repr
from detours.graph import Graph
from detours.graph.graph import is_list, is_one_graph
from detours.kernels.conversion import Labelled, convert, read_items, warn_unused_labels
from detours.wl.nodes.labels import edge_counts, labels_in_node_order, ranks_on_arcs


@dataclass(frozen=True)
class EdgeLabels:
    """The label of every arc, as an index."""

    values: list[Hashable]
    """The distinct labels, sorted."""
    of_arcs: Int64
    """int64 [arcs]: the index of the label of each arc in `values`."""


@dataclass(frozen=True)
class Batch:
    """Graphs, their disjoint union, and the labels of all nodes and arcs if requested."""

    graphs: list[Graph]
    union: Graph
    offsets: Int64
    """int64 [graphs + 1]: the nodes of graph g are ``offsets[g]`` to ``offsets[g + 1]`` of the union."""
    labels: list[Hashable] | None
    edge_labels: EdgeLabels | None = None

    @property
    def directed(self) -> bool:
        return self.union.directed

    @property
    def largest(self) -> int:
        """The number of nodes of the largest graph, as given."""
        return max(graph.num_nodes for graph in self.graphs)

    @property
    def copies(self) -> int:
        """Copies of each graph in the union: two after `double`, else one."""
        return int(np.diff(self.offsets).max()) // max(self.largest, 1) or 1

    def __len__(self) -> int:
        return len(self.graphs)


def read_batch(X: Any, labels: bool | Literal["if any"], with_edge_labels: bool = False) -> Batch:
    """Read the graphs of `X`, and their labels if requested; "if any": if at least one graph has labels.

    `X` is a `detours.data` set, or a list of anything that `detours.count` takes or of `Labelled` (or plain tuples of a
    graph object and labels). Labels are also read from the attribute "label" of the nodes and edges of NetworkX and
    igraph, one-hot features of PyG, the atoms and bonds of RDKit molecules, and the attributes `labels` and
    `edge_labels` of any other graph object.
    """
    single = is_one_graph(X) or not is_list(X)
    if single and not hasattr(X, "graphs"):
        instead = "give to_data_list() of it" if hasattr(X, "to_data_list") else "put graphs into a list"
        raise InputError(f"A kernel takes a list of graphs, but it was given {short_repr(X)}; {instead}.")
    items = read_items(X, labels, with_edge_labels)
    graphs = convert([item.graph for item in items])
    if not graphs:
        raise InputError("A kernel needs at least one graph, but an empty list was given.")
    if len({graph.directed for graph in graphs}) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; convert them with to_directed() or to_undirected()."
        )
    union, offsets = Graph.disjoint_union(graphs)
    if labels == "if any":
        labels = any(item.labels is not None for item in items)
        if not labels:
            warn_unused_labels(items)
    return Batch(
        graphs,
        union,
        offsets,
        _node_labels(items, graphs) if labels else None,
        _edge_labels(items, graphs, union, offsets) if with_edge_labels else None,
    )


class Doubled(NamedTuple):
    """A batch in which every graph is replaced by the disjoint union of two copies of itself."""

    batch: Batch
    second: Bool
    """bool [nodes]: True for the nodes of second copies."""
    nodes: Int64
    """int64 [nodes]: the index of the node in the original batch."""
    arcs: Int64
    """int64 [arcs]: the index of the arc in the original batch."""


def double(batch: Batch) -> Doubled:
    """Replace every graph by two copies of itself."""
    union, offsets = Graph.disjoint_union([graph for graph in batch.graphs for _ in range(2)])
    nodes, arcs = _repeat_ranges(batch.offsets), _repeat_ranges(batch.union.indptr[batch.offsets])
    labels, edge_labels = batch.labels, batch.edge_labels
    doubled = Batch(
        batch.graphs,
        union,
        offsets[::2],
        None if labels is None else [labels[node] for node in nodes.tolist()],
        None if edge_labels is None else EdgeLabels(edge_labels.values, edge_labels.of_arcs[arcs]),
    )
    second = np.repeat(np.tile([False, True], len(batch)), np.diff(offsets))
    return Doubled(doubled, second, nodes, arcs)


def _repeat_ranges(offsets: Int64) -> Int64:
    """The range ``offsets[g]:offsets[g + 1]`` twice, for every g."""
    sizes = np.repeat(np.diff(offsets), 2)
    ends = np.cumsum(sizes)
    repeated: Int64 = np.arange(ends[-1]) + np.repeat(np.repeat(offsets[:-1], 2) - (ends - sizes), sizes)
    return repeated


def join_batches(first: Batch, second: Batch) -> Batch:
    """Join the graphs of two batches in one, without labels."""
    union, starts = Graph.disjoint_union([first.union, second.union])
    offsets = np.concatenate([first.offsets, second.offsets[1:] + starts[1]])
    return Batch([*first.graphs, *second.graphs], union, offsets, None)


def _node_labels(items: Sequence[Labelled], graphs: Sequence[Graph]) -> list[Hashable]:
    hint = 'give Labelled(graph, labels), or choose labels="degree" or labels="none"'
    labels = [
        labels_in_node_order(item.labels, graph, at) for at, (item, graph) in enumerate(zip(items, graphs, strict=True))
    ]
    return _flatten(labels, [graph.num_nodes for graph in graphs], "node", hint)


def _edge_labels(items: Sequence[Labelled], graphs: Sequence[Graph], union: Graph, offsets: Int64) -> EdgeLabels:
    hint = "give Labelled(graph, labels, edge_labels), or choose edge_labels=False"
    labels = _flatten([item.edge_labels for item in items], edge_counts(graphs), "edge", hint)
    values: list[Hashable] = sorted(set(labels))  # type: ignore[type-var]  # all integers or all strings
    rank = {label: at for at, label in enumerate(values)}
    of_arcs = ranks_on_arcs(np.array([rank[label] for label in labels], dtype=np.int64), graphs, union, offsets)
    return EdgeLabels(values, of_arcs)


def _flatten(labels_by_graph: Sequence[Any], sizes: Sequence[int], thing: str, hint: str) -> list[Hashable]:
    """The labels of all nodes or edges in one list, as plain integers or strings."""
    flat: list[Any] = []
    for at, (labels, size) in enumerate(zip(labels_by_graph, sizes, strict=True)):
        if labels is None and not size:
            continue
        if labels is None:
            raise InputError(f"Graph number {at} has no {thing} labels; {hint}.")
        if isinstance(labels, Mapping | set | frozenset) or not hasattr(labels, "__iter__"):
            raise InputError(f"The {thing} labels of graph number {at} are {short_repr(labels)}; give a list of them.")
        plain = labels.tolist() if hasattr(labels, "tolist") else list(labels)
        if len(plain) != size:
            raise InputError(
                f"Graph number {at} has {size} {thing}s but {len(plain)} labels; give one for each {thing}."
            )
        if any(label is None for label in plain):
            raise InputError(f"Graph number {at} has {thing}s without a label; {hint}.")
        flat += plain
    examples = {_kind(kind): label for kind, label in {type(label): label for label in reversed(flat)}.items()}
    if None in examples or len(examples) > 1:
        wrong = [examples[None]] if None in examples else examples.values()
        found = " and ".join(f"one is {short_repr(label)}" for label in wrong)
        raise InputError(f"The {thing} labels must be all integers or all strings, but {found}; {hint}.")
    return list(map(int, flat)) if int in examples else flat


def _kind(label_type: type) -> type | None:
    """Return `str`, or `int` also for booleans, or None for any other type."""
    if issubclass(label_type, str):
        return str
    return int if issubclass(label_type, int | np.integer | np.bool_) else None
