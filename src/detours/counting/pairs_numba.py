"""The depth-first search that counts paths from some nodes to all others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled

STATE = np.dtype([("source", np.int64), ("level", np.int64)])  # the current source; the level, -1 between two sources


@compiled
def walk_paths(
    indptr: Int64,
    indices: Int32,
    sources: Int64,
    path: Int32,
    next_arc: Int64,
    on_path: Bool,
    state: NDArray[Any],
    counts: Int64,
    steps: int,
) -> None:
    """Continue the search from the sources, one after the other, for about ``steps`` steps.

    Every path met is counted, so no step is wasted. ``path`` holds all nodes but the last two, which are counted
    without being stored, and ``next_arc`` the next arc of each.
    """
    current, level = state[0].source, state[0].level
    last = len(path) - 1
    while steps > 0:
        if level < 0:
            current += 1
            if current == len(sources):
                break
            level = 0
            path[0] = sources[current]
            next_arc[0] = indptr[path[0]]
            on_path[path[0]] = True
        source, v = path[0], path[level]
        stop = indptr[v + 1]
        steps -= 1
        if level == last:
            for p in range(next_arc[level], stop):
                w = indices[p]
                if on_path[w]:
                    continue
                if level > 0:
                    counts[source, w, level - 1] += 1
                for q in range(indptr[w], indptr[w + 1]):
                    if not on_path[indices[q]]:
                        counts[source, indices[q], level] += 1
                steps -= indptr[w + 1] - indptr[w]
            next_arc[level] = stop
        if next_arc[level] == stop:
            on_path[v] = False
            level -= 1
            continue
        w = indices[next_arc[level]]
        next_arc[level] += 1
        if not on_path[w]:
            if level > 0:
                counts[source, w, level - 1] += 1
            level += 1
            path[level], next_arc[level] = w, indptr[w]
            on_path[w] = True
    state[0].source, state[0].level = current, level
