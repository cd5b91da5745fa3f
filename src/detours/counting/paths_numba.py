"""Compiled loops of the search for paths."""

from __future__ import annotations

from detours.arrays import Int32, Int64
from detours.compiled import compiled

FAR = 2**30  # the distance of a node that cannot be reached


@compiled
def breadth_first(
    indptr: Int64, indices: Int32, source: int, limit: int, wall: int, distance: Int32, queue: Int32
) -> None:
    """Write the distances, up to the limit, from the source to the nodes that it reaches without passing the wall."""
    distance[source] = 0
    queue[0] = source
    head, size = 0, 1
    while head < size:
        v = queue[head]
        head += 1
        if v == wall or distance[v] == limit:
            continue
        for p in range(indptr[v], indptr[v + 1]):
            w = indices[p]
            if distance[w] == FAR:
                distance[w] = distance[v] + 1
                queue[size] = w
                size += 1


@compiled
def list_paths(
    indptr: Int64,
    indices: Int32,
    distance: Int32,
    blocked: Int32,
    path: Int32,
    next_arc: Int64,
    saved: Int32,
    state: Int64,
    out: Int32,
    steps: int,
) -> int:
    """Continue the depth-first search for paths of one length until ``out`` is full or the steps are used up.

    ``distance`` is the distance to the end, and FAR for nodes on the path, whose distance is kept in ``saved``. For
    chordless paths, ``blocked`` is the number of nodes of the path, except its last one and the end, that each node is
    adjacent to; otherwise it is empty.
    ``state[0]`` is the level of the search, -1 when it is finished; ``state[1]``, which begins with FAR, is then the
    length that the next longer path has at least. Returns the number of paths found.
    """
    last = len(path) - 1
    end, chordless = path[last], len(blocked) > 0
    level, longer, found = state[0], state[1], 0
    distance[path[0]] = FAR
    while level >= 0 and found < len(out) and steps > 0:
        v, q, budget = path[level], next_arc[level], last - level - 1
        stop = indptr[v + 1]
        steps -= stop - q
        deeper = False
        while q < stop and found < len(out) and not deeper:
            w = indices[q]
            q += 1
            if distance[w] > budget:
                longer = min(longer, level + 1 + distance[w])  # beyond FAR for a node on the path
                continue
            if w == end:
                continue
            if chordless and (blocked[w] > 0 or (budget > 1 and distance[w] == 1)):
                continue
            if budget > 1:
                deeper = True
                continue
            longer = last + 1  # what lies behind w is unknown
            for d in range(level + 1):
                out[found, d] = path[d]
            out[found, level + 1] = w
            out[found, last] = end
            found += 1
        next_arc[level] = q
        if deeper:
            if chordless:
                _block(indptr, indices, blocked, v, 1)
            level += 1
            path[level], next_arc[level] = w, indptr[w]
            saved[level] = distance[w]
            distance[w] = FAR
        elif q == stop:
            distance[v] = saved[level]
            level -= 1
            if chordless and level >= 0:
                _block(indptr, indices, blocked, path[level], -1)
    state[0], state[1] = level, longer
    return found


@compiled
def _block(indptr: Int64, indices: Int32, blocked: Int32, v: int, change: int) -> None:
    for p in range(indptr[v], indptr[v + 1]):
        blocked[indices[p]] += change
