"""Listing cycles lazily, each once: all of a graph, or those through given nodes and edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from detours.arrays import Int64, read_only
from detours.counting.cycles.order import reorder
from detours.counting.cycles.search_numba import Graph, Rules, advance, begin, new_space
from detours.counting.paths import BATCH, STEPS, path_batches
from detours.counting.shrink.csr import transpose
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import InputError, short_repr
from detours.graph.csr_graph import CsrGraph

Cycle = tuple[int, ...]
NO_COUNTS = np.empty((0, 0), np.int64)
FIRST_BATCH = 64


def cycle_batches(
    graph: CsrGraph,
    k: int,
    *,
    chordless: bool = False,
    nodes: Sequence[int] = (),
    edges: Sequence[tuple[int, int]] = (),
) -> Iterator[list[Cycle]]:
    """Yield the cycles of 3 to k + 1 edges that contain all the given nodes and edges, some at a time.

    Some lists are empty: one is yielded every few hundredths of a second, so that the search can be stopped.
    """
    if edges:
        batches = _through_edge(graph, edges[0], k, chordless)
    else:
        batches = _from_roots(graph, k, chordless, nodes[0] if nodes else None)
    required, arcs = set(nodes), {_ends(edge, graph.directed) for edge in edges}
    for batch in batches:
        cycles = [_canonical(cycle, graph.directed) for cycle in batch]
        if len(required) > 1 or arcs:
            cycles = [cycle for cycle in cycles if _contains(cycle, required, arcs, graph.directed)]
        yield cycles


def edge_of(graph: CsrGraph, edge: object) -> tuple[int, int]:
    """Return the ends of an edge (an arc if the graph is directed), given by their names, or raise `InputError`."""
    ends = edge.tolist() if hasattr(edge, "tolist") else edge
    if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
        raise InputError(f"edges must be pairs of nodes, but {short_repr(edge)} was given.")
    i, j = (graph.node(name) for name in ends)
    if not (graph.indices[graph.indptr[i] : graph.indptr[i + 1]] == j).any():
        raise InputError(f"The graph has no edge from {short_repr(ends[0])} to {short_repr(ends[1])}.")
    return i, j


def _through_edge(graph: CsrGraph, edge: tuple[int, int], k: int, chordless: bool) -> Iterator[list[Cycle]]:
    """Yield the cycles through an edge: each is the edge and a path back from its end to its start."""
    for batch in path_batches(graph.indptr, graph.indices, edge[1], edge[0], k, chordless=chordless):
        yield list(map(tuple, batch.tolist()))


def _from_roots(graph: CsrGraph, k: int, chordless: bool, through: int | None) -> Iterator[list[Cycle]]:
    cyclic = Cyclic(graph.indptr, graph.indices, graph.directed)
    node, rows = _cyclic_rows(cyclic)
    longest = max(3, min(k + 1, cyclic.largest_block))
    rules = Rules(longest, graph.directed, chordless, any_start=through is not None)
    space, size = new_space(len(node), longest, counting=False), FIRST_BATCH
    # A node that joins several blocks occurs in each of them, but a cycle is in one block: none is found twice.
    ranges = [(0, len(node))] if through is None else [(v, v + 1) for v in np.flatnonzero(node == through).tolist()]
    for first, last in ranges:
        begin(space, first, last)
        steps = 0
        while steps <= 0:
            size = max(1, min(size, BATCH // longest))
            out = np.zeros((size, longest + 1), np.int32)
            steps, num_found = advance(rows, space, rules, STEPS, NO_COUNTS, out)
            cycles, lengths = node[out[:num_found, :-1]].tolist(), out[:num_found, longest].tolist()
            yield [tuple(cycle[:length]) for cycle, length in zip(cycles, lengths, strict=True)]
            size *= 2


def _cyclic_rows(cyclic: Cyclic) -> tuple[Int64, Graph]:
    """Return the nodes and arcs on cycles of each block, nodes in the order of the graph: that of the cycles."""
    reduced = cyclic.reduced
    order = np.argsort(reduced.node, kind="stable")
    indptr, indices, arc = reorder(reduced, order)
    back_ptr, back, _ = transpose(indptr, indices, arc)
    reverse = read_only(back_ptr, np.int64), read_only(back, np.int32)
    rows = Graph(indptr, indices, *reverse, read_only(np.empty(0), np.int32))
    return reduced.node[order].astype(np.int64), rows


def _canonical(cycle: Cycle, directed: bool) -> Cycle:
    """Return the cycle from its smallest node on, if undirected towards the smaller of that node's two neighbours."""
    start = cycle.index(min(cycle))
    rotated = cycle[start:] + cycle[:start]
    return rotated if directed or rotated[1] < rotated[-1] else (rotated[0], *rotated[:0:-1])


def _ends(edge: tuple[int, int], directed: bool) -> tuple[int, int]:
    return edge if directed or edge[0] < edge[1] else (edge[1], edge[0])


def _contains(cycle: Cycle, nodes: set[int], arcs: set[tuple[int, int]], directed: bool) -> bool:
    if not nodes.issubset(cycle):
        return False
    return arcs <= {_ends(edge, directed) for edge in pairwise((*cycle, cycle[0]))}
