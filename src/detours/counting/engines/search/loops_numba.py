"""The inner loops of the search engine: one resumable depth-first search with three modes.

Around each root the search looks for closed walks without repeated nodes: a first arc out of the root, a path, and a
closing arc. What these are depends on the mode:

    mode                first arcs          steps of the path   closing arcs    nodes of the path
    CYCLES              chains at the root  chains              later chains    after the root
    DIRECTED_CYCLES     arcs out of it      arcs                arcs into it    after the root
    DIRECTED_DETOURS    arcs out of it      arcs                arcs out of it  all but the root

(A detour of i -> j leaves i by another arc and ends where the arc i -> j ends, so it "closes" with that arc.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.compiled import compiled

CYCLES, DIRECTED_CYCLES, DIRECTED_DETOURS = 0, 1, 2
FAR = 2**30
Records = NDArray[Any]


class Graph(NamedTuple):
    """The arcs of a search: rows of first arcs, of closing arcs, and of the reversed steps between them."""

    first_ptr: Int64
    first: Int32
    first_row: Int32  # row of the counts that belongs to each first arc
    close_ptr: Int64
    close: Int32
    back_ptr: Int64
    back: Int32
    length: Int32  # edges per arc: all one, unless the three kinds of arcs are the same
    row: Int32
    """Row of the counts that belongs to each closing arc and each step; detours use only the former."""


NODE = np.dtype(
    [
        ("node_id", np.int32),  # in the graph
        ("distance", np.int32),  # to the root
        ("remaining", np.int32),  # distance to the root by the closing arcs allowed now; FAR on the path
        ("queued", np.int32),
        ("closing", np.int64),  # first closing arc, or -1
        ("start", np.int64),  # row of arcs
        ("end", np.int64),
    ],
    align=True,
)
ARC = np.dtype([("target", np.int32), ("length", np.int32), ("row", np.int32)], align=True)
LEVEL = np.dtype(
    [
        ("node", np.int32),
        ("remaining", np.int32),  # of the node before it was on the path
        ("row", np.int32),
        ("depth", np.int32),
        ("next_arc", np.int64),
    ],
    align=True,
)
STATE = np.dtype(
    [
        ("root", np.int64),  # index into the roots to be searched, -1 before the first
        ("first", np.int64),  # first arc of the current closed walks
        ("level", np.int64),  # of the stack, -1 between two first arcs
        ("size", np.int64),  # nodes of the ball
    ]
)


class Space(NamedTuple):
    """The ball around the root, which contains all walks from there, and the state of the search.

    Nodes of the ball are numbered by distance to the root, and rows are sorted by it.
    """

    local: Int32  # index in the ball of each node of the graph, -1 outside
    within: Int32  # number of nodes up to each distance
    nodes: Records
    arcs: Records
    queue: Int32
    stack: Records
    tally: Int64  # closed walks found below each level of the stack, by length
    state: Records  # one record: the position of the search


@compiled
def _count_bundle(graph: Graph, root: int, longest: int, num_of_length: Int64, counts: Int64) -> bool:
    """If all chains from a root to later nodes end at the same node, any two of them form a cycle, and there are no
    others: count these without a search. Returns False if the chains end at several nodes.

    ``num_of_length`` is scratch space, zero on entry and on return.
    """
    first, last = graph.first_ptr[root], graph.first_ptr[root + 1]
    while first < last and graph.first[first] <= root:
        first += 1
    if first < last and graph.first[first] != graph.first[last - 1]:
        return False
    for p in range(first, last):
        num_of_length[graph.length[p]] += 1
    for p in range(first, last):
        length = graph.length[p]
        for other in range(max(1, 3 - length), longest - length + 1):
            counts[graph.row[p], length + other - 3] += num_of_length[other] - (other == length)
    for p in range(first, last):
        num_of_length[graph.length[p]] = 0
    return True


@compiled
def _gather(graph: Graph, space: Space, root: int, mode: int, longest: int) -> int:
    """Collect the ball around a root in order of distance, and its rows, sorted in this order."""
    local, nodes, arcs = space.local, space.nodes, space.arcs
    lowest = -1 if mode == DIRECTED_DETOURS else root
    radius = longest // 2 if mode == CYCLES else longest - 1
    size, offset = 0, 0
    for p in range(graph.close_ptr[root], graph.close_ptr[root + 1]):
        v = graph.close[p]
        if v <= lowest:
            continue
        i = local[v]
        if i < 0:
            local[v] = size
            node = nodes[size]
            size += 1
            node.node_id, node.closing, node.distance = v, p, graph.length[p]
            node.start, node.end = offset, offset
            offset += graph.first_ptr[v + 1] - graph.first_ptr[v]
        elif graph.length[p] < nodes[i].distance:
            nodes[i].distance = graph.length[p]
    done = 0
    space.within[0] = 0
    for reach in range(1, radius + 1):
        scan = done
        while scan < size:
            if nodes[scan].distance != reach:
                scan += 1
                continue
            if scan != done:
                a, b = nodes[scan], nodes[done]
                local[a.node_id], local[b.node_id] = done, scan
                a.node_id, b.node_id = b.node_id, a.node_id
                a.distance, b.distance = b.distance, a.distance
                a.closing, b.closing = b.closing, a.closing
                a.start, b.start = b.start, a.start
                a.end, b.end = b.end, a.end
            v = nodes[done].node_id
            for p in range(graph.back_ptr[v], graph.back_ptr[v + 1]):
                w = graph.back[p]
                if w <= lowest or w == root:
                    continue
                i = local[w]
                further = reach + graph.length[p]
                if i < 0:
                    # A node behind a long chain may still be reached by a shorter way later.
                    if further > radius and graph.length[p] == 1:
                        continue
                    local[w] = i = size
                    node = nodes[i]
                    size += 1
                    node.node_id, node.closing, node.distance = w, -1, further
                    node.start, node.end = offset, offset
                    offset += graph.first_ptr[w + 1] - graph.first_ptr[w]
                node = nodes[i]
                if further < node.distance:
                    node.distance = further
                arc = arcs[node.end]
                node.end += 1
                arc.target = done
                arc.length = graph.length[p]
                arc.row = graph.row[p]
            done += 1
            scan += 1
        space.within[reach] = done
    for reach in range(radius + 1, longest + 1):
        space.within[reach] = done
    for i in range(size):
        nodes[i].remaining = FAR if mode == CYCLES else nodes[i].distance
    nodes[size].start = offset
    nodes[size].end = offset + 1
    return size


@compiled
def _allow(space: Space, source: int, length: int, longest: int) -> None:
    """Allow one more closing arc: lower ``remaining`` where it brings the root nearer."""
    nodes, arcs, queue = space.nodes, space.arcs, space.queue
    if length >= nodes[source].remaining:
        return
    nodes[source].remaining = length
    queue[0] = source
    head, waiting = 0, 1
    while waiting > 0:
        node = nodes[queue[head]]
        head = head + 1 if head + 1 < len(queue) else 0
        waiting -= 1
        node.queued = 0
        for q in range(node.start, node.end):
            further = node.remaining + arcs[q].length
            other = nodes[arcs[q].target]
            if further < other.remaining and further + other.distance <= longest:
                other.remaining = further
                if other.queued == 0:
                    other.queued = 1
                    slot = head + waiting
                    queue[slot if slot < len(queue) else slot - len(queue)] = arcs[q].target
                    waiting += 1


@compiled
def _close(
    graph: Graph,
    node: Any,
    root: int,
    first: int,
    mode: int,
    longest: int,
    depth: int,
    row: int,
    tally: Int64,
    counts: Int64,
) -> None:
    """Count the closed walks with this last node, ``depth`` edges from the root; ``row`` is that of the last step."""
    p, last = node.closing, graph.close_ptr[root + 1]
    while p < last and graph.close[p] == node.node_id:
        length = depth + graph.length[p]
        if length <= longest and length >= 3 and (mode != CYCLES or p > first):
            tally[length] += 1
            counts[graph.row[p], length - 3] += 1
            if mode != DIRECTED_DETOURS:
                counts[row, length - 3] += 1
        p += 1


@compiled
def _enter(level: Any, arc: Any, node: Any, depth: int) -> None:
    """Push the node at the end of an arc onto the path, at a level of the stack, and make it unreachable."""
    level.node, level.next_arc, level.depth, level.row = arc.target, node.start, depth, arc.row
    level.remaining = node.remaining
    node.remaining = FAR


@compiled
def _leave(node: Any, top: Any, level: int, longest: int, tally: Int64, counts: Int64, mode: int) -> None:
    """Pop a node from the path: the walks found beyond it use the step to it, and the steps before."""
    node.remaining = top.remaining
    for length in range(top.depth + 2, longest + 1):
        found = tally[level, length]
        tally[level, length] = 0
        tally[level - 1, length] += found
        if mode != DIRECTED_DETOURS:
            counts[top.row, length - 3] += found


@compiled
def advance(
    graph: Graph, space: Space, mode: int, longest: int, roots: Int64, steps: int, counts: Int64, steps_of_root: Int64
) -> int:
    """Search from the roots until all are done or the steps are used up.

    Adds the steps from root r to ``steps_of_root[r]``. Returns the steps left: zero or less if there is more to do, in
    which case the next call resumes the search.

    At the start of an iteration, the search is in one of three states:

        on a path                level >= 0. Level 0 of the stack is the root, the others are the path; its nodes have
                                 ``remaining`` = FAR. At each level the arcs before ``next_arc`` are done, and ``tally``
                                 has the walks found by them, not yet counted for the steps up to that level.
        between two first arcs   level < 0. The walks that start with arc ``first`` or a later one are counted.
        between two roots        level < 0, and no first arc is left, or there is no ball.
    """
    # The path is extended inline: calling a function with the graph or the space takes longer than a step.
    nodes, arcs, stack, tally, state = space.nodes, space.arcs, space.stack, space.tally, space.state[0]
    root_index, first, level, size = state.root, state.first, state.level, state.size
    root, steps_before = roots[max(root_index, 0)], steps
    while steps > 0:
        if level >= 0:
            top = stack[level]
            depth, extended = top.depth, False
            limit = space.within[longest - depth - 1]
            for q in range(top.next_arc, nodes[top.node].end):
                arc = arcs[q]
                target, further = arc.target, depth + arc.length
                if target >= limit:  # too far from the root, like the rest of the row
                    break
                node = nodes[target]
                if further + node.remaining > longest:
                    continue
                if node.closing >= 0:
                    _close(graph, node, root, first, mode, longest, further, arc.row, tally[level], counts)
                if further + 2 <= longest:
                    top.next_arc = q + 1
                    level += 1
                    _enter(stack[level], arc, node, further)
                    steps -= node.end - node.start
                    extended = True
                    break
            if extended:
                continue
            if level > 0:
                _leave(nodes[top.node], top, level, longest, tally, counts, mode)
            else:
                tally[0, :] = 0
            level -= 1
        elif size > 0 and first > graph.first_ptr[root]:
            # First arcs are taken from last to first; chains that are done may close the walks of the others.
            if mode == CYCLES and first < graph.first_ptr[root + 1]:
                done = space.local[graph.first[first]]
                if done >= 0:
                    _allow(space, done, graph.length[first], longest)
            first -= 1
            target = space.local[graph.first[first]]
            if target >= 0:
                # The root is one more node of the ball, the last, with this arc as its row.
                level, bottom, arc = 0, stack[0], arcs[nodes[size].start]
                bottom.node, bottom.next_arc, bottom.depth = size, nodes[size].start, 0
                arc.target, arc.length, arc.row = target, graph.length[first], graph.first_row[first]
        else:
            for i in range(size):
                space.local[nodes[i].node_id] = -1
            size = 0
            steps_of_root[max(root_index, 0)] += steps_before - steps
            steps_before = steps
            root_index += 1
            if root_index >= len(roots):
                break
            root = roots[root_index]
            first = graph.first_ptr[root + 1]
            steps -= 8
            if mode != CYCLES or not _count_bundle(graph, root, longest, tally[0], counts):
                size = _gather(graph, space, root, mode, longest)
                # This takes about as long as that many steps of the search.
                steps -= 3 * nodes[size].start
    if root_index < len(roots):
        steps_of_root[max(root_index, 0)] += steps_before - steps
    state.root, state.first, state.level, state.size = root_index, first, level, size
    return steps


@compiled
def spread(counts: Int64, row: Int32, out: Int64) -> None:
    """Write to every arc the counts of its row; zeros if it has no row, and for lengths beyond the rows."""
    width = counts.shape[1]
    for p in range(len(row)):
        found = row[p]
        for column in range(out.shape[1]):
            out[p, column] = counts[found, column] if found >= 0 and column < width else 0
