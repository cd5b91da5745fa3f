"""Detours by plain depth-first search, sharing no code with the library."""

import numpy as np
from numba import njit


@njit(cache=True)
def count_paths(num_nodes, source, target, k, chordless):
    """int64 [n, n, k - 1]: the number of simple paths i -> j of length 2 .. k, with ``chordless`` only chordless ones.

    ``source`` and ``target`` are arcs without loops and duplicates. A path is chordless if the only arcs between its
    nodes are those of the path and perhaps one between its ends.
    """
    adjacent = np.zeros((num_nodes, num_nodes), np.bool_)
    for a in range(len(source)):
        adjacent[source[a], target[a]] = True
    found = np.zeros((num_nodes, num_nodes, k - 1), np.int64)
    path = np.empty(k + 1, np.int64)
    tried = np.empty(k + 1, np.int64)
    on_path = np.zeros(num_nodes, np.bool_)
    for root in range(num_nodes):
        path[0], tried[0], depth = root, 0, 0
        on_path[root] = True
        while depth >= 0:
            node = tried[depth]
            if node == num_nodes or depth == k:
                on_path[path[depth]] = False
                depth -= 1
                continue
            tried[depth] += 1
            if not adjacent[path[depth], node] or on_path[node]:
                continue
            chords, closing = 0, 0
            if chordless:
                for earlier in range(depth):
                    if adjacent[path[earlier], node]:
                        if earlier == 0:
                            closing = 1
                        else:
                            chords += 1
            if chords:
                continue
            if depth >= 1:
                found[root, node, depth - 1] += 1
            if closing:  # in a longer path, the arc from its first node to this one would be a chord
                continue
            depth += 1
            path[depth], tried[depth] = node, 0
            on_path[node] = True
    return found
