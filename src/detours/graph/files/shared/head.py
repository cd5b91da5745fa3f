"""What kind of text a file of edges is: its first lines tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from detours.errors import FileFormatError
from detours.graph.files.shared.columns import (
    HEADERS,
    first_fields,
    guess_separator,
    known_header,
    plain_separator,
    split_line,
    words_above_numbers,
)
from detours.graph.files.shared.format import ending
from detours.graph.files.shared.lines import begins_with_integers, is_data, is_decimal, is_integer, quoted
from detours.graph.files.shared.source import BOM, check_text

Kind = Literal["integers", "names", "table"]

_BYTES = 1 << 16  # by which a file is judged, and lines
_LINES = 20
_PADDED = re.compile(rb"^[ \t]*(?:\d+[ \t,]+)?0\d", re.MULTILINE)  # an id with a leading zero


class Line(NamedTuple):
    """A line that is neither blank nor a comment."""

    raw: bytes
    number: int
    start: int
    """The byte at which it starts."""

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", "replace")

    @property
    def integers(self) -> bool:
        """Whether it begins with two integers."""
        return begins_with_integers(self.raw)

    @property
    def separator(self) -> bytes | None:
        return plain_separator(self.raw)

    @property
    def fields(self) -> list[bytes]:
        """Two nodes and what may be a weight, if it is no row of a table."""
        return first_fields(self.raw, self.separator)


class Head(NamedTuple):
    """What the first lines of a file tell about all of them."""

    kind: Kind
    """Whether every line begins with two integers or with two names, or whether only `table` can read the file."""
    header: bool
    """Whether the first line names the columns; of a table, `table` itself finds out."""
    lines: list[Line]
    sep: str | None
    """What separates the columns of a table, where the name of the file tells."""
    padded: bool
    """Whether integers have leading zeros."""
    text: Iterator[bytes]
    """The whole file again, in pieces; a header above lines of nodes is a comment now."""

    def rows(self) -> list[list[str]]:
        """Return the fields of the lines, as those of a table."""
        return [split_line(line.text, guess_separator(line.text)) for line in self.lines]

    def may_hold_text(self) -> bool:
        """Return whether the column beside the nodes has a name, and that is not weight: then it may hold anything."""
        return self.header and [field.lower() for field in self.lines[0].fields[2:]] != [b"weight"]


def look(text: Iterator[bytes], path: Path) -> Head:
    """Tell what kind of edge list a text is, given in pieces that end with a line feed; refuse what is none."""
    head = next(text, b"")
    if not head:
        raise FileFormatError("the file is empty.", path)
    check_text(head, path)
    head = head.removeprefix(BOM)
    refuse_matrix(head, path)
    refuse_adjacency_list(head, path)
    lines = _first_lines(head)
    while len(lines) < 2 and (more := next(text, None)) is not None:
        head += more
        lines = _first_lines(head)
    if not lines:
        raise FileFormatError("the file holds no edges: every line is blank or a comment.", path)
    first = lines[0]
    sep = "\t" if ending(path) == "tsv" and b"\t" in first.raw else None
    if (sep is not None and b"," in first.raw) or _is_table(lines):
        return Head("table", False, lines, sep, False, chain([head], text))
    integers, header = _nodes(lines, path)
    padded = integers and _PADDED.search(head[:_BYTES]) is not None
    if header:
        head = head[: first.start] + b"#" + head[first.start :]
    return Head("integers" if integers else "names", header, lines, sep, padded, chain([head], text))


def _first_lines(head: bytes) -> list[Line]:
    """Return two lines, and more if they start soon after the first."""
    lines: list[Line] = []
    start, number = 0, 1
    while start < len(head) and (len(lines) < 2 or (len(lines) < _LINES and start < lines[0].start + _BYTES)):
        end = head.index(b"\n", start)
        if is_data(head[start:end]):
            lines.append(Line(head[start:end], number, start))
        start, number = end + 1, number + 1
    return lines


def _is_table(lines: list[Line]) -> bool:
    """Return whether there are separators, columns in another order, or text, that only `table` can read."""
    first, *below = lines
    sep = guess_separator(first.text)
    if sep in (";", "|"):
        return True
    rows = [split_line(line.text, sep) for line in lines]
    nodes = known_header(rows[0])
    if nodes is None:
        may_be_names = sep != " " and not (below and below[0].integers)
        return may_be_names and words_above_numbers(rows)
    if nodes != (0, 1) or "type" in map(str.lower, rows[0]):  # of Gephi: it may say that edges are directed
        return True
    return any(field and not is_decimal(field.encode()) for row in rows[1:2] for field in row[2:3])


def _nodes(lines: list[Line], path: Path) -> tuple[bool, bool]:
    """Return whether the nodes are integers, and whether the first line is a header."""
    first = lines[0]
    if first.integers:
        return True, False
    if len(first.fields) < 2:
        raise FileFormatError(
            f"a line must hold two nodes, but there is only {quoted(first.fields[0])}.", path, first.number
        )
    nodes = first.fields[:2]
    for field in nodes:
        if is_decimal(field) and not is_integer(field):
            raise FileFormatError(
                f"{quoted(field)} is not a node id; node ids must be integers or names.", path, first.number
            )
    if len(lines) > 1 and lines[1].integers:
        # Words above integers are a header; a line of a word and an integer is broken, and refused later.
        return True, not any(map(is_integer, nodes))
    return False, tuple(field.decode("utf-8", "replace").lower() for field in nodes) in HEADERS


def refuse_matrix(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for a square of numbers that can only be an adjacency matrix: read as edges, its first
    columns would be nodes."""
    first = next((line for line in text.split(b"\n", 9) if is_data(line)), b"")
    columns = len(_cells(first))
    if columns < 3 or not columns <= text.count(b"\n") + 1 <= 2 * columns + 9:
        return
    rows = [_cells(line) for line in text.split(b"\n") if is_data(line)]
    if len(rows) != columns or any(len(row) != columns for row in rows):
        return
    try:
        matrix = np.array([[float(cell) for cell in row] for row in rows])
    except ValueError:
        return
    mutual = np.array_equal(matrix, matrix.T) and not np.diagonal(matrix).any()
    if mutual or (columns > 3 and np.isin(matrix, (0, 1)).all()):
        raise FileFormatError(
            "this is an adjacency matrix, not a list of edges; read it with NumPy and give Graph.from_scipy, or write "
            "a line for every edge.",
            path,
        )


def _cells(line: bytes) -> list[bytes]:
    return [cell for cell in re.split(rb"[\s,;]+", line) if cell]


def refuse_adjacency_list(text: bytes, path: Path) -> None:
    """Raise `FileFormatError` for lines of a node and its neighbours: read as edges, all but the first would be lost.

    They have a line for every node, and not all the same length, or no other numbers than those of nodes.
    """
    head = text[:_BYTES]
    rows = [line.split() for line in head.split(b"\n")[:-1] if is_data(line)]
    if max(map(len, rows), default=0) < 4 or b"\t" in head or not all(cell.isdigit() for row in rows for cell in row):
        return
    nodes = {row[0] for row in rows}
    if len(nodes) < len(rows):
        return
    whole = len(text) <= _BYTES and all(len(set(row)) == len(row) and nodes.issuperset(row) for row in rows)
    if whole or len(set(map(len, rows))) > 1:
        raise FileFormatError(
            "its lines are those of an adjacency list, a node and its neighbours; name the file .adjlist or give "
            'format="adjlist" (--format adjlist), and if they are edges, columns=(1, 2).',
            path,
        )
