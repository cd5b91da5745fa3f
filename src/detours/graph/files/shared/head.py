"""The first lines of an edge list, which determine how to read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from detours.errors import FileFormatError
from detours.graph.files.shared.columns import (
    HEADERS,
    first_fields,
    guess_separator,
    has_decimal_comma,
    known_header,
    one_tab,
    plain_separator,
    split_line,
    words_above_numbers,
)
from detours.graph.files.shared.format import ending
from detours.graph.files.shared.lines import begins_with_integers, is_data, is_decimal, is_integer, quoted
from detours.graph.files.shared.other_lists import refuse_other_lists, refuse_row_names, says_directed
from detours.graph.files.shared.source import check_text, without_marks

Kind = Literal["integers", "names", "table"]

_BYTES, _LINES = 1 << 16, 20  # that are examined
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
        """Whether the line begins with two integers."""
        return begins_with_integers(self.raw)

    @property
    def separator(self) -> bytes | None:
        return plain_separator(self.raw)

    @property
    def fields(self) -> list[bytes]:
        """Two nodes and perhaps a weight, unless the line is a row of a table."""
        return first_fields(self.raw.strip(b" \t\r"), self.separator)


class Head(NamedTuple):
    """What the first lines of a file say about all of them."""

    kind: Kind
    """Whether every line begins with two integers or with two names, or whether only `table` can read the file."""
    lines: list[Line]
    text: Iterator[bytes]
    """The entire file in pieces, with a header above lines of nodes turned into a comment."""
    directed: bool
    """Whether a comment says that lines are arcs."""
    sep: str | None
    """The column separator of a table, unless its first line alone determines it."""
    header: bool = False
    """Whether the first line names the columns; `table` determines this itself."""
    padded: bool = False
    """Whether integers have leading zeros."""
    sample: bytes = b""
    """The lines that were examined and more of those already read; empty for a table."""

    def rows(self) -> list[list[str]]:
        """Return the fields of the first lines, as if of a table; empty if no line has more than two."""
        if all(len(line.fields) < 3 for line in self.lines):
            return []
        lines = [line.decode("utf-8", "replace") for line in self.sample.split(b"\n")[:-1] if is_data(line)]
        seps = [guess_separator(line.text) for line in self.lines[: 1 + self.header]]
        if self.kind == "integers" and seps[-1] == "\t":  # several tabs count as one
            seps[-1], lines[0] = " ", re.sub("\t+", "\t", lines[0])
        return [split_line(line, seps[i] if i < len(seps) else seps[-1]) for i, line in enumerate(lines)]

    def may_hold_text(self) -> bool:
        """Return whether the third column has a name other than weight, so that it may hold anything."""
        return self.header and [field.lower() for field in self.lines[0].fields[2:]] != [b"weight"]


def read_head(text: Iterator[bytes], path: Path) -> Head:
    """Return what kind of edge list a text is, given in pieces that end with a line feed, or refuse it."""
    head = next(text, b"")
    if not head:
        raise FileFormatError("the file is empty.", path)
    check_text(head, path)
    head = without_marks(head)
    refuse_other_lists(head, path)
    directed = says_directed(head, path)
    lines = _first_lines(head)
    while len(lines) < 2 and (more := next(text, None)) is not None:
        head += more
        lines = _first_lines(head)
    if not lines:
        raise FileFormatError("the file holds no edges: every line is blank or a comment.", path)
    if _are_aligned(head, lines[0]):
        merge_tabs = partial(_merge_tabs, num_columns=len(_row(lines[0].raw)))
        head, text = merge_tabs(head), map(merge_tabs, text)
        lines = _first_lines(head)
    first = lines[0]
    refuse_row_names([split_line(line.text, guess_separator(first.text)) for line in lines], path)
    sep = _known_separator(lines, path)
    if (sep is not None and b"," in first.raw) or _is_table(lines):
        return Head("table", lines, chain([head], text), directed, sep)
    integers, header = _nodes(lines, path)
    sample = head[first.start : max(first.start + _BYTES, lines[-1].start)]
    padded = integers and _PADDED.search(head[:_BYTES]) is not None
    if header:
        head = head[: first.start] + b"#" + head[first.start :]
    kind: Kind = "integers" if integers else "names"
    return Head(kind, lines, chain([head], text), directed, sep, header, padded, sample)


def _known_separator(lines: list[Line], path: Path) -> str | None:
    """Return the separator that the name of the file or the lines below the first determine, if any."""
    if has_decimal_comma(lines[0].raw) and any(line.separator == b"," for line in lines):
        return ","  # in the first line too: "Route 66 1,2" has no weight of 1.2
    return "\t" if ending(path) == "tsv" and lines[0].separator == b"\t" else None


def _first_lines(head: bytes) -> list[Line]:
    """Return the first two lines, and more if they start soon after."""
    lines: list[Line] = []
    start, number = 0, 1
    while start < len(head) and (len(lines) < 2 or (len(lines) < _LINES and start < lines[0].start + _BYTES)):
        end = head.index(b"\n", start)
        if is_data(head[start:end]):
            lines.append(Line(head[start:end], number, start))
        start, number = end + 1, number + 1
    return lines


def _are_aligned(head: bytes, first: Line) -> bool:
    """Return whether repeated tabs between nodes are alignment rather than empty columns.

    A number after repeated tabs may be the weight of an edge that lacks a node, unless below a header of two words all
    nodes are integers.
    """
    sample = head[first.start : first.start + max(_BYTES, len(first.raw) + 1)]
    if b"\t\t" not in sample or first.integers or first.separator != b"\t" or guess_separator(first.text) != "\t":
        return False
    lines = [line for line in sample.split(b"\n")[:-1] if is_data(line)]
    rows = list(map(_row, lines))
    if {len(row) for row in rows} not in ({2}, {3}) or not all(map(all, rows)):
        return False
    weights = all(is_decimal(row[2].encode()) for row in rows[1:] if len(row) > 2)
    if not weights or known_header(rows[0]) not in (None, (0, 1)):
        return False
    after_tabs = [row[1] for line, row in zip(lines, rows, strict=True) if first_fields(line, b"\t")[1] == b""]
    words = not any(is_decimal(field.encode()) for field in rows[0][:2])
    integers = words and all(is_integer(field.encode()) for row in rows[1:] for field in row[:2])
    return bool(after_tabs) and (integers or not any(is_decimal(field.encode()) for field in after_tabs))


def _row(line: bytes) -> list[str]:
    """Return the fields of a line, with repeated tabs merged."""
    return split_line(one_tab(line.strip(b" \t\r")).decode("utf-8", "replace"), "\t")


def _merge_tabs(text: bytes, num_columns: int) -> bytes:
    """Return a text with repeated tabs merged in every line that lacks no node."""

    def merge(line: bytes) -> bytes:
        if b"\t\t" not in line:
            return line
        row = _row(line)
        return one_tab(line) if len(row) == num_columns and not is_decimal(row[1].encode()) else line

    return b"\n".join(map(merge, text.split(b"\n")))


def _is_table(lines: list[Line]) -> bool:
    """Return whether only `table` can read these separators, order of columns or text columns."""
    first, *below = lines
    sep = guess_separator(first.text)
    if sep in (";", "|"):
        return True
    rows = [split_line(line.text, sep) for line in lines]
    nodes = known_header(rows[0])
    if nodes is None:
        may_be_names = sep != " " and not (below and below[0].integers)
        return may_be_names and words_above_numbers(rows)
    if nodes != (0, 1) or "type" in map(str.lower, rows[0]):  # from Gephi: it may say that edges are directed
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
                f"{quoted(field)} is not a node id; node ids must be integers or names, and columns=(1, 2) makes them "
                "all names.",
                path,
                first.number,
            )
    if len(lines) > 1 and lines[1].integers:
        # Words above integers are a header; a line with a word and an integer is invalid, and refused later.
        return True, not any(map(is_integer, nodes))
    known = tuple(field.decode("utf-8", "replace").lower() for field in nodes) in HEADERS
    rows = [split_line(line.text, guess_separator(first.text)) for line in lines]
    return False, known or (len(set(map(len, rows))) == 1 and words_above_numbers(rows))
