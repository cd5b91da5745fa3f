"""The caller's labels of nodes and edges: integers or strings, ranked over all graphs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.errors import InputError, short_repr
from detours.graph import Graph
from detours.graph.arcs import values_on_arcs
from detours.graph.convert import MoleculeOrigin, copied_by
from detours.wl.nodes.ranks import rank_vectors


class Labels(NamedTuple):
    """The rank of each label, and the distinct labels in order: rows of one integer, or strings."""

    rank: Int32
    values: Int64 | list[str]

    def as_integers(self) -> Int64:
        """Return int64 [labels, columns] for the distinct labels: the integer itself, or the SHA-256 of the text.

        Unlike ranks they do not depend on the batch, so certificates can contain them.
        """
        if not isinstance(self.values, list):
            return self.values
        digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in self.values]
        return np.frombuffer(b"".join(digests), "<i8").astype(np.int64).reshape(-1, 4)


def read_labels(labels: Any, graphs: Sequence[Graph], thing: str) -> Labels:
    """Return the concatenated labels of all nodes or edges, or raise `InputError`.

    Args:
        labels: One array for each graph; of nodes also a dict by their names.
        graphs: The graphs.
        thing: "node" or "edge".
    """
    name = "labels" if thing == "node" else "edge_labels"
    if isinstance(labels, Mapping) or not isinstance(labels, Iterable):
        raise InputError(f"{name} must be a list with the labels of each graph, but it is {short_repr(labels)}.")
    labels = list(labels)
    if len(labels) != len(graphs):
        raise InputError(
            f"{name} must hold one array for each of the {len(graphs)} graphs, but it holds {len(labels)}."
        )
    sizes = edge_counts(graphs)
    if thing == "node":
        sizes = [graph.num_nodes for graph in graphs]
        labels = [
            labels_in_node_order(own, graph, at) for at, (own, graph) in enumerate(zip(labels, graphs, strict=True))
        ]
    columns = [_check(own, size, at, thing) for at, (own, size) in enumerate(zip(labels, sizes, strict=True))]
    columns = [column for column in columns if len(column)]
    kinds = {isinstance(column, list) for column in columns}
    if len(kinds) > 1:
        raise InputError(f"The {name} of some graphs are integers and of others strings; give one kind for all.")
    if kinds == {True}:
        texts = [text for column in columns for text in column]
        known = sorted(set(texts))
        number = {text: rank for rank, text in enumerate(known)}
        return Labels(np.array([number[text] for text in texts], dtype=np.int32), known)
    return Labels(*rank_vectors(np.concatenate([np.empty(0, np.int64), *columns])[:, None]))


def labels_in_node_order(labels: Any, graph: Graph, at: int) -> Any:
    """Return the labels of graph number `at` in the order of its nodes, also from a dict by the names of nodes."""
    if not isinstance(labels, Mapping):
        return labels
    names = graph.name_list()
    for name in names:
        if name not in labels:
            raise InputError(f"The labels of graph number {at} have none for the node {short_repr(name)}; give it one.")
    return [labels[name] for name in names]


def has_labels(graph: Any) -> bool:
    """Return whether the nodes of a graph, or of the source of a `Graph`, have labels that tests do not read.

    Labels in a file may be the names of its nodes; they count as labels only if two nodes share one.
    """
    if isinstance(graph, Graph):
        if graph.origin is None or isinstance(graph.origin, MoleculeOrigin):
            return graph.origin is not None
        labels = _own_labels(copied_by(graph.origin))
        return len(set(labels)) < len(labels)
    return bool(_own_labels(graph)) or hasattr(graph, "GetBonds")


def _own_labels(graph: Any) -> list[str]:
    """The attribute "label" of the nodes of a NetworkX or igraph graph, of those that have it."""
    labels: Iterable[Any] = ()
    if hasattr(graph, "is_multigraph"):
        labels = (label for _, label in graph.nodes(data="label"))
    elif hasattr(graph, "get_edgelist") and "label" in graph.vs.attributes():
        labels = graph.vs["label"]
    return [str(label) for label in labels if label is not None]


def edge_counts(graphs: Sequence[Graph]) -> list[int]:
    """Return the number of edges of each graph as the caller listed them."""
    return [graph.num_arcs if graph.edges_in_csr_order else graph.edge_index.shape[1] for graph in graphs]


def ranks_on_arcs(rank: NDArray[Any], graphs: Sequence[Graph], union: Graph, offsets: Int64) -> Int64:
    """Return the rank of the label of every arc of the union, from the concatenated ranks of all edges."""
    of_arcs, contradicted = values_on_arcs(union, rank.astype(np.int64))
    if len(contradicted):
        ends = union.edge_index[:, contradicted[0]]
        at = int(np.searchsorted(offsets, ends[0], side="right")) - 1
        first, second = (graphs[at].name(end) for end in (ends - offsets[at]).tolist())
        raise InputError(
            f"The edge {short_repr(first)}, {short_repr(second)} of graph number {at} is listed with different labels; "
            "an undirected edge has one label, in both directions."
        )
    return of_arcs


def _check(labels: Any, number: int, at: int, thing: str) -> list[str] | NDArray[np.int64]:
    """Return the labels of one graph as a list of strings or an array of int64, or raise `InputError`."""
    where = f"The {'labels' if thing == 'node' else 'edge_labels'} of graph number {at}"
    if isinstance(labels, str | bytes):
        raise InputError(
            f"{where} are a single string, {short_repr(labels)}; give a list with one label for each {thing}."
        )
    if isinstance(labels, Mapping | set | frozenset) or not (
        isinstance(labels, Iterable) or hasattr(labels, "__array__")
    ):
        raise InputError(f"{where} are {short_repr(labels)}; give a list with one label for each {thing}.")
    given = labels if isinstance(labels, np.ndarray) else None
    if given is None and not hasattr(labels, "__array__"):
        labels = list(labels)
    array = np.asarray(labels)
    if array.ndim != 1 or len(array) != number:
        raise InputError(
            f"{where} must be a list with one label for each of its {number} {thing}s, not the shape {array.shape}."
        )
    if number == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind in "iub":
        if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
            raise InputError(f"{where} hold {array.max()}, but integers must be below 2^63; use smaller ones.")
        return array.astype(np.int64)
    texts = array.tolist() if given is not None else list(labels)
    if all(isinstance(text, str) for text in texts):
        return [str(text) for text in texts]
    if all(isinstance(label, int) for label in texts):
        raise InputError(f"{where} hold {max(texts, key=abs)}, but integers must be below 2^63; use smaller ones.")
    raise InputError(f"{where} must be all integers or all strings, but they are {short_repr(labels)}.")
