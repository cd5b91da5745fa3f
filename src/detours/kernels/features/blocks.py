"""Blocks of features, one for each round, and their products: what the two base kernels have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.kernels.colours.colouring import ColouredBatch, Colouring


@dataclass(frozen=True, slots=True)
class Block:
    """How often each graph has each feature of a round: a sparse matrix in rows (CSR)."""

    starts: Int64
    columns: Int64
    counts: Int64
    width: int

    @classmethod
    def of(cls, column: Int64, graph: Int32, counts: Int64, graphs: int, width: int) -> Block:
        """From entries in any order, each at a place of its own."""
        order = np.lexsort((column, graph))
        starts = np.concatenate([[0], np.cumsum(np.bincount(graph, minlength=graphs))])
        return cls(starts, column[order], counts[order], width)

    def renumbered(self, place: Int64, width: int) -> Block:
        """With other columns; those placed at -1 are left out."""
        column = place[self.columns]
        graph = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))
        kept = column >= 0
        return Block.of(column[kept], graph[kept], self.counts[kept], len(self.starts) - 1, width)


class Blocks(NamedTuple):
    """The blocks of all rounds, and the product of each graph with itself, features unknown to `fit` included."""

    blocks: list[Block]
    norms: Int64


class Carriers(NamedTuple):
    """The nodes of a graph that carry a feature; for a pair of colours also the pairs of nodes.

    >>> Carriers(np.array([0, 2]), None).nodes.tolist()
    [0, 2]
    """

    nodes: NDArray[np.int64]
    pairs: NDArray[np.int64] | None


class Base(Protocol):
    """A base kernel: what is counted in the colours of each round."""

    def learn(self, coloured: ColouredBatch) -> Blocks:
        """Give every feature of the graphs a column; return their blocks."""

    def features(self, coloured: ColouredBatch, found: list[Int32]) -> Blocks:
        """The blocks of other graphs in the columns learned; `found` as `Colouring.find` gives it."""

    def remember(self, coloured: ColouredBatch) -> None:
        """Keep the graphs for `add_rounds` and `products`."""

    def add_rounds(self, gram: Int64) -> Iterator[None]:
        """At each step add the products of remembered graphs in one more round to the lower triangle of `gram`."""

    def norms(self, coloured: ColouredBatch) -> Int64:
        """The product of each graph with itself, all rounds together."""

    def products(self, coloured: ColouredBatch, found: list[Int32]) -> Int64:
        """int64 [graphs, remembered graphs]: all rounds together."""

    def colours(self, round: int, column: int) -> tuple[int, ...]:
        """The colours that a feature is made of."""

    def relation(self, round: int, column: int) -> str:
        """Where they are to each other, in words that follow them."""

    def name(self, colouring: Colouring, round: int, column: int) -> str:
        """What a feature is called, without its round."""

    def carriers(self, coloured: ColouredBatch, found: list[Int32], round: int, column: int) -> Carriers:
        """Where one graph has a feature."""


def squared_norms(blocks: Sequence[Block], graphs: int) -> Int64:
    """The product of each graph with itself."""
    total = np.zeros(graphs, np.int64)
    for block in blocks:
        sums = np.concatenate([[0], np.cumsum(block.counts**2)])
        total += np.diff(sums[block.starts])
    return total


def side_by_side(blocks: Sequence[Block], graphs: int) -> Any:
    """One SciPy CSR array of all blocks."""
    from scipy.sparse import csr_array

    shifts = np.concatenate([[0], np.cumsum([block.width for block in blocks])])
    row = np.concatenate([np.repeat(np.arange(graphs), np.diff(block.starts)) for block in blocks])
    order = np.argsort(row, kind="stable")  # blocks come in order, so columns ascend within each row
    columns = np.concatenate([block.columns + shift for block, shift in zip(blocks, shifts[:-1], strict=True)])[order]
    counts = np.concatenate([block.counts for block in blocks])[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=graphs))])
    index = np.int32 if max(int(shifts[-1]), len(columns)) < 2**31 else np.int64
    made = csr_array((counts, columns.astype(index), starts.astype(index)), shape=(graphs, int(shifts[-1])))
    made.has_canonical_format = True
    return made
