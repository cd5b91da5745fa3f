"""METIS (.graph): a first line with the number of nodes and of edges, then a line of neighbours for every node."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Float64, Int64
from detours.atomic import atomic_write
from detours.errors import FileFormatError, InputError
from detours.graph.edges import MAX_NODES, EdgeList
from detours.graph.files.shared.format import Format
from detours.graph.files.shared.lines import quoted
from detours.graph.files.shared.metis_header import MetisHeader, metis_header
from detours.graph.files.shared.source import check_size, read_text

_COMMENT = re.compile(rb"^[ \t]*%[^\n]*", re.MULTILINE)
_NOT_A_NUMBER = re.compile(rb"(?<!\S)(?![+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?!\S))\S+")
_ROWS = 100_000


class _Words(NamedTuple):
    """The numbers of a file."""

    values: Float64
    lines: Int64
    """The line of each, from 0."""
    kept: Int64
    """The lines that are not comments."""


def read(path: Path) -> EdgeList:
    """Return the edges; line i below the first is the node named i, so names begin with 1 as in the file."""
    words = _words(read_text(path), path)
    length = int(np.searchsorted(words.lines, words.lines[0], side="right"))
    header = _header(words.values[:length], int(words.lines[0]) + 1, path)
    rows = words.kept[words.kept > words.lines[0]]
    if len(rows) < header.nodes:
        raise FileFormatError(
            f"the file is cut off: it declares {header.nodes} nodes but has {len(rows)} lines for them; a node without "
            "neighbours has an empty line.",
            path,
        )
    check_size(header.nodes, len(words.values) // 2, path)
    ends = _ends(words.values[length:], words.lines[length:], rows, header, path)
    _check_symmetric(ends, rows, path)
    # METIS has no loops; other programs may or may not count one as an edge.
    loops = int(np.count_nonzero(ends[0] == ends[1]))
    if abs(2 * header.edges - ends.shape[1]) > loops:
        raise FileFormatError(
            f"its first line declares {header.edges} edges, but the others list {ends.shape[1]} neighbours, which is "
            "not two for each edge.",
            path,
            int(words.lines[0]) + 1,
        )
    names = np.arange(1, header.nodes + 1, dtype=np.int64)
    return EdgeList(np.ascontiguousarray(ends[:, ends[0] <= ends[1]]), header.nodes, names, "edges")


def _words(text: bytes, path: Path) -> _Words:
    breaks = _breaks(text)
    comments = np.searchsorted(breaks, [found.start() for found in _COMMENT.finditer(text)])
    text = _COMMENT.sub(lambda found: b" " * len(found[0]), text)  # blanks, so that positions stay the same
    if wrong := _NOT_A_NUMBER.search(text):
        line = text.count(b"\n", 0, wrong.start()) + 1
        raise FileFormatError(f"a METIS file may only hold numbers, but there is {quoted(wrong[0])}.", path, line)
    if text.isspace():
        raise FileFormatError("the file holds no graph: every line is blank or a comment.", path)
    word = np.frombuffer(text, np.uint8) > ord(" ")
    starts = np.flatnonzero(word & ~np.concatenate(([False], word[:-1])))
    kept = np.delete(np.arange(len(breaks) + 1), comments)
    # Node ids are below 2³¹, so they are exact as floats.
    return _Words(np.fromstring(text, np.float64, sep=" "), np.searchsorted(breaks, starts), kept)


def _breaks(text: bytes) -> Int64:
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))


def _header(numbers: Float64, line: int, path: Path) -> MetisHeader:
    given = [int(value) for value in numbers.clip(-1, 2.0**62)]
    header = metis_header(given) if given == numbers.tolist() else None
    if header is None:
        raise FileFormatError(
            "the first line of a METIS file must hold the number of nodes, the number of edges and, optionally, a "
            "format, such as 1 for edge weights or 10 for node weights, and the number of weights of each node; a list "
            'of edges is read with format="edgelist".',
            path,
            line,
        )
    if header.nodes > MAX_NODES:
        raise FileFormatError(f"a graph may have up to {MAX_NODES} nodes, not {header.nodes}.", path, line)
    return header


def _ends(values: Float64, lines: Int64, rows: Int64, header: MetisHeader, path: Path) -> Int64:
    """Return int64 [2, entries]: the nodes and the neighbours in their lines, from 0."""

    def check(valid: Any, line_of: Int64, message: str) -> None:
        if not valid.all():
            raise FileFormatError(message, path, int(line_of[np.argmin(valid)]) + 1)

    nodes = np.searchsorted(rows, lines)
    check(nodes < header.nodes, lines, f"the file declares {header.nodes} nodes, but here is a line for another one.")
    counts = np.bincount(nodes, minlength=header.nodes) - header.skip
    each = f"{header.skip} for the node and then {header.step} for each neighbour"
    check(
        (counts >= 0) & (counts % header.step == 0), rows, f"by the first line, the numbers of this one must be {each}."
    )
    counts += header.skip
    column = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts) - header.skip
    is_weight = (column >= 0) & (column % header.step == 1)
    weights = values[is_weight]
    valid = (weights > 0) & np.isfinite(weights)
    check(valid, lines[is_weight], "the weight of an edge must be a finite number above 0.")
    is_neighbour = (column >= 0) & (column % header.step == 0)
    ids = values[is_neighbour]
    valid = (ids >= 1) & (ids <= header.nodes) & (np.floor(ids) == ids)
    check(valid, lines[is_neighbour], f"neighbours must be integers from 1 to {header.nodes}, but one is not.")
    return np.stack((nodes[is_neighbour], ids.astype(np.int64) - 1))


def _check_symmetric(ends: Int64, rows: Int64, path: Path) -> None:
    """Raise `FileFormatError` for an edge that only one of its nodes lists."""
    arcs, reverse = ends[0] << 32 | ends[1], ends[1] << 32 | ends[0]
    if np.array_equal(np.sort(arcs), np.sort(reverse)):
        return
    one_way = np.setdiff1d(arcs, reverse)
    if not len(one_way):  # repeated in one of the lines
        return
    node, other = (int(one_way[0]) >> 32) + 1, (int(one_way[0]) & 2**32 - 1) + 1
    raise FileFormatError(
        f"node {node} has the neighbour {other}, but node {other} does not have {node}; both must list their edge.",
        path,
        int(rows[node - 1]) + 1,
    )


def write(edges: EdgeList, path: Path) -> None:
    """Write an undirected graph without weights; line i + 1 below the first is node i."""
    if edges.directed:
        raise InputError("METIS holds undirected graphs only; call to_undirected() first.")
    sources, targets = edges.edge_index[:, np.lexsort(edges.edge_index[::-1])]
    stops = np.searchsorted(sources, np.arange(edges.num_nodes), side="right").tolist()
    with atomic_write(path) as file:
        file.write(b"%d %d\n" % (edges.num_nodes, len(sources) // 2))
        for first in range(0, edges.num_nodes, _ROWS):
            starts = [stops[first - 1] if first else 0, *stops[first : first + _ROWS]]
            neighbours = [str(node + 1) for node in targets[starts[0] : starts[-1]].tolist()]
            offsets = [start - starts[0] for start in starts]
            file.write("".join([" ".join(neighbours[a:b]) + "\n" for a, b in pairwise(offsets)]).encode())


FORMAT = Format(("graph", "metis"), read, write)
