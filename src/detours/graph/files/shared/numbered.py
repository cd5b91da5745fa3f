"""Names in the columns of a text: plain lines are numbered by compiled code, all others, and small texts, by Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.graph.edges import EdgeList
from detours.graph.files.shared import lines

MOST_IN_A_ROW = 1024
"""Rows that Python reads where compiled code has read none: asking it for each would cost as much as the row."""


class Row(NamedTuple):
    """What Python has read of a line that is neither blank nor a comment, or of several that quotes join."""

    names: Sequence[bytes]
    """Those that are asked for."""
    line: int
    """The number of its last line."""
    after: int
    """The byte behind it."""


Rows = Callable[[bytes, int, int], Iterator[Row]]
"""Python's reader: a function of a text, the byte of it at which to begin, and the number of the line there."""


class Numbering:
    """The names so far, each with its number.

    Args:
        rows: Reads what is not plain. It may refuse a line; compiled code refuses none.
        separator: What is between two columns; a blank stands for any blanks.
        columns: The columns whose names are numbered.
        weight: The column that must hold numbers, where it holds anything.
    """

    def __init__(self, rows: Rows, separator: str, columns: Sequence[int], weight: int | None) -> None:
        self.rows, self.separator, self.columns, self.weight = rows, separator, columns, weight
        self.places: dict[bytes, int] = {}
        self._fast = False

    def read(self, text: bytes, at: int = 0, line: int = 1) -> Int64:
        """Return the numbers of the names in a text, from the line at a byte on, [columns, rows]."""
        self._fast = self._fast or len(text) >= lines.SMALL
        return self._read_fast(text, at, line) if self._fast else self.number(self.rows(text, at, line))

    def number(self, rows: Iterable[Row]) -> Int64:
        """Return the numbers of the names in rows, [columns, rows]."""
        found = [self._place(name) for row in rows for name in row.names]
        return np.array(found, np.int64).reshape(-1, len(self.columns)).T.copy()

    def _place(self, name: bytes) -> int:
        return self.places.setdefault(name, len(self.places))

    def _read_fast(self, text: bytes, at: int, line: int) -> Int64:
        from detours.graph.files.shared.names_numba import Layout, Names, number_names

        weight = -1 if self.weight is None else self.weight
        layout = Layout(ord(self.separator), np.array(self.columns, np.int64), weight)
        most = 1 + text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
        ends = np.empty((len(self.columns), most), np.int64)
        slots = np.full(1 << (2 * ends.size).bit_length(), -1, np.int64)  # at least half of them stay empty
        begin, end = np.empty((2, ends.size), np.int64)
        names = Names(begin, end, slots)
        signs = np.frombuffer(text, np.uint8)[: text.rfind(b"\n") + 1]
        edges = known = 0
        in_a_row = 1
        while at < len(text):
            before = edges
            edges, known, at = number_names(signs, at, layout, ends, edges, names, known)
            line += edges - before
            in_a_row = 1 if edges > before else min(2 * in_a_row, MOST_IN_A_ROW)
            rows = list(islice(self.rows(text, at, line), in_a_row))
            ends[:, edges : edges + len(rows)] = -1 - self.number(rows)  # among all names, not among those of the text
            edges += len(rows)
            at, line = (rows[-1].after, rows[-1].line + 1) if len(rows) == in_a_row else (len(text), line)
        bounds = zip(begin[:known].tolist(), end[:known].tolist(), strict=True)
        place = np.array([self._place(text[one:other]) for one, other in bounds], np.int64)
        ends = ends[:, :edges]
        return np.where(ends < 0, -1 - ends, place[np.maximum(ends, 0)] if known else ends)


def sorted_by_name(ends: Int64, names: Sequence[str]) -> EdgeList:
    """Return edges between nodes that are numbered in the order of their names."""
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return EdgeList(rank[ends], len(names), tuple(names[at] for at in order), "lines")
