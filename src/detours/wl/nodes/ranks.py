"""Number integer vectors by rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.wl.nodes.sort_numba import Rows, number_rows, sort_rows


def rank_vectors(vectors: NDArray[Any]) -> tuple[Int32, Int64]:
    """Return the rank of each row of an integer table among its distinct rows, and the distinct rows in order.

    >>> rank, distinct = rank_vectors(np.array([[3, 1], [0, 2], [3, 1]]))
    >>> rank.tolist(), distinct.tolist()
    ([1, 0, 1], [[0, 2], [3, 1]])
    """
    # Plain writable arrays, as the rounds use them: the loops are then compiled once.
    values = np.array(vectors, dtype=np.int64, order="C")
    count, width = values.shape
    if count == 0:
        return np.empty(0, np.int32), values
    if width == 1 and values.min() >= 0 and values.max() < 4 * count:
        return _rank_small(values[:, 0])
    order = np.arange(count, dtype=np.int32)
    rows = Rows(np.arange(count, dtype=np.int64) * width, np.full(count, width, np.int32), values.ravel())
    fresh = np.zeros(count, np.bool_)
    entries = values[:, 0].copy() if width else np.empty(count, np.int64)
    found = sort_rows(order, 0, count, rows, entries, fresh)
    rank, first = number_rows(order, fresh, found)
    return rank, values[first]


def _rank_small(values: Int64) -> tuple[Int32, Int64]:
    """Rank single integers in a small range by a table of the whole range, which is faster than sorting."""
    present = np.zeros(values.max() + 1, np.bool_)
    present[values] = True
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return rank[values], np.flatnonzero(present)[:, None]
