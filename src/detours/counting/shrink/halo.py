"""The surroundings of some nodes, cut out of a graph on disk: everything that the detours of their arcs can touch.

A detour of at most k edges closes a cycle of at most k + 1 with its arc, so no node of it is farther than
r = ⌊(k + 1) / 2⌋ steps from the arc's end. Counts in the subgraph of these nodes equal those in the whole graph. If
k + 1 = 2 r, no such cycle has an edge between two nodes that are r steps away, so these edges are left out too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64, read_only
from detours.compiled import compiled
from detours.graph.disk_rows import RowBlock, Rows

BORDER_CHUNK = 1 << 12  # border nodes whose rows are read at a time: most of their targets are dropped


class TooLarge(Exception):
    """The halo has more arcs than allowed."""

    def __init__(self, arcs: int) -> None:
        super().__init__(arcs)
        self.arcs = arcs


class Halo(NamedTuple):
    """The subgraph around a range of roots, as a CSR whose nodes keep their order."""

    indptr: Int64
    indices: Int32
    node: Int64  # node of the whole graph that each node corresponds to
    distance: Int64  # steps from the nearest root, whichever way the arcs point
    first: int  # the roots are the nodes ``first`` to ``last`` - 1
    last: int

    @property
    def roots_arcs(self) -> slice:
        """The positions of the arcs of the roots, whose rows are complete and in order."""
        return slice(int(self.indptr[self.first]), int(self.indptr[self.last]))


def radius(k: int) -> int:
    """The largest distance of a node of the halo from its roots."""
    return (k + 1) // 2


def cut_halo(rows: Rows, back: Rows | None, first: int, last: int, k: int, most_arcs: int) -> Halo:
    """The halo of the nodes first .. last - 1; `back` has the reversed arcs of a directed graph.

    Raises `TooLarge` before reading more than allowed.
    """
    nodes = frontier = np.arange(first, last)
    frontiers, parts, size = [frontier], [], last - first
    inner = nodes
    for _ in range(radius(k)):
        bounds = rows.bounds(frontier)
        bounds_back = back.bounds(frontier) if back is not None else None
        size += sum(int((end - start).sum()) for start, end in filter(None, (bounds, bounds_back)))
        if size > most_arcs:
            raise TooLarge(size)
        parts.append(rows.read(*bounds))
        neighbours = [parts[-1].targets]
        if back is not None and bounds_back is not None:
            neighbours.append(back.read(*bounds_back).targets)
        inner, frontier = nodes, np.setdiff1d(_distinct(neighbours), nodes, assume_unique=True)
        nodes = np.union1d(nodes, frontier)
        frontiers.append(frontier)
        size += len(frontier)
        if size > most_arcs:
            raise TooLarge(size)
    keep = nodes if k % 2 == 0 else inner
    for start in range(0, len(frontier), BORDER_CHUNK):
        part = _restricted(keep, rows.read(*rows.bounds(frontier[start : start + BORDER_CHUNK])))
        size += len(part.targets)
        if size > most_arcs:
            raise TooLarge(size)
        parts.append(part)
    return _induce(parts, frontiers, first, last, back is None, rows)


def _restricted(keep: Int64, part: RowBlock) -> RowBlock:
    """The arcs of some rows that end at one of the nodes to keep."""
    start = np.zeros_like(part.start)
    kept = _filter_rows(keep, part.start, part.targets, start)
    return RowBlock(start, part.targets[:kept].copy())


def _induce(parts: list[RowBlock], frontiers: list[Int64], first: int, last: int, symmetric: bool, rows: Rows) -> Halo:
    node, distance = np.concatenate(frontiers), np.repeat(np.arange(len(frontiers)), list(map(len, frontiers)))
    order = np.argsort(node, kind="stable")
    offsets = np.cumsum([0, *(len(part.targets) for part in parts)])
    row_start = np.concatenate([part.start[:-1] + p for part, p in zip(parts, offsets, strict=False)])[order]
    row_length = np.concatenate([np.diff(part.start) for part in parts])[order]
    targets = np.concatenate([part.targets for part in parts])
    parts.clear()
    node, indptr, indices = node[order], np.zeros(len(node) + 1, np.int64), np.empty(len(targets), np.int32)
    arcs = _relabel(node, row_start, row_length, targets, indptr, indices)
    del targets
    indices = indices[:arcs].copy()
    if symmetric and not np.array_equal(np.bincount(indices, minlength=len(node)), np.diff(indptr)):
        raise rows.damaged()
    position = int(np.searchsorted(node, first))
    csr = read_only(indptr, np.int64), read_only(indices, np.int32)
    return Halo(*csr, node, distance[order], position, position + last - first)


@compiled
def _relabel(node: Int64, row_start: Int64, row_length: Int64, targets: Int32, indptr: Int64, indices: Int32) -> int:
    """Keep the arcs that end inside, with their targets relabelled."""
    n, out = len(node), 0
    for v in range(n):
        position = 0
        for p in range(row_start[v], row_start[v] + row_length[v]):
            position = _find(node, targets[p], position)
            if position < n and node[position] == targets[p]:
                indices[out] = position
                out += 1
        indptr[v + 1] = out
    return out


@compiled
def _filter_rows(keep: Int64, start: Int64, targets: Int32, new_start: Int64) -> int:
    """Move the targets to keep to the front, row by row."""
    out = 0
    for row in range(len(start) - 1):
        position = 0
        for p in range(start[row], start[row + 1]):
            target = targets[p]
            position = _find(keep, target, position)
            if position < len(keep) and keep[position] == target:
                targets[out] = target
                out += 1
        new_start[row + 1] = out
    return out


@compiled
def _find(ascending: Int64, value: int, low: int) -> int:
    """The first position from `low` on that is not below the value: galloping search, fast if it is near."""
    n, step = len(ascending), 1
    high = low
    while high < n and ascending[high] < value:
        low = high + 1
        high += step
        step *= 2
    high = min(high, n)
    while low < high:
        mid = (low + high) >> 1
        if ascending[mid] < value:
            low = mid + 1
        else:
            high = mid
    return low


def _distinct(lists: list[Int32]) -> Int64:
    """The nodes that occur in any of the lists, ascending."""
    size = sum(map(len, lists))
    if not size:
        return np.empty(0, np.int64)
    low = min(int(nodes.min()) for nodes in lists if len(nodes))
    high = max(int(nodes.max()) for nodes in lists if len(nodes))
    if high - low > 8 * size:
        return np.unique(np.concatenate(lists)).astype(np.int64)
    seen = np.zeros(high - low + 1, np.bool_)
    for nodes in lists:
        seen[nodes - low] = True
    return np.flatnonzero(seen) + low
