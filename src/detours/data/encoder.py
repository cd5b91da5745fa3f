"""`Encoder`: nodes as rows of numbers for a network, the same columns for every graph that comes later."""

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
    """The columns: attributes as they are, then one column for each label; degrees where there is neither.

    A degree has a column of its own up to the largest seen; larger ones, met later, share the last.

    >>> from detours.data import rings
    >>> task = rings(4)
    >>> encoder = Encoder.of(task)
    >>> encoder, encoder.width, encoder.encode(task)[0].shape
    (Encoder(attributes=0, labels=None, largest_degree=6), 7, (31, 7))
    """

    attributes: int = 0
    """How many columns of attributes there are."""
    labels: tuple[int, ...] | None = None
    """The labels that have a column, sorted; None where nodes have no labels."""
    largest_degree: int | None = None
    """The degree of the last column, where degrees are what a node shows."""

    @classmethod
    def of(cls, data: GraphSet) -> Encoder:
        """The encoder for data like these: all labels and degrees it will know are in them."""
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
        """How many columns there are."""
        degrees = 0 if self.largest_degree is None else self.largest_degree + 1
        return self.attributes + len(self.labels or ()) + degrees

    def encode(self, data: GraphSet) -> list[Float32]:
        """float32 [nodes, width] for each graph."""
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
                f"{shown(x[row].tolist())}; mend or drop it."
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
                f"Node {_place(data, row)} of {data.name} has the label {labels[row]}, which was not there when the "
                f"encoder was made (it knows {shown(known.tolist())}); make one of data with all labels."
            )
        return np.searchsorted(known, labels)

    def to_json(self) -> dict[str, Any]:
        """What `from_json` makes an equal encoder of."""
        labels = None if self.labels is None else list(self.labels)
        return {"attributes": self.attributes, "labels": labels, "largest_degree": self.largest_degree}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Encoder:
        """The encoder that `to_json` was called on."""
        try:
            attributes, labels, degree = plain["attributes"], plain["labels"], plain["largest_degree"]
            return cls(
                int(attributes),
                None if labels is None else tuple(map(int, labels)),
                None if degree is None else int(degree),
            )
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"An encoder is written as attributes, labels and largest_degree, but here stands {shown(plain)}."
            ) from None


def _mark(columns: Float32, places: Int64) -> None:
    columns[np.arange(len(places)), places] = 1


def _place(data: GraphSet, row: int) -> str:
    """The node behind a row of all nodes together."""
    ends = np.cumsum([graph.num_nodes for graph in data.graphs])
    graph = int(np.searchsorted(ends, row, side="right"))
    node = row - (int(ends[graph - 1]) if graph else 0)
    return f"{node}" if len(data) == 1 else f"{node} of graph {graph}"
