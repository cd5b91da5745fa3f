"""Edge lists: one edge per line, two integers or two names; a third column is a weight, the rest is ignored."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from detours.atomic import replacing
from detours.errors import FileFormatError, InputError, warn_caller
from detours.graph.edges import EdgeList
from detours.graph.files.shared.format import Format, ending
from detours.graph.files.shared.lines import (
    NoWeight,
    begins_with_integers,
    check_weight,
    is_data,
    is_decimal,
    is_integer,
    pieces,
    quoted,
    read_integers,
    refuse_adjacency_list,
    refuse_matrix,
)
from detours.graph.files.shared.other_lists import refuse_other_lists, says_directed
from detours.graph.files.shared.source import BOM, check_text, opened
from detours.graph.files.table import (
    HEADERS,
    guess_separator,
    known_header,
    read_table,
    split_line,
    warn_of_columns,
    warn_of_comments,
    warn_of_header,
    warn_of_zeros,
    words_above_numbers,
)
from detours.graph.pairs import number_ids

_ROWS = 100_000
_HEAD = 1 << 16  # bytes and lines in which a header is looked for
_HEAD_LINES = 20
_PADDED = re.compile(rb"^[ \t]*(?:\d+[ \t,]+)?0\d", re.MULTILINE)  # an id with a leading zero


class _Line(NamedTuple):
    """A line that is neither blank nor a comment."""

    integers: bool
    """Whether it begins with two integers."""
    fields: list[bytes]
    number: int
    start: int
    """The byte at which it starts."""


def read(path: Path) -> EdgeList:
    """Return the edges of a file; the first lines tell whether its nodes are integers or names."""
    with opened(path) as file:
        text = pieces(file)
        head = next(text, b"")
        if not head:
            raise FileFormatError("the file is empty.", path)
        check_text(head, path)
        refuse_matrix(head, path)
        refuse_adjacency_list(head, path)
        refuse_other_lists(head, path)
        arcs = says_directed(head, path)
        first_line = next(iter(_head_lines(head)), "")
        tabs = "\t" if ending(path) == "tsv" and "\t" in first_line else None
        if _needs_table(head) or (tabs and "," in first_line):
            return read_table(path, sep=tabs, text=b"".join(chain([head], text)))
        # A byte-order mark becomes blanks, so that the length stays the same.
        head = head.replace(BOM, b"   ", 1) if head.startswith(BOM) else head
        found = list(_first_data(head))
        while len(found) < 2 and (more := next(text, None)) is not None:
            head += more
            found = list(_first_data(head))
        if not found:
            raise FileFormatError("the file holds no edges: every line is blank or a comment.", path)
        integers, header = _decide(found, path)
        if integers and _PADDED.search(head[:_HEAD]):
            warn_of_zeros(path)
        if header or integers:
            first_rows = [split_line(line, guess_separator(line)) for line in _head_lines(head, _HEAD)]
            warn_of_columns(first_rows, path, header=header)
        if header:
            head = head[: found[0].start] + b"#" + head[found[0].start :]
        text = chain([head], text)
        try:
            edges = _read_integers(text, path) if integers else _read_names(text, path, found[0])
        except NoWeight:
            # A column of another name than weight may hold any text, from any line on.
            if not header or [each.lower() for each in found[0].fields[2:]] == [b"weight"] or not path.is_file():
                raise
            return read_table(path, sep=tabs)
        if not integers and not header:
            warn_of_header(edges, path)
        return replace(edges, directed=arcs)


def _needs_table(head: bytes) -> bool:
    """Return whether the first lines have separators, columns in another order, or text, that only `table` can read."""
    lines = _head_lines(head)
    first, second = (*lines[:2], "", "")[:2]
    sep = guess_separator(first)
    fields = split_line(first, sep)
    places = known_header(fields)
    if sep in (";", "|") or (places is not None and places != (0, 1)):
        return True
    if places is not None and "type" in map(str.lower, fields):  # of Gephi: it may say that edges are directed
        return True
    if places is None and not begins_with_integers(second.encode()):
        return sep != " " and words_above_numbers([split_line(line, sep) for line in lines] or [[]])
    beside = split_line(second, sep)[2:3]
    return places is not None and beside not in ([], [""]) and not is_decimal(beside[0].encode())


def _head_lines(head: bytes, most: int = _HEAD_LINES) -> list[str]:
    begin = head[:_HEAD].removeprefix(BOM).split(b"\n")
    return [line.decode("utf-8", "replace") for line in begin[:-1] if is_data(line)][:most]


def _first_data(head: bytes) -> Iterator[_Line]:
    """Yield the first two lines that are neither blank nor comments."""
    start, number, left = 0, 1, 2
    while left and start < len(head):
        end = head.index(b"\n", start)
        line = head[start:end]
        if is_data(line):
            yield _Line(begins_with_integers(line), _fields(line, _separator(line)), number, start)
            left -= 1
        start, number = end + 1, number + 1


def _decide(found: list[_Line], path: Path) -> tuple[bool, bool]:
    """Return whether the nodes are integers, and whether the first line is a header."""
    first = found[0]
    if first.integers:
        return True, False
    if len(first.fields) < 2:
        raise FileFormatError(
            f"a line must hold two nodes, but there is only {quoted(first.fields[0])}.", path, first.number
        )
    for field in first.fields[:2]:
        if is_decimal(field) and not is_integer(field):
            raise FileFormatError(
                f"{quoted(field)} is not a node id; node ids must be integers or names.",
                path,
                first.number,
            )
    if len(found) > 1 and found[1].integers:
        # Words above integers are a header; a line of a word and an integer is broken, and refused later.
        return True, not any(is_integer(field) for field in first.fields[:2])
    names = tuple(field.decode("utf-8", "replace").lower() for field in first.fields[:2])
    return False, names in HEADERS


def _separator(line: bytes) -> bytes | None:
    return b"," if b"," in line else b"\t" if b"\t" in line.strip() else None


def _fields(line: bytes, separator: bytes | None) -> list[bytes]:
    line = line.strip(b" \t\r")
    if separator is None:
        return line.split(None, 2) or [line]  # blanks of other kinds alone
    if b'"' in line:
        text = line.decode("utf-8", "surrogateescape")
        try:
            row = next(csv.reader([text], delimiter=separator.decode()))
        except csv.Error:  # a carriage return within the line, say
            row = text.split(separator.decode())
        return [field.strip().encode("utf-8", "surrogateescape") for field in row[:3]]
    return [field.strip() for field in line.split(separator)[:3]]


def _read_integers(text: Iterable[bytes], path: Path) -> EdgeList:
    ids = read_integers(text, path)
    if not ids.size:
        raise FileFormatError("the file holds no edges.", path)
    edges, names, num_nodes = number_ids(ids)
    return EdgeList(edges, num_nodes, names, "lines")


def _read_names(text: Iterable[bytes], path: Path, first: _Line) -> EdgeList:
    ends = array("q")
    places: dict[bytes, int] = {}
    number = comments = 0
    separator: bytes | None = None
    for piece in text:
        for line in piece.split(b"\n")[:-1]:
            number += 1
            if number == first.number:
                separator = _separator(line)
            if is_data(line):
                for name in _named_edge(_fields(line, separator), number, path):
                    ends.append(places.setdefault(name, len(places)))
            elif separator is not None and number > first.number:
                comments += separator in line
    warn_of_comments(comments, path)
    if not ends:
        raise FileFormatError("the file holds no edges.", path)
    names = _decoded(places, path)
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    edges = rank[np.frombuffer(ends, dtype=np.int64).reshape(-1, 2).T]
    return EdgeList(np.ascontiguousarray(edges), len(names), tuple(names[at] for at in order), "lines")


def _named_edge(fields: list[bytes], number: int, path: Path) -> list[bytes]:
    if len(fields) > 2 and not fields[0] and all(fields[1:]):
        raise FileFormatError(
            f"the first column is empty; if it numbers the rows, name the columns of nodes, such as "
            f"{quoted(fields[1])} and {quoted(fields[2])}, and an adjacency matrix is read with pandas.",
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


def _decoded(places: dict[bytes, int], path: Path) -> list[str]:
    names = []
    for name in places:
        try:
            names.append(name.decode("utf-8"))
        except UnicodeDecodeError:
            raise FileFormatError(f"the name {quoted(name)} is not UTF-8 text; save the file as UTF-8.", path) from None
    return names


def write(edges: EdgeList, path: Path) -> None:
    """Write one edge per line (arcs if directed), in the caller's names."""
    separator = {"csv": ",", "tsv": "\t"}.get(ending(path), " ")
    names = [str(name) for name in edges.name_list()]
    _check_names(names, separator, path)
    degree = np.bincount(edges.edge_index.ravel(), minlength=edges.num_nodes)
    isolated = int(np.count_nonzero(degree == 0))
    if isolated:
        warn_caller(
            f"{isolated} node{'s' * (isolated != 1)} without an edge cannot be kept in an edge list; "
            "write .graphml, .mtx, .npz or .g6 to keep them.",
            UserWarning,
        )
    sources, targets = edges.once()
    with replacing(path) as file:
        for start in range(0, len(sources), _ROWS):
            rows = slice(start, start + _ROWS)
            pairs = zip(sources[rows].tolist(), targets[rows].tolist(), strict=True)
            file.write("".join([f"{names[u]}{separator}{names[v]}\n" for u, v in pairs]).encode("utf-8"))


def _check_names(names: list[str], separator: str, path: Path) -> None:
    bad = (" ", "\t", ",", "\n", "\r", '"') if separator == " " else (separator, "\n", "\r", '"')
    for name in names:
        if not name.strip() or name[0] in "#%" or any(sign in name for sign in bad):
            raise InputError(
                f"The node name {name!r} cannot be written to an edge list ({path}); "
                "write .graphml or .npz, or rename the nodes."
            )
    if len(set(names)) < len(names):
        raise InputError(f"Two nodes have the same name when written as text ({path}); write .npz or rename them.")


FORMAT = Format(("edgelist", "edges", "edge", "el", "txt", "csv", "tsv", "dat", "list", "links", "ncol"), read, write)
