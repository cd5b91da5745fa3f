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
    (num_graphs,) = lines.take(1, "the number of graphs")
    graphs, classes, tags = [], [], []
    for _ in range(num_graphs):
        num_nodes, label = lines.take(2, "the number of nodes and the class of a graph")
        graph, tag = _graph(lines, num_nodes)
        graphs.append(graph)
        classes.append(label)
        tags.append(tag)
    lines.check_end(f"the first line says {num_graphs:,} graphs")
    return graphs, np.array(classes, np.int64), tags


class _Lines:
    """Reads the lines of a file one by one, as lists of integers."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.number = 0
        self._rest: Iterator[bytes] = iter(check_file(file).read_bytes().splitlines())

    def take(self, min_length: int, expected: str) -> list[int]:
        self.number += 1
        line = next(self._rest, None)
        if line is None:
            raise self.error(f"the file is cut off: {expected} should follow.")
        try:
            numbers = [int(word) for word in line.split()]
        except ValueError:
            numbers = []
        if len(numbers) < min_length or min(numbers) < 0 or max(numbers) > LARGEST:
            raise self.error(f"the line should contain {expected}, as integers of at least 0.")
        return numbers

    def check_end(self, why: str) -> None:
        for line in self._rest:
            self.number += 1
            if line.strip():
                raise self.error(f"{why}, but the file continues.")

    def error(self, message: str) -> FileFormatError:
        return FileFormatError(message, self.file, self.number)


def _graph(lines: _Lines, num_nodes: int) -> tuple[Graph, Int64]:
    tags = np.zeros(num_nodes, np.int64)
    degrees = np.zeros(num_nodes, np.int64)
    targets: list[int] = []
    for node in range(num_nodes):
        tag, degree, *neighbours = lines.take(2, "the tag, degree and neighbours of a node")
        if len(neighbours) != degree:
            raise lines.error(f"the node should have {degree} neighbours, but {len(neighbours)} are listed.")
        if neighbours and max(neighbours) >= num_nodes:
            raise lines.error(f"node {max(neighbours)} is not in the graph, whose nodes are 0 .. {num_nodes - 1}.")
        tags[node], degrees[node] = tag, degree
        targets += neighbours
    arcs = np.stack([np.repeat(np.arange(num_nodes), degrees), np.array(targets, np.int64)])
    return build_graph(EdgeList(arcs, num_nodes)), tags
