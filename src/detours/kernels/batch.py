"""What a graph kernel is given: many graphs, perhaps with labels of nodes and edges."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.errors import InputError, shown
from detours.graph import Graph
from detours.graph.arcs import values_on_arcs
from detours.graph.graph import as_graphs


class Labelled(NamedTuple):
    """A graph, the labels of its nodes in their order, and perhaps of its edges: integers or strings.

    Edges are in the order in which the caller listed them (`Graph.edge_index`); where an undirected edge is listed
    in both directions, it has the same label twice.
    """

    graph: Any
    labels: Any
    edge_labels: Any = None


def labelled(graph_set: Any) -> list[Labelled]:
    """The graphs of a `detours.data` set, each with its labels: a list that scikit-learn can split.

    >>> from types import SimpleNamespace
    >>> labelled(SimpleNamespace(name="one", graphs=[[(0, 1), (1, 0)]], labels=[[6, 8]]))
    [Labelled(graph=[(0, 1), (1, 0)], labels=[6, 8], edge_labels=None)]
    """
    if graph_set.labels is None:
        raise InputError(f'{graph_set.name} has no labels of nodes; use labels="degree" with its graphs.')
    return _items(graph_set)


@dataclass(frozen=True)
class EdgeLabels:
    """Labels of arcs by their ranks."""

    values: list[Hashable]
    """The distinct labels, sorted."""
    of_arcs: Int64
    """int64 [arcs]: the place of the label of each arc among them."""


@dataclass(frozen=True)
class Batch:
    """Graphs side by side in one union, and the labels of all nodes and arcs where they were asked for."""

    graphs: list[Graph]
    union: Graph
    offsets: Int64
    """int64 [graphs + 1]: the nodes of graph g are ``offsets[g]`` to ``offsets[g + 1]`` of the union."""
    labels: list[Hashable] | None
    edge_labels: EdgeLabels | None = None

    @property
    def directed(self) -> bool:
        return self.union.directed

    def __len__(self) -> int:
        return len(self.graphs)


def read_batch(X: Any, with_labels: bool, with_edge_labels: bool = False) -> Batch:
    """Read the graphs of `X`, and their labels if they are wanted.

    `X` is a list of whatever `detours.count` takes, of `Labelled` (or plain tuples of a graph object and labels), or a
    `detours.data` set. Labels are also found in the attribute "label" of NetworkX nodes and edges and in attributes
    `labels` and `edge_labels` of any other graph object.
    """
    items = _items(X)
    graphs = as_graphs([item.graph for item in items])
    if not graphs:
        raise InputError("A kernel needs at least one graph, but an empty list was given.")
    if len({graph.directed for graph in graphs}) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; make them alike with to_directed() or to_undirected()."
        )
    union, offsets = Graph.disjoint_union(graphs)
    return Batch(
        graphs,
        union,
        offsets,
        _node_labels(items, graphs) if with_labels else None,
        _edge_labels(items, graphs, union, offsets) if with_edge_labels else None,
    )


def join_batches(first: Batch, second: Batch) -> Batch:
    """The graphs of two batches in one, without labels."""
    union, offsets = Graph.disjoint_union([*first.graphs, *second.graphs])
    return Batch([*first.graphs, *second.graphs], union, offsets, None)


def _items(X: Any) -> list[Labelled]:
    if hasattr(X, "graphs") and hasattr(X, "labels"):
        without = [None] * len(X.graphs)
        labels = X.labels or without, getattr(X, "edge_labels", None) or without
        return [Labelled(*each) for each in zip(X.graphs, *labels, strict=True)]
    if isinstance(X, str | os.PathLike | Graph) or hasattr(X, "adj") or not hasattr(X, "__iter__"):
        raise InputError(f"A kernel takes a list of graphs, but it was given {shown(X)}; put graphs into a list.")
    return [_item(one) for one in X]


def _item(one: Any) -> Labelled:
    if isinstance(one, Labelled):
        return one
    # A pair of numbers or rows is an edge_index; a tuple that begins with a graph object comes with labels.
    if isinstance(one, tuple) and len(one) in (2, 3) and _is_graph_object(one[0]):
        return Labelled(*one)
    if hasattr(one, "is_multigraph"):
        return Labelled(one, *(_attribute(things(data="label")) for things in (one.nodes, one.edges)))
    return Labelled(one, getattr(one, "labels", None), getattr(one, "edge_labels", None))


def _attribute(rows: Iterable[Any]) -> list[Any] | None:
    """The last entries of the rows, or None where one of them is missing."""
    found = [row[-1] for row in rows]
    return None if any(label is None for label in found) else found


def _is_graph_object(one: Any) -> bool:
    return isinstance(one, Graph) or any(
        hasattr(one, sign) for sign in ("is_multigraph", "get_edgelist", "edge_index", "tocoo")
    )


def _node_labels(items: Sequence[Labelled], graphs: Sequence[Graph]) -> list[Hashable]:
    otherwise = 'give Labelled(graph, labels), or choose labels="degree" or labels="none"'
    return _in_a_row([item.labels for item in items], [graph.num_nodes for graph in graphs], "node", otherwise)


def _edge_labels(items: Sequence[Labelled], graphs: Sequence[Graph], union: Graph, offsets: Int64) -> EdgeLabels:
    numbers = [graph.num_arcs if graph.edges_in_csr_order else graph.edge_index.shape[1] for graph in graphs]
    otherwise = "give Labelled(graph, labels, edge_labels), or choose edge_labels=False"
    labels = _in_a_row([item.edge_labels for item in items], numbers, "edge", otherwise)
    values: list[Hashable] = sorted(set(labels))  # type: ignore[type-var]  # all integers or all strings
    rank = {label: at for at, label in enumerate(values)}
    of_arcs, contradicted = values_on_arcs(union, np.array([rank[label] for label in labels], dtype=np.int64))
    if len(contradicted):
        ends = union.edge_index[:, contradicted[0]]
        at = int(np.searchsorted(offsets, ends[0], side="right")) - 1
        first, second = (graphs[at].name(end) for end in (ends - offsets[at]).tolist())
        raise InputError(
            f"The edge {shown(first)}, {shown(second)} of graph number {at} is listed with different labels; "
            "an undirected edge has one label, in both directions."
        )
    return EdgeLabels(values, of_arcs)


def _in_a_row(given: Sequence[Any], numbers: Sequence[int], thing: str, otherwise: str) -> list[Hashable]:
    """The labels of all nodes or edges, as plain integers or strings."""
    together: list[Hashable] = []
    for at, (labels, number) in enumerate(zip(given, numbers, strict=True)):
        if labels is None:
            raise InputError(f"Graph number {at} has no labels of {thing}s; {otherwise}.")
        own = labels.tolist() if hasattr(labels, "tolist") else list(labels)
        if len(own) != number:
            raise InputError(
                f"Graph number {at} has {number} {thing}s but {len(own)} labels; give one for each {thing}."
            )
        together += own
    kinds = {str if isinstance(label, str) else int if _is_integer(label) else None for label in set(together)}
    if None in kinds or len(kinds) > 1:
        example = next(label for label in together if None not in kinds or not _is_integer(label))
        raise InputError(f"Labels of {thing}s must be all integers or all strings; among them is {shown(example)}.")
    return together


def _is_integer(label: object) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)
