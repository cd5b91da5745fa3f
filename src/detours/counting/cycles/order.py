"""Reordering the nodes of the arcs on cycles: a search finds every cycle from its first node."""

from __future__ import annotations

import numpy as np

from detours.arrays import Int32, Int64, read_only
from detours.counting.shrink.csr import transpose
from detours.counting.shrink.cyclic_part import Reduced

HUB = 8
"""Nodes are ordered by degree in steps of this size; those of lower degree stay near their neighbours."""

Rows = tuple[Int64, Int32, Int64]
"""A CSR with sorted rows, and the index of each of its arcs in the original one."""


def hubs_first(reduced: Reduced) -> Rows:
    """Return the rows of the nodes by descending degree: searches from later roots then leave out the hubs."""
    steps = np.diff(reduced.indptr) // HUB
    if not steps.any():
        return _read_only(reduced.indptr, reduced.indices, reduced.arc)
    return reorder(reduced, np.argsort(-steps, kind="stable"))


def reorder(reduced: Reduced, order: Int64) -> Rows:
    """Return the rows of the nodes in this order, each sorted, and the index of each arc in the original CSR.

    >>> from detours.counting.shrink.cyclic_part import reduce
    >>> triangle = reduce(np.array([0, 2, 4, 6]), np.array([1, 2, 0, 2, 0, 1]))
    >>> triangle.node, reorder(triangle, np.array([2, 1, 0]))[2]
    (array([0, 1, 2], dtype=int32), array([5, 4, 3, 2, 1, 0]))
    """
    degree = np.diff(reduced.indptr)[order]
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    indptr = np.concatenate([[0], np.cumsum(degree)])
    from_old = np.arange(indptr[-1]) + np.repeat(reduced.indptr[order] - indptr[:-1], degree)
    rows = indptr, rank[reduced.indices[from_old]], reduced.arc[from_old]
    return _read_only(*transpose(*transpose(*rows)))  # sorts every row


def _read_only(indptr: Int64, indices: Int32, arc: Int64) -> Rows:
    return read_only(indptr, np.int64), read_only(indices, np.int32), read_only(arc, np.int64)
