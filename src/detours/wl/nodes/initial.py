"""Colours that need no refinement: uniform, by degree, by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from detours.arrays import Int32, Int64
from detours.errors import InputError
from detours.graph import Graph
from detours.wl.nodes.labels import read_labels
from detours.wl.nodes.ranks import rank_vectors


@dataclass(frozen=True, slots=True)
class InitialColours:
    """The colour of each node, the rank of its value, and the value of each colour: integer vectors or strings."""

    colour: Int32
    values: Int64 | list[str]
    parts: tuple[InitialColours, ...] = ()
    """The colourings that were joined, if any; `values` are then vectors of their colours."""

    def encode(self, colours: Int32) -> bytes:
        """Return the values of some colours as bytes that are the same on every machine."""
        if isinstance(self.values, list):
            texts = [self.values[c].encode("utf-8", "surrogatepass") for c in colours.tolist()]
            return b"".join(b"%d:%b" % (len(text), text) for text in texts)
        values = self.values[colours]
        if self.parts:
            return b"".join(part.encode(values[:, at].astype(np.int32)) for at, part in enumerate(self.parts))
        return values.astype("<i8").tobytes()


def uniform(graph: Graph) -> InitialColours:
    """Give all nodes one colour."""
    return InitialColours(np.zeros(graph.num_nodes, np.int32), np.empty((1, 0), np.int64))


def by_degree(graph: Graph) -> InitialColours:
    """Colour nodes by degree; by out-degree and in-degree if directed."""
    columns = [graph.degree]
    if graph.directed:
        columns.append(np.bincount(graph.indices, minlength=graph.num_nodes))
    return InitialColours(*rank_vectors(np.stack(columns, axis=1)))


def by_label(graphs: Sequence[Graph], labels: Any) -> InitialColours:
    """Colour nodes by the caller's labels, one integer or string per node of each graph."""
    if labels is None:
        raise InputError('init="labels" needs labels=, for each graph one integer or string per node.')
    return InitialColours(*read_labels(labels, graphs, "node"))


def join(*parts: InitialColours) -> InitialColours:
    """Combine several colourings into one."""
    return InitialColours(*rank_vectors(np.stack([part.colour for part in parts], axis=1)), parts)
