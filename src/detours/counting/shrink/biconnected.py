"""The depth-first forest of a graph's 2-core, and the biconnected blocks it shows.

Two ends of an edge are joined by a detour only if the edge lies on a cycle of the underlying undirected
graph, and a cycle never leaves its biconnected block. So trees and bridges hold no detours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.compiled import compiled


class Forest(NamedTuple):
    """Blocks with at least three nodes.

    A node's home is the block of the edge above it in a depth-first tree. A block is its home nodes and
    one more, the joint, which is the parent of the first of them. An edge lies in the home of whichever
    end was entered later; where that end has no home, the edge is on no cycle.
    """

    order: Int32
    """The nodes of the 2-core as they were entered."""
    entry: Int32
    """When each node was entered; the largest number outside the 2-core."""
    degree: Int32
    """Edges on cycles at each node."""
    block: Int32
    """Home block of each node, or -1."""
    joint: Int32
    """Joint of each block."""
    head: Int32
    """First home node of each block."""
    block_ptr: Int64
    """Range of the new node numbers of each block."""
    arcs: int
    """Arcs on cycles."""


def grow(indptr: Int64, indices: Int32) -> Forest:
    """Find the blocks of a symmetric graph."""
    n = len(indptr) - 1
    entry, degree, block = np.empty(n, np.int32), np.empty(n, np.int32), np.full(n, -1, np.int32)
    count, arcs = _core(indptr, indices, degree, entry)
    order, above = np.empty(count, np.int32), np.empty(count, np.int32)
    opens, position = np.empty(count, np.bool_), np.empty(count, np.int64)
    _depth_first(indptr, indices, entry, order, above, opens, position, np.empty(count, np.int32))
    joint, head = np.empty(count, np.int32), np.empty(count, np.int32)
    sizes = np.zeros(count + 1, np.int64)
    raw = np.empty(count, np.int32)
    blocks, bridges = _number_blocks(order, above, opens, raw, degree, block, joint, head, sizes)
    block_ptr = np.cumsum(sizes[: blocks + 1])
    return Forest(
        order, entry, degree, block, joint[:blocks].copy(), head[:blocks].copy(), block_ptr, arcs - 2 * bridges
    )


@compiled
def _core(indptr: Int64, indices: Int32, degree: Int32, entry: Int32) -> tuple[int, int]:
    """Peel to the 2-core: ``entry`` becomes 0 inside it and the largest number, "entered last", outside;
    ``degree`` counts neighbours inside. Returns the numbers of nodes and arcs inside.
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
    nodes, arcs = 0, 0
    for v in range(n):
        if entry[v] == 0:
            nodes += 1
            arcs += degree[v]
        else:
            degree[v] = 0
    return nodes, arcs


@compiled
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


@compiled
def _number_blocks(
    order: Int32,
    above: Int32,
    opens: NDArray[np.bool_],
    raw: Int32,
    degree: Int32,
    block: Int32,
    joint: Int32,
    head: Int32,
    sizes: Int64,
) -> tuple[int, int]:
    """Number the blocks that are more than a bridge, in order of entry; ``sizes[b + 1]`` is the size of
    block b. Bridges no longer count in ``degree``. Returns the numbers of blocks and of bridges."""
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
            degree[order[head[b]]] -= 1
            degree[order[above[head[b]]]] -= 1
    for i in range(len(order)):
        if raw[i] >= 0:
            block[order[i]] = joint[raw[i]]
    for b in range(kept):
        joint[b] = order[above[head[b]]]
        head[b] = order[head[b]]
    return kept, total - kept
