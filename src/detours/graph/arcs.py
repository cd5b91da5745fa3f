"""Positions of edges in a CSR, and values of edges transferred to arcs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.errors import FileFormatError

if TYPE_CHECKING:
    from detours.graph.graph import Graph

_FEW = 20_000  # edges up to which NumPy is done before Numba is imported


def locate(indptr: Int64, indices: Int32, edge_index: Int64) -> Int64:
    """Return the position in `indices` of the arc of every edge, -1 for a loop; all other edges must be in the CSR."""
    source, target = edge_index
    if len(source) > _FEW or len(indices) > 4 * _FEW:  # NumPy goes through all arcs, however few the edges
        from detours.graph.arcs_numba import locate_rows

        found: Int64 = locate_rows(indptr, indices, source, target)
        return found
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    found = np.searchsorted((rows << 32) | indices, (source << 32) | target)
    found[source == target] = -1
    return found


def check_located(found: Int64, indptr: Int64, indices: Int32, edge_index: Int64, path: Path) -> None:
    """Raise `FileFormatError` if an edge of an opened graph, except loops, is not at the position found."""
    has_arc = found >= 0
    source, target, arc = edge_index[0, has_arc], edge_index[1, has_arc], found[has_arc]
    inside = (arc >= indptr[source]) & (arc < indptr[source + 1])
    if not inside.all() or (indices[arc] != target).any() or (edge_index[0, ~has_arc] != edge_index[1, ~has_arc]).any():
        raise FileFormatError("the saved graph is damaged: its edges do not match its rows; save it again.", path)


def values_on_arcs(graph: Graph, values: Int64) -> tuple[Int64, Int64]:
    """Return the value of every arc, given one for each edge of `edge_index`, and the edges with conflicting values.

    An arc that the caller did not list gets the value of its reverse; in an undirected graph both directions should
    agree. Loops are ignored.

    >>> from detours import Graph
    >>> values_on_arcs(Graph.from_edge_index([[2, 1, 0, 1], [1, 2, 1, 0]]), np.array([7, 7, 5, 4]))
    (array([5, 4, 7, 7]), array([2, 3]))
    """
    edges = np.flatnonzero(graph.edge_arc >= 0)
    arc, expected = graph.edge_arc[edges], values[edges]
    result = np.zeros(graph.num_arcs, np.int64)
    result[arc] = expected
    missing: Bool = np.ones(graph.num_arcs, np.bool_)
    missing[arc] = False
    if missing.any():
        result[missing] = result[_reverses(graph, graph.to_edge_index()[:, missing])]
    conflicting = result[arc] != expected
    if not graph.directed:
        conflicting |= result[_reverses(graph, graph.edge_index[:, edges])] != expected
    return result, edges[conflicting]


def reverse_arcs(graph: Graph) -> Int64:
    """Return the index of the reverse of every arc of an undirected graph.

    >>> from detours import Graph
    >>> reverse_arcs(Graph.from_edges([(0, 1), (1, 2)])).tolist()
    [1, 0, 3, 2]
    """
    return _reverses(graph, graph.to_edge_index())


def _reverses(graph: Graph, edges: Int64) -> Int64:
    reversed_edges = np.ascontiguousarray(edges[::-1])
    reversed_edges.flags.writeable = False  # like the caller's edges, so that the search is compiled only once
    return locate(graph.indptr, graph.indices, reversed_edges)
