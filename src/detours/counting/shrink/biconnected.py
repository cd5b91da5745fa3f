"""The depth-first forest of a graph's 2-core, and the biconnected blocks it shows.

Two ends of an edge are joined by a detour only if the edge lies on a cycle of the underlying undirected
graph, and a cycle never leaves its biconnected block. So trees and bridges hold no detours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled


class Forest(NamedTuple):
    """Blocks with at least three nodes.

    A node's home is the block of the edge above it in a depth-first tree. A block is its home nodes and one more, the
    joint, which is the parent of the first of them. An edge lies in the home of whichever end was entered later; where
    that end has no home, the edge is on no cycle.
    """

    order: Int32  # the nodes of the 2-core as they were entered
    entry: Int32  # when each node was entered; the largest number outside the 2-core
    degree: Int32  # edges on cycles at each node
    block: Int32  # home block of each node, or -1
    joint: Int32  # joint of each block
    head: Int32  # first home node of each block
    block_ptr: Int64  # range of the new node numbers of each block
    arcs: int  # arcs on cycles


def grow(indptr: Int64, indices: Int32) -> Forest:
    """Find the blocks of a symmetric graph."""
    # Arrays are made here: functions that make their own take much longer to compile.
    degree, entry = np.empty((2, len(indptr) - 1), np.int32)
    nodes, arcs = _core(indptr, indices, degree, entry)
    order, opens = np.empty(nodes, np.int32), np.empty(nodes, np.bool_)
    above, low, head, joint = np.empty((4, nodes), np.int32)
    _depth_first(indptr, indices, entry, order, above, opens, np.empty(nodes, np.int64), low)
    block, sizes = np.full_like(degree, -1), np.zeros(nodes + 1, np.int64)
    kept, bridges = _number_blocks(order, above, opens, degree, block, joint, head, sizes, raw=low)
    joint, head, block_ptr = joint[:kept].copy(), head[:kept].copy(), np.cumsum(sizes[: kept + 1])
    return Forest(order, entry, degree, block, joint, head, block_ptr, arcs - 2 * bridges)


@compiled
def _core(indptr: Int64, indices: Int32, degree: Int32, entry: Int32) -> tuple[int, int]:
    """Peel to the 2-core; write the degree of each node inside it and its entry, and return how many nodes and arcs.

    The entry is 0 inside the 2-core, and the largest number, "entered last", outside.
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
    indptr: Int64, indices: Int32, entry: Int32, order: Int32, above: Int32, opens: Bool, position: Int64, low: Int32
) -> None:
    """Build a depth-first forest of the 2-core, and write to ``entry`` when each node is entered, from 1 on.

    Writes, in the order of entering, the nodes, the position of their parents (-1 at a root), and whether the edge
    from the parent opens a new block: whether nothing below it reaches back over the parent. ``position`` and ``low``
    are the stack: the next arc, and the earliest entry reached so far.
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
    opens: Bool,
    degree: Int32,
    block: Int32,
    joint: Int32,
    head: Int32,
    sizes: Int64,
    raw: Int32,
) -> tuple[int, int]:
    """Number the blocks that are more than a bridge, in order of entry; bridges no longer count in ``degree``.

    Writes the home block of each node that has one, the joint and first home node of each block, and the sizes (that of
    block b at b + 1); ``raw`` is for scratch. Returns the numbers of blocks and bridges.
    """
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
