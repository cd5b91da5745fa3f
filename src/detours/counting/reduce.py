"""Reduction of a graph to the parts that can hold a detour.

Two ends of an edge are joined by a detour only if the edge lies on a cycle of the underlying undirected
graph, and a cycle never leaves its biconnected block. So trees, bridges and the joints between blocks are
taken out before any engine runs: what is left is the disjoint union of the blocks with at least three
nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]

CLUSTER = 64
"""Nodes per ball of the locality order: about the largest block of roots that the row engine handles at
once."""


SHORT = 8
"""Neighbours up to which a row is sorted by insertion rather than with all others by counting."""


def kernel(function: Function) -> Function:
    """Compile with Numba; cached on disk and free of the GIL, so that Python threads can share the work."""
    return cast(Function, njit(cache=True, nogil=True)(function))


def read_only(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """A read-only, contiguous plain view: kernels then see one array type, however the graph is stored."""
    view: NDArray[Any] = np.ascontiguousarray(np.asarray(array), dtype=dtype).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True)
class Reduced:
    """Disjoint union of the non-trivial biconnected blocks of a graph, as a CSR with sorted rows.

    A node that joins several blocks occurs once in each. Every block is a contiguous range of nodes,
    ordered so that consecutive nodes lie close together.
    """

    indptr: Int64
    indices: Int32
    arc: Int64
    """Position of each reduced arc among the arcs of the original CSR."""
    node: Int32
    """Original node of each reduced node."""
    block_ptr: Int64
    """Block b holds the reduced nodes ``block_ptr[b]`` to ``block_ptr[b + 1]``."""
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


def reduce(indptr: NDArray[Any], indices: NDArray[Any], directed: bool = False) -> Reduced:
    """Split a CSR graph into its biconnected blocks of three or more nodes.

    The rows must be sorted and free of loops and duplicates, and symmetric unless ``directed``. Blocks
    are those of the underlying undirected graph in both cases.

    >>> import numpy as np
    >>> square_with_tail = reduce(np.array([0, 2, 4, 6, 9, 10]), np.array([1, 3, 0, 2, 1, 3, 0, 2, 4, 3]))
    >>> square_with_tail.num_nodes, square_with_tail.num_arcs, square_with_tail.num_blocks
    (4, 8, 1)
    """
    indptr, indices = read_only(indptr, np.int64), read_only(indices, np.int32)
    both_ptr, both = _both_ways(indptr, indices) if directed else (indptr, indices)
    block, joint, head, block_ptr = _decompose(both_ptr, both)
    node, label = _locality(both_ptr, both, block, joint, head, block_ptr)
    row_ptr, out, arc = _rows(indptr, indices, block, joint, block_ptr, node, label)
    return Reduced(row_ptr, out, arc, node, block_ptr, directed)


def transposed(indptr: Int64, indices: Int32, value: Int64) -> tuple[Int64, Int32, Int64]:
    """CSR of the reversed arcs, each with its value; the rows come out sorted."""
    arrays = read_only(indptr, np.int64), read_only(indices, np.int32), read_only(value, np.int64)
    start, out, out_value = np.zeros(len(indptr), np.int64), np.empty_like(indices), np.empty_like(value)
    _transpose(*arrays, start, out, out_value)
    return start, out, out_value


def side_by_side(a_ptr: Int64, a: NDArray[Any], b_ptr: Int64, b: NDArray[Any]) -> NDArray[Any]:
    """Rows of a, each followed by the same row of b; the row pointer of the result is ``a_ptr + b_ptr``."""
    out = np.empty(len(a) + len(b), a.dtype)
    out[np.arange(len(a)) + np.repeat(b_ptr[:-1], np.diff(a_ptr))] = a
    out[np.arange(len(b)) + np.repeat(a_ptr[1:], np.diff(b_ptr))] = b
    return out


def _both_ways(indptr: Int64, indices: Int32) -> tuple[Int64, Int32]:
    """Every arc and its reverse. Opposite arcs count twice here, which changes no block of three or more
    nodes."""
    back_ptr, back, _ = transposed(indptr, indices, np.arange(len(indices)))
    both = side_by_side(indptr, indices, back_ptr, back)
    return read_only(indptr + back_ptr, np.int64), read_only(both, np.int32)


def _decompose(indptr: Int64, indices: Int32) -> tuple[Int32, Int32, Int32, Int64]:
    """Blocks with at least three nodes: the home block of each node (-1: none), and for each block its
    joint, its first home node and the range of its new node numbers.

    A node's home is the block of the edge above it in a depth-first tree. A block is its home nodes and
    one more, the joint, which is the parent of the first of them. An edge lies in the home of whichever
    end was entered later.
    """
    n = len(indptr) - 1
    entry, block = np.empty(n, np.int32), np.full(n, -1, np.int32)
    count = _core(indptr, indices, block, entry)
    order, above = np.empty(count, np.int32), np.empty(count, np.int32)
    opens, position = np.empty(count, np.bool_), np.empty(count, np.int64)
    _depth_first(indptr, indices, entry, order, above, opens, position, np.empty(count, np.int32))
    joint, head = np.empty(count, np.int32), np.empty(count, np.int32)
    block_ptr = np.zeros(count + 1, np.int64)
    blocks = _number_blocks(order, above, opens, np.empty(count, np.int32), block, joint, head, block_ptr)
    return block, joint[:blocks].copy(), head[:blocks].copy(), np.cumsum(block_ptr[: blocks + 1])


def _locality(
    indptr: Int64, indices: Int32, block: Int32, joint: Int32, head: Int32, block_ptr: Int64
) -> tuple[Int32, Int32]:
    """The nodes in their new order, and the new number of each node in its home block."""
    node, seeds = np.empty(block_ptr[-1], np.int32), np.empty(block_ptr[-1], np.int32)
    label = -2 - block
    waiting = np.zeros(len(block), np.bool_)
    _order(indptr, indices, joint, head, block_ptr, node, label, seeds, waiting)
    return node, label


def _rows(
    indptr: Int64, indices: Int32, block: Int32, joint: Int32, block_ptr: Int64, node: Int32, label: Int32
) -> tuple[Int64, Int32, Int64]:
    """CSR of the blocks and the original position of each of its arcs."""
    is_joint = np.zeros(len(block), np.bool_)
    is_joint[joint] = True
    fill = np.zeros(len(joint), np.int64)
    row_ptr = np.zeros(len(node) + 1, np.int64)
    out, arc = np.empty(len(indices), np.int32), np.empty(len(indices), np.int64)
    size = _emit(indptr, indices, block, joint, is_joint, block_ptr, node, label, fill, row_ptr, out, arc)
    out, arc = out[:size], arc[:size]
    if np.diff(row_ptr).max(initial=0) > SHORT:
        return transposed(*transposed(row_ptr, out, arc))
    _sort_rows(row_ptr, out, arc)
    return row_ptr, out, arc


@kernel
def _core(indptr: Int64, indices: Int32, degree: Int32, entry: Int32) -> int:
    """Peel to the 2-core: ``entry`` becomes 0 inside it and the largest number, "entered last", outside.

    ``degree`` is working space, given and left as -1 everywhere.
    """
    n = len(indptr) - 1
    outside = np.int32(2**31 - 1)
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        entry[v] = 0 if degree[v] > 0 else outside
    for start in range(n):
        v = start
        # A tail is followed to its end at once, so no queue is needed.
        while degree[v] == 1 and entry[v] == 0:
            entry[v] = outside
            for p in range(indptr[v], indptr[v + 1]):
                if entry[indices[p]] == 0:
                    v = indices[p]
                    degree[v] -= 1
                    break
        if degree[v] == 0:
            entry[v] = outside
    count = 0
    for v in range(n):
        count += entry[v] == 0
        degree[v] = -1
    return count


@kernel
def _depth_first(
    indptr: Int64,
    indices: Int32,
    entry: Int32,
    order: Int32,
    above: Int32,
    opens: NDArray[np.bool_],
    position: Int64,
    low: Int32,
) -> None:
    """Depth-first forest of the 2-core. ``order`` lists the nodes as they are entered; by that number,
    from 0, stand the parent in ``above`` (-1 at a root) and in ``opens`` whether the edge from the parent
    opens a new block, that is, whether nothing below it reaches back over the parent. ``entry`` is one
    more than that number.

    ``position`` and ``low`` are the stack: the next arc, and the earliest entry reached so far.
    """
    clock = 0
    for root in range(len(indptr) - 1):
        if entry[root] != 0:
            continue
        v, parent, depth = np.int32(root), -1, -1
        while True:
            # Enter v.
            now = clock
            order[now] = v
            above[now] = parent
            clock += 1
            entry[v] = clock
            depth += 1
            low[depth] = clock
            p = indptr[v]
            child = np.int32(-1)
            while True:
                reach = low[depth]
                end = indptr[v + 1]
                while p < end:
                    w = indices[p]
                    p += 1
                    seen = entry[w]
                    if seen == 0:
                        child = w
                        break
                    reach = min(reach, seen)
                low[depth] = reach
                if child >= 0 or depth == 0:
                    break
                # Leave v for its parent.
                parent = above[now]
                opens[now] = reach > parent
                depth -= 1
                low[depth] = min(low[depth], reach)
                now = parent
                v = order[now]
                p = position[depth]
            if child < 0:
                break
            position[depth] = p
            parent = now
            v = child


@kernel
def _number_blocks(
    order: Int32,
    above: Int32,
    opens: NDArray[np.bool_],
    raw: Int32,
    block: Int32,
    joint: Int32,
    head: Int32,
    sizes: Int64,
) -> int:
    """Number the blocks that are more than a bridge, in order of entry; ``sizes[b + 1]`` is the size of
    block b."""
    total = 0
    for i in range(len(order)):
        if above[i] < 0:
            raw[i] = -1
            continue
        if opens[i]:
            raw[i] = total
            head[total] = i
            joint[total] = 0
            total += 1
        else:
            raw[i] = raw[above[i]]
        joint[raw[i]] += 1
    # So far joint[b] was the number of home nodes; now it becomes the new number of b, and then the joint.
    kept = 0
    for b in range(total):
        if joint[b] > 1:
            sizes[kept + 1] = joint[b] + 1
            joint[b] = kept
            head[kept] = head[b]
            kept += 1
        else:
            joint[b] = -1
    for i in range(len(order)):
        if raw[i] >= 0:
            block[order[i]] = joint[raw[i]]
    for b in range(kept):
        joint[b] = order[above[head[b]]]
        head[b] = order[head[b]]
    return kept


@kernel
def _order(
    indptr: Int64,
    indices: Int32,
    joint: Int32,
    head: Int32,
    block_ptr: Int64,
    node: Int32,
    label: Int32,
    seeds: Int32,
    waiting: NDArray[np.bool_],
) -> None:
    """Number the nodes of each block: the joint first, then the rest as a chain of small breadth-first
    balls.

    Balls keep consecutive nodes within a few steps of each other in both directions of a road network,
    where the levels of a plain breadth-first search are long and thin. The joint is never expanded: it
    may belong to very many blocks, and a block stays connected without it. A label below -1 marks the
    block of a node without number.
    """
    for b in range(len(joint)):
        mine = np.int32(-2 - b)
        size = block_ptr[b]
        node[size] = joint[b]
        size += 1
        seeds[0] = head[b]
        taken, known = 0, 1
        while taken < known:
            seed = seeds[taken]
            taken += 1
            if label[seed] != mine:
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
                    if label[w] != mine:
                        continue
                    if size < full:
                        label[w] = size
                        node[size] = w
                        size += 1
                    elif not waiting[w]:
                        waiting[w] = True
                        seeds[known] = w
                        known += 1


@kernel
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


@kernel
def _transpose(indptr: Int64, indices: Int32, value: Int64, start: Int64, out: Int32, out_value: Int64) -> None:
    """Reverse every arc, with its value, by a counting sort: the rows of the result are sorted."""
    n, m = len(indptr) - 1, len(indices)
    for p in range(m):
        start[indices[p] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    for u in range(n):
        for p in range(indptr[u], indptr[u + 1]):
            q = start[indices[p]]
            start[indices[p]] = q + 1
            out[q] = u
            out_value[q] = value[p]
    for v in range(n, 0, -1):
        start[v] = start[v - 1]
    start[0] = 0


@kernel
def _emit(
    indptr: Int64,
    indices: Int32,
    block: Int32,
    joint: Int32,
    is_joint: NDArray[np.bool_],
    block_ptr: Int64,
    node: Int32,
    label: Int32,
    fill: Int64,
    row_ptr: Int64,
    out: Int32,
    arc: Int64,
) -> int:
    """Write the rows of all blocks. Those of home nodes come straight from the original rows, in order; a
    joint's original row is dealt out among its blocks in one pass, however many they are."""
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
