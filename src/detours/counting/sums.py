"""Sums of counts that never wrap: they are exact, or raise an `OverflowError`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from detours.arrays import Int64

LARGEST = 2**63 - 1
ROWS = 1 << 18  # rows added up at a time: counts may be memory-mapped and not fit in memory


def sum_rows(values: Int64, message: str) -> Int64:
    """Return the sum of each row of non-negative values, or raise `OverflowError` with this message.

    >>> sum_rows(np.array([[1, 2], [3, 4]]), "too large").tolist()
    [3, 7]
    """
    if _cannot_wrap(values, values.shape[1]):
        total: Int64 = values.sum(axis=1)
        return total
    total = np.zeros(len(values), np.int64)
    for column in values.T:
        total += column
        if total.min() < 0:  # two values below 2^63 whose sum is not
            raise OverflowError(message)
    return total


def sum_groups(values: Int64, indptr: Int64, message: str) -> Int64:
    """Return the sum of each group g of values, or raise `OverflowError`.

    Group g has the values from ``indptr[g] - indptr[0]`` to ``indptr[g + 1] - indptr[0]``.

    >>> sum_groups(np.array([1, 2, 3]), np.array([0, 2, 2, 3]), "too large").tolist()
    [3, 0, 3]
    """
    sums, sizes = np.zeros(len(indptr) - 1, np.int64), np.diff(indptr)
    filled = np.flatnonzero(sizes)
    if len(filled):
        starts = indptr[filled] - indptr[0]
        sums[filled] = np.add.reduceat(values, starts)
        if not _cannot_wrap(values, int(sizes.max())):
            high, low = (np.add.reduceat(half, starts) for half in _halves(values))
            if (high + (low >> 32)).max() >= 2**31:
                raise OverflowError(message)
    return sums


def ranges_of_groups(indptr: Int64) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups to add up at a time: of at most `ROWS` values, or a single larger group.

    >>> list(ranges_of_groups(np.array([0, 2, 2, ROWS + 9, ROWS + 10])))
    [(0, 2), (2, 3), (3, 4)]
    """
    first, groups = 0, len(indptr) - 1
    while first < groups:
        last = int(np.searchsorted(indptr, indptr[first] + ROWS, side="right")) - 1
        last = min(max(last, first + 1), first + ROWS, groups)
        yield first, last
        first = last


def sum_columns(values: Int64) -> list[int]:
    """Return the sum of each column of non-negative values as a Python integer, which may exceed 2^63.

    >>> sum_columns(np.full((4, 1), 2**62))
    [18446744073709551616]
    """
    totals = [0] * values.shape[1]
    for start in range(0, len(values), ROWS):
        halves = (half.sum(axis=0).tolist() for half in _halves(np.asarray(values[start : start + ROWS])))
        totals = [total + (high << 32) + low for total, high, low in zip(totals, *halves, strict=True)]
    return totals


def _cannot_wrap(values: Int64, terms: int) -> bool:
    return bool(values.max(initial=0) <= LARGEST // max(1, terms))


def _halves(values: Int64) -> Iterator[Int64]:
    """Yield the upper and the lower 32 bits: sums of fewer than 2^31 of either fit in 64."""
    yield values >> 32
    yield values & 0xFFFFFFFF
