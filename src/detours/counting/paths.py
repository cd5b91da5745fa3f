"""Listing detours: simple paths between two nodes, lazily, shorter ones first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64, read_only
from detours.counting.paths_numba import FAR, breadth_first, list_paths
from detours.counting.shrink.csr import transpose
from detours.counting.shrink.cyclic_part import reduce

STEPS = 2**22  # steps of the search between two checks for time limits and Ctrl-C: a few hundredths of a second
BATCH = 2**18  # the maximum number of nodes in a batch of paths


class Region(NamedTuple):
    """The part of a graph that paths of limited length from ``start`` to ``end`` can use; ``node`` ascends."""

    indptr: Int64
    indices: Int32
    node: Int64
    start: int
    end: int


def path_batches(
    indptr: NDArray[Any], indices: NDArray[Any], i: int, j: int, k: int, *, chordless: bool = False
) -> Iterator[Int64]:
    """Yield the simple paths from i to j with 2 to k edges as arrays [paths, nodes], by length, then in order.

    With ``chordless``, only paths with no edges between their nodes except their own and, if it exists, ij; the graph
    is undirected then.

    Some arrays are empty: one is yielded every few hundredths of a second, so that the search can be stopped.
    """
    k = min(k, len(indptr) - 2)
    region = _region(read_only(indptr, np.int64), read_only(indices, np.int32), i, j, k)
    distance = _distances(*_reversed(region), region.end, k, region.start)
    blocked = np.zeros(len(region.node) if chordless else 0, np.int32)
    size = 64
    length, longest = max(2, int(distance[region.start])), min(k, len(region.node) - 1)
    while length <= longest:
        path, saved = np.zeros(length + 1, np.int32), np.full(length, distance[region.start], np.int32)
        next_arc, state = np.zeros(length, np.int64), np.array([0, FAR])
        path[0], next_arc[0], path[length] = region.start, region.indptr[region.start], region.end
        search = distance, blocked, path, next_arc, saved, state
        while state[0] >= 0:
            size = max(1, min(size, BATCH // length))
            out = np.empty((size, length + 1), np.int32)
            num_found = list_paths(region.indptr, region.indices, *search, out, STEPS)
            yield region.node[out[:num_found]]
            size *= 2
        length = int(state[1])


def _region(indptr: Int64, indices: Int32, i: int, j: int, k: int) -> Region:
    """Reduce the graph to the nodes close enough to both ends, and then to the biconnected component of both.

    A node lies on a simple path from i to j only if it is in the biconnected component of the edge ij, once that edge
    is added.
    """
    whole = Region(indptr, indices, np.arange(len(indptr) - 1), i, j)
    from_start = _distances(indptr, indices, i, k, j)
    if from_start[j] == FAR:
        return _part(whole, np.sort([i, j]))
    near = _part(whole, np.flatnonzero(from_start < FAR))
    to_end = _distances(*_reversed(near), near.end, k, near.start)
    near = _part(near, np.flatnonzero(from_start[near.node] + to_end <= k))
    new_arc = near.indptr[near.end]
    closed_ptr = near.indptr + (np.arange(len(near.indptr)) > near.end)
    closed = reduce(closed_ptr, np.insert(near.indices, new_arc, near.start), directed=True)
    arc = np.flatnonzero(closed.arc == new_arc)
    if len(arc) == 0:
        return _part(near, np.sort([near.start, near.end]))
    source = np.searchsorted(closed.indptr, arc[0], side="right") - 1
    block = np.searchsorted(closed.block_ptr, source, side="right") - 1
    return _part(near, np.sort(closed.node[closed.block_ptr[block] : closed.block_ptr[block + 1]]))


def _part(region: Region, nodes: NDArray[Any]) -> Region:
    """Return the subgraph induced by some nodes, given in ascending order."""
    label = np.full(len(region.node), -1, np.int32)
    label[nodes] = np.arange(len(nodes))
    first, degree = region.indptr[nodes], np.diff(region.indptr)[nodes]
    ends = np.cumsum(degree)
    targets = label[region.indices[np.arange(degree.sum()) + np.repeat(first - ends + degree, degree)]]
    kept = np.concatenate([[0], np.cumsum(targets >= 0)])
    indptr = read_only(kept[np.concatenate([[0], ends])], np.int64)
    indices = read_only(targets[targets >= 0], np.int32)
    return Region(indptr, indices, region.node[nodes], int(label[region.start]), int(label[region.end]))


def _reversed(region: Region) -> tuple[Int64, Int32]:
    indptr, indices, _ = transpose(region.indptr, region.indices, np.zeros(len(region.indices), np.int64))
    return read_only(indptr, np.int64), read_only(indices, np.int32)


def _distances(indptr: Int64, indices: Int32, source: int, limit: int, wall: int) -> Int32:
    """Return the distance from the source to each node, FAR beyond the limit; the search does not pass the wall."""
    distance, queue = np.full(len(indptr) - 1, FAR, np.int32), np.empty(len(indptr) - 1, np.int32)
    breadth_first(indptr, indices, source, limit, wall, distance, queue)
    return distance
