"""Indices of the names in the columns of a text: compiled code reads plain lines, Python all others and small texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.graph.edges import EdgeList
from detours.graph.files.shared import lines

MAX_PYTHON_ROWS = 1024
"""Rows that Python reads before compiled code is tried again: a call that reads none costs as much as a row."""


class Row(NamedTuple):
    """The fields that Python read from a line that is neither blank nor a comment, or from several joined by quotes."""

    names: Sequence[bytes]
    """Those in the requested columns."""
    line: int
    """The number of the last line."""
    after: int
    """The byte after it."""


Rows = Callable[[bytes, int, int], Iterator[Row]]
"""The reader in Python: a function of a text, the byte at which to start, and the number of the line there."""


class NameIndex:
    """The names read so far and their indices.

    Args:
        rows: Reads lines that are not plain, and may refuse them; compiled code refuses none.
        separator: The column separator; a blank stands for any run of blanks.
        columns: The columns of names.
        weight: The column that must hold numbers or nothing.
    """

    def __init__(self, rows: Rows, separator: str, columns: Sequence[int], weight: int | None) -> None:
        self.rows, self.separator, self.columns, self.weight = rows, separator, columns, weight
        self.ids: dict[bytes, int] = {}
        self._fast = False

    def add_text(self, text: bytes, at: int = 0, line: int = 1) -> Int64:
        """Return int64 [columns, rows], the indices of the names in a text from byte `at`, in line `line`, on."""
        self._fast = self._fast or len(text) >= lines.SMALL
        return self._add_fast(text, at, line) if self._fast else self.add_rows(self.rows(text, at, line))

    def add_rows(self, rows: Iterable[Row]) -> Int64:
        """Return int64 [columns, rows], the indices of the names in these rows."""
        ids = [self._add(name) for row in rows for name in row.names]
        return np.array(ids, np.int64).reshape(-1, len(self.columns)).T.copy()

    def _add(self, name: bytes) -> int:
        return self.ids.setdefault(name, len(self.ids))

    def _add_fast(self, text: bytes, at: int, line: int) -> Int64:
        from detours.graph.files.shared.names_numba import Layout, Names, index_names

        weight = -1 if self.weight is None else self.weight
        layout = Layout(ord(self.separator), np.array(self.columns, np.int64), weight)
        max_rows = 1 + text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
        ids = np.empty((len(self.columns), max_rows), np.int64)
        slots = np.full(1 << (2 * ids.size).bit_length(), -1, np.int64)  # at least half of them stay empty
        begin, end = np.empty((2, ids.size), np.int64)
        names = Names(begin, end, slots)
        codes = np.frombuffer(text, np.uint8)[: text.rfind(b"\n") + 1]
        num_rows = num_names = 0
        max_python_rows = 1
        while at < len(text):
            before = num_rows
            num_rows, num_names, at = index_names(codes, at, layout, ids, num_rows, names, num_names)
            line += num_rows - before
            max_python_rows = 1 if num_rows > before else min(2 * max_python_rows, MAX_PYTHON_ROWS)
            rows = list(islice(self.rows(text, at, line), max_python_rows))
            # Negative, since they index all names instead of those found by compiled code.
            ids[:, num_rows : num_rows + len(rows)] = -1 - self.add_rows(rows)
            num_rows += len(rows)
            at, line = (rows[-1].after, rows[-1].line + 1) if len(rows) == max_python_rows else (len(text), line)
        bounds = zip(begin[:num_names].tolist(), end[:num_names].tolist(), strict=True)
        index = np.array([self._add(text[start:stop]) for start, stop in bounds], np.int64)
        ids = ids[:, :num_rows]
        return np.where(ids < 0, -1 - ids, index[np.maximum(ids, 0)] if num_names else ids)


def sorted_by_name(ends: Int64, names: Sequence[str]) -> EdgeList:
    """Return the edges with nodes renumbered in the order of their names."""
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return EdgeList(rank[ends], len(names), tuple(names[i] for i in order), "lines")
