"""The node data of Geom-GCN (Pei et al., 2020): arcs, classes and features of one graph, as stored there.

`out1_graph_edges.txt` has a header and lines "source<TAB>target"; `out1_node_feature_label.txt` has a header and lines
"id<TAB>features<TAB>class" in any order. Features are one number per column or, if the header has `feature_amount`
(Actor), the indices of the columns that are 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from detours.arrays import Float32, Int64
from detours.data.readers.numbers import LARGEST, check_file, read_integers
from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.edges import EdgeList
from detours.graph.graph import build_graph

_NODES = "out1_node_feature_label.txt"
_ZERO, _COMMA = b"0,"


def read_geom_gcn(folder: Path) -> tuple[Graph, Int64]:
    """Return the directed graph of the arcs as stored (loops dropped, repeats merged), and the class of every node."""
    rows = list(_rows(folder / _NODES))
    y = np.empty(len(rows), np.int64)
    for row in rows:
        y[row.node] = row.label
    file = folder / "out1_graph_edges.txt"
    arcs = np.ascontiguousarray(read_integers(file, 2, separator="\t", header=True).T)
    outside = ((arcs < 0) | (arcs >= len(y))).any(axis=0)
    if outside.any():
        at = int(np.argmax(outside))
        raise FileFormatError(
            f"nodes are numbered 0 .. {len(y) - 1:,}, but this arc is {arcs[0, at]} {arcs[1, at]}.", file, at + 2
        )
    return build_graph(EdgeList(arcs, len(y)), directed=True), y


def read_features(folder: Path) -> list[Float32]:
    """Return the features of the nodes, float32 [nodes, columns], in a list with one entry for the one graph."""
    file = folder / _NODES
    with open(check_file(file), "rb") as lines:
        sparse = b"feature_amount" in lines.readline()
    rows = list(_rows(file))
    return [_sparse_features(rows, file) if sparse else _dense_features(rows, file)]


class _Row(NamedTuple):
    line: int
    node: int
    features: bytes
    label: int


def _rows(file: Path) -> Iterator[_Row]:
    """Yield the lines of the file of nodes, with each of the nodes 0 .. n-1 once."""
    lines = check_file(file).read_bytes().splitlines()[1:]
    seen: set[int] = set()
    for number, line in enumerate(lines, 2):
        words = line.split(b"\t")
        try:
            node, label = int(words[0]), int(words[-1])
        except ValueError:
            node = -1
        if len(words) != 3 or node < 0 or node in seen:
            raise FileFormatError(
                "the line should contain the id of another node, its features and its class.", file, number
            )
        if abs(label) > LARGEST:
            raise FileFormatError(f"a class must fit in 64 bits, but it is {label}.", file, number)
        seen.add(node)
        yield _Row(number, node, words[1], label)
    if not seen or max(seen) >= len(lines):
        raise FileFormatError(f"the {len(lines):,} nodes should be numbered 0 .. {len(lines) - 1:,}.", file)


def _dense_features(rows: list[_Row], file: Path) -> Float32:
    width = rows[0].features.count(b",") + 1
    x = np.empty((len(rows), width), np.float32)
    for row in rows:
        characters = np.frombuffer(row.features, np.uint8)
        # Single digits separated by commas, as in nearly all lines, need no parsing.
        plain = len(characters) == 2 * width - 1 and (characters[1::2] == _COMMA).all()
        digits = characters[::2] - np.uint8(_ZERO) if plain else None
        x[row.node] = digits if digits is not None and (digits <= 9).all() else _parse(row, width, file)
    return x


def _parse(row: _Row, width: int, file: Path) -> Float32:
    words = row.features.split(b",")
    if len(words) != width:
        raise FileFormatError(f"the nodes before have {width} features, but this one has {len(words)}.", file, row.line)
    try:
        values = np.array(words).astype(np.float32)
    except ValueError:
        raise FileFormatError("features should be numbers separated by commas.", file, row.line) from None
    finite = np.isfinite(values)
    if not finite.all():
        at = int(np.argmin(finite))
        raise FileFormatError(f"features must be finite, but number {at + 1} is {values[at]:g}.", file, row.line)
    return values


def _sparse_features(rows: list[_Row], file: Path) -> Float32:
    nodes: list[int] = []
    columns: list[int] = []
    for row in rows:
        try:
            ones = [int(word) for word in row.features.split(b",") if word]
        except ValueError:
            ones = [-1]
        if ones and not 0 <= min(ones) <= max(ones) < _MAX_COLUMNS:
            raise FileFormatError(
                f"the line should contain the columns that are 1, each in 0 .. {_MAX_COLUMNS - 1:,}.", file, row.line
            )
        nodes += [row.node] * len(ones)
        columns += ones
    x = np.zeros((len(rows), max(columns, default=-1) + 1), np.float32)
    x[nodes, columns] = 1
    return x


_MAX_COLUMNS = 1_000_000  # so that a damaged number does not allocate all memory
