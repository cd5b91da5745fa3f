"""The partition of all tuples of one graph under k-FWL, refined round by round; see `detours.wl.tuples.refinement`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.graph import Graph
from detours.wl.tuples.loops_numba import Lines, Partition, split, write_lines, write_neighbours, write_signatures

_ALL_BITS = np.uint64(2**64 - 1)
_CHUNK = 1 << 22  # integers of a table that are written at a time


class Writer(NamedTuple):
    """Neighbours of one atomic type: the nodes that see each node as a CSR, and the offset in their rows."""

    indptr: Int64
    seers: Int32
    skip: Int64


class NeighbourRows(NamedTuple):
    """For every node the number of neighbours of each atomic type, then their colours, type by type."""

    row_offsets: Int64
    entries: Int64
    writers: list[Writer]


_EMPTY = NeighbourRows(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), [])


class Refinement:
    """The partition of the tuples of one graph under k-FWL, from atomic types to the stable colouring."""

    def __init__(self, graph: Graph, dim: int, mask: np.uint64 = _ALL_BITS, kinds: Int32 | None = None):
        self.graph = graph
        self.dim = dim
        self.rounds = 0
        self.kinds: NDArray[Any] = atomic_types(graph, dim) if kinds is None else kinds
        """The first colours of all tuples; other `kinds` than the atomic types must determine these."""
        sizes = np.bincount(self.kinds)
        self.colour: Int32 = (np.cumsum(sizes > 0) - 1).astype(np.int32)[self.kinds]
        self.members: Int32 = np.argsort(self.kinds, kind="stable").astype(np.int32)
        self.starts: Int64 = np.concatenate(([0], np.cumsum(sizes[sizes > 0])))
        self.parent: Int32 = np.arange(len(self.starts) - 1, dtype=np.int32)
        self._mask = mask
        self._rows = _neighbour_rows(graph) if dim == 1 else _EMPTY
        self._width = (dim - 1) * graph.num_nodes if dim > 1 else int(np.diff(self._rows.row_offsets).max(initial=0))

    @property
    def num_classes(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Int64:
        return np.diff(self.starts)

    def lay(self) -> None:
        """Lay out the present colours, from which the next signatures are built."""
        rows = self._rows
        if self.dim > 1:
            self._rows = rows._replace(entries=np.empty(self.dim * len(self.members), dtype=np.int64))
            write_lines(self.graph.num_nodes, self.dim, self.colour, self.members, self._rows.entries)
        for writer in rows.writers:
            write_neighbours(
                writer.indptr, writer.seers, self.colour, self.members, rows.row_offsets, writer.skip, rows.entries
            )

    def clear(self) -> None:
        """Free the layout, which is larger than the colours."""
        if self.dim > 1:
            self._rows = _EMPTY

    def round(self) -> bool:
        """Refine once, and return whether any class was split."""
        self.lay()
        before = self.num_classes
        room = len(self._rows.entries) if self.dim == 1 else self._width * int(self.sizes.max())
        partition = Partition(self.colour, self.members, self.starts)
        self.starts, self.parent = split(self._lines, partition, np.empty(room, dtype=np.int64), self._mask)
        self.rounds += self.num_classes > before
        return self.num_classes > before

    def signatures(self) -> Iterator[Int64]:
        """Yield the signature of every class in the colours last laid out, in chunks of whole classes."""
        firsts = self.members[self.starts[:-1]]
        step = max(1, _CHUNK // max(1, self._width))
        rows = np.empty(min(step, len(firsts)) * self._width, dtype=np.int64)
        for start in range(0, len(firsts), step):
            some = firsts[start : start + step]
            yield rows[: write_signatures(self._lines, some, rows)]

    def table(self) -> Iterator[NDArray[Any]]:
        """Yield the result of the last round: for every class its parent, atomic type, size and signature."""
        yield self.parent
        yield self.kinds[self.members[self.starts[:-1]]]
        yield self.sizes
        yield from self.signatures()

    @property
    def _lines(self) -> Lines:
        return Lines(self.graph.num_nodes, self.dim, self._rows.entries, self._rows.row_offsets)


def atomic_types(graph: Graph, dim: int) -> NDArray[np.uint8]:
    """Return a code for the equal and the adjacent nodes of each tuple, uint8 [n^dim]."""
    n = graph.num_nodes
    if dim == 1:
        return np.zeros(n, dtype=np.uint8)
    joined = np.zeros((n, n), dtype=np.uint8)
    source, target = graph.to_edge_index()
    joined[source, target] = 1
    pairs: NDArray[np.uint8] = 1 + joined + 2 * joined.T
    np.fill_diagonal(pairs, 0)
    if dim == 2:
        return pairs.ravel()
    triples: NDArray[np.uint8] = 25 * pairs[:, :, None] + 5 * pairs[:, None, :] + pairs
    return triples.ravel()


def joined_pairs(graph: Graph) -> tuple[Int64, Int64, Int64]:
    """Return every ordered pair of adjacent nodes: its first nodes, its second nodes, its atomic types."""
    source, target = graph.to_edge_index()
    if not graph.directed:
        return source, target, np.full(len(source), 4, dtype=np.int64)
    arc, reverse = source * graph.num_nodes + target, target * graph.num_nodes + source
    mutual = np.isin(arc, reverse, assume_unique=True)
    one_way = ~mutual
    kind = np.concatenate((np.where(mutual, 4, 2), np.full(np.count_nonzero(one_way), 3))).astype(np.int64)
    return np.concatenate((source, target[one_way])), np.concatenate((target, source[one_way])), kind


def _neighbour_rows(graph: Graph) -> NeighbourRows:
    """Return the rows of all nodes, with the numbers of neighbours filled in and the colours still missing."""
    n = graph.num_nodes
    first, second, kind = joined_pairs(graph)
    kinds = (4, 2, 3) if graph.directed else (4,)
    counts = np.stack([np.bincount(first[kind == one], minlength=n) for one in kinds], axis=1)
    row_offsets = np.concatenate(([0], np.cumsum(len(kinds) + counts.sum(axis=1))))
    entries = np.zeros(row_offsets[-1], dtype=np.int64)
    entries[row_offsets[:-1, None] + np.arange(len(kinds))] = counts
    skips = len(kinds) + np.cumsum(counts, axis=1) - counts
    writers = []
    for at, one in enumerate(kinds):
        seer, seen = first[kind == one], second[kind == one]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(seen, minlength=n))))
        seers = seer[np.argsort(seen, kind="stable")].astype(np.int32)
        writers.append(Writer(indptr, seers, np.ascontiguousarray(skips[:, at])))
    return NeighbourRows(row_offsets, entries, writers)
