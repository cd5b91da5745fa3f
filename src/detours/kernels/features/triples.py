"""The shortest-path base kernel: how often (colour, colour, distance) occurs between the nodes of a graph.

Ordered pairs of different nodes that a path joins are counted, as GraKeL does, so an undirected pair counts for
(a, b, d) and for (b, a, d).
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
from detours.kernels.features.products import ACROSS, ALONE, SQUARE
from detours.kernels.features.triples_numba import add_products, find_triples, list_triples, new_scratch

ANY = 2**62
"""A memory limit that limits nothing."""
BYTES_PER_ENTRY = 40
"""Of a feature while the blocks are made: the entry twice, and its place in the matrix."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The triples of a round: those with first colour a are ``starts[a]`` to ``starts[a + 1]``, sorted by key."""

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
    """Graphs that were remembered, with the colours of their nodes in every round."""

    batch: Batch
    colours: list[Int32]


@dataclass
class TripleBase:
    """Features and products from shortest paths; `blocks.Base` says what its methods promise."""

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

    def features(self, coloured: ColouredBatch, found: list[Int32]) -> Blocks:
        kept = []
        norms = np.zeros(len(coloured.batch), np.int64)
        for known, ids, (own, block) in zip(self.columns, found, self._blocks(coloured), strict=True):
            norms += squared_norms([block], len(norms))
            first = np.repeat(ids, np.diff(own.starts))
            second = ids[own.keys >> 16].astype(np.int64)
            wanted = np.where(second == UNSEEN, UNSEEN, second << 16 | own.keys & 0xFFFF)
            place = find_triples(known.starts, known.keys, first, wanted)
            kept.append(block.renumbered(place, len(known.keys)))
        return Blocks(kept, norms)

    def remember(self, coloured: ColouredBatch) -> None:
        self.fitted = Fitted(coloured.batch, [coloured.colour(round) for round in range(coloured.num_rounds)])

    def add_rounds(self, gram: Int64) -> Iterator[None]:
        assert self.fitted is not None
        batch = self.fitted.batch
        distances = self._distances(batch, len(self.fitted.colours))
        diagonal = np.einsum("ii->i", gram)
        own = np.zeros(len(batch), np.int64)
        for classes, settled in _rounds(distances, self.fitted.colours):
            before, last = diagonal.copy(), own
            own = np.zeros(len(batch), np.int64)
            _sweep(distances, classes, batch.directed, SQUARE, 0, gram, settled, own)
            diagonal += own
            diagonal[settled] = before[settled] + last[settled]
            own = diagonal - before
            yield

    def norms(self, coloured: ColouredBatch) -> Int64:
        batch = coloured.batch
        distances = self._distances(batch, coloured.num_rounds)
        total = np.zeros(len(batch), np.int64)
        own = total
        colours = [coloured.colour(round) for round in range(coloured.num_rounds)]
        for classes, settled in _rounds(distances, colours):
            own = np.where(settled, own, 0)
            _sweep(distances, classes, batch.directed, ALONE, 0, _NO_GRAM, settled, own)
            total = total + own
        return total

    def products(self, coloured: ColouredBatch, found: list[Int32]) -> Int64:
        assert self.fitted is not None
        both = join_batches(self.fitted.batch, coloured.batch)
        distances = self._distances(both, coloured.num_rounds)
        split = len(self.fitted.batch)
        gram = np.zeros((len(coloured.batch), split), np.int64)
        settled, own = np.ones(len(both), np.bool_), np.zeros(len(both), np.int64)
        for round, (colour, ids) in enumerate(zip(self.fitted.colours, found, strict=True)):
            together = np.concatenate([colour, ids[coloured.colour(round)]])
            classes = classes_in(together, distances.offsets)
            _sweep(distances, classes, both.directed, ACROSS, split, gram, settled, own)
        return gram

    def colours(self, round: int, column: int) -> tuple[int, ...]:
        first, second, _ = self.columns[round].triple(column)
        return int(first), int(second)

    def relation(self, round: int, column: int) -> str:
        return f", at distance {self.columns[round].triple(column)[2]}"

    def name(self, colouring: Colouring, round: int, column: int) -> str:
        first, second, distance = self.columns[round].triple(column)
        return f"{colouring.name(round, first)} –{distance}– {colouring.name(round, second)}"

    def carriers(self, coloured: ColouredBatch, found: list[Int32], round: int, column: int) -> Carriers:
        first, second, distance = self.columns[round].triple(column)
        colour = found[round][coloured.colour(round)]
        square = distances_in(coloured.batch, ANY).square.reshape(len(colour), -1)
        pairs = np.argwhere((square == distance) & (colour == first)[:, None] & (colour == second)[None, :])
        return Carriers(np.unique(pairs), pairs)

    def _distances(self, batch: Batch, rounds: int) -> Distances:
        largest = int(np.diff(batch.offsets).max())
        if rounds * largest**4 >= 2**63:
            raise OverflowError(
                f"the product of a graph of {largest:,} nodes with itself may pass 2^63; use a base of subtrees"
            )
        return distances_in(batch, self.memory_limit)

    def _blocks(self, coloured: ColouredBatch) -> Iterator[tuple[Columns, Block]]:
        distances = self._distances(coloured.batch, coloured.num_rounds)
        room = self.memory_limit // BYTES_PER_ENTRY
        for round in range(coloured.num_rounds):
            columns, block = _listed(distances, coloured.colour(round), room, len(coloured.batch))
            room -= len(block.counts)
            yield columns, block


_NO_GRAM = np.zeros((0, 0), np.int64)


def _shares(classes: Classes, distances: Distances) -> Iterator[tuple[int, int]]:
    """Ranges of colours that meet about `PAIRS_AT_ONCE` pairs of nodes each."""
    pairs = np.diff(classes.begins) * np.diff(distances.offsets)[classes.graph]
    before = np.concatenate([[0], np.cumsum(pairs[classes.order])])[classes.starts]
    first, last = 0, len(classes.starts) - 1
    while first < last:
        end = max(first + 1, int(np.searchsorted(before, before[first] + PAIRS_AT_ONCE, side="right")) - 1)
        yield first, end
        first = end


def _rounds(distances: Distances, colours: list[Int32]) -> Iterator[tuple[Classes, Bool]]:
    """The classes of every round, and which graphs are settled: they have no more of them than in the round before.

    In these every pair of classes stays what it was, and with it the product of the graph with itself.
    """
    before = np.full(len(distances.offsets) - 1, -1)
    for colour in colours:
        classes = classes_in(colour, distances.offsets)
        number = np.diff(classes.ends)
        yield classes, number == before
        before = number


def _sweep(
    distances: Distances,
    classes: Classes,
    ordered: bool,
    mode: int,
    split: int,
    gram: Int64,
    settled: Bool,
    own: Int64,
) -> None:
    """Add the products of one round to `gram`, and to `own` those of graphs with themselves that `gram` lacks."""
    if mode == ALONE:
        classes.shared[:] = False
    scratch = new_scratch(distances)
    for first, last in _shares(classes, distances):
        add_products(first, last, classes, distances, scratch, ordered, mode, split, gram, settled, own)


def _listed(distances: Distances, colour: Int32, most: int, graphs: int) -> tuple[Columns, Block]:
    """The triples of one round as columns, and how often each graph has them."""
    classes = classes_in(colour, distances.offsets)
    classes.shared[:] = True
    scratch = new_scratch(distances)
    nothing = np.empty(0, np.int64)
    parts: list[tuple[Int64, Int64, Int64, Int32, Int64]] = [(nothing,) * 3 + (np.empty(0, np.int32), nothing)]
    columns = entries = 0
    for first, last in _shares(classes, distances):
        listed = list_triples(first, last, most - entries, classes, distances, scratch)
        of_colour, keys, column, graph, counts = listed
        parts.append((of_colour, keys, column + columns, graph, counts))
        columns += len(keys)
        entries += len(counts)
        if entries > most:
            raise InputError(
                f"The features do not fit in memory_limit, which has room for {most:,} of them here; raise it, take "
                'fewer rounds, or use output="gram", which does not hold them all at once.'
            )
    of_colour, keys, column, graph, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Columns(np.concatenate([[0], np.cumsum(of_colour)]), keys), Block.of(column, graph, counts, graphs, columns)
