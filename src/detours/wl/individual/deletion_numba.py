"""Copies of graphs without one of their nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled


class Deleted(NamedTuple):
    """Copies of graphs, each with one node deleted, as one CSR."""

    indptr: Int64
    indices: Int32
    offsets: Int64
    source: Int64
    """For each node, its index in the input graphs."""
    mark: Int64
    """For each node, whether it had an arc from the deleted node (1), to the deleted node (2), or both (3)."""


@compiled
def delete_nodes(
    indptr: Int64, indices: Int32, offsets: Int64, graph: Int64, node: Int64
) -> tuple[Int64, Int32, Int64, Int64, Int64]:
    """Delete node ``node[i]``, counted within its graph, of the graph ``graph[i]``, for each i.

    Return the fields of `Deleted`.
    """
    num_copies = len(graph)
    new_offsets = np.zeros(num_copies + 1, np.int64)
    max_arcs = 0
    for i in range(num_copies):
        start, end = offsets[graph[i]], offsets[graph[i] + 1]
        new_offsets[i + 1] = new_offsets[i] + end - start - 1
        max_arcs += indptr[end] - indptr[start]
    new_indptr, new_indices = np.zeros(new_offsets[num_copies] + 1, np.int64), np.empty(max_arcs, np.int32)
    source, mark = np.empty(new_offsets[num_copies], np.int64), np.zeros(new_offsets[num_copies], np.int64)
    new_node = new_arc = 0
    for i in range(num_copies):
        start, end = offsets[graph[i]], offsets[graph[i] + 1]
        deleted = start + node[i]
        for u in range(start, end):
            if u == deleted:
                continue
            source[new_node] = u
            for arc in range(indptr[u], indptr[u + 1]):
                w = indices[arc]
                if w == deleted:
                    mark[new_node] |= 2
                else:
                    new_indices[new_arc] = new_offsets[i] + w - start - (w > deleted)
                    new_arc += 1
            new_node += 1
            new_indptr[new_node] = new_arc
        for arc in range(indptr[deleted], indptr[deleted + 1]):
            w = indices[arc]
            mark[new_offsets[i] + w - start - (w > deleted)] |= 1
    return new_indptr, new_indices[:new_arc].copy(), new_offsets, source, mark
