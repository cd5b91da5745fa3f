"""Lines of names: plain ones are numbered by compiled code, all others, and small files, by Python."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from detours.arrays import Int64
from detours.errors import FileFormatError
from detours.graph.files.shared import lines as of_integers
from detours.graph.files.shared.columns import first_fields
from detours.graph.files.shared.doubts import warn_of_comments
from detours.graph.files.shared.lines import check_weight, is_data, quoted

MOST_IN_A_ROW = 1024
"""Lines that Python parses where compiled code has parsed none: asking it for each would cost as much as the line."""


def read_names(text: Iterable[bytes], separator: bytes | None, first: int, path: Path) -> tuple[Int64, list[bytes]]:
    """Return int64 [2, lines], the two nodes of every line, and the names of the nodes, in no order.

    Args:
        text: Pieces that end with a line feed.
        separator: What is between two nodes; None for blanks.
        first: The number of the first line of nodes. Comments below it that hold a separator may be lines of nodes.
        path: The file.
    """
    reader = _Reader(separator, first, path)
    parts = [np.empty((2, 0), np.int64)]
    fast = False
    for piece in text:
        fast = fast or len(piece) >= of_integers.SMALL
        parts.append(reader.read_fast(piece) if fast else reader.read_slowly(piece))
    warn_of_comments(reader.comments, path)
    return parts[1] if len(parts) == 2 else np.concatenate(parts, axis=1), list(reader.places)


class _Reader:
    """The names so far, and the line that is next."""

    def __init__(self, separator: bytes | None, first: int, path: Path) -> None:
        self.separator, self.first, self.path = separator, first, path
        self.places: dict[bytes, int] = {}
        self.line = 1
        self.comments = 0

    def read_slowly(self, piece: bytes) -> Int64:
        """Return the nodes of every line of a piece, [2, lines]."""
        found = (self._parsed(line) for line in piece.split(b"\n")[:-1])
        return np.array([pair for pair in found if pair is not None], np.int64).reshape(-1, 2).T.copy()

    def read_fast(self, piece: bytes) -> Int64:
        """Return the nodes of every line of a piece, [2, lines]."""
        from detours.graph.files.shared.names_numba import Names, number_names

        text, lines = np.frombuffer(piece, np.uint8), piece.count(b"\n")
        slots = np.full(1 << (4 * lines).bit_length(), -1, np.int64)  # at least half of them stay empty
        begin, end = np.empty((2, 2 * lines), np.int64)
        names = Names(begin, end, slots)
        ends, separator = np.empty((2, lines), np.int64), 0 if self.separator is None else ord(self.separator)
        edges = known = position = 0
        in_a_row = 1
        while position < len(piece):
            edges, known, passed, position = number_names(text, position, separator, ends, edges, names, known)
            self.line += passed
            in_a_row = 1 if passed else min(2 * in_a_row, MOST_IN_A_ROW)
            for _ in range(in_a_row if position < len(piece) else 0):
                after = piece.index(b"\n", position)
                pair = self._parsed(piece[position:after])
                if pair is not None:
                    ends[0, edges], ends[1, edges] = -1 - pair[0], -1 - pair[1]  # of the file, not of the piece
                    edges += 1
                position = after + 1
                if position == len(piece):
                    break
        bounds, places = zip(begin[:known].tolist(), end[:known].tolist(), strict=True), self.places
        place = np.array([places.setdefault(piece[one:other], len(places)) for one, other in bounds], np.int64)
        ends = ends[:, :edges]
        return np.where(ends < 0, -1 - ends, place[np.maximum(ends, 0)] if known else ends)

    def _parsed(self, line: bytes) -> tuple[int, int] | None:
        """Return the nodes of the next line, None if it is blank or a comment."""
        if is_data(line):
            u, v = _two_names(first_fields(line, self.separator), self.line, self.path)
            pair = self._place(u), self._place(v)
        else:
            pair = None
            if self.separator is not None and self.line > self.first:
                self.comments += self.separator in line
        self.line += 1
        return pair

    def _place(self, name: bytes) -> int:
        return self.places.setdefault(name, len(self.places))


def _two_names(fields: list[bytes], number: int, path: Path) -> list[bytes]:
    if len(fields) > 2 and not fields[0] and all(fields[1:]):
        raise FileFormatError(
            f"the first column is empty; if it numbers the rows, name the columns of nodes, such as "
            f"{quoted(fields[1])} and {quoted(fields[2])}, and an adjacency matrix is read with pandas.",
            path,
            number,
        )
    if len(fields) > 2 and not fields[1] and fields[0] and fields[2]:
        raise FileFormatError(
            f"the second column is empty, between {quoted(fields[0])} and {quoted(fields[2])}; write one tab or comma "
            "between two nodes, or name the columns of nodes, as in columns=(1, 3).",
            path,
            number,
        )
    if len(fields) < 2 or not fields[0] or not fields[1]:
        raise FileFormatError(
            f"a line must hold two nodes, but there is only {quoted(b' '.join(fields).strip())}.",
            path,
            number,
        )
    if len(fields) > 2:
        check_weight(fields[2], number, path)
    return fields[:2]
