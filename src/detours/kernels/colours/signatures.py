"""A dictionary from rows of integers to their numbers, as plain arrays: it is pickled and searched without Python.

Rows are found by a digest and then compared entry by entry, so two rows are never taken for one another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.sort_numba import sort_row

UNSEEN = -1
"""The number of a row that is not in the table."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Row r is ``entries[starts[r]:starts[r + 1]]``; one that is not `whole` holds something never seen."""

    starts: Int64
    entries: Int64
    whole: Bool

    def __len__(self) -> int:
        return len(self.whole)


class SignatureTable:
    """Rows, all different; the number of a row is its place among them."""

    def __init__(self, rows: Rows) -> None:
        digests = digests_of(rows.starts, rows.entries)
        self._rows = rows
        self._order = np.argsort(digests, kind="stable").astype(np.int32)
        self._digests = digests[self._order]

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, number: int) -> Int64:
        """The row with this number."""
        return self._rows.entries[self._rows.starts[number] : self._rows.starts[number + 1]]

    def find(self, rows: Rows) -> Int32:
        """int32: the number of each row, `UNSEEN` where there is no such row."""
        own = self._rows
        table = self._digests, self._order, own.starts, own.entries
        wanted = digests_of(rows.starts, rows.entries)
        found: Int32 = find_rows(*table, wanted, rows.starts, rows.entries, rows.whole)
        return found


@compiled
def digests_of(starts: Int64, entries: Int64) -> NDArray[np.uint64]:
    """A number for each row; equal rows have equal ones."""
    digests = np.empty(len(starts) - 1, np.uint64)
    for row in range(len(digests)):
        digest = np.uint64(starts[row + 1] - starts[row])
        for at in range(starts[row], starts[row + 1]):
            digest = (digest ^ np.uint64(entries[at])) * np.uint64(0x9E3779B97F4A7C15)
            digest ^= digest >> np.uint64(29)
        digests[row] = digest
    return digests


@compiled
def find_rows(
    digests: NDArray[np.uint64],
    order: Int32,
    starts: Int64,
    entries: Int64,
    wanted: NDArray[np.uint64],
    asked_starts: Int64,
    asked: Int64,
    whole: Bool,
) -> Int32:
    """The place of each row asked for: the first with its digest, in ascending `digests`, that is the same."""
    found = np.full(len(wanted), UNSEEN, np.int32)
    for row in range(len(wanted)):
        if not whole[row]:
            continue
        begin, size = asked_starts[row], asked_starts[row + 1] - asked_starts[row]
        at = np.searchsorted(digests, wanted[row])
        while at < len(digests) and digests[at] == wanted[row]:
            known = order[at]
            if starts[known + 1] - starts[known] == size:
                same = True
                for i in range(size):
                    if entries[starts[known] + i] != asked[begin + i]:
                        same = False
                        break
                if same:
                    found[row] = known
                    break
            at += 1
    return found


@compiled
def _neighbour_rows(
    nodes: Int32, ids: Int32, indptr: Int64, indices: Int32, arc_colour: Int32
) -> tuple[Int64, Int64, Bool]:
    starts = np.zeros(len(nodes) + 1, np.int64)
    widest = 0
    for row in range(len(nodes)):
        degree = indptr[nodes[row] + 1] - indptr[nodes[row]]
        widest = max(widest, degree)
        starts[row + 1] = starts[row] + 1 + degree
    entries = np.empty(starts[-1], np.int64)
    whole = np.ones(len(nodes), np.bool_)
    seen = np.empty(widest, np.int64)
    for row in range(len(nodes)):
        node = nodes[row]
        begin, degree = indptr[node], indptr[node + 1] - indptr[node]
        whole[row] = ids[node] >= 0
        for at in range(degree):
            other = ids[indices[begin + at]]
            whole[row] &= other >= 0
            seen[at] = other
            if len(arc_colour) > 0:
                whole[row] &= arc_colour[begin + at] >= 0
                seen[at] |= np.int64(arc_colour[begin + at]) << 32
        sort_row(seen, degree)
        entries[starts[row]] = ids[node]
        entries[starts[row] + 1 : starts[row + 1]] = seen[:degree]
    return starts, entries, whole


def neighbour_rows(nodes: Int32, ids: Int32, indptr: Int64, indices: Int32, arc_colour: Int32) -> Rows:
    """For each of `nodes`: its own id, then the sorted (arc colour, id) of its neighbours; not whole if any is unseen.

    Where all arcs are alike `arc_colour` is empty.
    """
    return Rows(*_neighbour_rows(nodes, ids, indptr, indices, arc_colour))


def fixed_rows(columns: list[Int64], ragged: tuple[Int64, Int64] | None, whole: Bool) -> Rows:
    """Rows of one entry from each column, each followed by its row of the ragged array where there is one."""
    count = len(whole)
    head = np.stack(columns, axis=1) if columns else np.empty((count, 0), np.int64)
    if ragged is None:
        starts = np.arange(count + 1, dtype=np.int64) * head.shape[1]
        return Rows(starts, head.ravel().astype(np.int64), whole)
    tail_starts, tail = ragged
    starts = tail_starts + np.arange(count + 1) * head.shape[1]
    entries = np.empty(starts[-1], np.int64)
    is_head = np.zeros(len(entries), np.bool_)
    is_head[(starts[:-1, None] + np.arange(head.shape[1])).ravel()] = True
    entries[is_head], entries[~is_head] = head.ravel(), tail
    return Rows(starts, entries, whole)
