"""Reduction of a graph to the parts that can contain detours: the disjoint union of its biconnected blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64, read_only
from detours.compiled import compiled
from detours.counting.shrink.biconnected import Forest, depth_first_forest
from detours.counting.shrink.csr import concatenate_rows, transpose

CLUSTER = 64  # nodes per ball: about the largest block of roots of the row engine
SHORT = 8  # if no row has more neighbours, rows are sorted by insertion instead of by counting


@dataclass(frozen=True, slots=True)
class Reduced:
    """Disjoint union of the non-trivial biconnected blocks of a graph, as a CSR with sorted rows.

    A node that joins several blocks occurs once in each. Every block is a contiguous range of nodes, ordered so that
    consecutive nodes are close to each other in the graph.
    """

    indptr: Int64
    indices: Int32
    arc: Int64  # position of each arc among the arcs of the original CSR
    node: Int32  # original node of each node
    block_ptr: Int64  # block b has the nodes block_ptr[b] to block_ptr[b + 1]
    directed: bool

    @property
    def num_nodes(self) -> int:
        return len(self.node)

    @property
    def num_arcs(self) -> int:
        return len(self.indices)

    @property
    def num_blocks(self) -> int:
        return len(self.block_ptr) - 1


class Cyclic:
    """A graph, and which part of it lies on cycles: computed once, and shared by all engines.

    The rows must be sorted and free of loops and duplicates, and symmetric unless ``directed``. Cycles are those of the
    underlying undirected graph in both cases.
    """

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any], directed: bool = False):
        self.indptr, self.indices = read_only(indptr, np.int64), read_only(indices, np.int32)
        self.directed = directed
        self._symmetric: tuple[Int64, Int32] = self.indptr, self.indices
        if directed:
            self._symmetric = _with_reverses(self.indptr, self.indices)
        self.forest = depth_first_forest(*self._symmetric)
        self.largest_block = int(np.diff(self.forest.block_ptr).max(initial=0))

    @property
    def num_nodes(self) -> int:
        """Number of nodes on cycles; a node that joins several blocks counts in each."""
        return int(self.forest.block_ptr[-1])

    @property
    def num_arcs(self) -> int:
        """Number of arcs on cycles."""
        return self.reduced.num_arcs if self.directed else self.forest.arcs

    @property
    def num_blocks(self) -> int:
        return len(self.forest.joint)

    @cached_property
    def reduced(self) -> Reduced:
        """The blocks of three or more nodes, side by side."""
        # Arrays are allocated here: compiled functions that allocate take much longer to compile.
        forest = self.forest
        node, seeds = np.empty((2, self.num_nodes), np.int32)
        label = -2 - forest.block
        _number_nodes(*self._symmetric, forest, node, label, seeds, np.zeros(len(label), np.bool_))
        row_ptr = np.zeros(len(node) + 1, np.int64)
        out, arc = np.empty(len(self.indices), np.int32), np.empty(len(self.indices), np.int64)
        is_joint, fill = np.zeros(len(label), np.bool_), np.zeros(self.num_blocks, np.int64)
        is_joint[forest.joint] = True
        size = _fill_rows(self.indptr, self.indices, forest, node, label, is_joint, fill, row_ptr, out, arc)
        rows = row_ptr, out[:size], arc[:size]
        if np.diff(rows[0]).max(initial=0) > SHORT:
            rows = transpose(*transpose(*rows))
        else:
            _sort_rows(*rows)
        return Reduced(*rows, node, self.forest.block_ptr, self.directed)


def reduce(indptr: NDArray[Any], indices: NDArray[Any], directed: bool = False) -> Reduced:
    """Split a CSR graph into its biconnected blocks of three or more nodes.

    >>> import numpy as np
    >>> square_with_tail = reduce(np.array([0, 2, 4, 6, 9, 10]), np.array([1, 3, 0, 2, 1, 3, 0, 2, 4, 3]))
    >>> square_with_tail.num_nodes, square_with_tail.num_arcs, square_with_tail.num_blocks
    (4, 8, 1)
    """
    return Cyclic(indptr, indices, directed).reduced


def _with_reverses(indptr: Int64, indices: Int32) -> tuple[Int64, Int32]:
    """Return every arc and its reverse. Opposite arcs become double, which changes no block of three or more nodes."""
    reverse_ptr, reverse, _ = transpose(indptr, indices, np.arange(len(indices)))
    merged = concatenate_rows(indptr, indices, reverse_ptr, reverse)
    return read_only(indptr + reverse_ptr, np.int64), read_only(merged, np.int32)


@compiled
def _number_nodes(
    indptr: Int64, indices: Int32, forest: Forest, node: Int32, label: Int32, seeds: Int32, queued: Bool
) -> None:
    """Number the nodes of each block: the joint first, then the rest as a sequence of small breadth-first balls.

    Balls keep consecutive nodes within a few steps of each other in both directions of a road network, where the
    levels of a plain breadth-first search are long and thin. The joint is never expanded: it may belong to very many
    blocks, and a block stays connected without it.

    Writes the nodes in their new order, and to ``label`` the new index of each node in its home block b; until then it
    is -2 - b. ``seeds`` and ``queued`` are scratch space, ``queued`` all False on entry.
    """
    joint, head, block_ptr = forest.joint, forest.head, forest.block_ptr
    for b in range(len(joint)):
        unnumbered = np.int32(-2 - b)
        size = block_ptr[b]
        node[size] = joint[b]
        size += 1
        seeds[0] = head[b]
        next_seed, num_seeds = 0, 1
        while next_seed < num_seeds:
            seed = seeds[next_seed]
            next_seed += 1
            if label[seed] != unnumbered:
                continue
            scan, full = size, size + CLUSTER
            label[seed] = size
            node[size] = seed
            size += 1
            while scan < size:
                v = node[scan]
                scan += 1
                for p in range(indptr[v], indptr[v + 1]):
                    w = indices[p]
                    if label[w] != unnumbered:
                        continue
                    if size < full:
                        label[w] = size
                        node[size] = w
                        size += 1
                    elif not queued[w]:
                        queued[w] = True
                        seeds[num_seeds] = w
                        num_seeds += 1


@compiled
def _sort_rows(indptr: Int64, indices: Int32, value: Int64) -> None:
    """Insertion sort, for short rows."""
    for v in range(len(indptr) - 1):
        first = indptr[v]
        for p in range(first + 1, indptr[v + 1]):
            w, x = indices[p], value[p]
            q = p
            while q > first and indices[q - 1] > w:
                indices[q] = indices[q - 1]
                value[q] = value[q - 1]
                q -= 1
            indices[q] = w
            value[q] = x


@compiled
def _fill_rows(
    indptr: Int64,
    indices: Int32,
    forest: Forest,
    node: Int32,
    label: Int32,
    is_joint: Bool,
    fill: Int64,
    row_ptr: Int64,
    out: Int32,
    arc: Int64,
) -> int:
    """Write the rows of all blocks, as an unsorted CSR, and the original position of each arc.

    Rows of home nodes are copied from the original rows, in order; the original row of a joint is distributed among its
    blocks in a single pass, however many there are. ``fill`` and ``row_ptr`` are zero on entry. Returns the number of
    arcs.
    """
    block, joint, block_ptr = forest.block, forest.joint, forest.block_ptr
    n = len(block)
    for u in range(n):
        if is_joint[u]:
            for p in range(indptr[u], indptr[u + 1]):
                b = block[indices[p]]
                if b >= 0 and joint[b] == u:
                    fill[b] += 1
    size = 0
    for b in range(len(joint)):
        first, end, outer = block_ptr[b], block_ptr[b + 1], joint[b]
        start = size
        size += fill[b]
        fill[b] = start
        row_ptr[first + 1] = size
        for t in range(first + 1, end):
            start = size
            v = node[t]
            for p in range(indptr[v], indptr[v + 1]):
                w = indices[p]
                s = label[w]
                if w == outer:
                    s = first
                if s >= first and s < end:
                    out[size] = s
                    arc[size] = p
                    size += 1
            row_ptr[t + 1] = size
    for u in range(n):
        if is_joint[u]:
            for p in range(indptr[u], indptr[u + 1]):
                w = indices[p]
                b = block[w]
                if b >= 0 and joint[b] == u:
                    out[fill[b]] = label[w]
                    arc[fill[b]] = p
                    fill[b] += 1
    return size
