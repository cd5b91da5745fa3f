"""The graph as the row engine stores it, and the order of its roots."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from detours.arrays import Bool, Int32, Int64, UInt8
from detours.counting.engines.rows.arcs_numba import reverse_arcs, symmetrise
from detours.counting.shrink.cyclic_part import Reduced


class Layout(NamedTuple):
    """The order of the roots, and how many form a block."""

    by_degree: bool  # blocks of roots of similar degree, instead of roots that lie close together
    lanes: int

    def __str__(self) -> str:
        together = "of similar degree" if self.by_degree else "that lie close together"
        return f"{self.lanes} roots {together} at a time" if self.lanes > 1 else "one root at a time"


@dataclass(frozen=True)
class RowGraph:
    """A symmetric CSR, for directed graphs with flags of the arcs that exist, and the arcs that roots serve."""

    indptr: Int64
    indices: Int32
    reverse: Int64
    flags: UInt8  # bit 1: the arc itself exists, bit 2: its reverse exists; empty when undirected
    existing: Int64  # positions of the arcs that exist, in the order of the reduced graph; empty when undirected
    arc: Int64  # position of each arc of the reduced graph in the whole graph
    rank: Int32  # rank of each node by degree if an edge is served only from its end of higher rank; else empty
    source: Int32
    served: Int64  # arcs on which ear sums are read
    serves: Bool  # whether a node is the source of such an arc

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def directed(self) -> bool:
        return len(self.flags) > 0

    @classmethod
    def build(cls, reduced: Reduced, one_end: bool, near: Bool | None = None) -> RowGraph:
        """Build from the part of a graph that lies on cycles.

        With ``one_end`` an edge is served from one end only; with the mask ``near`` only from these nodes.
        """
        indptr, indices = reduced.indptr, reduced.indices
        flags, existing = np.empty(0, np.uint8), np.empty(0, np.int64)
        if reduced.directed:
            indptr, indices, flags, existing = symmetrise(indptr, indices)
        rank = _rank_by_degree(indptr, near) if one_end else np.empty(0, np.int32)
        source = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        if one_end:
            from_source = rank[indices] < rank[source]
            served = np.flatnonzero(from_source if near is None else from_source & near[source])
        else:
            served = np.arange(len(indices)) if near is None else np.flatnonzero(near[source])
        serves = np.zeros(len(indptr) - 1, np.bool_)
        serves[source[served]] = True
        reverse = reverse_arcs(indptr, indices)
        return cls(indptr, indices, reverse, flags, existing, reduced.arc, rank, source, served, serves)

    @cached_property
    def walks(self) -> Int64:
        """The number of walks of length two from each node."""
        walks: Int64 = np.add.reduceat(np.diff(self.indptr)[self.indices], self.indptr[:-1])
        return walks

    @cached_property
    def neighbours_of_ends(self) -> float:
        """The number of neighbours of the far ends of all served arcs."""
        return float(np.diff(self.indptr)[self.indices[self.served]].sum())

    def roots(self, layout: Layout) -> Int64:
        """All nodes that serve arcs, in the order of the layout."""
        if not layout.by_degree:
            return np.flatnonzero(self.serves)
        order = _by_degree(np.diff(self.indptr))[::-1]  # hubs first, so that threads finish together
        return order[self.serves[order]]


def _rank_by_degree(indptr: Int64, near: Bool | None) -> Int32:
    order = _by_degree(np.diff(indptr))
    if near is not None:
        order = order[np.argsort(near[order], kind="stable")]  # an edge with one end near is served from it
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(rank), dtype=np.int32)
    return rank


def _by_degree(degree: Int64) -> Int64:
    small = degree.max(initial=0) < 2**16  # NumPy sorts 16-bit integers by counting
    return np.argsort(degree.astype(np.uint16) if small else degree, kind="stable")
