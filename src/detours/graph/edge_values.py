"""From a value for each of the caller's edges to one for each arc of the CSR."""

from __future__ import annotations

import numpy as np

from detours.graph.arcs import locate
from detours.graph.edges import Ints
from detours.graph.graph import Graph


def on_arcs(graph: Graph, values: Ints) -> tuple[Ints, Ints]:
    """The value of every arc in the order of the CSR, and those of the caller's edges that another one contradicts.

    An arc that was not listed has the value of its reverse; in an undirected graph both directions should agree.
    Loops do not count.

    >>> on_arcs(Graph.from_edge_index([[2, 1, 0, 1], [1, 2, 1, 0]]), np.array([7, 7, 5, 4]))
    (array([5, 4, 7, 7]), array([2, 3]))
    """
    listed = np.flatnonzero(graph.edge_arc >= 0)
    arc, wanted = graph.edge_arc[listed], values[listed]
    found = np.zeros(graph.num_arcs, np.int64)
    found[arc] = wanted
    missing = np.ones(graph.num_arcs, np.bool_)
    missing[arc] = False
    if missing.any():
        found[missing] = found[_reverses(graph, graph.to_edge_index()[:, missing])]
    contradicted = found[arc] != wanted
    if not graph.directed:
        contradicted |= found[_reverses(graph, graph.edge_index[:, listed])] != wanted
    return found, listed[contradicted]


def _reverses(graph: Graph, edges: Ints) -> Ints:
    turned = np.ascontiguousarray(edges[::-1])
    turned.flags.writeable = False  # as the caller's edges are: the search is then compiled once
    return locate(graph.indptr, graph.indices, turned)
