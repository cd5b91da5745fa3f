"""The compiled search for cycles: all simple cycles or the chordless ones, listed or counted by edge.

Every cycle is found from its first node, the root: a path from the root through later nodes to a node that has an arc
back to the root. A path is abandoned where the root cannot be reached within the remaining length and, for chordless
cycles, at a node that is adjacent to an inner node of the path.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled

FAR = 2**30
"""The distance of a node that no cycle through the root can use now: too far away, before the root, or on the path."""
ROOT, END, LEVEL, BALL = range(4)
"""Indices into `Space.state`."""


class Graph(NamedTuple):
    """The rows of arcs and of reversed arcs, which are the same for an undirected graph."""

    indptr: Int64
    indices: Int32
    back_ptr: Int64
    back: Int32
    row: Int32
    """The row of the counts of each arc; empty if cycles are listed."""


class Rules(NamedTuple):
    """Which cycles to find."""

    longest: int
    directed: bool
    chordless: bool
    any_start: bool
    """Whether all cycles through a root start there, not only those without an earlier node."""


class Space(NamedTuple):
    """The state of a search: the ball around the root, and the path."""

    distance: Int32
    """Steps from each node to the root."""
    closing: Int32
    """The row of the counts of the arc from each neighbour back to the root."""
    blocked: Int32
    """The number of inner nodes of the path, except the last, that each node is adjacent to."""
    ball: Int32
    """The nodes with a distance, in the order in which they were found."""
    path: Int32
    next_arc: Int64
    """The next arc to try at each level of the path."""
    saved: Int32
    """The distance of each node of the path, which is set to FAR meanwhile."""
    tally: Int64
    """Cycles found below each level of the path, by length."""
    state: Int64


def new_space(num_nodes: int, longest: int, counting: bool) -> Space:
    """Return the initial state of a search."""
    tally = np.zeros((longest + 1, longest + 1) if counting else (1, 1), np.int64)
    return Space(
        distance=np.full(num_nodes, FAR, np.int32),
        closing=np.zeros(num_nodes, np.int32),
        blocked=np.zeros(num_nodes, np.int32),
        ball=np.empty(num_nodes, np.int32),
        path=np.empty(longest, np.int32),
        next_arc=np.empty(longest, np.int64),
        saved=np.empty(longest, np.int32),
        tally=tally,
        state=np.zeros(4, np.int64),
    )


def begin(space: Space, first: int, last: int) -> None:
    """Have the next call of `advance` start with the root ``first`` and end before ``last``."""
    space.state[:BALL] = first - 1, last, -1


@compiled
def _surround(graph: Graph, space: Space, rules: Rules, root: int, counting: bool) -> int:
    """Find the nodes that cycles through the root may visit, with their distances; return the number of arcs seen.

    A node of an undirected cycle is at most half its length away from the root.
    """
    distance, ball = space.distance, space.ball
    for i in range(space.state[BALL]):
        distance[ball[i]] = FAR
    radius = rules.longest - 1 if rules.directed else rules.longest // 2
    floor = -1 if rules.any_start else root
    first, last, size, seen = 0, 0, 0, 0
    for steps in range(1, radius + 1):
        for i in range(first, max(last, 1)):
            v = root if steps == 1 else ball[i]
            seen += graph.back_ptr[v + 1] - graph.back_ptr[v]
            for p in range(graph.back_ptr[v], graph.back_ptr[v + 1]):
                w = graph.back[p]
                if w <= floor or w == root or distance[w] < FAR:
                    continue
                distance[w] = steps
                ball[size] = w
                size += 1
                if counting and steps == 1:
                    space.closing[w] = graph.row[p]
        first, last = last, size
        if first == last:
            break
    space.state[BALL] = size
    return seen


@compiled
def _add_up(tally: Int64, counts: Int64, level: int, row: int, longest: int) -> None:
    """Add the cycles found beyond a level of the path to the arc that leads to it."""
    for length in range(level + 2, longest + 1):
        count = tally[level, length]
        tally[level, length] = 0
        tally[level - 1, length] += count
        counts[row, length - 3] += count


@compiled
def advance(graph: Graph, space: Space, rules: Rules, steps: int, counts: Int64, out: Int32) -> tuple[int, int]:
    """Search from the roots that `begin` set until they are done, the steps are used up or ``out`` is full.

    If ``counts`` is not empty, cycles are counted for each of their arcs; otherwise they are written to the rows of
    ``out``, with their length in the last column. Returns the steps left, 0 or less if the search is not done, and the
    number of cycles written. The next call continues from there.
    """
    indptr, indices, arc_row, longest = graph.indptr, graph.indices, graph.row, rules.longest
    path, next_arc, distance, blocked, tally = space.path, space.next_arc, space.distance, space.blocked, space.tally
    chordless, directed, counting = rules.chordless, rules.directed, len(counts) > 0
    root, level, found = space.state[ROOT], space.state[LEVEL], 0
    while steps > 0:
        if level < 0:
            root += 1
            if root >= space.state[END]:
                break
            stop = indptr[root + 1]
            steps -= 1
            # An undirected cycle leaves the root by one arc and comes back by a later one.
            if not directed and (stop - indptr[root] < 2 or (indices[stop - 2] <= root and not rules.any_start)):
                continue
            level, path[0], next_arc[0] = 0, root, indptr[root]
            steps -= 8 + _surround(graph, space, rules, root, counting)
        v, q, depth = path[level], next_arc[level], level + 1
        stop, deeper = indptr[v + 1] - (level == 0 and not directed), False
        steps -= 1 + stop - q
        while q < stop:
            w = indices[q]
            away = distance[w]
            if depth + away > longest or (chordless and blocked[w] > 0):
                q += 1
                continue
            if level > 0 and away == 1 and (directed or w > path[1]):
                if counting:
                    counts[arc_row[q], depth - 2] += 1
                    counts[space.closing[w], depth - 2] += 1
                    tally[level, depth + 1] += 1
                elif found == len(out):
                    break
                else:
                    for d in range(depth):
                        out[found, d] = path[d]
                    out[found, depth] = w
                    out[found, longest] = depth + 1
                    found += 1
            q += 1
            if depth + 2 <= longest and not (chordless and level > 0 and away == 1):
                deeper = True
                break
        next_arc[level] = q
        if deeper:
            if chordless and level > 0:
                for p in range(indptr[v], indptr[v + 1]):
                    blocked[indices[p]] += 1
            level += 1
            path[level], next_arc[level], space.saved[level] = w, indptr[w], away
            distance[w] = FAR
        elif q < stop:
            steps = 0  # out is full
        else:
            if level > 0:
                distance[v] = space.saved[level]
                if counting:
                    _add_up(tally, counts, level, arc_row[next_arc[level - 1] - 1], longest)
            level -= 1
            if chordless and level > 0:
                v = path[level]
                for p in range(indptr[v], indptr[v + 1]):
                    blocked[indices[p]] -= 1
    space.state[ROOT], space.state[LEVEL] = root, level
    return steps, found
