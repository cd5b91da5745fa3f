"""The length of the shortest cycle through every arc and node, as far as cycles were counted."""

from __future__ import annotations

import numpy as np

from detours.arrays import Int64


def shortest_through_arcs(arc_cycles: Int64) -> Int64:
    """Return the length of the shortest cycle of each arc, 0 for none, from its cycles of 3 and more edges.

    >>> shortest_through_arcs(np.array([[0, 2], [0, 0], [1, 0]])).tolist()
    [4, 0, 3]
    """
    mask = arc_cycles > 0
    return np.where(mask.any(axis=1), mask.argmax(axis=1) + 3, 0)


def shortest_through_nodes(arc_shortest: Int64, indptr: Int64) -> Int64:
    """Return the length of the shortest cycle of each node over its arcs ``indptr[v]:indptr[v + 1]``, 0 for none.

    >>> shortest_through_nodes(np.array([4, 0, 3]), np.array([0, 2, 2, 3])).tolist()
    [4, 0, 3]
    """
    none = np.iinfo(np.int64).max
    shortest, nonempty = np.full(len(indptr) - 1, none), np.flatnonzero(np.diff(indptr))
    if len(nonempty):
        shortest[nonempty] = np.minimum.reduceat(np.where(arc_shortest > 0, arc_shortest, none), indptr[nonempty])
    return np.where(shortest < none, shortest, 0)
