"""A dictionary from rows of integers to their ids, as plain arrays: it can be pickled and searched by compiled code.

Rows are looked up by a digest and then compared entry by entry, so collisions do no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64
from detours.compiled import compiled
from detours.wl.nodes.sort_numba import sort_row

UNSEEN = -1
"""The id of a row that is not in the table."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Row r is ``entries[starts[r]:starts[r + 1]]``; it is not `known` if it contains something unseen in `fit`."""

    starts: Int64
    entries: Int64
    known: Bool

    def __len__(self) -> int:
        return len(self.known)


class SignatureTable:
    """Distinct rows; the id of a row is its index."""

    def __init__(self, rows: Rows) -> None:
        digests = digests_of(rows.starts, rows.entries)
        self._rows = rows
        self._order = np.argsort(digests, kind="stable").astype(np.int32)
        self._digests = digests[self._order]

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, id: int) -> Int64:
        """The row with this id."""
        return self._rows.entries[self._rows.starts[id] : self._rows.starts[id + 1]]

    def find(self, rows: Rows) -> Int32:
        """int32: the id of each row, or `UNSEEN`."""
        table = self._digests, self._order, self._rows.starts, self._rows.entries
        query_digests = digests_of(rows.starts, rows.entries)
        ids: Int32 = find_rows(*table, query_digests, rows.starts, rows.entries, rows.known)
        return ids


@compiled
def digests_of(starts: Int64, entries: Int64) -> NDArray[np.uint64]:
    """A 64-bit hash of each row."""
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
    query_digests: NDArray[np.uint64],
    query_starts: Int64,
    queries: Int64,
    known: Bool,
) -> Int32:
    """The id of each queried row: of the rows with the same digest, the first that is equal; `digests` are sorted."""
    ids = np.full(len(query_digests), UNSEEN, np.int32)
    for row in range(len(query_digests)):
        if not known[row]:
            continue
        start, size = query_starts[row], query_starts[row + 1] - query_starts[row]
        at = np.searchsorted(digests, query_digests[row])
        while at < len(digests) and digests[at] == query_digests[row]:
            candidate = order[at]
            if starts[candidate + 1] - starts[candidate] == size:
                equal = True
                for i in range(size):
                    if entries[starts[candidate] + i] != queries[start + i]:
                        equal = False
                        break
                if equal:
                    ids[row] = candidate
                    break
            at += 1
    return ids


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
    known = np.ones(len(nodes), np.bool_)
    seen = np.empty(widest, np.int64)
    for row in range(len(nodes)):
        node = nodes[row]
        begin, degree = indptr[node], indptr[node + 1] - indptr[node]
        known[row] = ids[node] >= 0
        for at in range(degree):
            other = ids[indices[begin + at]]
            known[row] &= other >= 0
            seen[at] = other
            if len(arc_colour) > 0:
                known[row] &= arc_colour[begin + at] >= 0
                seen[at] |= np.int64(arc_colour[begin + at]) << 32
        sort_row(seen, degree)
        entries[starts[row]] = ids[node]
        entries[starts[row] + 1 : starts[row + 1]] = seen[:degree]
    return starts, entries, known


def neighbour_rows(nodes: Int32, ids: Int32, indptr: Int64, indices: Int32, arc_colour: Int32) -> Rows:
    """For each of `nodes`: its own id, then the sorted (arc colour, id) of its neighbours; not known if any is unseen.

    If all arcs are alike, `arc_colour` is empty.
    """
    return Rows(*_neighbour_rows(nodes, ids, indptr, indices, arc_colour))


def fixed_rows(columns: list[Int64], ragged: tuple[Int64, Int64] | None, known: Bool) -> Rows:
    """Rows of one entry from each column, followed by the corresponding row of the ragged array, if given."""
    num_rows = len(known)
    head = np.stack(columns, axis=1) if columns else np.empty((num_rows, 0), np.int64)
    if ragged is None:
        starts = np.arange(num_rows + 1, dtype=np.int64) * head.shape[1]
        return Rows(starts, head.ravel().astype(np.int64), known)
    tail_starts, tail = ragged
    starts = tail_starts + np.arange(num_rows + 1) * head.shape[1]
    entries = np.empty(starts[-1], np.int64)
    is_head = np.zeros(len(entries), np.bool_)
    is_head[(starts[:-1, None] + np.arange(head.shape[1])).ravel()] = True
    entries[is_head], entries[~is_head] = head.ravel(), tail
    return Rows(starts, entries, known)
