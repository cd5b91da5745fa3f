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

UNREACHABLE = 2**16 - 1
"""The distance between nodes that no path connects."""
PAIRS_AT_ONCE = 1 << 24
"""Pairs of nodes processed by one call of a compiled loop (for distances, with the arcs read for each node).

Ctrl-C takes effect only between calls.
"""


class Distances(NamedTuple):
    """Distances between the nodes of every graph: all kept in `square`, or computed again for each colour class."""

    indptr: Int64
    indices: Int32
    offsets: Int64
    square: Distance
    """The distances in graph g, row by row, from ``square_offsets[g]`` on; space for one graph if they are not kept."""
    square_offsets: Int64
    kept: bool


def distances_in(batch: Batch, memory_limit: int) -> Distances:
    """The distances in all graphs of a batch; all are kept if that takes at most `memory_limit` bytes."""
    sizes = np.diff(batch.offsets)
    largest = int(sizes.max(initial=0))
    if largest >= UNREACHABLE or 2 * largest**2 > memory_limit:
        raise InputError(
            f"The distances in a graph of {batch.largest:,} nodes{' and its copy' * (batch.copies > 1)} take "
            f"{2 * largest**2 / 1e9:,.1f} GB, but memory_limit is {memory_limit / 1e9:,.1f} GB, and at most "
            f"{(UNREACHABLE - 1) // batch.copies:,} nodes are possible; raise memory_limit or use "
            f'{"plain=False or " * (batch.copies > 1)}base="subtree".'
        )
    square_offsets = np.concatenate([[0], np.cumsum(sizes**2)])
    kept = 2 * int(square_offsets[-1]) <= memory_limit
    distances = Distances(
        read_only(batch.union.indptr, np.int64),
        read_only(batch.union.indices, np.int32),
        read_only(batch.offsets, np.int64),
        np.empty(int(square_offsets[-1]) if kept else largest**2, np.uint16),
        read_only(square_offsets, np.int64),
        kept,
    )
    if kept:
        reads = np.cumsum(np.repeat(sizes + np.diff(distances.indptr[distances.offsets]), sizes))
        start, num_nodes = 0, len(reads)
        while start < num_nodes:
            before = int(reads[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(reads, before + PAIRS_AT_ONCE, side="right")))
            _fill(start, end, *distances[:5])  # all but `kept`
            start = end
    return distances


@compiled
def search(source: Any, first: int, indptr: Int64, indices: Int32, row: Distance, queue: Int32) -> None:
    """Write the distances from `source` to all nodes of its graph, the first of which is `first`, into `row`."""
    for at in range(len(row)):
        row[at] = UNREACHABLE
    queue[0] = source
    row[source - first] = 0
    head, tail = 0, 1
    while head < tail:
        node = queue[head]
        head += 1
        next_distance = row[node - first] + 1
        for arc in range(indptr[node], indptr[node + 1]):
            other = indices[arc]
            if row[other - first] == UNREACHABLE:
                row[other - first] = next_distance
                queue[tail] = other
                tail += 1


@compiled
def _fill(
    begin: int,
    end: int,
    indptr: Int64,
    indices: Int32,
    offsets: Int64,
    square: Distance,
    square_offsets: Int64,
) -> None:
    """Write the distances from the nodes `begin` to `end` of the union."""
    g = np.searchsorted(offsets, begin, side="right") - 1
    largest, last = 0, g
    while last < len(offsets) - 1 and offsets[last] < end:
        largest = max(largest, offsets[last + 1] - offsets[last])
        last += 1
    queue = np.empty(largest, np.int32)
    for node in range(begin, end):
        while node >= offsets[g + 1]:
            g += 1
        first, size = offsets[g], offsets[g + 1] - offsets[g]
        at = square_offsets[g] + (node - first) * size
        search(node, first, indptr, indices, square[at : at + size], queue)
