"""Rows of integers put in order and numbered: the one comparison that all colour refinement rests on.

A colour is the rank of a row among all rows, so equal numbers mean equal rows, entry by entry. Nothing is
hashed: rows are sorted by multikey quicksort, which reads each entry about once and meets long runs of
equal rows, the usual case here, at its best.

Row r is the ``length[r]`` keys from ``keys[place[r]]`` on. Rows that agree in their first key must be equally long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled

FEW = 10
"""Rows up to which each is compared with the others."""
STACK = 256
"""Parts that wait to be sorted. The largest of three waits longest, so each of the others is at most half of what
it came from, and two for every halving of 2^31 rows are enough."""


@compiled
def _compared(a: int, b: int, place: Int64, length: Int32, keys: Int64, depth: int) -> int:
    """-1, 0 or 1: of two equally long rows that agree before `depth`, a comes before b, equals it, comes after it."""
    left, right = place[a], place[b]
    for at in range(depth, length[a]):
        if keys[left + at] != keys[right + at]:
            return -1 if keys[left + at] < keys[right + at] else 1
    return 0


@compiled
def _sort_few(
    rows: Int32, lo: int, hi: int, place: Int64, length: Int32, keys: Int64, depth: int, entries: Int64, fresh: Bool
) -> int:
    """Insertion sort by the entries at `depth`, and where these are equal by the rest of the rows."""
    for at in range(lo + 1, hi):
        row, entry = rows[at], entries[at]
        free = at
        while free > lo and entries[free - 1] >= entry:
            if entries[free - 1] == entry and (
                length[row] == depth + 1 or _compared(rows[free - 1], row, place, length, keys, depth + 1) <= 0
            ):
                break
            rows[free], entries[free] = rows[free - 1], entries[free - 1]
            free -= 1
        rows[free], entries[free] = row, entry
    found = 0
    for at in range(lo + 1, hi):
        if entries[at - 1] != entries[at] or (
            length[rows[at]] > depth + 1 and _compared(rows[at - 1], rows[at], place, length, keys, depth + 1) != 0
        ):
            fresh[at] = True
            found += 1
    return found


@compiled
def _middle(a: int, b: int, c: int) -> int:
    return max(min(a, b), min(max(a, b), c))


@compiled
def _pivot(entries: Int64, lo: int, hi: int) -> int:
    """The middle of three middles of three."""
    step = (hi - lo - 1) // 8
    a, b, c = lo, lo + 3 * step, lo + 6 * step
    return _middle(
        _middle(entries[a], entries[a + step], entries[a + 2 * step]),
        _middle(entries[b], entries[b + step], entries[b + 2 * step]),
        _middle(entries[c], entries[c + step], entries[c + 2 * step]),
    )


@compiled
def _partition(rows: Int32, entries: Int64, lo: int, hi: int) -> tuple[int, int]:
    """Smaller entries to the front, larger ones to the back; the bounds of the equal ones between them."""
    pivot = _pivot(entries, lo, hi)
    less, at, more = lo, lo, hi
    while at < more:
        entry, row = entries[at], rows[at]
        if entry == pivot:
            at += 1
        elif entry < pivot:
            entries[at], rows[at] = entries[less], rows[less]
            entries[less], rows[less] = entry, row
            less += 1
            at += 1
        else:
            more -= 1
            entries[at], rows[at] = entries[more], rows[more]
            entries[more], rows[more] = entry, row
    return less, more


@compiled
def _sort_many(
    rows: Int32, lo: int, hi: int, place: Int64, length: Int32, keys: Int64, entries: Int64, fresh: Bool
) -> int:
    """Multikey quicksort; the first entries are loaded."""
    waiting = np.empty((STACK, 3), np.int64)  # lo, hi, and the depth up to which the entries are equal
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = lo, hi, 0
    top, found = 1, 0
    while top > 0:
        top -= 1
        lo, hi, depth = waiting[top, 0], waiting[top, 1], waiting[top, 2]
        if hi - lo < 2:
            continue
        if depth < 0:  # these agree in one more entry: their next ones are to be loaded
            depth = -depth
            if depth == length[rows[lo]]:
                continue  # all of them end here, so they are equal
            for at in range(lo, hi):
                entries[at] = keys[place[rows[at]] + depth]
        if hi - lo <= FEW:
            found += _sort_few(rows, lo, hi, place, length, keys, depth, entries, fresh)
            continue
        less, more = _partition(rows, entries, lo, hi)
        if less > lo:
            fresh[less] = True
            found += 1
        if more < hi:
            fresh[more] = True
            found += 1
        waiting[top, 0], waiting[top, 1], waiting[top, 2] = less, more, -depth - 1
        waiting[top + 1, 0], waiting[top + 1, 1], waiting[top + 1, 2] = lo, less, depth
        waiting[top + 2, 0], waiting[top + 2, 1], waiting[top + 2, 2] = more, hi, depth
        for other in range(top + 1, top + 3):
            if waiting[other, 1] - waiting[other, 0] > waiting[top, 1] - waiting[top, 0]:
                for field in range(3):
                    waiting[top, field], waiting[other, field] = waiting[other, field], waiting[top, field]
        top += 3
    return found


@compiled
def first_entries(rows: Int32, lo: int, hi: int, place: Int64, length: Int32, keys: Int64, entries: Int64) -> None:
    """Fetch the first key of each of ``rows[lo:hi]``, for many at once: they come from all over the memory."""
    for at in range(lo, hi):
        if length[rows[at]] > 0:
            entries[at] = keys[place[rows[at]]]


@compiled
def sort_rows(
    rows: Int32, lo: int, hi: int, place: Int64, length: Int32, keys: Int64, entries: Int64, fresh: Bool
) -> int:
    """Put ``rows[lo:hi]`` into the order of the rows they name; `fresh` is set where one differs from the one before.

    `entries` holds the first key of each, see `first_entries`, and is used up. ``fresh[lo]`` is left alone. Returns how
    many marks were set.
    """
    if hi - lo < 2 or length[rows[lo]] == 0:
        return 0
    if hi - lo <= FEW:
        return _sort_few(rows, lo, hi, place, length, keys, 0, entries, fresh)
    return _sort_many(rows, lo, hi, place, length, keys, entries, fresh)


@compiled
def _numbered(rows: Int32, fresh: Bool, found: int) -> tuple[Int32, Int32]:
    """The rank of every row, and for each rank one row that has it."""
    rank = np.empty(len(rows), np.int32)
    first = np.empty(found + 1, np.int32)
    number = 0
    first[0] = rows[0]
    for at in range(len(rows)):
        if fresh[at]:
            number += 1
            first[number] = rows[at]
        rank[rows[at]] = number
    return rank, first


def _rank_small(values: Int64) -> tuple[Int32, Int64]:
    """Number single integers that are not many times more than there are of them: a table of all is quicker."""
    present = np.zeros(values.max() + 1, np.bool_)
    present[values] = True
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return rank[values], np.flatnonzero(present)[:, None]


def rank_vectors(vectors: NDArray[Any]) -> tuple[Int32, Int64]:
    """Number integer vectors, the rows of a table, by rank; also the distinct vectors in that order.

    >>> rank, distinct = rank_vectors(np.array([[3, 1], [0, 2], [3, 1]]))
    >>> rank.tolist(), distinct.tolist()
    ([1, 0, 1], [[0, 2], [3, 1]])
    """
    # Plain writable arrays, as the rounds use them: the kernels are then compiled once.
    values = np.array(vectors, dtype=np.int64, order="C")
    count, width = values.shape
    if count == 0:
        return np.empty(0, np.int32), values
    if width == 1 and values.min() >= 0 and values.max() < 4 * count:
        return _rank_small(values[:, 0])
    rows = np.arange(count, dtype=np.int32)
    place = np.arange(count, dtype=np.int64) * width
    length = np.full(count, width, np.int32)
    fresh = np.zeros(count, np.bool_)
    entries = values[:, 0].copy() if width else np.empty(count, np.int64)
    found = sort_rows(rows, 0, count, place, length, values.ravel(), entries, fresh)
    rank, first = _numbered(rows, fresh, found)
    return rank, values[first]
