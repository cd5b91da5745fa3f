"""Tables of edges, with a header or columns chosen by the caller: CSV, TSV or other separators."""

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
from detours.errors import FileFormatError, InputError, short_repr
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
from detours.graph.files.shared.name_index import NameIndex, Row, sorted_by_name
from detours.graph.files.shared.other_lists import refuse_marked, says_directed
from detours.graph.files.shared.source import read_text
from detours.graph.pairs import renumber

_HEADER_ROWS = 20  # examined for a header
_FIRST_ROWS = 1000  # examined for the columns of nodes


class _Layout(NamedTuple):
    """The positions of the columns of a table."""

    header: bool
    nodes: tuple[int, ...]
    weight: int | None = None
    type: int | None = None
    """The column in which Gephi writes which edges are directed."""


def read_table(
    path: Path, columns: Sequence[str | int] | None = None, sep: str | None = None, *, text: bytes | None = None
) -> EdgeList:
    """Return the edges of a table.

    Args:
        path: The file.
        columns: The two columns of nodes, by name or by number from 1; by default those of a known header, or the
            first two.
        sep: The column separator; by default the most frequent one in the first line.
        text: The content of the file, if it has already been read.
    """
    if sep is not None:
        check_choice("sep", sep, SEPARATORS)
    if columns is not None and (not isinstance(columns, Sequence) or isinstance(columns, str) or len(columns) != 2):
        raise InputError(f"columns must be two names or numbers of columns, but {short_repr(columns)} was given.")
    text = read_text(path) if text is None else text
    refuse_marked(text, path)
    directed = says_directed(text, path)
    rows = _Rows(text, sep, path)
    first = list(islice(rows.read(), _FIRST_ROWS))
    if not first:
        raise FileFormatError("the file holds no edges.", path)
    layout = _layout(first[:_HEADER_ROWS], columns, path)
    if columns is None:
        warn_of_columns([row.fields for row in first], path, header=layout.header)
        warn_of_sets([row.fields for row in first[layout.header :]], path)
    edges = _edges(rows, first, layout)
    if not layout.header:
        warn_of_header(edges, path)
    warn_of_missing(edges, path)
    return replace(edges, directed=True) if directed else edges


def _layout(head: Sequence[_Row], columns: Sequence[str | int] | None, path: Path) -> _Layout:
    """Return the layout of a table, given its first rows and the columns of nodes if the caller chose them."""
    rows = [row.fields for row in head]
    known = known_header(rows[0])
    nodes = (known or (0, 1)) if columns is None else _positions(columns, head[0], path)
    named = columns is not None and not _are_numbers(columns)
    skipped = nodes if len(rows[0]) < 3 else ()  # of three or more columns, the first may hold years, not nodes
    if not (known or named or words_above_integers(rows, nodes) or words_above_numbers(rows, skipped)):
        return _Layout(False, nodes)
    lower = [field.lower() for field in rows[0]]
    return _Layout(True, nodes, *(lower.index(name) if name in lower else None for name in ("weight", "type")))


class _Row(NamedTuple):
    """The fields of a line that is neither blank nor a comment, or of several joined by quotes."""

    fields: list[str]
    line: int
    """The number of the last line."""
    after: int
    """The byte after it."""


class _Rows:
    """The rows of a text, read by Python from any line on."""

    def __init__(self, text: bytes, sep: str | None, path: Path) -> None:
        _check_unicode(text, path)
        first = next((line for line in io.BytesIO(text) if _is_data(line)), None)
        if first is None:
            raise FileFormatError("the file holds no edges: every line is blank or a comment.", path)
        self.text, self.path = text, path
        self.sep = guess_separator(first.decode()) if sep is None else sep
        self._started, self.comments = False, 0
        self._has_quoted_tabs = b"\t" in text and b'"' in text

    def read(self, at: int = 0, line: int = 1) -> Iterator[_Row]:
        """Yield the rows from byte `at`, the start of line `line`, on."""
        return self._split(at, line) if self.sep == " " else self._parse(at, line)

    def _split(self, at: int, line: int) -> Iterator[_Row]:
        for number, raw in enumerate(_lines(self.text, at), line):
            at += len(raw)
            if _is_data(raw):
                yield _Row(split_line(raw.decode(), self.sep), number, at)

    def _parse(self, at: int, line: int) -> Iterator[_Row]:
        raw_lines: list[bytes] = []  # of this row: a quoted name is not a comment

        def decoded() -> Iterator[str]:
            for raw in chain.from_iterable(raw.splitlines(keepends=True) for raw in _lines(self.text, at)):
                raw_lines.append(raw)
                yield quotes_first(raw.decode(), self.sep) if self._has_quoted_tabs else raw.decode()

        reader = csv.reader(decoded(), delimiter=self.sep, skipinitialspace=True)
        try:
            for fields in reader:
                stripped, comment = [field.strip() for field in fields], not is_data(raw_lines[0])
                at += sum(map(len, raw_lines))
                raw_lines.clear()
                if comment:
                    self.comments += self._started and len(stripped) > 1
                elif any(stripped):
                    self._started = True
                    yield _Row(stripped, line - 1 + reader.line_num, at)
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
    """Return the lines of a text from byte `at` on, without a copy."""
    lines = io.BytesIO(text)
    lines.seek(at)
    return lines


def _is_data(line: bytes) -> bool:
    return is_data(line.decode().strip().encode())


def _positions(columns: Sequence[str | int], first: _Row, path: Path) -> tuple[int, ...]:
    """Return the positions of columns given by name, or by number from 1."""
    texts, width, by_number = list(map(str, columns)), len(first.fields), _are_numbers(columns)
    for text in texts:
        if not (1 <= int(text) <= width if by_number else text in first.fields):
            names = ", ".join(first.fields)
            raise FileFormatError(f"there is no column {text!r}; the first line has {names}.", path, first.line)
    return tuple(int(text) - 1 if by_number else first.fields.index(text) for text in texts)


def _are_numbers(columns: Sequence[str | int]) -> bool:
    return all(str(column).isdecimal() and len(str(column)) <= 9 for column in columns)


def _edges(rows: _Rows, first: list[_Row], layout: _Layout) -> EdgeList:
    """Return the edges of all rows, of which the first have already been read."""
    columns = [column for column in (*layout.nodes, layout.type) if column is not None]

    def named(row: _Row) -> Row:
        return Row(_names(row, columns, layout.weight, rows.path), row.line, row.after)

    def read(_: bytes, at: int, line: int) -> Iterator[Row]:
        return map(named, rows.read(at, line))

    index = NameIndex(read, rows.sep, columns, layout.weight)
    parts = [index.add_rows(map(named, first[layout.header :]))]
    if len(first) == _FIRST_ROWS:
        parts.append(index.add_text(rows.text, first[-1].after, first[-1].line + 1))
    warn_of_comments(rows.comments, rows.path)
    ids, names = np.concatenate(parts, axis=1), [name.decode() for name in index.ids]
    if not ids.size:
        raise FileFormatError("the file holds no edges.", rows.path)
    types = {names[i].lower() for i in np.flatnonzero(np.bincount(ids[2:].ravel()))}
    is_node = np.bincount(ids[:2].ravel(), minlength=len(names)) > 0  # the other names are only types
    edges = _to_edge_list((np.cumsum(is_node) - 1)[ids[:2]], list(compress(names, is_node)), rows.path)
    if {"directed", "undirected"} <= types:
        raise FileFormatError(
            "some edges are of type Directed and some Undirected; keep only one of the two.", rows.path
        )
    return replace(edges, directed=True) if types == {"directed"} else edges


def _names(row: _Row, columns: Sequence[int], weight: int | None, path: Path) -> list[bytes]:
    """Return the fields in these columns, of which the first two are nodes, and check that in the weight column."""
    names = [_field(row.fields, column) for column in columns]
    if not names[0] or not names[1]:
        raise FileFormatError(f"a node is missing in {short_repr(','.join(row.fields))}.", path, row.line)
    if weight is not None:
        check_weight(_field(row.fields, weight).encode(), row.line, path)
    return [name.encode() for name in names]


def _field(fields: list[str], column: int) -> str:
    return fields[column] if column < len(fields) else ""


def _to_edge_list(ends: Int64, names: list[str], path: Path) -> EdgeList:
    """Return edges between integers if all names are integers, else between names."""
    if not all(len(name) <= 20 and is_integer(name.encode()) and abs(int(name)) <= MAX_ID for name in names):
        return sorted_by_name(ends, names)
    edges, ids, num_nodes = renumber(np.array(list(map(int, names)), np.int64)[ends])
    if len(names) > num_nodes:
        warn_of_zeros(path)
    return EdgeList(edges, num_nodes, ids, "lines")
