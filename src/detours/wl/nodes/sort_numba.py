"""Sort rows of integers: the one comparison that colour refinement rests on.

A colour is the rank of a row among all rows, so equal colours mean equal rows, entry by entry. Rows are sorted by
multikey quicksort, which reads each entry about once and is at its best on long runs of equal rows, the usual case in
colour refinement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled

SHORT_ROW = 24
"""At most this many entries of a row are sorted by insertion."""
FEW_ROWS = 10
"""At most this many rows are sorted by insertion."""
STACK_SIZE = 256
"""Parts on the stack. The largest of three parts is pushed first, so each of the others has at most half of the rows of
its parent, and two parts for every halving of 2^31 rows are enough."""


class Rows(NamedTuple):
    """Rows of integers: row r is ``keys[place[r] : place[r] + length[r]]``.

    Rows that agree in their first key must have the same length.
    """

    place: Int64
    length: Int32
    keys: Int64


@compiled
def sort_row(row: Int64, size: int) -> None:
    """Sort the first `size` entries of `row`: Shell sort if there are many of them, else insertion sort."""
    gap = 1
    if size > SHORT_ROW:
        while gap < size // 3:
            gap = 3 * gap + 1
    while gap > 0:
        for at in range(gap, size):
            key = row[at]
            free = at
            while free >= gap and row[free - gap] > key:
                row[free] = row[free - gap]
                free -= gap
            row[free] = key
        gap //= 3


@compiled
def by_colour(colour: Int32, count: int) -> tuple[Int32, Int64]:
    """Return the nodes in the order of their colours, and the offsets of the colours."""
    starts = np.zeros(count + 1, np.int64)
    for c in colour:
        starts[c + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    order = np.empty(len(colour), np.int32)
    place = starts.copy()
    for node in range(len(colour)):
        order[place[colour[node]]] = node
        place[colour[node]] += 1
    return order, starts


@compiled
def load_first_keys(order: Int32, lo: int, hi: int, rows: Rows, entries: Int64) -> None:
    """Copy the first key of each row of ``order[lo:hi]`` to `entries`; one loop for all of them hides cache misses."""
    for at in range(lo, hi):
        if rows.length[order[at]] > 0:
            entries[at] = rows.keys[rows.place[order[at]]]


@compiled
def sort_rows(order: Int32, lo: int, hi: int, rows: Rows, entries: Int64, fresh: Bool) -> int:
    """Sort ``order[lo:hi]`` by the rows it names, and set `fresh` at each one that differs from its predecessor.

    `entries` holds the first key of each row, see `load_first_keys`, and is overwritten. ``fresh[lo]`` is not changed.
    Return how many marks were set.
    """
    if hi - lo < 2 or rows.length[order[lo]] == 0:
        return 0
    if hi - lo <= FEW_ROWS:
        return _sort_few(order, lo, hi, rows, 0, entries, fresh)
    return _sort_many(order, lo, hi, rows, entries, fresh)


@compiled
def number_rows(order: Int32, fresh: Bool, found: int) -> tuple[Int32, Int32]:
    """Return the rank of every row, and one row for each rank."""
    rank = np.empty(len(order), np.int32)
    first = np.empty(found + 1, np.int32)
    number = 0
    first[0] = order[0]
    for at in range(len(order)):
        if fresh[at]:
            number += 1
            first[number] = order[at]
        rank[order[at]] = number
    return rank, first


@compiled
def _compare(a: int, b: int, rows: Rows, depth: int) -> int:
    """Return -1, 0 or 1 as row a is less than, equal to or greater than row b; they agree up to `depth`."""
    left, right = rows.place[a], rows.place[b]
    for at in range(depth, rows.length[a]):
        if rows.keys[left + at] != rows.keys[right + at]:
            return -1 if rows.keys[left + at] < rows.keys[right + at] else 1
    return 0


@compiled
def _sort_few(order: Int32, lo: int, hi: int, rows: Rows, depth: int, entries: Int64, fresh: Bool) -> int:
    """Insertion sort by the entries at `depth`, and where these are equal by the rest of the rows."""
    for at in range(lo + 1, hi):
        row, entry = order[at], entries[at]
        free = at
        while free > lo and entries[free - 1] >= entry:
            if entries[free - 1] == entry and (
                rows.length[row] == depth + 1 or _compare(order[free - 1], row, rows, depth + 1) <= 0
            ):
                break
            order[free], entries[free] = order[free - 1], entries[free - 1]
            free -= 1
        order[free], entries[free] = row, entry
    found = 0
    for at in range(lo + 1, hi):
        if entries[at - 1] != entries[at] or (
            rows.length[order[at]] > depth + 1 and _compare(order[at - 1], order[at], rows, depth + 1) != 0
        ):
            fresh[at] = True
            found += 1
    return found


@compiled
def _median(a: int, b: int, c: int) -> int:
    return max(min(a, b), min(max(a, b), c))


@compiled
def _pivot(entries: Int64, lo: int, hi: int) -> int:
    """Return the median of three medians of three."""
    step = (hi - lo - 1) // 8
    a, b, c = lo, lo + 3 * step, lo + 6 * step
    return _median(
        _median(entries[a], entries[a + step], entries[a + 2 * step]),
        _median(entries[b], entries[b + step], entries[b + 2 * step]),
        _median(entries[c], entries[c + step], entries[c + 2 * step]),
    )


@compiled
def _partition(order: Int32, entries: Int64, lo: int, hi: int) -> tuple[int, int]:
    """Move smaller entries to the front and larger ones to the back; return the bounds of the equal ones between."""
    pivot = _pivot(entries, lo, hi)
    less, at, more = lo, lo, hi
    while at < more:
        entry, row = entries[at], order[at]
        if entry == pivot:
            at += 1
        elif entry < pivot:
            entries[at], order[at] = entries[less], order[less]
            entries[less], order[less] = entry, row
            less += 1
            at += 1
        else:
            more -= 1
            entries[at], order[at] = entries[more], order[more]
            entries[more], order[more] = entry, row
    return less, more


@compiled
def _sort_many(order: Int32, lo: int, hi: int, rows: Rows, entries: Int64, fresh: Bool) -> int:
    """Multikey quicksort; the first entries are loaded."""
    # A part that waits: its bounds, and the depth up to which its entries are equal; negative if those at that depth
    # are still to be loaded.
    lows, highs = np.empty(STACK_SIZE, np.int64), np.empty(STACK_SIZE, np.int64)
    depths = np.empty(STACK_SIZE, np.int64)
    lows[0], highs[0], depths[0] = lo, hi, 0
    top, found = 1, 0
    while top > 0:
        top -= 1
        lo, hi, depth = lows[top], highs[top], depths[top]
        if hi - lo < 2:
            continue
        if depth < 0:
            depth = -depth
            if depth == rows.length[order[lo]]:
                continue  # all of these rows end at this depth, so they are equal
            for at in range(lo, hi):
                entries[at] = rows.keys[rows.place[order[at]] + depth]
        if hi - lo <= FEW_ROWS:
            found += _sort_few(order, lo, hi, rows, depth, entries, fresh)
            continue
        less, more = _partition(order, entries, lo, hi)
        if less > lo:
            fresh[less] = True
            found += 1
        if more < hi:
            fresh[more] = True
            found += 1
        lows[top], highs[top], depths[top] = less, more, -depth - 1
        lows[top + 1], highs[top + 1], depths[top + 1] = lo, less, depth
        lows[top + 2], highs[top + 2], depths[top + 2] = more, hi, depth
        for other in range(top + 1, top + 3):
            if highs[other] - lows[other] > highs[top] - lows[top]:
                lows[top], lows[other] = lows[other], lows[top]
                highs[top], highs[other] = highs[other], highs[top]
                depths[top], depths[other] = depths[other], depths[top]
        top += 3
    return found
