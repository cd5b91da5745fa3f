"""The TU Dortmund format: one list of edges for all graphs of a data set, and one line per node and per graph.

`<NAME>_A.txt` has arcs "row, col" with node ids from 1 over the entire data set; line i of `<NAME>_graph_indicator.txt`
is the graph (from 1) of node i; `<NAME>_graph_labels.txt` has a class per graph. Optional are
`<NAME>_node_labels.txt` and `<NAME>_edge_labels.txt`, a label per node and per line of `<NAME>_A.txt`, and
`<NAME>_node_attributes.txt` and `<NAME>_edge_attributes.txt`, a row of numbers each. Instead of classes,
`<NAME>_graph_attributes.txt` may have regression targets; data to predict on needs neither.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float32, Int64
from detours.data.attributes import Attributes
from detours.data.graph_set import GraphSet
from detours.data.readers.numbers import line_of_row, read_decimals, read_integers, read_targets
from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.arcs import values_on_arcs
from detours.graph.edges import Dropped, EdgeList
from detours.graph.graph import build_graph, wrap_arrays


class TUData(NamedTuple):
    """Graphs, targets and, if the data set has them, labels and attributes of nodes and of arcs, by graph."""

    graphs: list[Graph]
    y: NDArray[Any]
    labels: list[Int64] | None
    edge_labels: list[Int64] | None
    x: Attributes | None
    edge_x: Attributes | None
    dropped: Dropped
    """The edges dropped, merged or completed in all graphs together."""

    def graph_set(self, name: str, root: Path | None = None) -> GraphSet:
        """Return a `GraphSet` with this name, read from this root folder."""
        fields = self._asdict()
        del fields["dropped"]
        return GraphSet(name, root=root, **fields)


def read_tu(folder: Path, name: str, *, targets: bool = True) -> TUData:
    """Read the data set in a folder; unless `targets` are required, y is empty if they are missing."""
    target_files = [folder / f"{name}_graph_{kind}.txt" for kind in ("labels", "attributes")]
    y = _targets(*target_files) if targets or any(file.is_file() for file in target_files) else np.empty(0)
    offsets = _node_offsets(folder / f"{name}_graph_indicator.txt", len(y) or None)
    union = _union(folder / f"{name}_A.txt", offsets)
    labels = _labels(folder / f"{name}_node_labels.txt", int(offsets[-1]), "nodes")
    node_file, edge_file = (folder / f"{name}_{thing}_attributes.txt" for thing in ("node", "edge"))
    return TUData(
        split_union(union, offsets),
        y,
        None if labels is None else np.split(labels, offsets[1:-1]),
        _edge_labels(folder / f"{name}_edge_labels.txt", union, offsets),
        Attributes(partial(_attributes, node_file, offsets)) if node_file.is_file() else None,
        Attributes(partial(_edge_attributes, edge_file, union, offsets)) if edge_file.is_file() else None,
        union.dropped,
    )


def _targets(labels: Path, attributes: Path) -> NDArray[Any]:
    """Return the class of every graph or, without a file of classes, its regression targets."""
    if labels.is_file() or not attributes.is_file():
        if not labels.is_file():
            raise FileFormatError("there is no such file with a class for each graph, which training needs.", labels)
        return read_integers(labels, 1)[:, 0]
    values = read_targets(attributes)
    return values[:, 0] if values.shape[1] == 1 else values


def _attributes(file: Path, offsets: Int64) -> list[Float32]:
    return np.split(_rows(file, int(offsets[-1]), "nodes"), offsets[1:-1])


def _rows(file: Path, size: int, things: str) -> Float32:
    values = read_decimals(file)
    if len(values) != size:
        raise FileFormatError(
            f"there are {len(values):,} rows for {size:,} {things}; the file is cut off or of another set.", file
        )
    return values


def _labels(file: Path, size: int, things: str) -> Int64 | None:
    if not file.is_file():
        return None
    values = read_integers(file, 1)[:, 0]
    if len(values) != size:
        raise FileFormatError(
            f"there are {len(values):,} labels for {size:,} {things}; the file is cut off or of another set.", file
        )
    return values


def _edge_labels(file: Path, union: Graph, offsets: Int64) -> list[Int64] | None:
    edges = union.edge_index
    values = _labels(file, edges.shape[1], "edges")
    if values is None:
        return None
    arc_values, conflicts = values_on_arcs(union, values)
    if len(conflicts):
        at = int(conflicts[0])
        raise FileFormatError(
            f"the edge {_edge(edges, at)} has the label {values[at]} on this line and a different one on another.",
            file,
            line_of_row(at, file, header=False),
        )
    return np.split(arc_values, union.indptr[offsets[1:-1]])


def _edge_attributes(file: Path, union: Graph, offsets: Int64) -> list[Float32]:
    """Return the attributes of all arcs; an edge listed in one direction has the same for both arcs."""
    values = _rows(file, union.edge_index.shape[1], "edges")
    row_of_arc, _ = values_on_arcs(union, np.arange(len(values)))
    arc_values, kept = values[row_of_arc], np.flatnonzero(union.edge_arc >= 0)
    conflicts = kept[(arc_values[union.edge_arc[kept]] != values[kept]).any(axis=1)]
    if len(conflicts):
        at = int(conflicts[0])
        raise FileFormatError(
            f"the edge {_edge(union.edge_index, at)} is on several lines and has other attributes on this one than on "
            "the last.",
            file,
            line_of_row(at, file, header=False),
        )
    return np.split(arc_values, union.indptr[offsets[1:-1]])


def _node_offsets(file: Path, num_graphs: int | None) -> Int64:
    graph_of_node = read_integers(file, 1)[:, 0]
    # without classes, that of the last node; a damaged number must not allocate all memory
    num_graphs = min(int(graph_of_node[-1]), len(graph_of_node)) if num_graphs is None else num_graphs
    steps = np.diff(graph_of_node, prepend=1)
    if (wrong := np.flatnonzero((steps < 0) | (graph_of_node > num_graphs) | (graph_of_node < 1))).size:
        raise FileFormatError(
            f"the graphs of the nodes should ascend from 1 to {num_graphs:,}, the number of classes, "
            f"but this one is {graph_of_node[wrong[0]]}.",
            file,
            line_of_row(int(wrong[0]), file, header=False),
        )
    offsets = np.zeros(num_graphs + 1, np.int64)
    np.cumsum(np.bincount(graph_of_node - 1, minlength=num_graphs), out=offsets[1:])
    return offsets


def _union(file: Path, offsets: Int64) -> Graph:
    """Return the disjoint union of all graphs, without loops and repeats."""
    arcs = np.ascontiguousarray(read_integers(file, 2).T) - 1
    outside = ((arcs < 0) | (arcs >= offsets[-1])).any(axis=0)
    if outside.any():
        at = int(np.argmax(outside))
        raise FileFormatError(
            f"nodes are numbered 1 .. {offsets[-1]:,}, but this edge is {_edge(arcs, at)}.",
            file,
            line_of_row(at, file, header=False),
        )
    across = np.subtract(*(np.searchsorted(offsets, ends, side="right") for ends in arcs)) != 0
    if across.any():
        at = int(np.argmax(across))
        line = line_of_row(at, file, header=False)
        raise FileFormatError(f"the ends of the edge {_edge(arcs, at)} are in two graphs.", file, line)
    return build_graph(EdgeList(arcs, int(offsets[-1])))


def split_union(union: Graph, offsets: Int64) -> list[Graph]:
    """Return the graphs of a disjoint union, given the offsets of their nodes."""
    return [
        wrap_arrays(
            union.indptr[start : end + 1] - union.indptr[start],
            union.indices[union.indptr[start] : union.indptr[end]] - np.int32(start),
        )
        for start, end in pairwise(offsets.tolist())
    ]


def _edge(arcs: Int64, at: int) -> str:
    return f"{arcs[0, at] + 1}, {arcs[1, at] + 1}"
