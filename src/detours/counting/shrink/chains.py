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
    order, entry, degree, block = forest.order, forest.entry, forest.degree, forest.block
    nodes, chains = 0, 0
    for i in range(len(order)):
        if degree[order[i]] > 2:
            label[order[i]] = nodes
            nodes += 1
    for ring in range(2):
        for i in range(len(order)):
            u = order[i]
            if degree[u] < 2 or (label[u] != -1 if ring else label[u] < 0):
                continue
            for first_arc in range(indptr[u], indptr[u + 1]):
                v = indices[first_arc]
                if chain_of_arc[first_arc] >= 0 or not _on_cycle(entry, block, u, v):
                    continue
                chain_of_arc[first_arc] = chains
                previous, edges = u, 1
                while v != u and label[v] < 0:
                    label[v] = INNER
                    next_arc = first_arc
                    for p in range(indptr[v], indptr[v + 1]):
                        if indices[p] == previous:
                            chain_of_arc[p] = chains
                        elif _on_cycle(entry, block, v, indices[p]):
                            next_arc = p
                    chain_of_arc[next_arc] = chains
                    edges += 1
                    previous, v = v, indices[next_arc]
                low, high = indptr[v], indptr[v + 1]
                while high - low > 1:
                    mid = (low + high) >> 1
                    if indices[mid] <= previous:
                        low = mid
                    else:
                        high = mid
                chain_of_arc[low] = chains
                length[chains], head[chains], tail[chains] = edges, label[u], label[v]
                chains += 1
    return nodes, chains


@compiled
def _on_cycle(entry: Int32, block: Int32, u: int, v: int) -> bool:
    """Whether an edge lies on a cycle: see `Forest`."""
    home_u, home_v = block[u], block[v]
    return bool((home_u if entry[u] > entry[v] else home_v) >= 0)
