"""The part of a graph that a page draws: all of it, around some nodes, or around the busiest edges if it is large."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice, permutations
from typing import NamedTuple

import numpy as np

from detours.arrays import Float64, Int64
from detours.counting.paths import path_batches
from detours.counting.result import Detours
from detours.counting.shrink.csr import transpose
from detours.graph import Graph

MOST_EDGES, MOST_AROUND = 5_000, 1_000
MOST_NODES = 10_000
"""Isolated nodes are left out of graphs with more nodes."""
LISTED_EACH = 200
"""The maximal number of detours listed for one edge."""


class Part(NamedTuple):
    """Some nodes of a graph and all edges between them."""

    nodes: Int64
    """The nodes drawn, ascending."""
    arcs: Int64
    """Indices into the graph's CSR of the edges drawn: those with u < v, or all arcs if directed."""
    seeds: int | None
    """The number of busiest edges whose neighbourhoods are drawn; None if all is drawn, or with `around`."""
    around: tuple[int, ...] = ()
    """The nodes around which the part is drawn."""

    def ends(self, graph: Graph) -> Int64:
        """Return int64 [2, edges]: the ends of the edges drawn, as indices into `nodes`."""
        source = np.searchsorted(graph.indptr, self.arcs, side="right") - 1
        return np.searchsorted(self.nodes, np.stack([source, graph.indices[self.arcs]]))


def choose_part(result: Detours, most: int = MOST_EDGES, around: Sequence[int] = ()) -> Part:
    """Return the part of a graph that fits into a page of at most `most` edges, without isolated nodes if it is large.

    The neighbourhood of an edge is its two ends and their neighbours, those along the busiest edges first. Nodes are
    added until there would be more than `most` edges between them. With `around`, these nodes come first, then those
    on detours between them, shorter detours first, and then their neighbours.
    """
    graph = result.graph
    if graph.num_edges <= most and not around:
        return _part(graph, np.arange(graph.num_nodes) if graph.num_nodes <= MOST_NODES else _connected(graph), None)
    ends = graph.to_edge_index()
    busy = _float_totals(result)
    drawn = _Drawn(graph, most)
    if around:
        between = (first_detours(result, u, v, LISTED_EACH) for u, v in permutations(around, 2))
        nodes = chain(around, *chain.from_iterable(between), _neighbourhood(graph, busy, around))
        all(drawn.add(node) for node in nodes)
        return _part(graph, np.flatnonzero(drawn.inside), None)._replace(around=tuple(around))
    seeds = 0
    for arc in np.argsort(-busy, kind="stable"):
        u, v = ends[:, arc]
        if drawn.inside[u] and drawn.inside[v]:
            continue
        if not all(drawn.add(node) for node in _neighbourhood(graph, busy, (u, v))):
            return _part(graph, np.flatnonzero(drawn.inside), max(seeds, 1))
        seeds += 1
    return _part(graph, np.flatnonzero(drawn.inside), seeds)


def _connected(graph: Graph) -> Int64:
    """Return the nodes that have edges, or the first ones if none has."""
    return np.unique(graph.to_edge_index()) if graph.num_arcs else np.arange(MOST_NODES)


class _Drawn:
    """The nodes selected so far, with at most `most` edges between them."""

    def __init__(self, graph: Graph, most: int) -> None:
        self.inside = np.zeros(graph.num_nodes, np.bool_)
        self.room = most
        self.rows = [(graph.indptr, graph.indices)]  # outgoing arcs, and incoming arcs if directed
        if graph.directed:
            self.rows.append(transpose(graph.indptr, graph.indices, np.zeros(graph.num_arcs, np.int64))[:2])

    def add(self, node: int) -> bool:
        """Add a node; False if there is no room for its edges."""
        if self.inside[node]:
            return True
        self.room -= sum(
            int(self.inside[indices[indptr[node] : indptr[node + 1]]].sum()) for indptr, indices in self.rows
        )
        self.inside[node] = self.room >= 0
        return bool(self.inside[node])


def first_detours(result: Detours, u: int, v: int, most: int) -> list[list[int]]:
    """Return the inner nodes of the first `most` detours from u to v."""
    graph = result.graph
    batches = path_batches(graph.indptr, graph.indices, u, v, result.k, chordless=result.chordless)
    return list(islice((path for batch in batches for path in batch[:, 1:-1].tolist()), most))


def _float_totals(result: Detours) -> Float64:
    """Return the approximate detour number of each arc, for sorting: sums above 2^63 do no harm."""
    totals: Float64 = result.arc_by_length.sum(axis=1, dtype=np.float64)
    return totals


def _neighbourhood(graph: Graph, busy: Float64, nodes: Sequence[int]) -> Int64:
    rows = [slice(graph.indptr[node], graph.indptr[node + 1]) for node in nodes]
    neighbours = np.concatenate([graph.indices[row] for row in rows])
    order = np.argsort(-np.concatenate([busy[row] for row in rows]), kind="stable")
    return np.concatenate([nodes, neighbours[order]])


def _part(graph: Graph, nodes: Int64, seeds: int | None) -> Part:
    inside = np.zeros(graph.num_nodes, np.bool_)
    inside[nodes] = True
    source, target = graph.to_edge_index()
    kept = inside[source] & inside[target]
    if not graph.directed:
        kept &= source < target
    return Part(nodes, np.flatnonzero(kept), seeds)
