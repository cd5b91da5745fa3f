"""Shortest paths between all nodes of each graph, by breadth-first search."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64, read_only
from detours.compiled import compiled
from detours.errors import InputError
from detours.kernels.batch import Batch

Distance = NDArray[np.uint16]

FAR = 2**16 - 1
"""The distance of nodes that no path joins."""
PAIRS_AT_ONCE = 1 << 24
"""Pairs of nodes that a kernel works through before Python may answer Ctrl-C."""


class Distances(NamedTuple):
    """Distances between the nodes of every graph, kept in `square`, or searched for anew one colour class at a time."""

    indptr: Int64
    indices: Int32
    offsets: Int64
    square: Distance
    """uint16: the distances in graph g, row by row, from ``begins[g]`` on; room for one graph if they are not kept."""
    begins: Int64
    kept: bool


def distances_in(batch: Batch, memory_limit: int) -> Distances:
    """The distances in all graphs of a batch; they are kept where that takes at most `memory_limit` bytes."""
    sizes = np.diff(batch.offsets)
    largest = int(sizes.max(initial=0))
    if largest >= FAR or 2 * largest**2 > memory_limit:
        raise InputError(
            f"The distances in a graph of {largest:,} nodes take {2 * largest**2 / 1e9:,.1f} GB, but memory_limit is "
            f'{memory_limit / 1e9:,.1f} GB and {FAR - 1:,} nodes are the most; raise it or use base="subtree".'
        )
    begins = np.concatenate([[0], np.cumsum(sizes**2)])
    kept = 2 * int(begins[-1]) <= memory_limit
    made = Distances(
        read_only(batch.union.indptr, np.int64),
        read_only(batch.union.indices, np.int32),
        read_only(batch.offsets, np.int64),
        np.empty(int(begins[-1]) if kept else largest**2, np.uint16),
        read_only(begins, np.int64),
        kept,
    )
    graph = 0
    while kept and graph < len(sizes):
        end = max(graph + 1, int(np.searchsorted(begins, begins[graph] + PAIRS_AT_ONCE, side="right")) - 1)
        _fill(graph, end, made.indptr, made.indices, made.offsets, made.square, made.begins)
        graph = end
    return made


@compiled
def search(source: Any, first: int, indptr: Int64, indices: Int32, row: Distance, queue: Int32) -> None:
    """Write the distances from `source` to all nodes of its graph, the first of which is `first`, into `row`."""
    for at in range(len(row)):
        row[at] = FAR
    queue[0] = source
    row[source - first] = 0
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        next_distance = row[node - first] + 1
        for arc in range(indptr[node], indptr[node + 1]):
            other = indices[arc]
            if row[other - first] == FAR:
                row[other - first] = next_distance
                queue[tail] = other
                tail += 1


@compiled
def _fill(
    first_graph: int, last_graph: int, indptr: Int64, indices: Int32, offsets: Int64, square: Distance, begins: Int64
) -> None:
    largest = 0
    for g in range(first_graph, last_graph):
        largest = max(largest, offsets[g + 1] - offsets[g])
    queue = np.empty(largest, np.int32)
    for g in range(first_graph, last_graph):
        first, size = offsets[g], offsets[g + 1] - offsets[g]
        for node in range(first, offsets[g + 1]):
            at = begins[g] + (node - first) * size
            search(node, first, indptr, indices, square[at : at + size], queue)
