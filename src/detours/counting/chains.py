"""Contraction of chains: a path whose inner nodes have degree two becomes a single edge with a length.

A cycle takes a chain as a whole or not at all, so all edges of a chain have the same counts. Molecules
and road networks are mostly chains; a graph without any only gets its arcs numbered by edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detours.counting.reduce import Int32, Int64, Reduced, kernel, read_only, side_by_side, transposed


@dataclass(frozen=True, slots=True)
class Chains:
    """The chains of a graph, and the multigraph they form between the nodes with three or more
    neighbours.

    The multigraph is a symmetric CSR with sorted rows; chains too long for any cycle asked for are left
    out.
    """

    indptr: Int64
    indices: Int32
    length: Int32
    """Number of edges in the chain behind each arc of the CSR."""
    chain: Int32
    """Number of that chain."""
    chain_of_arc: Int32
    """Number of the chain that holds each arc of the graph before contraction."""
    rings: Int64
    """Length of each ring, a block that is nothing but one cycle. Rings are the last chains."""
    count: int
    """Number of chains, rings included."""


def contract(reduced: Reduced, longest: int) -> Chains:
    """Contract the chains of an undirected reduced graph, for cycles of at most ``longest`` edges."""
    indptr, indices = read_only(reduced.indptr, np.int64), read_only(reduced.indices, np.int32)
    n, m = reduced.num_nodes, reduced.num_arcs
    chain_of_arc, label = np.full(m, -1, np.int32), np.empty(n, np.int32)
    # The graph is its own transpose: what comes back is the position of the opposite of each arc.
    opposite = read_only(transposed(indptr, indices, np.arange(m))[2], np.int64)
    length, head, tail = (np.empty(m // 2, np.int32) for _ in range(3))
    nodes, ended, count = _trace(indptr, indices, opposite, label, chain_of_arc, length, head, tail)
    short = np.flatnonzero(length[:ended] < longest)
    up_ptr = np.searchsorted(head[short], np.arange(nodes + 1))
    down_ptr, down, down_chain = transposed(up_ptr, tail[short], short)
    up_ptr, up, up_chain = transposed(down_ptr, down, down_chain)
    targets = side_by_side(down_ptr, down, up_ptr, up)
    chain = side_by_side(down_ptr, down_chain, up_ptr, up_chain).astype(np.int32, copy=False)
    rings = length[ended:count].astype(np.int64)
    return Chains(down_ptr + up_ptr, targets, length[chain], chain, chain_of_arc, rings, count)


@kernel
def _trace(
    indptr: Int64,
    indices: Int32,
    opposite: Int64,
    label: Int32,
    chain_of_arc: Int32,
    length: Int32,
    head: Int32,
    tail: Int32,
) -> tuple[int, int, int]:
    """Number the nodes with three or more neighbours, the chains between them, and then the rings.

    Chains are numbered in order of their lower end, ``head``. Returns the numbers of nodes, of chains
    with ends, and of all chains.
    """
    n = len(label)
    nodes, chains, first_ring = 0, 0, 0
    for v in range(n):
        label[v] = -1
        if indptr[v + 1] - indptr[v] > 2:
            label[v] = nodes
            nodes += 1
    for rings in range(2):
        for u in range(n):
            if rings == 0 and label[u] < 0:
                continue
            for start in range(indptr[u], indptr[u + 1]):
                p, size, inside = start, 0, True
                # A ring ends where it began, any other chain at the first labelled node.
                while inside and chain_of_arc[p] < 0:
                    chain_of_arc[p] = chains
                    chain_of_arc[opposite[p]] = chains
                    size += 1
                    v = indices[p]
                    inside = label[v] < 0
                    if inside:
                        p = indptr[v] + indptr[v + 1] - 1 - opposite[p]
                    else:
                        head[chains], tail[chains] = label[u], label[v]
                if size > 0:
                    length[chains] = size
                    chains += 1
        if rings == 0:
            first_ring = chains
    return nodes, first_ring, chains
