"""Copies of graphs without one of their nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled


class Deleted(NamedTuple):
    """Graphs without one node each, side by side as a CSR."""

    indptr: Int64
    indices: Int32
    offsets: Int64
    source: Int64
    """For each node, what it was in the graphs given."""
    mark: Int64
    """For each node, whether an arc led to it from the deleted node (1), or from it to that node (2), or both (3)."""


@compiled
def delete_nodes(indptr: Int64, indices: Int32, offsets: Int64, graph: Int64, node: Int64) -> Deleted:
    """Delete node ``node[i]``, counted within its graph, of the graph ``graph[i]``, for each i."""
    copies = len(graph)
    new_offsets = np.zeros(copies + 1, np.int64)
    arcs = 0
    for i in range(copies):
        start, end = offsets[graph[i]], offsets[graph[i] + 1]
        new_offsets[i + 1] = new_offsets[i] + end - start - 1
        arcs += indptr[end] - indptr[start]
    new_indptr, new_indices = np.zeros(new_offsets[copies] + 1, np.int64), np.empty(arcs, np.int32)
    source, mark = np.empty(new_offsets[copies], np.int64), np.zeros(new_offsets[copies], np.int64)
    at = arc_at = 0
    for i in range(copies):
        start, end = offsets[graph[i]], offsets[graph[i] + 1]
        gone = start + node[i]
        for u in range(start, end):
            if u == gone:
                continue
            source[at] = u
            for arc in range(indptr[u], indptr[u + 1]):
                w = indices[arc]
                if w == gone:
                    mark[at] |= 2
                else:
                    new_indices[arc_at] = new_offsets[i] + w - start - (w > gone)
                    arc_at += 1
            at += 1
            new_indptr[at] = arc_at
        for arc in range(indptr[gone], indptr[gone + 1]):
            w = indices[arc]
            mark[new_offsets[i] + w - start - (w > gone)] |= 1
    return Deleted(new_indptr, new_indices[:arc_at].copy(), new_offsets, source, mark)
