"""What a graph kernel is given: many graphs, perhaps with a label for every node."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from detours.errors import InputError, shown
from detours.graph import Graph
from detours.graph.union import many
from detours.wl.rows import Int64


class Labelled(NamedTuple):
    """A graph and the labels of its nodes: integers or strings, in the order of the nodes."""

    graph: Any
    labels: Any


def labelled(graph_set: Any) -> list[Labelled]:
    """The graphs of a `detours.data` set, each with its labels: a list that scikit-learn can split.

    >>> from types import SimpleNamespace
    >>> labelled(SimpleNamespace(name="one", graphs=[[(0, 1), (1, 0)]], labels=[[6, 8]]))
    [Labelled(graph=[(0, 1), (1, 0)], labels=[6, 8])]
    """
    if graph_set.labels is None:
        raise InputError(f'{graph_set.name} has no labels of nodes; use labels="degree" with its graphs.')
    return [Labelled(*both) for both in zip(graph_set.graphs, graph_set.labels, strict=True)]


@dataclass(frozen=True)
class Batch:
    """Graphs side by side in one union, and the labels of all nodes in a row where they were asked for."""

    graphs: list[Graph]
    union: Graph
    offsets: Int64
    """int64 [graphs + 1]: the nodes of graph g are ``offsets[g]`` to ``offsets[g + 1]`` of the union."""
    labels: list[Hashable] | None

    @property
    def directed(self) -> bool:
        return self.union.directed

    def __len__(self) -> int:
        return len(self.graphs)


def batch_of(X: Any, with_labels: bool) -> Batch:
    """Read the graphs of `X`, and their labels if they are wanted.

    `X` is a list of whatever `detours.count` takes, of `Labelled` (or plain pairs of a graph object and labels), or a
    `detours.data` set. Labels are also found in the attribute "label" of NetworkX nodes and in an attribute `labels`
    of any other graph object.
    """
    items = _items(X)
    graphs = many([item.graph for item in items])
    if not graphs:
        raise InputError("A kernel needs at least one graph, but an empty list was given.")
    if len({graph.directed for graph in graphs}) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; make them alike with to_directed() or to_undirected()."
        )
    union, offsets = Graph.disjoint_union(graphs)
    return Batch(graphs, union, offsets, _all_labels(items, graphs) if with_labels else None)


def joined(first: Batch, second: Batch) -> Batch:
    """The graphs of two batches in one, without labels."""
    union, offsets = Graph.disjoint_union([*first.graphs, *second.graphs])
    return Batch([*first.graphs, *second.graphs], union, offsets, None)


def _items(X: Any) -> list[Labelled]:
    if hasattr(X, "graphs") and hasattr(X, "labels"):
        return [Labelled(*both) for both in zip(X.graphs, X.labels or [None] * len(X.graphs), strict=True)]
    if isinstance(X, str | os.PathLike | Graph) or hasattr(X, "adj") or not hasattr(X, "__iter__"):
        raise InputError(f"A kernel takes a list of graphs, but it was given {shown(X)}; put graphs into a list.")
    return [_item(one) for one in X]


def _item(one: Any) -> Labelled:
    if isinstance(one, Labelled):
        return one
    # A pair of numbers or rows is an edge_index; a pair that begins with a graph object comes with labels.
    if isinstance(one, tuple) and len(one) == 2 and _is_graph_object(one[0]):
        return Labelled(*one)
    if hasattr(one, "is_multigraph"):
        found = [label for _, label in one.nodes(data="label")]
        return Labelled(one, None if any(label is None for label in found) else found)
    return Labelled(one, getattr(one, "labels", None))


def _is_graph_object(one: Any) -> bool:
    return isinstance(one, Graph) or any(
        hasattr(one, sign) for sign in ("is_multigraph", "get_edgelist", "edge_index", "tocoo")
    )


def _all_labels(items: Sequence[Labelled], graphs: Sequence[Graph]) -> list[Hashable]:
    """The labels of all nodes, as plain integers or strings."""
    together: list[Hashable] = []
    for at, (item, graph) in enumerate(zip(items, graphs, strict=True)):
        if item.labels is None:
            raise InputError(
                f"Graph number {at} has no labels of nodes; give Labelled(graph, labels), or choose "
                'labels="degree" or labels="none".'
            )
        own = item.labels.tolist() if hasattr(item.labels, "tolist") else list(item.labels)
        if len(own) != graph.num_nodes:
            raise InputError(
                f"Graph number {at} has {graph.num_nodes} nodes but {len(own)} labels; give one for each node."
            )
        together += own
    kinds = {str if isinstance(label, str) else int if _is_integer(label) else None for label in set(together)}
    if None in kinds or len(kinds) > 1:
        example = next(label for label in together if None not in kinds or not _is_integer(label))
        raise InputError(f"Labels of nodes must be all integers or all strings; among them is {shown(example)}.")
    return together


def _is_integer(label: object) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)
