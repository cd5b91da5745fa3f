"""Tables of edges, with a header or columns chosen by the caller: CSV, TSV, or any other separator."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

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
from detours.graph.files.shared.other_lists import refuse_marked, says_directed
from detours.graph.files.shared.source import read_text
from detours.graph.pairs import from_names, number_ids

_HEAD_ROWS = 20  # lines by which a header is recognised
_BEGIN_ROWS = 1000  # lines by which the columns of nodes are


class Row(NamedTuple):
    """The fields of a line that is neither blank nor a comment."""

    number: int
    fields: list[str]


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
    rows = _rows(text, sep, path)
    begin = list(islice(rows, _BEGIN_ROWS))
    if not begin:
        raise FileFormatError("the file holds no edges.", path)
    found = _columns(begin[:_HEAD_ROWS], columns, path)
    if columns is None:
        warn_of_columns([row.fields for row in begin], path, header=found.header)
        warn_of_sets([row.fields for row in begin[found.header :]], path)
    edges = _edges(chain(begin[found.header :], rows), found, path)
    if not found.header:
        warn_of_header(edges, path)
    warn_of_missing(edges, path)
    return replace(edges, directed=True) if directed else edges


def _columns(head: Sequence[Row], wanted: Sequence[str | int] | None, path: Path) -> Columns:
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


def _rows(raw: bytes, sep: str | None, path: Path) -> Iterator[Row]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileFormatError("the file is not UTF-8 text; save it as UTF-8.", path, line) from None
    first = next((line for line in io.StringIO(text) if is_data(line.strip().encode())), None)
    if first is None:
        raise FileFormatError("the file holds no edges: every line is blank or a comment.", path)
    sep = guess_separator(first) if sep is None else sep
    if sep == " ":
        lines = enumerate(io.StringIO(text), 1)
        yield from (Row(number, split_line(line, sep)) for number, line in lines if is_data(line.strip().encode()))
        return
    raw_lines: list[str] = []  # of the row that is read: quotes make a name of what would be a comment

    late = "\t" in text and '"' in text

    def remembered() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            raw_lines.append(line)
            yield quotes_first(line, sep) if late else line

    reader, begun, comments = csv.reader(remembered(), delimiter=sep, skipinitialspace=True), False, 0
    try:
        for fields in reader:
            plain, comment = [field.strip() for field in fields], not is_data(raw_lines[0].encode())
            raw_lines.clear()
            if comment:
                comments += begun and len(plain) > 1
            elif any(plain):
                begun = True
                yield Row(reader.line_num, plain)
    except csv.Error as error:
        raise FileFormatError(f"the table cannot be read ({error}).", path, reader.line_num) from None
    warn_of_comments(comments, path)


def _places(columns: Sequence[str | int], first: Row, path: Path) -> tuple[int, ...]:
    """Return the positions of columns given by names, or by numbers from 1."""
    texts, width, numbered = list(map(str, columns)), len(first.fields), _are_numbers(columns)
    for text in texts:
        if not (1 <= int(text) <= width if numbered else text in first.fields):
            names = ", ".join(first.fields)
            raise FileFormatError(f"there is no column {text!r}; the first line has {names}.", path, first.number)
    return tuple(int(text) - 1 if numbered else first.fields.index(text) for text in texts)


def _are_numbers(columns: Sequence[str | int]) -> bool:
    return all(str(column).isdecimal() and len(str(column)) <= 9 for column in columns)


def _edges(rows: Iterable[Row], columns: Columns, path: Path) -> EdgeList:
    pairs: list[tuple[str, str]] = []
    types: set[str] = set()
    for number, fields in rows:
        source, target = (_field(fields, place) for place in columns.nodes)
        if not source or not target:
            raise FileFormatError(f"a node is missing in {shown(','.join(fields))}.", path, number)
        if columns.weight is not None:
            check_weight(_field(fields, columns.weight).encode(), number, path)
        if columns.type is not None:
            types.add(_field(fields, columns.type).lower())
        pairs.append((source, target))
    if not pairs:
        raise FileFormatError("the file holds no edges.", path)
    edges = _numbered(pairs, path)
    if {"directed", "undirected"} <= types:
        raise FileFormatError("some edges are of the type Directed and some Undirected; keep one of both.", path)
    return replace(edges, directed=True) if types == {"directed"} else edges


def _field(fields: list[str], place: int) -> str:
    return fields[place] if place < len(fields) else ""


def _numbered(pairs: list[tuple[str, str]], path: Path) -> EdgeList:
    """Return edges between integers if all nodes are such, else between names."""
    if all(
        len(name) <= 20 and is_integer(name.encode()) and abs(int(name)) <= MAX_ID for pair in pairs for name in pair
    ):
        edges, names, num_nodes = number_ids(np.array(pairs, np.int64).T.copy())
        if len({name for pair in pairs for name in pair}) > num_nodes:
            warn_of_zeros(path)
        return EdgeList(edges, num_nodes, names, "lines")
    return from_names([u for u, _ in pairs], [v for _, v in pairs])
