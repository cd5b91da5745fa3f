"""`Encoder`: input features of nodes and edges, with the same columns for all data of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from detours.arrays import Float32, Int64
from detours.data.graph_set import GraphSet
from detours.data.readers.labels import as_given
from detours.errors import InputError, short_repr
from detours.graph import Graph


@dataclass(frozen=True)
class Encoder:
    """Columns of features: the attributes, then the one-hot label; for nodes with neither, the one-hot degree.

    Degrees above the largest of the data that the encoder was built from share its column.

    >>> from detours.data import rings
    >>> task = rings(4)
    >>> encoder = Encoder.of(task)
    >>> encoder, encoder.width, encoder.encode(task)[0].shape
    (Encoder(attributes=0, labels=None, largest_degree=6, edge_attributes=0, edge_labels=None), 7, (31, 7))
    """

    attributes: int = 0
    """The number of columns of attributes."""
    labels: tuple[int, ...] | None = None
    """The label of each column, sorted; None if nodes have no labels."""
    largest_degree: int | None = None
    """The degree of the last column, if degrees are used as features."""
    edge_attributes: int = 0
    """The number of columns of attributes of edges."""
    edge_labels: tuple[int, ...] | None = None
    """The edge label of each column, sorted; None if edges have no labels."""

    @classmethod
    def of(cls, data: GraphSet) -> Encoder:
        """Build an encoder from data, which must contain all labels that it is to know."""
        if not data.graphs:
            raise InputError(f"{data.name} contains no graph to learn the columns from; give at least one.")
        attributes, edge_attributes = (0 if x is None else int(x[0].shape[1]) for x in (data.x, data.edge_x))
        labels, edge_labels = (
            None if each is None else tuple(np.unique(np.concatenate(each)).tolist())
            for each in (data.labels, data.edge_labels)
        )
        degree = None
        if not attributes and labels is None:
            degree = max(int(graph.degree.max(initial=0)) for graph in data.graphs)
        return cls(attributes, labels, degree, edge_attributes, edge_labels)

    @property
    def width(self) -> int:
        """The number of columns."""
        degrees = 0 if self.largest_degree is None else self.largest_degree + 1
        return self.attributes + len(self.labels or ()) + degrees

    @property
    def edge_width(self) -> int:
        """The number of columns of edge features."""
        return self.edge_attributes + len(self.edge_labels or ())

    def encode(self, data: GraphSet) -> list[Float32]:
        """Return float32 [nodes, width] for each graph."""
        sizes = np.array([graph.num_nodes for graph in data.graphs], np.int64)
        encoded = np.zeros((int(sizes.sum()), self.width), np.float32)
        if self.attributes:
            encoded[:, : self.attributes] = _attributes(data, len(encoded), self.attributes, "node")
        if self.labels is not None:
            _set_one_hot(encoded[:, self.attributes :], _label_columns(data, len(encoded), self.labels, "node"))
        elif self.largest_degree is not None and data.graphs:
            _set_one_hot(encoded, np.minimum(np.concatenate([g.degree for g in data.graphs]), self.largest_degree))
        return np.split(encoded, np.cumsum(sizes)[:-1]) if data.graphs else []

    def encode_edges(self, data: GraphSet) -> Float32:
        """Return float32 [edges of all graphs, edge_width], graph by graph in the order of `edge_index`."""
        encoded = np.zeros((sum(map(_num_edges, data.graphs)), self.edge_width), np.float32)
        if not len(encoded):  # then the data cannot tell whether edges have labels or attributes
            return encoded
        if self.edge_attributes:
            encoded[:, : self.edge_attributes] = _attributes(data, len(encoded), self.edge_attributes, "edge")
        if self.edge_labels is not None:
            columns = _label_columns(data, len(encoded), self.edge_labels, "edge")
            _set_one_hot(encoded[:, self.edge_attributes :], columns)
        return encoded

    def to_json(self) -> dict[str, Any]:
        """Return plain values from which `from_json` restores the encoder."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Encoder:
        """Restore an encoder from the values that `to_json` returned."""
        try:
            degree = plain["largest_degree"]
            labels, edge_labels = (
                None if each is None else tuple(map(int, each)) for each in (plain["labels"], plain["edge_labels"])
            )
            attributes, edge_attributes = int(plain["attributes"]), int(plain["edge_attributes"])
            return cls(attributes, labels, None if degree is None else int(degree), edge_attributes, edge_labels)
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"An encoder is stored as attributes and labels of nodes and edges, and largest_degree, but "
                f"{short_repr(plain)} was given."
            ) from None


def _attributes(data: GraphSet, num_rows: int, expected: int, thing: str) -> Float32:
    """Return the attributes of all nodes or edges, or raise `InputError`."""
    arrays = data.x if thing == "node" else data.edge_x
    widths = [] if arrays is None else sorted({int(x.shape[1]) for x in arrays})
    if arrays is None or widths != [expected]:
        found = " and ".join(map(str, widths)) or "none"
        raise InputError(
            f"{expected} attributes are expected for every {thing}, but {data.name} has {found}; "
            "give data of the same kind."
        )
    x = np.concatenate(arrays)
    if len(x) != num_rows:
        raise InputError(
            f"{data.name} has attributes for {len(x):,} {thing}s, but {num_rows:,} {thing}s; give one row each."
        )
    if not np.isfinite(x).all():
        row, column = map(int, np.argwhere(~np.isfinite(x))[0])
        raise InputError(
            f"The attributes of {data.name} must be finite, but {thing} {_location(data, row, thing)} has "
            f"{x[row, column]} in column {column} (the first is 0); correct or remove it."
        )
    return x


def _label_columns(data: GraphSet, num_rows: int, labels: tuple[int, ...], thing: str) -> Int64:
    """Return the column of the label of every node or edge, or raise `InputError`."""
    arrays = data.labels if thing == "node" else data.edge_labels
    if arrays is None:
        raise InputError(f"Every {thing} is expected to have a label, but {data.name} has none; give it labels.")
    known, found = np.array(labels, np.int64), np.concatenate(arrays)
    if len(found) != num_rows:
        raise InputError(f"{data.name} has {len(found):,} labels for {num_rows:,} {thing}s; give one for each.")
    if not np.isin(found, known).all():
        row = int(np.argmin(np.isin(found, known)))
        raise InputError(
            f"{thing.capitalize()} {_location(data, row, thing)} of {data.name} has the label "
            f"{as_given(found[row])!r}, which was not in the data that the encoder was built from, or the model "
            f"trained on (they have {short_repr([as_given(label) for label in labels])}); use data with all labels "
            "there."
        )
    return np.searchsorted(known, found)


def _num_edges(graph: Graph) -> int:
    return int(graph.edge_index.shape[1])


def _set_one_hot(encoded: Float32, columns: Int64) -> None:
    encoded[np.arange(len(columns)), columns] = 1


def _location(data: GraphSet, row: int, thing: str) -> str:
    """Return the index of a node or edge within its graph and that of the graph, given its index over all graphs."""
    ends = np.cumsum([graph.num_nodes if thing == "node" else _num_edges(graph) for graph in data.graphs])
    graph = int(np.searchsorted(ends, row, side="right"))
    index = row - (int(ends[graph - 1]) if graph else 0)
    return f"{index}" if len(data) == 1 else f"{index} of graph {graph}"
