"""What a graph kernel is given: many graphs, perhaps with labels of nodes and edges."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from detours.arrays import Bool, Int64
from detours.errors import InputError, shown
from detours.graph import Graph
from detours.graph.graph import is_list, is_one_graph
from detours.kernels.conversion import Labelled, convert, read_items, tell_unused
from detours.wl.nodes.labels import by_node, edge_numbers, ranks_on_arcs


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


def read_batch(X: Any, labels: bool | Literal["if any"], with_edge_labels: bool = False) -> Batch:
    """Read the graphs of `X`, and their labels if they are wanted; "if any" wants them if any graph has labels.

    `X` is a list of whatever `detours.count` takes, of `Labelled` (or plain tuples of a graph object and labels), or a
    `detours.data` set. Labels are also found in the attribute "label" of the nodes and edges of NetworkX and igraph, in
    one-hot features of PyG, in the atoms and bonds of RDKit molecules, and in attributes `labels` and `edge_labels` of
    any other graph object.
    """
    single = is_one_graph(X) or not is_list(X)
    if single and not hasattr(X, "graphs"):
        instead = "give to_data_list() of it" if hasattr(X, "to_data_list") else "put graphs into a list"
        raise InputError(f"A kernel takes a list of graphs, but it was given {shown(X)}; {instead}.")
    items = read_items(X, bool(labels), with_edge_labels)
    graphs = convert([item.graph for item in items])
    if not graphs:
        raise InputError("A kernel needs at least one graph, but an empty list was given.")
    if len({graph.directed for graph in graphs}) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; make them alike with to_directed() or to_undirected()."
        )
    union, offsets = Graph.disjoint_union(graphs)
    if labels == "if any":
        labels = any(item.labels is not None for item in items)
        if not labels:
            tell_unused(items)
    return Batch(
        graphs,
        union,
        offsets,
        _node_labels(items, graphs) if labels else None,
        _edge_labels(items, graphs, union, offsets) if with_edge_labels else None,
    )


class Doubled(NamedTuple):
    """A batch in which every graph consists of two copies of itself, one beside the other."""

    batch: Batch
    second: Bool
    """bool [nodes]: those of the second copies."""
    nodes: Int64
    """int64 [nodes]: the same node before."""
    arcs: Int64
    """int64 [arcs]: the same arc before."""


def double(batch: Batch) -> Doubled:
    """Put a copy of every graph beside it."""
    union, offsets = Graph.disjoint_union([graph for graph in batch.graphs for _ in range(2)])
    nodes, arcs = _repeated(batch.offsets), _repeated(batch.union.indptr[batch.offsets])
    labels, edge_labels = batch.labels, batch.edge_labels
    made = Batch(
        batch.graphs,
        union,
        offsets[::2],
        None if labels is None else [labels[node] for node in nodes.tolist()],
        None if edge_labels is None else EdgeLabels(edge_labels.values, edge_labels.of_arcs[arcs]),
    )
    second = np.repeat(np.tile([False, True], len(batch)), np.diff(offsets))
    return Doubled(made, second, nodes, arcs)


def _repeated(begins: Int64) -> Int64:
    """The numbers ``begins[g]`` to ``begins[g + 1]`` twice, for every g."""
    sizes = np.repeat(np.diff(begins), 2)
    ends = np.cumsum(sizes)
    places: Int64 = np.arange(ends[-1]) + np.repeat(np.repeat(begins[:-1], 2) - (ends - sizes), sizes)
    return places


def join_batches(first: Batch, second: Batch) -> Batch:
    """The graphs of two batches in one, without labels."""
    union, begins = Graph.disjoint_union([first.union, second.union])
    offsets = np.concatenate([first.offsets, second.offsets[1:] + begins[1]])
    return Batch([*first.graphs, *second.graphs], union, offsets, None)


def _node_labels(items: Sequence[Labelled], graphs: Sequence[Graph]) -> list[Hashable]:
    otherwise = 'give Labelled(graph, labels), or choose labels="degree" or labels="none"'
    given = [by_node(item.labels, graph, at) for at, (item, graph) in enumerate(zip(items, graphs, strict=True))]
    return _in_a_row(given, [graph.num_nodes for graph in graphs], "node", otherwise)


def _edge_labels(items: Sequence[Labelled], graphs: Sequence[Graph], union: Graph, offsets: Int64) -> EdgeLabels:
    numbers = edge_numbers(graphs)
    otherwise = "give Labelled(graph, labels, edge_labels), or choose edge_labels=False"
    labels = _in_a_row([item.edge_labels for item in items], numbers, "edge", otherwise)
    values: list[Hashable] = sorted(set(labels))  # type: ignore[type-var]  # all integers or all strings
    rank = {label: at for at, label in enumerate(values)}
    of_arcs = ranks_on_arcs(np.array([rank[label] for label in labels], dtype=np.int64), graphs, union, offsets)
    return EdgeLabels(values, of_arcs)


def _in_a_row(given: Sequence[Any], numbers: Sequence[int], thing: str, otherwise: str) -> list[Hashable]:
    """The labels of all nodes or edges, as plain integers or strings."""
    together: list[Hashable] = []
    for at, (labels, number) in enumerate(zip(given, numbers, strict=True)):
        if labels is None and not number:
            continue  # there is nothing that could have one
        if labels is None:
            raise InputError(f"Graph number {at} has no labels of {thing}s; {otherwise}.")
        if isinstance(labels, Mapping | set | frozenset) or not hasattr(labels, "__iter__"):
            raise InputError(f"The labels of {thing}s of graph number {at} are {shown(labels)}; give a list of them.")
        own = labels.tolist() if hasattr(labels, "tolist") else list(labels)
        if len(own) != number:
            raise InputError(
                f"Graph number {at} has {number} {thing}s but {len(own)} labels; give one for each {thing}."
            )
        if any(label is None for label in own):
            raise InputError(f"Graph number {at} has {thing}s without a label; {otherwise}.")
        together += own
    examples = {_kind(kind): label for kind, label in {type(label): label for label in reversed(together)}.items()}
    if None in examples or len(examples) > 1:
        found = [examples[None]] if None in examples else examples.values()
        which = " and ".join(f"one is {shown(label)}" for label in found)
        raise InputError(f"Labels of {thing}s must be all integers or all strings, but {which}; {otherwise}.")
    return together


def _kind(of_label: type) -> type | None:
    """What labels of a type are: strings, integers, or neither."""
    if issubclass(of_label, str):
        return str
    return int if issubclass(of_label, int | np.integer) and not issubclass(of_label, bool) else None
