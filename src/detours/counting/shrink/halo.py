"""The surroundings of some nodes, cut out of a graph on disk: all that the detours of their arcs can touch.

A detour of at most k edges closes a cycle of at most k + 1 with its arc, so no node of it is farther than
r = ⌊(k + 1) / 2⌋ steps from the arc's end. Counting in the subgraph of these nodes is counting in the whole graph. If
k + 1 = 2 r, no such cycle has an edge between two nodes that are r steps away, and these are left out too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64, read_only
from detours.compiled import compiled
from detours.graph.disk_rows import Rows, RowsRead

PIECE = 1 << 12  # nodes of the border whose rows are read at a time: most of what they hold is not wanted


class TooLarge(Exception):
    """The surroundings have more arcs than may be held."""

    def __init__(self, arcs: int) -> None:
        super().__init__(arcs)
        self.arcs = arcs


class Halo(NamedTuple):
    """The subgraph around a range of roots, as a CSR whose nodes keep their order."""

    indptr: Int64
    indices: Int32
    node: Int64  # the node of the whole graph that each one is
    distance: Int64  # steps from the nearest root, whichever way the arcs point
    first: int  # the roots are the nodes ``first`` to ``last`` - 1
    last: int

    @property
    def roots_arcs(self) -> slice:
        """Where the arcs of the roots are: all their rows are here, whole and in order."""
        return slice(int(self.indptr[self.first]), int(self.indptr[self.last]))


def radius(k: int) -> int:
    """How far from its roots a halo reaches."""
    return (k + 1) // 2


def cut_halo(rows: Rows, back: Rows | None, first: int, last: int, k: int, most_arcs: int) -> Halo:
    """The halo of the nodes first .. last - 1; `back` has the reversed arcs of a directed graph.

    Raises `TooLarge` before anything too large is read.
    """
    found = level = np.arange(first, last)
    levels, parts, held = [level], [], last - first
    inner = found
    for _ in range(radius(k)):
        bounds = rows.bounds(level)
        bounds_back = back.bounds(level) if back is not None else None
        held += sum(int((end - begin).sum()) for begin, end in filter(None, (bounds, bounds_back)))
        if held > most_arcs:
            raise TooLarge(held)
        parts.append(rows.read(*bounds))
        near = [parts[-1].targets]
        if back is not None and bounds_back is not None:
            near.append(back.read(*bounds_back).targets)
        inner, level = found, np.setdiff1d(_distinct(near), found, assume_unique=True)
        found = np.union1d(found, level)
        levels.append(level)
        held += len(level)
        if held > most_arcs:
            raise TooLarge(held)
    wanted = found if k % 2 == 0 else inner
    for at in range(0, len(level), PIECE):
        part = _only(wanted, rows.read(*rows.bounds(level[at : at + PIECE])))
        held += len(part.targets)
        if held > most_arcs:
            raise TooLarge(held)
        parts.append(part)
    return _induce(parts, levels, first, last, back is None, rows)


def _only(wanted: Int64, part: RowsRead) -> RowsRead:
    """Of some rows, the arcs that end at a node that is wanted."""
    start = np.zeros_like(part.start)
    kept = _keep(wanted, part.start, part.targets, start)
    return RowsRead(start, part.targets[:kept].copy())


def _induce(parts: list[RowsRead], levels: list[Int64], first: int, last: int, symmetric: bool, rows: Rows) -> Halo:
    node, distance = np.concatenate(levels), np.repeat(np.arange(len(levels)), list(map(len, levels)))
    order = np.argsort(node, kind="stable")
    before = np.cumsum([0, *(len(part.targets) for part in parts)])
    begin = np.concatenate([part.start[:-1] + at for part, at in zip(parts, before, strict=False)])[order]
    size = np.concatenate([np.diff(part.start) for part in parts])[order]
    targets = np.concatenate([part.targets for part in parts])
    parts.clear()
    node, indptr, indices = node[order], np.zeros(len(node) + 1, np.int64), np.empty(len(targets), np.int32)
    arcs = _inside(node, begin, size, targets, indptr, indices)
    del targets
    indices = indices[:arcs].copy()
    if symmetric and not np.array_equal(np.bincount(indices, minlength=len(node)), np.diff(indptr)):
        raise rows.damaged()
    at = int(np.searchsorted(node, first))
    plain = read_only(indptr, np.int64), read_only(indices, np.int32)
    return Halo(*plain, node, distance[order], at, at + last - first)


@compiled
def _inside(node: Int64, begin: Int64, size: Int64, targets: Int32, indptr: Int64, indices: Int32) -> int:
    """Keep the arcs that end inside, by their new numbers."""
    n, out = len(node), 0
    for v in range(n):
        at = 0
        for p in range(begin[v], begin[v] + size[v]):
            at = _find(node, targets[p], at)
            if at < n and node[at] == targets[p]:
                indices[out] = at
                out += 1
        indptr[v + 1] = out
    return out


@compiled
def _keep(wanted: Int64, start: Int64, targets: Int32, new_start: Int64) -> int:
    """Move the targets that are wanted to the front, row by row."""
    out = 0
    for row in range(len(start) - 1):
        at = 0
        for p in range(start[row], start[row + 1]):
            target = targets[p]
            at = _find(wanted, target, at)
            if at < len(wanted) and wanted[at] == target:
                targets[out] = target
                out += 1
        new_start[row + 1] = out
    return out


@compiled
def _find(ascending: Int64, value: int, low: int) -> int:
    """The first place from `low` on that is not below the value; quick if it is not far."""
    n, step = len(ascending), 1
    high = low
    while high < n and ascending[high] < value:
        low = high + 1
        high += step
        step *= 2
    high = min(high, n)
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def _distinct(lists: list[Int32]) -> Int64:
    """The nodes that occur in any of the lists, ascending."""
    size = sum(map(len, lists))
    if not size:
        return np.empty(0, np.int64)
    low = min(int(one.min()) for one in lists if len(one))
    high = max(int(one.max()) for one in lists if len(one))
    if high - low > 8 * size:
        return np.unique(np.concatenate(lists)).astype(np.int64)
    there = np.zeros(high - low + 1, np.bool_)
    for one in lists:
        there[one - low] = True
    return np.flatnonzero(there) + low
