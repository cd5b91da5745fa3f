"""`Block`, the features of one round, and `BaseKernel`, the interface of the two base kernels."""

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
    """How often each graph has each feature of a round: a sparse matrix in CSR form."""

    starts: Int64
    columns: Int64
    counts: Int64
    width: int

    @classmethod
    def of(cls, column: Int64, graph: Int32, counts: Int64, num_graphs: int, width: int) -> Block:
        """Build a block from entries in any order, without duplicates."""
        order = np.lexsort((column, graph))
        starts = np.concatenate([[0], np.cumsum(np.bincount(graph, minlength=num_graphs))])
        return cls(starts, column[order], counts[order], width)

    def renumbered(self, new_column: Int64, width: int) -> Block:
        """The same block with new columns; entries whose new column is -1 are dropped."""
        column = new_column[self.columns]
        graph = np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))
        kept = column >= 0
        return Block.of(column[kept], graph[kept], self.counts[kept], len(self.starts) - 1, width)


class Blocks(NamedTuple):
    """The blocks of all rounds, and the product of each graph with itself, including features unknown to `fit`."""

    blocks: list[Block]
    norms: Int64


class Carriers(NamedTuple):
    """The nodes of a graph that carry a feature and, for features of pairs, the pairs of nodes.

    >>> Carriers(np.array([0, 2]), None).nodes.tolist()
    [0, 2]
    """

    nodes: NDArray[np.int64]
    pairs: NDArray[np.int64] | None


class BaseKernel(Protocol):
    """A base kernel: what is counted in the colours of each round.

    The ids in `features`, `products` and `carriers` are those of `Colouring.find`.
    """

    def learn(self, coloured: ColouredBatch) -> Blocks:
        """Assign a column to every feature of the graphs; return their blocks."""

    def features(self, coloured: ColouredBatch, ids: list[Int32]) -> Blocks:
        """The blocks of other graphs in the learned columns."""

    def remember(self, coloured: ColouredBatch) -> None:
        """Keep the graphs for `add_rounds` and `products`."""

    def add_rounds(self, gram: Int64) -> Iterator[None]:
        """In each step, add the products of the remembered graphs in the next round to the lower triangle of `gram`."""

    def norms(self, coloured: ColouredBatch) -> Int64:
        """The product of each graph with itself, summed over all rounds."""

    def products(self, coloured: ColouredBatch, ids: list[Int32]) -> Int64:
        """int64 [graphs, remembered graphs]: products, summed over all rounds."""

    def colours(self, round: int, column: int) -> tuple[int, ...]:
        """The one or two colours of a feature."""

    def relation(self, round: int, column: int) -> str:
        """How the two nodes are related, as the end of a sentence; empty for a single node."""

    def name(self, colouring: Colouring, round: int, column: int) -> str:
        """The name of a feature, without its round."""

    def carriers(self, coloured: ColouredBatch, ids: list[Int32], round: int, column: int) -> Carriers:
        """The nodes, and pairs of nodes, of a single graph that carry a feature."""


def squared_norms(blocks: Sequence[Block], num_graphs: int) -> Int64:
    """The product of each graph with itself."""
    total = own = np.zeros(num_graphs, np.int64)
    last = None
    for block in blocks:
        if block is not last:  # stable colours have the same block in every round
            sums = np.concatenate([[0], np.cumsum(block.counts**2)])
            own, last = np.diff(sums[block.starts]), block
        total = total + own
    return total


def stack_blocks(blocks: Sequence[Block], num_graphs: int) -> Any:
    """Stack the blocks horizontally into one SciPy CSR array."""
    from scipy.sparse import csr_array

    offsets = np.concatenate([[0], np.cumsum([block.width for block in blocks])])
    row = np.concatenate([np.repeat(np.arange(num_graphs), np.diff(block.starts)) for block in blocks])
    order = np.argsort(row, kind="stable")  # blocks come in order, so columns ascend within each row
    columns = np.concatenate([block.columns + offset for block, offset in zip(blocks, offsets[:-1], strict=True)])[
        order
    ]
    counts = np.concatenate([block.counts for block in blocks])[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=num_graphs))])
    width = int(offsets[-1])
    dtype = np.int32 if max(width, len(columns)) < 2**31 else np.int64
    matrix = csr_array((counts, columns.astype(dtype), starts.astype(dtype)), shape=(num_graphs, width))
    matrix.has_canonical_format = True
    return matrix
