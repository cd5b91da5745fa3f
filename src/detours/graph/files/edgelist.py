"""Edge lists: one edge per line, two integers or two names, then columns that do not matter."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.atomic import replacing
from detours.errors import FileFormatError, InputError, warn_caller
from detours.graph.convert import listed_once
from detours.graph.edges import Ints, Listed, Names
from detours.graph.files.lines import (
    begins_with_integers,
    check_third,
    is_data,
    is_decimal,
    is_integer,
    pieces,
    quoted,
    read_integers,
)
from detours.graph.files.source import BOM, check_text, opened

if TYPE_CHECKING:
    from detours.graph import Graph

_HEADERS = {("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("node_1", "node_2")}
_ROWS = 100_000


class _Found(NamedTuple):
    """A line with data: whether two integers begin it, its fields, its number, the byte where it begins."""

    integers: bool
    fields: list[bytes]
    number: int
    at: int


def read(path: Path) -> Listed:
    """Read an edge list; the first lines tell whether its nodes are integers or names."""
    with opened(path) as file:
        text = pieces(file)
        head = next(text, b"")
        if not head:
            raise FileFormatError("the file is empty.", path)
        check_text(head, path)
        # Same length as before, so that nothing moves: a byte-order mark becomes blanks.
        head = head.replace(BOM, b"   ", 1) if head.startswith(BOM) else head
        found = list(_first_data(head))
        while len(found) < 2 and (more := next(text, None)) is not None:
            head += more
            found = list(_first_data(head))
        if not found:
            raise FileFormatError("the file holds no edges: every line is blank or a comment.", path)
        integers, header = _decide(found, path)
        if header:
            head = head[: found[0].at] + b"#" + head[found[0].at :]
        everything = chain([head], text)
        return _read_numbers(everything, path) if integers else _read_names(everything, path, found[0])


def _first_data(head: bytes) -> Iterator[_Found]:
    """The first two lines that are neither blank nor comments."""
    at, number, left = 0, 1, 2
    while left and at < len(head):
        end = head.index(b"\n", at)
        line = head[at:end]
        if is_data(line):
            yield _Found(begins_with_integers(line), _fields(line, _separator(line)), number, at)
            left -= 1
        at, number = end + 1, number + 1


def _decide(found: list[_Found], path: Path) -> tuple[bool, bool]:
    """Whether the nodes are integers, and whether the first line is a header."""
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
                f"{quoted(field)} is not a node id; node ids must be whole numbers or names.",
                path,
                first.number,
            )
    if len(found) > 1 and found[1].integers:
        # Words above integers are a header; a word beside an integer is a broken line, and is told so later.
        return True, not any(is_integer(field) for field in first.fields[:2])
    names = tuple(field.decode("utf-8", "replace").lower() for field in first.fields[:2])
    return False, names in _HEADERS


def _separator(line: bytes) -> bytes | None:
    return b"," if b"," in line else b"\t" if b"\t" in line.strip() else None


def _fields(line: bytes, separator: bytes | None) -> list[bytes]:
    line = line.strip(b" \t\r")
    if separator is None:
        return line.split(None, 2)
    if b'"' in line:
        row = next(csv.reader([line.decode("utf-8", "surrogateescape")], delimiter=separator.decode()))
        return [field.strip().encode("utf-8", "surrogateescape") for field in row[:3]]
    return [field.strip() for field in line.split(separator)[:3]]


def _read_numbers(text: Iterable[bytes], path: Path) -> Listed:
    src, dst, _ = read_integers(text, path)
    if not len(src):
        raise FileFormatError("the file holds no edges.", path)
    edges, names, num_nodes = compact(np.stack((src, dst)))
    return Listed(edges, num_nodes, names, "lines")


def compact(ids: Ints) -> tuple[Ints, Names | None, int]:
    """Renumber the ids that occur, ascending, as 0 .. n-1; the names are None if they are that already."""
    high = int(ids.max())
    if high > 8 * ids.size + 1_000_000:
        names, places = np.unique(ids, return_inverse=True)
        return places.reshape(ids.shape).astype(np.int64, copy=False), names, len(names)
    there = np.zeros(high + 1, dtype=np.bool_)
    there[ids[0]] = True
    there[ids[1]] = True
    if there.all():
        return ids, None, high + 1
    place = np.cumsum(there, dtype=np.int32)
    place -= 1
    names = np.flatnonzero(there).astype(np.int64, copy=False)
    return place[ids].astype(np.int64), names, len(names)


def _read_names(text: Iterable[bytes], path: Path, first: _Found) -> Listed:
    ends = array("q")
    places: dict[bytes, int] = {}
    number = 0
    separator: bytes | None = None
    for piece in text:
        for line in piece.split(b"\n")[:-1]:
            number += 1
            if number == first.number:
                separator = _separator(line)
            if is_data(line):
                for name in _named_edge(_fields(line, separator), number, path):
                    ends.append(places.setdefault(name, len(places)))
    if not ends:
        raise FileFormatError("the file holds no edges.", path)
    names = _decoded(places, path)
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    edges = rank[np.frombuffer(ends, dtype=np.int64).reshape(-1, 2).T]
    return Listed(np.ascontiguousarray(edges), len(names), tuple(names[at] for at in order), "lines")


def _named_edge(fields: list[bytes], number: int, path: Path) -> list[bytes]:
    if len(fields) < 2 or not fields[0] or not fields[1]:
        raise FileFormatError(
            f"a line must hold two nodes, but there is only {quoted(b' '.join(fields).strip())}.",
            path,
            number,
        )
    if len(fields) > 2:
        check_third(fields[2], number, path)
    return fields[:2]


def _decoded(places: dict[bytes, int], path: Path) -> list[str]:
    names = []
    for name in places:
        try:
            names.append(name.decode("utf-8"))
        except UnicodeDecodeError:
            raise FileFormatError(f"the name {quoted(name)} is not UTF-8 text; save the file as UTF-8.", path) from None
    return names


def write(graph: Graph, path: Path, separator: str = " ") -> None:
    """Write one edge per line (arcs if directed), in the caller's names."""
    names = [str(name) for name in graph.name_list()]
    _check_names(names, separator, path)
    alone = int(np.count_nonzero(_isolated(graph)))
    if alone:
        warn_caller(
            f"{alone} node{'s' * (alone != 1)} without an edge cannot be kept in an edge list; "
            "write .graphml, .mtx, .npz or .g6 to keep them.",
            UserWarning,
        )
    src, dst = listed_once(graph)
    with replacing(path) as file:
        for start in range(0, len(src), _ROWS):
            pairs = zip(src[start : start + _ROWS].tolist(), dst[start : start + _ROWS].tolist(), strict=True)
            file.write("".join([f"{names[u]}{separator}{names[v]}\n" for u, v in pairs]).encode("utf-8"))


def _isolated(graph: Graph) -> NDArray[np.bool_]:
    alone: NDArray[np.bool_] = graph.degree == 0
    alone[graph.indices] = False
    return alone


def _check_names(names: list[str], separator: str, path: Path) -> None:
    bad = (" ", "\t", ",", "\n", "\r", '"') if separator == " " else (separator, "\n", "\r", '"')
    for name in names:
        if not name.strip() or name[0] in "#%" or any(sign in name for sign in bad):
            raise InputError(
                f"The node name {name!r} would not survive in an edge list ({path}); "
                "write .graphml or .npz, or rename the nodes."
            )
    if len(set(names)) < len(names):
        raise InputError(f"Two nodes have the same name once written as text ({path}); write .npz or rename them.")
