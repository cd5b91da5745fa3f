"""The part of a graph that a page draws: all of it, or of a large graph the neighbourhoods of its busiest edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Float64, Int64
from detours.counting.result import Detours
from detours.counting.shrink.csr import transposed
from detours.graph import Graph

MOST_EDGES = 5_000


class Part(NamedTuple):
    """Some nodes of a graph and all edges between them."""

    nodes: Int64
    """The nodes drawn, ascending."""
    arcs: Int64
    """Positions in the graph's CSR of the edges drawn: those with u < v, or all arcs if directed."""
    seeds: int | None
    """The number of busiest edges whose neighbourhoods are drawn; None if the whole graph is."""

    def ends(self, graph: Graph) -> Int64:
        """Return int64 [2, edges]: the ends of the edges drawn, numbered by their place in `nodes`."""
        source = np.searchsorted(graph.indptr, self.arcs, side="right") - 1
        return np.searchsorted(self.nodes, np.stack([source, graph.indices[self.arcs]]))


def choose_part(result: Detours, most: int = MOST_EDGES) -> Part:
    """Return the part of a graph that fits into a page of at most `most` edges.

    The neighbourhood of an edge is its two ends and their neighbours, those over the busiest edges first. Nodes are
    added until the edges between them would be more than `most`.
    """
    graph = result.graph
    if graph.num_edges <= most:
        return _part(graph, np.arange(graph.num_nodes), None)
    ends = graph.to_edge_index()
    busy = _float_totals(result)
    inside = np.zeros(graph.num_nodes, np.bool_)
    edges = seeds = 0
    rows = [(graph.indptr, graph.indices)]  # of the arcs that leave a node, and of those that arrive if directed
    if graph.directed:
        rows.append(transposed(graph.indptr, graph.indices, np.zeros(graph.num_arcs, np.int64))[:2])
    for arc in np.argsort(-busy, kind="stable"):
        u, v = ends[:, arc]
        if inside[u] and inside[v]:
            continue
        for node in _neighbourhood(graph, busy, u, v):
            if inside[node]:
                continue
            edges += sum(int(inside[indices[indptr[node] : indptr[node + 1]]].sum()) for indptr, indices in rows)
            if edges > most:
                return _part(graph, np.flatnonzero(inside), max(seeds, 1))
            inside[node] = True
        seeds += 1
    return _part(graph, np.flatnonzero(inside), seeds)


def _float_totals(result: Detours) -> Float64:
    """Return about the detours of each arc: only their order matters, so a sum above 2^63 does no harm."""
    totals: Float64 = result.arc_by_length.sum(axis=1, dtype=np.float64)
    return totals


def _neighbourhood(graph: Graph, busy: Float64, u: int, v: int) -> Int64:
    rows = [slice(graph.indptr[node], graph.indptr[node + 1]) for node in (u, v)]
    neighbours = np.concatenate([graph.indices[row] for row in rows])
    order = np.argsort(-np.concatenate([busy[row] for row in rows]), kind="stable")
    return np.concatenate([[u, v], neighbours[order]])


def _part(graph: Graph, nodes: Int64, seeds: int | None) -> Part:
    inside = np.zeros(graph.num_nodes, np.bool_)
    inside[nodes] = True
    source, target = graph.to_edge_index()
    kept = inside[source] & inside[target]
    if not graph.directed:
        kept &= source < target
    return Part(nodes, np.flatnonzero(kept), seeds)
