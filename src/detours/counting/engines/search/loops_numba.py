"""The inner loops of the search engine: one resumable depth-first search for all three questions it answers.

Around each root the search looks for closed walks without repeated nodes: a first arc out of the root, a path, and a
closing arc. What these are depends on the question:

    question            first arcs          steps of the path   closing arcs    nodes of the path
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
    """Where a search may go: rows of first arcs, of closing arcs, and of the steps between them, reversed."""

    first_ptr: Int64
    first: Int32
    first_row: Int32  # row of the counts that belongs to each first arc
    close_ptr: Int64
    close: Int32
    back_ptr: Int64
    back: Int32
    length: Int32  # edges that each arc stands for: all one, unless the three kinds of arcs are the same
    row: Int32
    """Row of the counts that belongs to each closing arc and each step (to a detour only the former
    matter)."""


NODE = np.dtype(
    [
        ("name", np.int32),
        ("distance", np.int32),  # to the root
        ("left", np.int32),  # the same by the closing arcs allowed now; FAR on the path
        ("queued", np.int32),
        ("closer", np.int64),  # first closing arc, or -1
        ("start", np.int64),  # row
        ("end", np.int64),
    ],
    align=True,
)
ARC = np.dtype([("target", np.int32), ("length", np.int32), ("row", np.int32)], align=True)
LEVEL = np.dtype(
    [("node", np.int32), ("left", np.int32), ("row", np.int32), ("depth", np.int32), ("at", np.int64)], align=True
)
STATE = np.dtype(
    [
        ("root", np.int64),  # position among the roots to be searched, -1 before the first
        ("first", np.int64),  # first arc of the closed walks looked for now
        ("level", np.int64),  # of the stack, -1 between two first arcs
        ("size", np.int64),  # nodes of the ball
    ]
)


class Space(NamedTuple):
    """The ball around the root, which is all that a search from there may use, and the search under way.

    Nodes of the ball are numbered by distance to the root, and rows sorted by it.
    """

    local: Int32  # number in the ball of each node of the graph, -1 outside
    within: Int32  # number of nodes up to each distance
    nodes: Records
    arcs: Records
    queue: Int32
    stack: Records
    tally: Int64  # closed walks found below each level of the stack, by length
    state: Records  # one record: where the search is


@compiled
def _bundle(graph: Graph, root: int, longest: int, number: Int64, counts: Int64) -> bool:
    """Where all chains that lead on from a root end at one node, any two of them are a cycle, and there are
    no others: count these, without a search. False if the chains end at several nodes.

    ``number`` is working space, given and left zero.
    """
    first, last = graph.first_ptr[root], graph.first_ptr[root + 1]
    while first < last and graph.first[first] <= root:
        first += 1
    if first < last and graph.first[first] != graph.first[last - 1]:
        return False
    for p in range(first, last):
        number[graph.length[p]] += 1
    for p in range(first, last):
        length = graph.length[p]
        for other in range(max(1, 3 - length), longest - length + 1):
            counts[graph.row[p], length + other - 3] += number[other] - (other == length)
    for p in range(first, last):
        number[graph.length[p]] = 0
    return True


@compiled
def _gather(graph: Graph, space: Space, root: int, mode: int, longest: int) -> int:
    """Collect the ball around a root in order of distance, and its rows, sorted in the same order."""
    local, nodes, arcs = space.local, space.nodes, space.arcs
    floor = -1 if mode == DIRECTED_DETOURS else root
    radius = longest // 2 if mode == CYCLES else longest - 1
    size, room = 0, 0
    for p in range(graph.close_ptr[root], graph.close_ptr[root + 1]):
        v = graph.close[p]
        if v <= floor:
            continue
        i = local[v]
        if i < 0:
            local[v] = size
            node = nodes[size]
            size += 1
            node.name, node.closer, node.distance = v, p, graph.length[p]
            node.start, node.end = room, room
            room += graph.first_ptr[v + 1] - graph.first_ptr[v]
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
                local[a.name], local[b.name] = done, scan
                a.name, b.name = b.name, a.name
                a.distance, b.distance = b.distance, a.distance
                a.closer, b.closer = b.closer, a.closer
                a.start, b.start = b.start, a.start
                a.end, b.end = b.end, a.end
            v = nodes[done].name
            for p in range(graph.back_ptr[v], graph.back_ptr[v + 1]):
                w = graph.back[p]
                if w <= floor or w == root:
                    continue
                i = local[w]
                further = reach + graph.length[p]
                if i < 0:
                    # A long chain may lead to a node that others reach in time, later on.
                    if further > radius and graph.length[p] == 1:
                        continue
                    local[w] = i = size
                    node = nodes[i]
                    size += 1
                    node.name, node.closer, node.distance = w, -1, further
                    node.start, node.end = room, room
                    room += graph.first_ptr[w + 1] - graph.first_ptr[w]
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
        nodes[i].left = FAR if mode == CYCLES else nodes[i].distance
    nodes[size].start = room
    nodes[size].end = room + 1
    return size


@compiled
def _allow(space: Space, source: int, length: int, longest: int) -> None:
    """Allow one more closing arc: lower ``left`` wherever the root is now nearer."""
    nodes, arcs, queue = space.nodes, space.arcs, space.queue
    if length >= nodes[source].left:
        return
    nodes[source].left = length
    queue[0] = source
    taken, waiting = 0, 1
    while waiting > 0:
        node = nodes[queue[taken]]
        taken = taken + 1 if taken + 1 < len(queue) else 0
        waiting -= 1
        node.queued = 0
        for q in range(node.start, node.end):
            further = node.left + arcs[q].length
            other = nodes[arcs[q].target]
            if further < other.left and further + other.distance <= longest:
                other.left = further
                if other.queued == 0:
                    other.queued = 1
                    slot = taken + waiting
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
    """Count the closed walks whose last node this is, ``depth`` edges from the root, ``row`` that of the last step."""
    p, last = node.closer, graph.close_ptr[root + 1]
    while p < last and graph.close[p] == node.name:
        length = depth + graph.length[p]
        if length <= longest and length >= 3 and (mode != CYCLES or p > first):
            tally[length] += 1
            counts[graph.row[p], length - 3] += 1
            if mode != DIRECTED_DETOURS:
                counts[row, length - 3] += 1
        p += 1


@compiled
def _enter(level: Any, arc: Any, node: Any, depth: int) -> None:
    """Put the node at the end of an arc on the path, where it is met no more, at a level of the stack."""
    level.node, level.at, level.depth, level.row = arc.target, node.start, depth, arc.row
    level.left = node.left
    node.left = FAR


@compiled
def _leave(node: Any, here: Any, level: int, longest: int, tally: Int64, counts: Int64, mode: int) -> None:
    """Take a node from the path: the walks found beyond it go through the step to it, and through those before."""
    node.left = here.left
    for length in range(here.depth + 2, longest + 1):
        found = tally[level, length]
        tally[level, length] = 0
        tally[level - 1, length] += found
        if mode != DIRECTED_DETOURS:
            counts[here.row, length - 3] += found


@compiled
def advance(
    graph: Graph, space: Space, mode: int, longest: int, roots: Int64, steps: int, counts: Int64, taken: Int64
) -> int:
    """Search from the roots on until they are done or the steps are used up.

    ``taken[r]`` grows by the steps from root r. Returns the steps left: zero or less if there is more to do, in which
    case the next call goes on from there.

    At the start of a turn of the loop, the search is in one of three states:

        on a path                level >= 0. Level 0 of the stack is the root, the others are the path; the ``left`` of
                                 its nodes is FAR. At each level the arcs before ``at`` are done, and ``tally`` has the
                                 walks found by them, which are not yet counted for the steps up to that level.
        between two first arcs   level < 0. The walks that begin with arc ``first`` or a later one are counted.
        between two roots        level < 0, and no first arc is left, or there is no ball.
    """
    # The path is walked here: a call of a function that is given the graph or the space takes longer than a step.
    nodes, arcs, stack, tally, state = space.nodes, space.arcs, space.stack, space.tally, space.state[0]
    number, first, level, size = state.root, state.first, state.level, state.size
    root, before = roots[max(number, 0)], steps
    while steps > 0:
        if level >= 0:
            here = stack[level]
            depth, grown = here.depth, False
            limit = space.within[longest - depth - 1]
            for q in range(here.at, nodes[here.node].end):
                arc = arcs[q]
                target, further = arc.target, depth + arc.length
                if target >= limit:  # too far from the root, as all others of the row
                    break
                node = nodes[target]
                if further + node.left > longest:
                    continue
                if node.closer >= 0:
                    _close(graph, node, root, first, mode, longest, further, arc.row, tally[level], counts)
                if further + 2 <= longest:
                    here.at = q + 1
                    level += 1
                    _enter(stack[level], arc, node, further)
                    steps -= node.end - node.start
                    grown = True
                    break
            if grown:
                continue
            if level > 0:
                _leave(nodes[here.node], here, level, longest, tally, counts, mode)
            else:
                tally[0, :] = 0
            level -= 1
        elif size > 0 and first > graph.first_ptr[root]:
            # First arcs are taken from the last on; of chains, those done may close the walks of the others.
            if mode == CYCLES and first < graph.first_ptr[root + 1]:
                done = space.local[graph.first[first]]
                if done >= 0:
                    _allow(space, done, graph.length[first], longest)
            first -= 1
            target = space.local[graph.first[first]]
            if target >= 0:
                # The root is one more node of the ball, the last, and this arc is its row.
                level, bottom, arc = 0, stack[0], arcs[nodes[size].start]
                bottom.node, bottom.at, bottom.depth = size, nodes[size].start, 0
                arc.target, arc.length, arc.row = target, graph.length[first], graph.first_row[first]
        else:
            for i in range(size):
                space.local[nodes[i].name] = -1
            size = 0
            taken[max(number, 0)] += before - steps
            before = steps
            number += 1
            if number >= len(roots):
                break
            root = roots[number]
            first = graph.first_ptr[root + 1]
            steps -= 8
            if mode != CYCLES or not _bundle(graph, root, longest, tally[0], counts):
                size = _gather(graph, space, root, mode, longest)
                # About as long as that many steps of the search itself.
                steps -= 3 * nodes[size].start
    if number < len(roots):
        taken[max(number, 0)] += before - steps
    state.root, state.first, state.level, state.size = number, first, level, size
    return steps


@compiled
def spread(counts: Int64, row: Int32, out: Int64) -> None:
    """Give every arc the counts of its row, zeros if it has none and for lengths that no row has."""
    width = counts.shape[1]
    for p in range(len(row)):
        found = row[p]
        for column in range(out.shape[1]):
            out[p, column] = counts[found, column] if found >= 0 and column < width else 0
