"""The depth-first forest of a graph's 2-core, and the biconnected blocks found with it.

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

    A node's home is the block of the edge to its parent in a depth-first tree. A block consists of its home nodes and
    one more, the joint: the parent of the first home node. An edge belongs to the home of the end that was entered
    later; if that end has no home, the edge is on no cycle.
    """

    order: Int32  # nodes of the 2-core in the order of entry
    entry: Int32  # entry time of each node, from 1; the largest int32 outside the 2-core
    degree: Int32  # number of edges on cycles at each node
    block: Int32  # home block of each node, or -1
    joint: Int32  # joint of each block
    head: Int32  # first home node of each block
    block_ptr: Int64  # block b gets the new nodes block_ptr[b] to block_ptr[b + 1]
    arcs: int  # number of arcs on cycles


def depth_first_forest(indptr: Int64, indices: Int32) -> Forest:
    """Find the blocks of a symmetric graph."""
    # Arrays are allocated here: compiled functions that allocate take much longer to compile.
    degree, entry = np.empty((2, len(indptr) - 1), np.int32)
    num_nodes, num_arcs = _core(indptr, indices, degree, entry)
    order, opens_block = np.empty(num_nodes, np.int32), np.empty(num_nodes, np.bool_)
    parents, low, head, joint = np.empty((4, num_nodes), np.int32)
    _depth_first(indptr, indices, entry, order, parents, opens_block, np.empty(num_nodes, np.int64), low)
    block, sizes = np.full_like(degree, -1), np.zeros(num_nodes + 1, np.int64)
    kept, bridges = _number_blocks(order, parents, opens_block, degree, block, joint, head, sizes, home=low)
    joint, head, block_ptr = joint[:kept].copy(), head[:kept].copy(), np.cumsum(sizes[: kept + 1])
    return Forest(order, entry, degree, block, joint, head, block_ptr, num_arcs - 2 * bridges)


@compiled
def _core(indptr: Int64, indices: Int32, degree: Int32, entry: Int32) -> tuple[int, int]:
    """Peel to the 2-core; write the degree and entry of each node, and return the numbers of nodes and arcs left.

    The entry is 0 inside the 2-core, and the largest int32, "entered last", outside.
    """
    n = len(indptr) - 1
    outside = np.int32(2**31 - 1)
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        entry[v] = 0 if degree[v] > 0 else outside
    for start in range(n):
        v = start
        # Tails are followed to the end right away, so no queue is needed.
        while degree[v] == 1 and entry[v] == 0:
            entry[v] = outside
            for p in range(indptr[v], indptr[v + 1]):
                if entry[indices[p]] == 0:
                    v = indices[p]
                    degree[v] -= 1
                    break
        if degree[v] == 0:
            entry[v] = outside
    num_nodes, num_arcs = 0, 0
    for v in range(n):
        if entry[v] == 0:
            num_nodes += 1
            num_arcs += degree[v]
        else:
            degree[v] = 0
    return num_nodes, num_arcs


@compiled
def _depth_first(
    indptr: Int64,
    indices: Int32,
    entry: Int32,
    order: Int32,
    parents: Int32,
    opens_block: Bool,
    next_arc: Int64,
    low: Int32,
) -> None:
    """Build a depth-first forest of the 2-core, and write the entry time of each node to ``entry``, from 1 on.

    Writes, in order of entry, the nodes, the positions of their parents in this order (-1 at a root), and whether the
    edge from the parent opens a new block: whether nothing below it reaches above the parent. ``next_arc`` and ``low``
    are the stack: the next arc, and the earliest entry reached so far.
    """
    clock = 0
    for root in range(len(indptr) - 1):
        if entry[root] != 0:
            continue
        v, parent, depth = np.int32(root), -1, -1
        while True:
            # Enter v.
            position = clock
            order[position] = v
            parents[position] = parent
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
                parent = parents[position]
                opens_block[position] = reach > parent
                depth -= 1
                low[depth] = min(low[depth], reach)
                position = parent
                v = order[position]
                p = next_arc[depth]
            if child < 0:
                break
            next_arc[depth] = p
            parent = position
            v = child


@compiled
def _number_blocks(
    order: Int32,
    parents: Int32,
    opens_block: Bool,
    degree: Int32,
    block: Int32,
    joint: Int32,
    head: Int32,
    sizes: Int64,
    home: Int32,
) -> tuple[int, int]:
    """Number the blocks that are more than a bridge, in order of entry, and subtract bridges from ``degree``.

    Writes the home block of each node that has one, the joint and first home node of each block, and the sizes (that of
    block b at b + 1); ``home`` is scratch space. Returns the numbers of blocks and bridges.
    """
    total = 0
    for i in range(len(order)):
        if parents[i] < 0:
            home[i] = -1
            continue
        if opens_block[i]:
            home[i] = total
            head[total] = i
            joint[total] = 0
            total += 1
        else:
            home[i] = home[parents[i]]
        joint[home[i]] += 1
    # joint[b] holds the number of home nodes of b so far; now it becomes the new index of b, and then the joint.
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
            degree[order[parents[head[b]]]] -= 1
    for i in range(len(order)):
        if home[i] >= 0:
            block[order[i]] = joint[home[i]]
    for b in range(kept):
        joint[b] = order[parents[head[b]]]
        head[b] = order[head[b]]
    return kept, total - kept
