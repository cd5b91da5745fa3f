"""`Encoder`: features of nodes for a network, with the same columns for all data of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from detours.arrays import Float32, Int64
from detours.data.graph_set import GraphSet
from detours.errors import InputError, shown


@dataclass(frozen=True)
class Encoder:
    """Columns of features: the attributes, then one for each label; one for each degree if there is neither.

    A degree has a column of its own up to the largest seen; larger ones, met later, share the last.

    >>> from detours.data import rings
    >>> task = rings(4)
    >>> encoder = Encoder.of(task)
    >>> encoder, encoder.width, encoder.encode(task)[0].shape
    (Encoder(attributes=0, labels=None, largest_degree=6), 7, (31, 7))
    """

    attributes: int = 0
    """The number of columns of attributes."""
    labels: tuple[int, ...] | None = None
    """The labels that have a column, sorted; None if nodes have no labels."""
    largest_degree: int | None = None
    """The degree of the last column, if degrees are the features."""

    @classmethod
    def of(cls, data: GraphSet) -> Encoder:
        """Return the encoder of data, which must hold all labels and degrees that it is to know."""
        if not data.graphs:
            raise InputError(f"{data.name} holds no graph to learn the columns from; give at least one.")
        attributes = 0 if data.x is None else int(data.x[0].shape[1])
        if data.labels is not None:
            return cls(attributes, tuple(np.unique(np.concatenate(data.labels)).tolist()))
        if attributes:
            return cls(attributes)
        return cls(largest_degree=max(int(graph.degree.max(initial=0)) for graph in data.graphs))

    @property
    def width(self) -> int:
        """The number of columns."""
        degrees = 0 if self.largest_degree is None else self.largest_degree + 1
        return self.attributes + len(self.labels or ()) + degrees

    def encode(self, data: GraphSet) -> list[Float32]:
        """Return float32 [nodes, width] for each graph."""
        sizes = np.array([graph.num_nodes for graph in data.graphs], np.int64)
        encoded = np.zeros((int(sizes.sum()), self.width), np.float32)
        if self.attributes:
            encoded[:, : self.attributes] = self._attributes_of(data, len(encoded))
        if self.labels is not None:
            _mark(encoded[:, self.attributes :], self._places_of_labels(data, len(encoded)))
        elif self.largest_degree is not None and data.graphs:
            _mark(encoded, np.minimum(np.concatenate([g.degree for g in data.graphs]), self.largest_degree))
        return np.split(encoded, np.cumsum(sizes)[:-1]) if data.graphs else []

    def _attributes_of(self, data: GraphSet, nodes: int) -> Float32:
        widths = [] if data.x is None else sorted({int(x.shape[1]) for x in data.x})
        if data.x is None or widths != [self.attributes]:
            has = " and ".join(map(str, widths)) or "none"
            raise InputError(
                f"{self.attributes} attributes are expected of every node, but {data.name} has {has}; "
                "give data of the same kind."
            )
        x = np.concatenate(data.x)
        if len(x) != nodes:
            raise InputError(
                f"{data.name} has attributes for {len(x):,} nodes, but {nodes:,} nodes; give one row each."
            )
        if not np.isfinite(x).all():
            row = int(np.argmin(np.isfinite(x).all(axis=1)))
            raise InputError(
                f"The attributes of {data.name} must be finite, but node {_place(data, row)} has "
                f"{shown(x[row].tolist())}; correct or remove it."
            )
        return x

    def _places_of_labels(self, data: GraphSet, nodes: int) -> Int64:
        if data.labels is None:
            raise InputError(f"Every node is expected to have a label, but {data.name} has none; give it labels.")
        known, labels = np.array(self.labels, np.int64), np.concatenate(data.labels)
        if len(labels) != nodes:
            raise InputError(f"{data.name} has {len(labels):,} labels for {nodes:,} nodes; give one for each.")
        if not np.isin(labels, known).all():
            row = int(np.argmin(np.isin(labels, known)))
            raise InputError(
                f"Node {_place(data, row)} of {data.name} has the label {labels[row]}, which was not in the data "
                f"that the encoder was made of (it knows {shown(known.tolist())}); make one of data with all labels."
            )
        return np.searchsorted(known, labels)

    def to_json(self) -> dict[str, Any]:
        """Return plain values from which `from_json` makes an equal encoder."""
        labels = None if self.labels is None else list(self.labels)
        return {"attributes": self.attributes, "labels": labels, "largest_degree": self.largest_degree}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Encoder:
        """Return the encoder of which `to_json` returned these values."""
        try:
            attributes, labels, degree = plain["attributes"], plain["labels"], plain["largest_degree"]
            return cls(
                int(attributes),
                None if labels is None else tuple(map(int, labels)),
                None if degree is None else int(degree),
            )
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"An encoder is written as attributes, labels and largest_degree, but {shown(plain)} was given."
            ) from None


def _mark(columns: Float32, places: Int64) -> None:
    columns[np.arange(len(places)), places] = 1


def _place(data: GraphSet, row: int) -> str:
    """Return the node, and its graph, of a row of all nodes."""
    ends = np.cumsum([graph.num_nodes for graph in data.graphs])
    graph = int(np.searchsorted(ends, row, side="right"))
    node = row - (int(ends[graph - 1]) if graph else 0)
    return f"{node}" if len(data) == 1 else f"{node} of graph {graph}"
