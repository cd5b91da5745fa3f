"""Tables of edges, with a header or columns chosen by the caller: CSV, TSV, or any other separator."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from detours.checks import check_choice
from detours.errors import FileFormatError, InputError, shown, warn_caller
from detours.graph.edges import EdgeList
from detours.graph.files.shared.lines import check_weight, is_data, is_decimal, is_integer
from detours.graph.files.shared.other_lists import refuse_other_lists, says_directed
from detours.graph.files.shared.source import BOM, read_text
from detours.graph.pairs import from_names, number_ids

HEADERS = (("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("node_1", "node_2"))
SEPARATORS = (",", ";", "\t", "|", " ")
NO_NODES = ("", "#", "id", "index", "no", "row", "edge", "edge_id", "bond", "bond_id", "graph", "molecule", "weight")
"""Names of a first column that seldom holds nodes."""
_HEAD_ROWS = 20  # lines by which a header is recognised
_BEGIN_ROWS = 1000  # lines by which the columns of nodes are
_SUSPECT = 2  # edges from which a first line whose names occur nowhere else is worth a warning


class Row(NamedTuple):
    """The fields of a line that is neither blank nor a comment."""

    number: int
    fields: list[str]


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
    text = read_text(path) if text is None else text.removeprefix(BOM)
    refuse_other_lists(text, path)
    arcs = says_directed(text, path)
    rows = _rows(text, sep, path)
    begin = list(islice(rows, _BEGIN_ROWS))
    if not begin:
        raise FileFormatError("the file holds no edges.", path)
    first, head = begin[0], begin[:_HEAD_ROWS]
    header = known_header(first.fields) is not None
    places: Sequence[int]
    if columns is None:
        places = known_header(first.fields) or (0, 1)
    else:
        places = _places(columns, first, path)
        header = header or not _are_numbers(columns)
    header = header or _is_header(head, places) or words_above_numbers([row.fields for row in head], places)
    if columns is None:
        warn_of_columns([row.fields for row in begin], path, header=header)
    lower = [field.lower() for field in first.fields]
    weight = lower.index("weight") if header and "weight" in lower else None
    kinds: set[str] = set()
    data: Iterable[Row] = chain(begin[header:], rows)
    if header and "type" in lower:
        data = _noting(data, lower.index("type"), kinds)
    edges = _edges(data, places, weight, path)
    if not header:
        warn_of_header(edges, path)
    if {"directed", "undirected"} <= kinds:
        raise FileFormatError("some edges are of the type Directed and some Undirected; keep one of both.", path)
    return replace(edges, directed=arcs or kinds == {"directed"})


def _noting(rows: Iterable[Row], column: int, kinds: set[str]) -> Iterator[Row]:
    """Pass rows on, and add what a column holds to `kinds`: Gephi has a column Type."""
    for row in rows:
        kinds.add(row.fields[column].lower() if column < len(row.fields) else "")
        yield row


def words_above_numbers(rows: Sequence[Sequence[str]], nodes: Sequence[int] = (0, 1)) -> bool:
    """Return whether the first row is a header: distinct words, one of them above a column of numbers beside the nodes.

    >>> words_above_numbers([["sender", "receiver", "letters"], ["Ada", "Grace", "7"]])
    True
    """
    first, below = rows[0], rows[1:]
    if len(set(first)) < len(first) or any(not word or is_decimal(word.encode()) for word in first):
        return False
    for column in set(range(len(first))).difference(nodes):
        fields = [row[column].encode() for row in below if len(row) > column and row[column]]
        if fields and all(map(is_decimal, fields)):
            return True
    return False


def warn_of_header(edges: EdgeList, path: Path) -> None:
    """Warn if the first line, read as an edge, may be a header: its names are in no other line."""
    ends = edges.edge_index
    if ends.shape[1] < _SUSPECT or not isinstance(edges.names, tuple):
        return
    if all(np.count_nonzero(ends == node) == 1 for node in ends[:, 0]):
        names = " and ".join(shown(edges.names[node]) for node in ends[:, 0])
        warn_caller(
            f"{path.name}: the first line was read as an edge, although its nodes are in no other line; "
            f"if it is a header, name the columns of nodes, {names}.",
            UserWarning,
        )


def warn_of_columns(rows: Sequence[Sequence[str]], path: Path, *, header: bool = True) -> None:
    """Warn if others than the first two columns may hold the nodes.

    They may if the first column counts the rows, or is named so, or if the third has nodes of the second and the first
    has none, as where it holds times.

    Args:
        rows: The first ones, the header among them.
        path: The file.
        header: Whether there is one.
    """
    if not rows or len(rows[0]) < 3 or known_header(rows[0]) is not None:
        return
    first, below = rows[0], [row for row in rows[header:] if len(row) > 2]
    integers = all(len(field) <= 18 and is_integer(field.encode()) for row in below for field in (row[0], row[2]))
    counts = integers and len(below) > 1 and all(int(b[0]) == int(a[0]) + 1 for a, b in pairwise(below))
    named = first[0].strip().lower() in NO_NODES
    if (header and (counts or named)) or _later_nodes(below):
        one, two, three = map(shown, first[:3]) if header else "123"
        warn_caller(
            f"{path.name}: the columns {one} and {two} were read as nodes; "
            f"if others hold them, name these, such as {two} and {three}.",
            UserWarning,
        )


def _later_nodes(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the second and the third column hold the same things, and the first holds others."""
    one, two, three = ({row[column] for row in rows} for column in range(3))
    return len(rows) > 1 and not one & two and 4 * len(two & three) >= max(len(two), len(three))


def warn_of_comments(number: int, path: Path) -> None:
    """Warn of so many lines of a table that were skipped, though they may be edges of nodes whose names begin so."""
    if number:
        skipped = "one that may be an edge was" if number == 1 else f"{number} that may be edges were"
        warn_caller(
            f"{path.name}: lines that begin with # or % are comments, and {skipped} skipped; quote such names.",
            UserWarning,
        )


def warn_of_zeros(path: Path) -> None:
    """Warn that ids which differ in leading zeros alone are the same node."""
    warn_caller(f"{path.name}: ids with leading zeros are read as numbers, so that 007 is the node 7.", UserWarning)


def known_header(fields: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the columns of nodes in a header with usual names, None if it is none.

    >>> known_header(["Id", "Source", "Target", "Weight"])
    (1, 2)
    """
    names = [field.strip().lower() for field in fields]
    for source, target in HEADERS:
        if source in names and target in names:
            return names.index(source), names.index(target)
    return None


def split_line(line: str, sep: str) -> list[str]:
    """Return the fields of a line, without quotes and outer blanks."""
    if sep == " ":
        return line.split()
    try:
        fields = next(csv.reader([line], delimiter=sep), [])
    except csv.Error:  # a carriage return within the line, say
        fields = line.split(sep)
    return [field.strip() for field in fields]


def guess_separator(line: str) -> str:
    """Return the separator that a line has most often, a blank if it has none.

    >>> guess_separator("Ada;Grace, Hopper;1952")
    ';'
    """
    return max(SEPARATORS[:-1], key=line.count) if any(map(line.count, SEPARATORS[:-1])) else " "


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
        yield from (Row(number, line.split()) for number, line in lines if is_data(line.strip().encode()))
        return
    raw_lines: list[str] = []  # of the row that is read: quotes make a name of what would be a comment

    def remembered() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            raw_lines.append(line)
            yield line

    reader, begun, comments = csv.reader(remembered(), delimiter=sep), False, 0
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


def _is_header(head: list[Row], places: Sequence[int]) -> bool:
    """Words above integers are a header."""
    if len(head) < 2:
        return False
    above, below = (
        [is_integer(row.fields[place].encode()) for place in places if place < len(row.fields)] for row in head[:2]
    )
    return all(below) and not any(above)


def _edges(rows: Iterable[Row], places: Sequence[int], weight: int | None, path: Path) -> EdgeList:
    pairs: list[tuple[str, str]] = []
    for number, fields in rows:
        source, target = (fields[place] if place < len(fields) else "" for place in places)
        if not source or not target:
            raise FileFormatError(f"a node is missing in {shown(','.join(fields))}.", path, number)
        if weight is not None and weight < len(fields):
            check_weight(fields[weight].encode(), number, path)
        pairs.append((source, target))
    if not pairs:
        raise FileFormatError("the file holds no edges.", path)
    if all(len(name) <= 18 and is_integer(name.encode()) for pair in pairs for name in pair):
        edges, names, num_nodes = number_ids(np.array(pairs, np.int64).T.copy())
        if len({name for pair in pairs for name in pair}) > num_nodes:
            warn_of_zeros(path)
        return EdgeList(edges, num_nodes, names, "lines")
    return from_names([u for u, _ in pairs], [v for _, v in pairs])
