"""EXP and CEXP (Abboud et al., 2021): pairs of graphs that encode formulas, `GRAPHSAT.txt`.

The first line is the number of graphs. Each graph is a line "n class" and n lines, one per node:
"tag degree neighbour … neighbour". Graphs 2i and 2i + 1 are pair i.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from detours.arrays import Int64
from detours.data.readers.numbers import LARGEST, check_file
from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.edges import EdgeList
from detours.graph.graph import build_graph


def read_graphsat(file: Path) -> tuple[list[Graph], Int64, list[Int64]]:
    """Return the graphs, their classes and the tags of their nodes."""
    lines = _Lines(file)
    (number,) = lines.take(1, "the number of graphs")
    graphs, classes, tags = [], [], []
    for _ in range(number):
        nodes, label = lines.take(2, "the number of nodes and the class of a graph")
        graph, tag = _graph(lines, nodes)
        graphs.append(graph)
        classes.append(label)
        tags.append(tag)
    lines.end(f"the first line says {number:,} graphs")
    return graphs, np.array(classes, np.int64), tags


class _Lines:
    """The lines of a file as lists of integers, taken one by one."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.number = 0
        self._rest: Iterator[bytes] = iter(check_file(file).read_bytes().splitlines())

    def take(self, least: int, what: str) -> list[int]:
        self.number += 1
        line = next(self._rest, None)
        if line is None:
            raise self.wrong(f"the file is cut off: {what} should follow.")
        try:
            numbers = [int(word) for word in line.split()]
        except ValueError:
            numbers = []
        if len(numbers) < least or min(numbers) < 0 or max(numbers) > LARGEST:
            raise self.wrong(f"the line should hold {what}, as integers of at least 0.")
        return numbers

    def end(self, why: str) -> None:
        for line in self._rest:
            self.number += 1
            if line.strip():
                raise self.wrong(f"{why}, but the file goes on.")

    def wrong(self, what: str) -> FileFormatError:
        return FileFormatError(what, self.file, self.number)


def _graph(lines: _Lines, nodes: int) -> tuple[Graph, Int64]:
    tags = np.zeros(nodes, np.int64)
    degrees = np.zeros(nodes, np.int64)
    targets: list[int] = []
    for node in range(nodes):
        tag, degree, *neighbours = lines.take(2, "the tag, degree and neighbours of a node")
        if len(neighbours) != degree:
            raise lines.wrong(f"the node should have {degree} neighbours, but {len(neighbours)} are listed.")
        if neighbours and max(neighbours) >= nodes:
            raise lines.wrong(f"node {max(neighbours)} is not in the graph, whose nodes are 0 .. {nodes - 1}.")
        tags[node], degrees[node] = tag, degree
        targets += neighbours
    arcs = np.stack([np.repeat(np.arange(nodes), degrees), np.array(targets, np.int64)])
    return build_graph(EdgeList(arcs, nodes)), tags
