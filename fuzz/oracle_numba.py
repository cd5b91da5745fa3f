"""Detours by plain depth-first search: shares nothing with the library but Numba."""

import numpy as np
from numba import njit


@njit(cache=True)
def count_paths(num_nodes, source, target, k, chordless):
    """int64 [n, n, k - 1]: the simple paths i -> j of length 2 .. k; chordless ones only if asked for.

    ``source`` and ``target`` are arcs without loops and repeats. A path is chordless if the arcs between its nodes are
    its own, and perhaps the one between its ends.
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
            if closing:  # a longer path would have the chord from its beginning to this node
                continue
            depth += 1
            path[depth], tried[depth] = node, 0
            on_path[node] = True
    return found
