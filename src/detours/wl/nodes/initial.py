"""Colours that need no refinement: uniform, by degree, by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.errors import InputError, shown
from detours.graph import Graph
from detours.wl.nodes.ranks import rank_vectors


@dataclass(frozen=True, slots=True)
class InitialColours:
    """A colour for each node, the rank of its value, and the values of the colours: integer vectors or strings."""

    colour: Int32
    values: Int64 | list[str]

    def encode(self, colours: Int32) -> bytes:
        """Return the values of some colours as bytes that are the same on every machine."""
        if isinstance(self.values, list):
            texts = [self.values[c].encode("utf-8", "surrogatepass") for c in colours.tolist()]
            return b"".join(b"%d:%b" % (len(text), text) for text in texts)
        return self.values[colours].astype("<i8").tobytes()


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
    labels = list(labels)
    if len(labels) != len(graphs):
        raise InputError(
            f"labels must hold one array for each of the {len(graphs)} graphs, but it holds {len(labels)}."
        )
    columns = [
        _check_labels(own, graph.num_nodes, at) for at, (own, graph) in enumerate(zip(labels, graphs, strict=True))
    ]
    columns = [column for column in columns if len(column)]
    kinds = {isinstance(column, list) for column in columns}
    if len(kinds) > 1:
        raise InputError("The labels of some graphs are integers and of others strings; give one kind for all.")
    if kinds == {True}:
        texts = [text for column in columns for text in column]
        known = sorted(set(texts))
        number = {text: rank for rank, text in enumerate(known)}
        return InitialColours(np.array([number[text] for text in texts], dtype=np.int32), known)
    numbers = np.concatenate([np.empty(0, np.int64), *columns])
    return InitialColours(*rank_vectors(numbers[:, None]))


def _check_labels(labels: Any, num_nodes: int, at: int) -> list[str] | NDArray[np.int64]:
    """Return the labels of one graph as a list of strings or an array of int64, or raise `InputError`."""
    where = f"The labels of graph number {at}"
    if isinstance(labels, str | bytes):
        raise InputError(f"{where} are a single text, {shown(labels)}; give a list with one label for each node.")
    given = labels if isinstance(labels, np.ndarray) else None
    if given is None and not hasattr(labels, "__array__"):
        labels = list(labels)
    array = np.asarray(labels)
    if array.ndim != 1 or len(array) != num_nodes:
        raise InputError(
            f"{where} must be a list with one label for each of its {num_nodes} nodes, not the shape {array.shape}."
        )
    if num_nodes == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind in "iub":
        if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
            raise InputError(f"{where} hold {array.max()}, but integers must be below 2^63; use smaller ones.")
        return array.astype(np.int64)
    texts = array.tolist() if given is not None else list(labels)
    if all(isinstance(text, str) for text in texts):
        return [str(text) for text in texts]
    raise InputError(f"{where} must be all integers or all strings, but they are {shown(labels)}.")
