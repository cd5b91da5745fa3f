"""Matrix Market (.mtx) coordinate files, read by the same compiled reader as edge lists."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from detours.atomic import replacing
from detours.errors import FileFormatError
from detours.graph.convert import listed_once
from detours.graph.edges import MAX_NODES, Listed
from detours.graph.files.lines import ABSENT, ZERO, Columns, is_data, pieces, quoted, read_integers
from detours.graph.files.source import check_text, opened

if TYPE_CHECKING:
    from detours.graph import Graph

_FIELDS = {"pattern", "real", "integer", "double"}
_SYMMETRIES = {"general", "symmetric", "skew-symmetric"}
_BANNER = "%%MatrixMarket matrix coordinate pattern|real|integer general|symmetric|skew-symmetric"


class _Size(NamedTuple):
    num_nodes: int
    entries: int
    line: int
    end: int  # the byte after the size line


def read(path: Path) -> Listed:
    """Read a square matrix; row i is the node named i, so names begin with 1 as in the file."""
    with opened(path) as file:
        text = pieces(file)
        head = next(text, b"")
        if not head.strip():
            raise FileFormatError("the file is empty.", path)
        check_text(head, path)
        field, symmetry = _banner(head, path)
        while (size := _size(head, path)) is None:
            more = next(text, None)
            if more is None:
                raise FileFormatError("the file is cut off: the line with the size of the matrix is missing.", path)
            head += more
        columns = read_integers(chain([head[size.end :]], text), path, size.line + 1)
    _check_entries(columns, size, field, path)
    there = columns.third != ZERO
    edges = np.stack((columns.src, columns.dst))
    edges = (edges if there.all() else edges[:, there]) - 1
    names = np.arange(1, size.num_nodes + 1, dtype=np.int64)
    return Listed(edges, size.num_nodes, names, "arcs" if symmetry == "general" else "edges")


def _banner(head: bytes, path: Path) -> tuple[str, str]:
    line = head[: head.index(b"\n")]
    words = line.decode("utf-8", "replace").lower().split()
    if len(words) != 5 or words[0] != "%%matrixmarket" or words[1] != "matrix":
        raise FileFormatError(f"this is no Matrix Market file: it must begin with {_BANNER!r}.", path, 1)
    if words[2] != "coordinate" or words[3] not in _FIELDS or words[4] not in _SYMMETRIES:
        raise FileFormatError(f"{quoted(line.strip())} is not supported; it must be {_BANNER!r}.", path, 1)
    return words[3], words[4]


def _size(head: bytes, path: Path) -> _Size | None:
    """The first line that is neither blank nor a comment: rows, columns, entries."""
    at, number = 0, 1
    while at < len(head):
        end = head.index(b"\n", at)
        line = head[at:end]
        if is_data(line):
            words = line.split()
            if len(words) != 3 or not all(word.isdigit() for word in words):
                raise FileFormatError(
                    f"the size of the matrix must be three integers, but it is {quoted(line.strip())}.",
                    path,
                    number,
                )
            rows, columns, entries = map(int, words)
            if rows != columns:
                raise FileFormatError(
                    f"an adjacency matrix must be square, but this one is {rows} by {columns}.", path, number
                )
            if rows > MAX_NODES:
                raise FileFormatError(f"a graph may have up to {MAX_NODES} nodes, not {rows}.", path, number)
            return _Size(rows, entries, number, end + 1)
        at, number = end + 1, number + 1
    return None


def _check_entries(columns: Columns, size: _Size, field: str, path: Path) -> None:
    found = len(columns.src)
    low = np.minimum(columns.src, columns.dst) < 1
    wrong = low | (np.maximum(columns.src, columns.dst) > size.num_nodes)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise FileFormatError(
            f"the entry ({columns.src[at]}, {columns.dst[at]}) lies outside the matrix; "
            f"rows and columns go from 1 to {size.num_nodes}.",
            path,
            _line_of_entry(path, at, size.line),
        )
    if field != "pattern" and (columns.third == ABSENT).any():
        at = int(np.argmax(columns.third == ABSENT))
        raise FileFormatError(
            f"an entry of a {field} matrix must have a value in the third column.",
            path,
            _line_of_entry(path, at, size.line),
        )
    if found != size.entries:
        why = "is cut off" if found < size.entries else "is damaged"
        raise FileFormatError(f"the file {why}: it promises {size.entries} entries and holds {found}.", path)


def _line_of_entry(path: Path, entry: int, after: int) -> int:
    """Only asked when something is wrong, so the file is simply read again."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if number > after and is_data(line.rstrip(b"\n")):
                if entry == 0:
                    return number
                entry -= 1
    return after


def write(graph: Graph, path: Path) -> None:
    """Write a pattern matrix, its lower triangle only if undirected; row and column i + 1 are node i."""
    edges = listed_once(graph) + 1
    symmetry = "general" if graph.directed else "symmetric"
    with replacing(path) as file:
        file.write(f"%%MatrixMarket matrix coordinate pattern {symmetry}\n".encode())
        file.write(f"{graph.num_nodes} {graph.num_nodes} {edges.shape[1]}\n".encode())
        for start in range(0, edges.shape[1], 100_000):
            u, v = edges[:, start : start + 100_000].tolist()
            # The format wants the row of a symmetric entry to be the larger index.
            pairs = zip(u, v, strict=True) if graph.directed else zip(v, u, strict=True)
            file.write("".join([f"{row} {column}\n" for row, column in pairs]).encode())
