"""The shortest-path base kernel: how often (colour, colour, distance) occurs between the nodes of a graph.

Like GraKeL, it counts ordered pairs of different connected nodes, so an undirected pair counts for (a, b, d) and for
(b, a, d).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from detours.arrays import Bool, Int32, Int64
from detours.errors import InputError
from detours.kernels.batch import Batch, join_batches
from detours.kernels.colours.classes import Classes, classes_in
from detours.kernels.colours.colouring import ColouredBatch, Colouring
from detours.kernels.colours.signatures import UNSEEN
from detours.kernels.features.blocks import Block, Blocks, Carriers, squared_norms
from detours.kernels.features.distances import PAIRS_AT_ONCE, Distances, distances_in
from detours.kernels.features.products import ACROSS, DIAGONAL, SQUARE
from detours.kernels.features.triples_numba import add_products, find_triples, list_triples, new_scratch

NO_LIMIT = 2**62
BYTES_PER_ENTRY = 40
"""Memory of a feature while blocks are built: the entry twice, and its position in the matrix."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The triples of a round: those with first colour a are ``starts[a]:starts[a + 1]``, sorted by key."""

    starts: Int64
    keys: Int64
    """int64: ``second colour << 16 | distance``."""

    def triple(self, column: int) -> tuple[int, int, int]:
        """First colour, second colour and distance."""
        first = int(np.searchsorted(self.starts, column, side="right")) - 1
        key = int(self.keys[column])
        return first, key >> 16, key & 0xFFFF


@dataclass(frozen=True, slots=True)
class Fitted:
    """The remembered graphs, with the colours of their nodes in every round."""

    batch: Batch
    colours: list[Int32]


@dataclass
class TripleBase:
    """Counts of (colour, colour, distance); for the methods see `blocks.BaseKernel`."""

    memory_limit: int
    columns: list[Columns] = field(default_factory=list)
    fitted: Fitted | None = None

    def learn(self, coloured: ColouredBatch) -> Blocks:
        blocks = []
        self.columns = []
        for columns, block in self._blocks(coloured):
            self.columns.append(columns)
            blocks.append(block)
        return Blocks(blocks, squared_norms(blocks, len(coloured.batch)))

    def features(self, coloured: ColouredBatch, ids: list[Int32]) -> Blocks:
        blocks = []
        norms = np.zeros(len(coloured.batch), np.int64)
        for known, of_round, (new, block) in zip(self.columns, ids, self._blocks(coloured), strict=True):
            norms += squared_norms([block], len(norms))
            first = np.repeat(of_round, np.diff(new.starts))
            second = of_round[new.keys >> 16].astype(np.int64)
            keys = np.where(second == UNSEEN, UNSEEN, second << 16 | new.keys & 0xFFFF)
            column = find_triples(known.starts, known.keys, first, keys)
            blocks.append(block.renumbered(column, len(known.keys)))
        return Blocks(blocks, norms)

    def remember(self, coloured: ColouredBatch) -> None:
        self.fitted = Fitted(coloured.batch, [coloured.colour(round) for round in range(coloured.num_rounds)])

    def add_rounds(self, gram: Int64) -> Iterator[None]:
        assert self.fitted is not None
        batch = self.fitted.batch
        distances = self._distances(batch, len(self.fitted.colours))
        diagonal = np.einsum("ii->i", gram)
        increment = np.zeros(len(batch), np.int64)
        for classes, unchanged in _rounds(distances, self.fitted.colours):
            before = diagonal.copy()
            self_products = np.zeros(len(batch), np.int64)
            _sweep(distances, classes, batch.directed, SQUARE, 0, gram, unchanged, self_products)
            diagonal += self_products
            diagonal[unchanged] = before[unchanged] + increment[unchanged]
            increment = diagonal - before
            yield

    def norms(self, coloured: ColouredBatch) -> Int64:
        batch = coloured.batch
        distances = self._distances(batch, coloured.num_rounds)
        total = np.zeros(len(batch), np.int64)
        self_products = total
        colours = [coloured.colour(round) for round in range(coloured.num_rounds)]
        for classes, unchanged in _rounds(distances, colours):
            self_products = np.where(unchanged, self_products, 0)
            _sweep(distances, classes, batch.directed, DIAGONAL, 0, _NO_GRAM, unchanged, self_products)
            total = total + self_products
        return total

    def products(self, coloured: ColouredBatch, ids: list[Int32]) -> Int64:
        assert self.fitted is not None
        both = join_batches(self.fitted.batch, coloured.batch)
        distances = self._distances(both, coloured.num_rounds)
        split = len(self.fitted.batch)
        gram = np.zeros((len(coloured.batch), split), np.int64)
        unchanged, self_products = np.ones(len(both), np.bool_), np.zeros(len(both), np.int64)
        for round, (colour, of_round) in enumerate(zip(self.fitted.colours, ids, strict=True)):
            joined = np.concatenate([colour, of_round[coloured.colour(round)]])
            classes = classes_in(joined, distances.offsets)
            _sweep(distances, classes, both.directed, ACROSS, split, gram, unchanged, self_products)
        return gram

    def colours(self, round: int, column: int) -> tuple[int, ...]:
        first, second, _ = self.columns[round].triple(column)
        return int(first), int(second)

    def relation(self, round: int, column: int) -> str:
        return f", at distance {self.columns[round].triple(column)[2]}"

    def name(self, colouring: Colouring, round: int, column: int) -> str:
        first, second, distance = self.columns[round].triple(column)
        return f"{colouring.name(round, first)} –{distance}– {colouring.name(round, second)}"

    def carriers(self, coloured: ColouredBatch, ids: list[Int32], round: int, column: int) -> Carriers:
        first, second, distance = self.columns[round].triple(column)
        colour = ids[round][coloured.colour(round)]
        square = distances_in(coloured.batch, NO_LIMIT).square.reshape(len(colour), len(colour))
        pairs = np.argwhere((square == distance) & (colour == first)[:, None] & (colour == second)[None, :])
        return Carriers(np.unique(pairs), pairs)

    def _distances(self, batch: Batch, rounds: int) -> Distances:
        largest, copies = batch.largest, batch.copies  # no path connects two copies
        if rounds * copies * largest**4 >= 2**63:
            ways = ["a smaller n_iter"] * (rounds > 1) + ["plain=False"] * (copies > 1) + ["a subtree kernel"]
            raise OverflowError(
                f"the product of a graph of {largest:,} nodes with itself may exceed 2^63; use {' or '.join(ways)}"
            )
        return distances_in(batch, self.memory_limit)

    def _blocks(self, coloured: ColouredBatch) -> Iterator[tuple[Columns, Block]]:
        distances = self._distances(coloured.batch, coloured.num_rounds)
        max_entries = self.memory_limit // BYTES_PER_ENTRY
        for round in range(coloured.num_rounds):
            columns, block = _list_block(distances, coloured.colour(round), max_entries, len(coloured.batch))
            max_entries -= len(block.counts)
            yield columns, block


_NO_GRAM = np.zeros((0, 0), np.int64)


def _colour_ranges(classes: Classes, distances: Distances) -> Iterator[tuple[int, int]]:
    """Split the colours into ranges of about `PAIRS_AT_ONCE` pairs of nodes each."""
    pairs = np.diff(classes.member_offsets) * np.diff(distances.offsets)[classes.graph]
    pairs_before = np.concatenate([[0], np.cumsum(pairs[classes.order])])[classes.colour_offsets]
    start, num_colours = 0, len(classes.colour_offsets) - 1
    while start < num_colours:
        limit = pairs_before[start] + PAIRS_AT_ONCE
        end = max(start + 1, int(np.searchsorted(pairs_before, limit, side="right")) - 1)
        yield start, end
        start = end


def _rounds(distances: Distances, colours: list[Int32]) -> Iterator[tuple[Classes, Bool]]:
    """The classes of every round, and a mask of the graphs whose classes are the same as in the round before.

    As rounds only split classes, these are the graphs with as many classes as before. The products of such a graph with
    itself are the same in both rounds.
    """
    before = np.full(len(distances.offsets) - 1, -1)
    for colour in colours:
        classes = classes_in(colour, distances.offsets)
        num_classes = np.diff(classes.graph_offsets)
        yield classes, num_classes == before
        before = num_classes


def _sweep(
    distances: Distances,
    classes: Classes,
    ordered: bool,
    mode: int,
    split: int,
    gram: Int64,
    unchanged: Bool,
    self_products: Int64,
) -> None:
    """Add the products of one round to `gram`, except those that `add_products` adds to `self_products`."""
    if mode == DIAGONAL:
        classes.shared[:] = False
    scratch = new_scratch(distances)
    for first, last in _colour_ranges(classes, distances):
        add_products(first, last, classes, distances, scratch, ordered, mode, split, gram, unchanged, self_products)


def _list_block(distances: Distances, colour: Int32, max_entries: int, num_graphs: int) -> tuple[Columns, Block]:
    """The triples of one round as columns, and the number of times each graph has them."""
    classes = classes_in(colour, distances.offsets)
    classes.shared[:] = True
    scratch = new_scratch(distances)
    empty = np.empty(0, np.int64)
    parts: list[tuple[Int64, Int64, Int64, Int32, Int64]] = [(empty,) * 3 + (np.empty(0, np.int32), empty)]
    columns = entries = 0
    for first, last in _colour_ranges(classes, distances):
        widths, keys, column, graph, counts = list_triples(
            first, last, max_entries - entries, classes, distances, scratch
        )
        parts.append((widths, keys, column + columns, graph, counts))
        columns += len(keys)
        entries += len(counts)
        if entries > max_entries:
            raise InputError(
                f"The features do not fit in memory_limit, which allows {max_entries:,} of them here; raise it, take "
                'fewer rounds, or use output="gram", which does not keep them all in memory.'
            )
    widths, keys, column, graph, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    starts = np.concatenate([[0], np.cumsum(widths)])
    return Columns(starts, keys), Block.of(column, graph, counts, num_graphs, columns)
