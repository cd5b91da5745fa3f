"""The subtree base kernel: the number of nodes of each colour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from detours.arrays import Int32, Int64, read_only
from detours.compiled import compiled
from detours.kernels.colours.colouring import ColouredBatch, Colouring
from detours.kernels.features.blocks import Block, Blocks, Carriers, squared_norms
from detours.kernels.features.products import by_column, multiply_rows
from detours.wl.nodes.sort_numba import sort_row


@dataclass
class HistogramBase:
    """Histograms of colours; for the methods see `blocks.BaseKernel`."""

    widths: list[int] = field(default_factory=list)
    fitted: list[Block] = field(default_factory=list)

    def learn(self, coloured: ColouredBatch) -> Blocks:
        learned = _blocks(coloured)
        self.widths = [block.width for block in learned.blocks]
        return learned

    def features(self, coloured: ColouredBatch, ids: list[Int32]) -> Blocks:
        blocks, norms = _blocks(coloured)
        return Blocks(_renumbered(blocks, ids, self.widths), norms)

    def remember(self, coloured: ColouredBatch) -> None:
        self.fitted = self.learn(coloured).blocks

    def add_rounds(self, gram: Int64) -> Iterator[None]:
        last, added = None, gram[:0]
        for block, following in zip_longest(self.fitted, self.fitted[1:]):
            if block is last:  # stable colours: every further round adds the same
                gram += added
            elif block is following:
                before = gram.copy()
                _multiply(block, block, True, gram)
                added = gram - before
            else:
                _multiply(block, block, True, gram)
            last = block
            yield

    def norms(self, coloured: ColouredBatch) -> Int64:
        return _blocks(coloured).norms

    def products(self, coloured: ColouredBatch, ids: list[Int32]) -> Int64:
        gram = np.zeros((len(coloured.batch), len(self.fitted[0].starts) - 1), np.int64)
        known = _renumbered(_blocks(coloured).blocks, ids, self.widths)
        for new, fitted in zip(known, self.fitted, strict=True):
            _multiply(new, fitted, False, gram)
        return gram

    def colours(self, round: int, column: int) -> tuple[int, ...]:
        return (column,)

    def relation(self, round: int, column: int) -> str:
        return ""

    def name(self, colouring: Colouring, round: int, column: int) -> str:
        return colouring.name(round, column)

    def carriers(self, coloured: ColouredBatch, ids: list[Int32], round: int, column: int) -> Carriers:
        return Carriers(np.flatnonzero(ids[round][coloured.colour(round)] == column), None)


def _blocks(coloured: ColouredBatch) -> Blocks:
    offsets = read_only(coloured.batch.offsets, np.int64)
    blocks = []
    for round in range(coloured.num_rounds):
        if round < len(coloured.history):
            histograms = _histograms(read_only(coloured.colour(round), np.int32), offsets)
            block = Block(*histograms, coloured.num_colours(round))
        blocks.append(block)
    return Blocks(blocks, squared_norms(blocks, len(coloured.batch)))


def _renumbered(blocks: list[Block], ids: list[Int32], widths: list[int]) -> list[Block]:
    return [
        block.renumbered(of_round.astype(np.int64), width)
        for block, of_round, width in zip(blocks, ids, widths, strict=True)
    ]


def _multiply(rows: Block, columns: Block, lower: bool, gram: Int64) -> None:
    graph = np.repeat(np.arange(len(columns.starts) - 1, dtype=np.int32), np.diff(columns.starts))
    starts, order = by_column(columns.width, len(columns.columns), columns.columns.astype(np.int32))
    multiply_rows(rows.starts, rows.columns, rows.counts, starts, graph[order], columns.counts[order], lower, gram)


@compiled
def _histograms(colour: Int32, offsets: Int64) -> tuple[Int64, Int64, Int64]:
    """The first three fields of a `Block`: the colours of each graph, ascending, and the number of nodes of each."""
    starts = np.zeros(len(offsets), np.int64)
    columns, counts = np.empty(len(colour), np.int64), np.empty(len(colour), np.int64)
    largest = 0
    for g in range(len(offsets) - 1):
        largest = max(largest, offsets[g + 1] - offsets[g])
    row = np.empty(largest, np.int64)
    end = 0
    for g in range(len(offsets) - 1):
        size = offsets[g + 1] - offsets[g]
        for at in range(size):
            row[at] = colour[offsets[g] + at]
        sort_row(row, size)
        for at in range(size):
            if at == 0 or row[at] != row[at - 1]:
                columns[end], counts[end] = row[at], 0
                end += 1
            counts[end - 1] += 1
        starts[g + 1] = end
    return starts, columns[:end].copy(), counts[:end].copy()
