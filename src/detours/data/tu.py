"""The TU Dortmund format: one list of edges for all graphs of a data set, and one line per node and per graph.

`<NAME>_A.txt` holds arcs "row, col" with node ids from 1 that run over the whole data set; line i of
`<NAME>_graph_indicator.txt` is the graph (from 1) of node i; `<NAME>_graph_labels.txt` has a class per graph and
`<NAME>_node_labels.txt`, where there is one, a label per node.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from detours.data.numbers import Ints, integers
from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.build import Listed, build


def read_tu(folder: Path, name: str) -> tuple[list[Graph], Ints, list[Ints] | None]:
    """Graphs, classes and, where the data set has them, the labels of the nodes of every graph."""
    y = integers(folder / f"{name}_graph_labels.txt", 1)[:, 0]
    offsets = _node_offsets(folder / f"{name}_graph_indicator.txt", len(y))
    graphs = _graphs(folder / f"{name}_A.txt", offsets)
    labels_file = folder / f"{name}_node_labels.txt"
    labels = None
    if labels_file.is_file():
        values = integers(labels_file, 1)[:, 0]
        if len(values) != offsets[-1]:
            raise FileFormatError(
                f"there are {len(values):,} labels for {offsets[-1]:,} nodes; the file is cut off or of another set.",
                labels_file,
            )
        labels = np.split(values, offsets[1:-1])
    return graphs, y, labels


def _node_offsets(file: Path, number: int) -> Ints:
    graph_of_node = integers(file, 1)[:, 0]
    steps = np.diff(graph_of_node, prepend=1)
    if (wrong := np.flatnonzero((steps < 0) | (graph_of_node > number) | (graph_of_node < 1))).size:
        raise FileFormatError(
            f"the graphs of the nodes should ascend from 1 to {number:,}, as many as there are classes, "
            f"but here stands {graph_of_node[wrong[0]]}.",
            file,
            int(wrong[0]) + 1,
        )
    offsets = np.zeros(number + 1, np.int64)
    np.cumsum(np.bincount(graph_of_node - 1, minlength=number), out=offsets[1:])
    return offsets


def _graphs(file: Path, offsets: Ints) -> list[Graph]:
    """All graphs at once: their union is sorted and tidied as one graph, then cut at the offsets."""
    arcs = np.ascontiguousarray(integers(file, 2).T) - 1
    outside = ((arcs < 0) | (arcs >= offsets[-1])).any(axis=0)
    if outside.any():
        at = int(np.argmax(outside))
        raise FileFormatError(
            f"nodes are numbered 1 .. {offsets[-1]:,}, but this edge is {_edge(arcs, at)}.", file, at + 1
        )
    across = np.subtract(*(np.searchsorted(offsets, ends, side="right") for ends in arcs)) != 0
    if across.any():
        at = int(np.argmax(across))
        raise FileFormatError(f"the ends of the edge {_edge(arcs, at)} lie in two graphs.", file, at + 1)
    union = build(Listed(arcs, int(offsets[-1])), directed=False)
    return [
        Graph._make(
            union.indptr[start : end + 1] - union.indptr[start],
            union.indices[union.indptr[start] : union.indptr[end]] - np.int32(start),
        )
        for start, end in pairwise(offsets.tolist())
    ]


def _edge(arcs: Ints, at: int) -> str:
    return f"{arcs[0, at] + 1}, {arcs[1, at] + 1}"
