"""The node data of Geom-GCN (Pei et al., 2020): arcs and classes of one graph, as stored there.

`out1_graph_edges.txt` has a header and "source<TAB>target"; `out1_node_feature_label.txt` a header and
"id<TAB>features<TAB>class", the lines in any order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from detours.data.numbers import Ints, existing, integers
from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.build import Listed, build


def read_geom_gcn(folder: Path) -> tuple[Graph, Ints]:
    """The directed graph of the arcs as stored (loops dropped, repeats merged), and the class of every node."""
    y = _classes(folder / "out1_node_feature_label.txt")
    file = folder / "out1_graph_edges.txt"
    arcs = np.ascontiguousarray(integers(file, 2, separator="\t", header=True).T)
    outside = ((arcs < 0) | (arcs >= len(y))).any(axis=0)
    if outside.any():
        at = int(np.argmax(outside))
        raise FileFormatError(
            f"nodes are numbered 0 .. {len(y) - 1:,}, but this arc is {arcs[0, at]} {arcs[1, at]}.", file, at + 2
        )
    listed = Listed(arcs, len(y))
    return Graph._from_built(build(listed, directed=True), listed, directed=True), y


def _classes(file: Path) -> Ints:
    lines = existing(file).read_bytes().splitlines()[1:]
    found: dict[int, int] = {}
    for number, line in enumerate(lines, 2):
        words = line.split(b"\t")
        try:
            node, label = int(words[0]), int(words[-1])
        except ValueError:
            node = -1
        if len(words) != 3 or node < 0 or node in found:
            raise FileFormatError("here should stand the id of another node, its features and its class.", file, number)
        found[node] = label
    if sorted(found) != list(range(len(lines))) or not found:
        raise FileFormatError(f"the {len(found):,} nodes should be numbered 0 .. {len(found) - 1:,}.", file)
    return np.array([found[node] for node in range(len(found))], np.int64)
