"""Tables of edges, with a header or columns chosen by the caller: CSV, TSV, or any other separator."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.checks import check_choice
from detours.errors import FileFormatError, InputError, shown
from detours.graph.edges import EdgeList
from detours.graph.files.shared.columns import (
    SEPARATORS,
    guess_separator,
    known_header,
    quotes_first,
    split_line,
    words_above_integers,
    words_above_numbers,
)
from detours.graph.files.shared.doubts import (
    warn_of_columns,
    warn_of_comments,
    warn_of_header,
    warn_of_missing,
    warn_of_sets,
    warn_of_zeros,
)
from detours.graph.files.shared.lines import MAX_ID, check_weight, is_data, is_integer
from detours.graph.files.shared.numbered import Numbering, Row, sorted_by_name
from detours.graph.files.shared.other_lists import refuse_marked, says_directed
from detours.graph.files.shared.source import read_text
from detours.graph.pairs import renumber

_HEAD_ROWS = 20  # lines by which a header is recognised
_BEGIN_ROWS = 1000  # lines by which the columns of nodes are


class Columns(NamedTuple):
    """Where a table has what; names of columns need a header."""

    header: bool
    nodes: tuple[int, ...]
    weight: int | None = None
    type: int | None = None
    """Gephi says there which edges are directed."""


def read_table(
    path: Path, columns: Sequence[str | int] | None = None, sep: str | None = None, *, text: bytes | None = None
) -> EdgeList:
    """Return the edges of a table.

    Args:
        path: The file.
        columns: The names of the two columns of nodes, or their numbers from 1; by default those of a known header,
            or the first two.
        sep: What separates the columns; by default what the first line has most often.
        text: The content of the file, if it has been read already.
    """
    if sep is not None:
        check_choice("sep", sep, SEPARATORS)
    if columns is not None and (isinstance(columns, str) or len(columns) != 2):
        raise InputError(f"columns must be two names or numbers of columns, but {shown(columns)} was given.")
    text = read_text(path) if text is None else text
    refuse_marked(text, path)
    directed = says_directed(text, path)
    rows = _Rows(text, sep, path)
    begin = list(islice(rows.read(), _BEGIN_ROWS))
    if not begin:
        raise FileFormatError("the file holds no edges.", path)
    found = _columns(begin[:_HEAD_ROWS], columns, path)
    if columns is None:
        warn_of_columns([row.fields for row in begin], path, header=found.header)
        warn_of_sets([row.fields for row in begin[found.header :]], path)
    edges = _edges(rows, begin, found)
    if not found.header:
        warn_of_header(edges, path)
    warn_of_missing(edges, path)
    return replace(edges, directed=True) if directed else edges


def _columns(head: Sequence[_Row], wanted: Sequence[str | int] | None, path: Path) -> Columns:
    """Return which columns hold what; ``wanted`` are those of the nodes, if the caller has named them."""
    rows = [row.fields for row in head]
    known = known_header(rows[0])
    nodes = (known or (0, 1)) if wanted is None else _places(wanted, head[0], path)
    named = wanted is not None and not _are_numbers(wanted)
    beside = nodes if len(rows[0]) < 3 else ()  # of more columns, the first may hold years, say, and others the nodes
    if not (known or named or words_above_integers(rows, nodes) or words_above_numbers(rows, beside)):
        return Columns(False, nodes)
    lower = [field.lower() for field in rows[0]]
    return Columns(True, nodes, *(lower.index(name) if name in lower else None for name in ("weight", "type")))


class _Row(NamedTuple):
    """The fields of a line that is neither blank nor a comment, or of several that quotes join."""

    fields: list[str]
    line: int
    """The number of the last one."""
    after: int
    """The byte behind it."""


class _Rows:
    """The rows of a text, read by Python from any of them on."""

    def __init__(self, text: bytes, sep: str | None, path: Path) -> None:
        _check_unicode(text, path)
        first = next((line for line in io.BytesIO(text) if _is_data(line)), None)
        if first is None:
            raise FileFormatError("the file holds no edges: every line is blank or a comment.", path)
        self.text, self.path = text, path
        self.sep = guess_separator(first.decode()) if sep is None else sep
        self.begun, self.comments = False, 0
        self._late = b"\t" in text and b'"' in text

    def read(self, at: int = 0, line: int = 1) -> Iterator[_Row]:
        """Yield the rows from that at a byte on, which is a line of this number."""
        return self._split(at, line) if self.sep == " " else self._parse(at, line)

    def _split(self, at: int, line: int) -> Iterator[_Row]:
        for number, raw in enumerate(_lines(self.text, at), line):
            at += len(raw)
            if _is_data(raw):
                yield _Row(split_line(raw.decode(), self.sep), number, at)

    def _parse(self, at: int, line: int) -> Iterator[_Row]:
        read: list[bytes] = []  # of this row: quotes make a name of what would be a comment

        def remembered() -> Iterator[str]:
            for raw in chain.from_iterable(raw.splitlines(keepends=True) for raw in _lines(self.text, at)):
                read.append(raw)
                yield quotes_first(raw.decode(), self.sep) if self._late else raw.decode()

        reader = csv.reader(remembered(), delimiter=self.sep, skipinitialspace=True)
        try:
            for fields in reader:
                plain, comment = [field.strip() for field in fields], not is_data(read[0])
                at += sum(map(len, read))
                read.clear()
                if comment:
                    self.comments += self.begun and len(plain) > 1
                elif any(plain):
                    self.begun = True
                    yield _Row(plain, line - 1 + reader.line_num, at)
        except csv.Error as error:
            line += reader.line_num - 1
            raise FileFormatError(f"the table cannot be read ({error}).", self.path, line) from None


def _check_unicode(text: bytes, path: Path) -> None:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise FileFormatError("the file is not UTF-8 text; save it as UTF-8.", path, line) from None


def _lines(text: bytes, at: int) -> io.BytesIO:
    """Return the lines of a text from a byte on, without a copy."""
    lines = io.BytesIO(text)
    lines.seek(at)
    return lines


def _is_data(line: bytes) -> bool:
    return is_data(line.decode().strip().encode())


def _places(columns: Sequence[str | int], first: _Row, path: Path) -> tuple[int, ...]:
    """Return the positions of columns given by names, or by numbers from 1."""
    texts, width, numbered = list(map(str, columns)), len(first.fields), _are_numbers(columns)
    for text in texts:
        if not (1 <= int(text) <= width if numbered else text in first.fields):
            names = ", ".join(first.fields)
            raise FileFormatError(f"there is no column {text!r}; the first line has {names}.", path, first.line)
    return tuple(int(text) - 1 if numbered else first.fields.index(text) for text in texts)


def _are_numbers(columns: Sequence[str | int]) -> bool:
    return all(str(column).isdecimal() and len(str(column)) <= 9 for column in columns)


def _edges(rows: _Rows, begin: list[_Row], columns: Columns) -> EdgeList:
    """Return the edges of all rows; the first ones have been read."""
    asked = [place for place in (*columns.nodes, columns.type) if place is not None]

    def named(row: _Row) -> Row:
        return Row(_names(row, asked, columns.weight, rows.path), row.line, row.after)

    def read(_: bytes, at: int, line: int) -> Iterator[Row]:
        return map(named, rows.read(at, line))

    numbering = Numbering(read, rows.sep, asked, columns.weight)
    parts = [numbering.number(map(named, begin[columns.header :]))]
    if len(begin) == _BEGIN_ROWS:
        parts.append(numbering.read(rows.text, begin[-1].after, begin[-1].line + 1))
    warn_of_comments(rows.comments, rows.path)
    found, names = np.concatenate(parts, axis=1), [name.decode() for name in numbering.places]
    if not found.size:
        raise FileFormatError("the file holds no edges.", rows.path)
    types = {names[each].lower() for each in np.flatnonzero(np.bincount(found[2:].ravel()))}
    nodes = np.bincount(found[:2].ravel(), minlength=len(names)) > 0  # the other names are types alone
    edges = _numbered((np.cumsum(nodes) - 1)[found[:2]], list(compress(names, nodes)), rows.path)
    if {"directed", "undirected"} <= types:
        raise FileFormatError(
            "some edges are of type Directed and some Undirected; keep only one of the two.", rows.path
        )
    return replace(edges, directed=True) if types == {"directed"} else edges


def _names(row: _Row, asked: Sequence[int], weight: int | None, path: Path) -> list[bytes]:
    """Return the fields that are asked for, of which the first two are nodes; the weight must be one."""
    names = [_field(row.fields, place) for place in asked]
    if not names[0] or not names[1]:
        raise FileFormatError(f"a node is missing in {shown(','.join(row.fields))}.", path, row.line)
    if weight is not None:
        check_weight(_field(row.fields, weight).encode(), row.line, path)
    return [name.encode() for name in names]


def _field(fields: list[str], place: int) -> str:
    return fields[place] if place < len(fields) else ""


def _numbered(ends: Int64, names: list[str], path: Path) -> EdgeList:
    """Return edges between integers if all nodes are such, else between names."""
    if not all(len(name) <= 20 and is_integer(name.encode()) and abs(int(name)) <= MAX_ID for name in names):
        return sorted_by_name(ends, names)
    edges, ids, num_nodes = renumber(np.array(list(map(int, names)), np.int64)[ends])
    if len(names) > num_nodes:
        warn_of_zeros(path)
    return EdgeList(edges, num_nodes, ids, "lines")
