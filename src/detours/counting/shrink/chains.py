"""Contraction of chains: a path whose inner nodes have degree two becomes a single edge with a length.

A cycle contains all edges of a chain or none, so they all have the same counts. Edges on no cycle are dropped first.
Molecules and road networks are mostly chains; in a graph without any, arcs only get the index of their edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled
from detours.counting.shrink.biconnected import Forest
from detours.counting.shrink.csr import concatenate_rows, transpose
from detours.counting.shrink.cyclic_part import Cyclic

INNER = -2


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains of a graph, and the multigraph they form between nodes where three or more edges with a cycle meet.

    The multigraph is a symmetric CSR with sorted rows, without rings and without chains too long for any cycle to be
    counted.
    """

    indptr: Int64
    indices: Int32
    length: Int32  # edges in the chain behind each arc of the CSR
    chain: Int32  # index of that chain
    chain_of_arc: Int32  # index of the chain that contains each arc of the graph; -1 if the arc is on no cycle
    rings: Int64  # the chains that are cycles by themselves: they end where they start
    ring_length: Int32
    count: int  # number of chains, rings included


def contract(cyclic: Cyclic, longest: int) -> Chains:
    """Contract the chains of an undirected graph, for cycles of at most ``longest`` edges."""
    forest = cyclic.forest
    chain_of_arc, label = np.full(len(cyclic.indices), -1, np.int32), np.full(len(forest.block), -1, np.int32)
    length, head, tail = np.empty((3, forest.arcs // 2), np.int32)
    nodes, chains = _trace(cyclic.indptr, cyclic.indices, forest, chain_of_arc, label, length, head, tail)
    length, head, tail = length[:chains], head[:chains], tail[:chains]
    short = np.flatnonzero((length < longest) & (head != tail))
    up_ptr = np.searchsorted(head[short], np.arange(nodes + 1))
    down_ptr, down, down_chain = transpose(up_ptr, tail[short], short)
    up_ptr, up, up_chain = transpose(down_ptr, down, down_chain)
    targets = concatenate_rows(down_ptr, down, up_ptr, up)
    chain = concatenate_rows(down_ptr, down_chain, up_ptr, up_chain).astype(np.int32, copy=False)
    rings = np.flatnonzero(head == tail)
    return Chains(down_ptr + up_ptr, targets, length[chain], chain, chain_of_arc, rings, length[rings], len(length))


@compiled
def _trace(
    indptr: Int64,
    indices: Int32,
    forest: Forest,
    chain_of_arc: Int32,
    label: Int32,
    length: Int32,
    head: Int32,
    tail: Int32,
) -> tuple[int, int]:
    """Number the nodes where three or more edges with a cycle meet, and follow every chain from its lower end, the
    head; then follow the rings that no such node is on.

    Writes the chain of each arc that has one, and the length, head and tail of each chain; for a ring, head and tail
    are equal. Returns the numbers of nodes and chains. ``label`` is scratch space, -1 everywhere on entry.
    """
    order, degree = forest.order, forest.degree
    nodes, chains = 0, 0
    for u in order:
        if degree[u] > 2:
            label[u] = nodes
            nodes += 1
    for ring in range(2):
        for u in order:
            starts_here = label[u] == -1 if ring else label[u] >= 0
            if degree[u] < 2 or not starts_here:
                continue
            for arc in range(indptr[u], indptr[u + 1]):
                if chain_of_arc[arc] < 0 and _on_cycle(forest.entry, forest.block, u, indices[arc]):
                    end, edges = _follow(indptr, indices, forest, chain_of_arc, label, u, arc, chains)
                    length[chains], head[chains], tail[chains] = edges, label[u], label[end]
                    chains += 1
    return nodes, chains


@compiled
def _follow(
    indptr: Int64,
    indices: Int32,
    forest: Forest,
    chain_of_arc: Int32,
    label: Int32,
    start: int,
    first_arc: int,
    chain: int,
) -> tuple[int, int]:
    """Give all arcs of the chain that begins with an arc of `start` its number; return its end and its length."""
    chain_of_arc[first_arc] = chain
    previous, v, edges = start, indices[first_arc], 1
    while v != start and label[v] < 0:
        label[v] = INNER
        next_arc = first_arc
        for arc in range(indptr[v], indptr[v + 1]):
            if indices[arc] == previous:
                chain_of_arc[arc] = chain
            elif _on_cycle(forest.entry, forest.block, v, indices[arc]):
                next_arc = arc
        chain_of_arc[next_arc] = chain
        previous, v, edges = v, indices[next_arc], edges + 1
    chain_of_arc[_find(indices, indptr[v], indptr[v + 1], previous)] = chain
    return v, edges


@compiled
def _find(indices: Int32, low: int, high: int, target: int) -> int:
    """Return the position of a target in indices[low:high], which are sorted and hold it."""
    while high - low > 1:
        mid = (low + high) >> 1
        if indices[mid] <= target:
            low = mid
        else:
            high = mid
    return low


@compiled
def _on_cycle(entry: Int32, block: Int32, u: int, v: int) -> bool:
    """Whether an edge lies on a cycle: see `Forest`."""
    home_u, home_v = block[u], block[v]
    return bool((home_u if entry[u] > entry[v] else home_v) >= 0)
