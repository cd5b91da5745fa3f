"""The partition of all tuples of one graph under k-FWL, refined round by round; see `detours.wl.tuples.refinement`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.graph import Graph
from detours.wl.tuples.loops_numba import lay_lines, lay_neighbours, split, write_signatures

Rows = tuple[Int64, Int64, list[tuple[Int64, Int32, Int64]]]

_ALL_BITS = np.uint64(2**64 - 1)
_CHUNK = 1 << 22  # numbers of a table that are written at a time
_NO_ROWS: Rows = (np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), [])


class Refinement:
    """The partition of the tuples of one graph under k-FWL, from atomic types to the stable colouring."""

    def __init__(self, graph: Graph, dim: int, mask: np.uint64 = _ALL_BITS):
        self.graph = graph
        self.dim = dim
        self.rounds = 0
        self.kinds = atomic_types(graph, dim)
        sizes = np.bincount(self.kinds)
        self.colour: Int32 = (np.cumsum(sizes > 0) - 1).astype(np.int32)[self.kinds]
        self.members: Int32 = np.argsort(self.kinds, kind="stable").astype(np.int32)
        self.starts: Int64 = np.concatenate(([0], np.cumsum(sizes[sizes > 0])))
        self.parent: Int32 = np.arange(len(self.starts) - 1, dtype=np.int32)
        self._mask = mask
        self._pointer, self._entries, self._writers = _neighbour_rows(graph) if dim == 1 else _NO_ROWS
        self._width = (dim - 1) * graph.num_nodes if dim > 1 else int(np.diff(self._pointer).max(initial=0))

    @property
    def num_classes(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Int64:
        return np.diff(self.starts)

    def lay(self) -> None:
        """Lay out the present colours, of which the next signatures are made."""
        if self.dim > 1:
            self._entries = np.empty(self.dim * len(self.members), dtype=np.int64)
            lay_lines(self.graph.num_nodes, self.dim, self.colour, self.members, self._entries)
        for push_ptr, push, skip in self._writers:
            lay_neighbours(push_ptr, push, self.colour, self.members, self._pointer, skip, self._entries)

    def clear(self) -> None:
        """Forget the layout, which is larger than the colours."""
        if self.dim > 1:
            self._entries = _NO_ROWS[1]

    def round(self) -> bool:
        """Refine once, and say whether any class was split."""
        self.lay()
        before = self.num_classes
        room = len(self._entries) if self.dim == 1 else self._width * int(self.sizes.max())
        rows = np.empty(room, dtype=np.int64)
        parent = np.empty(len(self.members), dtype=np.int32)
        partition = (self.colour, self.members, self.starts, parent)
        self.starts = split(self.graph.num_nodes, self.dim, self._lines, *partition, rows, self._mask).copy()
        self.parent = parent[: self.num_classes].copy()
        self.rounds += self.num_classes > before
        return self.num_classes > before

    def signatures(self) -> Iterator[Int64]:
        """The signature of every class in the colours last laid out, in chunks of whole classes."""
        firsts = self.members[self.starts[:-1]]
        step = max(1, _CHUNK // max(1, self._width))
        rows = np.empty(min(step, len(firsts)) * self._width, dtype=np.int64)
        for start in range(0, len(firsts), step):
            some = firsts[start : start + step]
            yield rows[: write_signatures(self.graph.num_nodes, self.dim, self._lines, some, rows)]

    def table(self) -> Iterator[NDArray[Any]]:
        """All there is to know of the last round: for every class its parent, atomic type, size and signature."""
        yield self.parent
        yield self.kinds[self.members[self.starts[:-1]]]
        yield self.sizes
        yield from self.signatures()

    @property
    def _lines(self) -> tuple[Int64, Int64]:
        return self._entries, self._pointer


def atomic_types(graph: Graph, dim: int) -> NDArray[np.uint8]:
    """uint8 [n^dim]: a number for what is equal and what is joined in each tuple."""
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
    """Every ordered pair of nodes with an arc between them: its two nodes and its atomic type."""
    source, target = graph.to_edge_index()
    if not graph.directed:
        return source, target, np.full(len(source), 4, dtype=np.int64)
    there, back = source * graph.num_nodes + target, target * graph.num_nodes + source
    mutual = np.isin(there, back, assume_unique=True)
    one_way = ~mutual
    kind = np.concatenate((np.where(mutual, 4, 2), np.full(np.count_nonzero(one_way), 3))).astype(np.int64)
    return np.concatenate((source, target[one_way])), np.concatenate((target, source[one_way])), kind


def _neighbour_rows(graph: Graph) -> Rows:
    """Where the row of each node begins, the rows with their heads, and who writes where.

    A row is a head, which says how many neighbours there are of each atomic type, and their colours, type by type.
    A node writes its colour to those who see it: one CSR for each type, and how far into a row its part begins.
    """
    n = graph.num_nodes
    first, second, kind = joined_pairs(graph)
    kinds = (4, 2, 3) if graph.directed else (4,)
    counts = np.stack([np.bincount(first[kind == one], minlength=n) for one in kinds], axis=1)
    pointer = np.concatenate(([0], np.cumsum(len(kinds) + counts.sum(axis=1))))
    rows = np.zeros(pointer[-1], dtype=np.int64)
    rows[pointer[:-1, None] + np.arange(len(kinds))] = counts
    skips = len(kinds) + np.cumsum(counts, axis=1) - counts
    writers = []
    for at, one in enumerate(kinds):
        seer, seen = first[kind == one], second[kind == one]
        push_ptr = np.concatenate(([0], np.cumsum(np.bincount(seen, minlength=n))))
        push = seer[np.argsort(seen, kind="stable")].astype(np.int32)
        writers.append((push_ptr, push, np.ascontiguousarray(skips[:, at])))
    return pointer, rows, writers
