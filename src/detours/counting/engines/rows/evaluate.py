"""Closed forms evaluated for blocks of roots on the CPU.

The program of `derive/vector_program.py` is run pass by pass, with the inner loops of `loops_numba.py`. Between passes
the ear sums of all arcs are combined into pendants and link weights, and at the end into the detours of each length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Int32, Int64, UInt8
from detours.counting.derive.closed_forms import MAX_LENGTH, EdgeTerm
from detours.counting.derive.patterns import Tie
from detours.counting.derive.vector_program import Pass, Product, Program, Touch, Weighting, program
from detours.counting.engines.base import Tally, write_rows
from detours.counting.engines.rows import loops_numba as loops
from detours.counting.engines.rows import tables
from detours.counting.engines.rows.graph import Layout, RowGraph
from detours.counting.engines.rows.tables import Integers
from detours.counting.engines.threads import Progress, Stop, run_ranges
from detours.counting.shrink.cyclic_part import Reduced

_FORWARD, _BACKWARD = 1, 2
_MASK: dict[Tie, int] = {"": 0, "f": _FORWARD, "b": _BACKWARD, "r": _FORWARD | _BACKWARD}
_MASK_AT_ROOT: dict[Tie, int] = {"f": _BACKWARD, "b": _FORWARD, "r": _FORWARD | _BACKWARD}
"""A touch is defined by the tie of a node to the root, but looked up on the arcs of the root."""


@dataclass
class Scratch:
    """Working memory of one thread; the vectors grow with the largest neighbourhood so far."""

    local: Int32
    nodes: Int32
    needed: Int32
    is_needed: UInt8
    sizes: Int64  # by distance, of the last block of roots: see `tables.Space`
    buffer: Integers

    @classmethod
    def for_nodes(cls, n: int, word: type, slots: int, lanes: int, rows: int = 0) -> Scratch:
        return cls(
            local=np.zeros(n + 1, np.int32),
            nodes=np.empty(n + 1, np.int32),
            needed=np.empty(n + 1, np.int32),
            is_needed=np.empty(n + 1, np.uint8),
            sizes=np.zeros((4, MAX_LENGTH + 2), np.int64),
            buffer=np.zeros((slots, rows + 1, lanes), word),
        )

    @property
    def space(self) -> tables.Space:
        """All arrays but the vectors, as arguments of the compiled loops."""
        return tables.Space(self.local, self.nodes, self.needed, self.is_needed, self.sizes)

    def grow(self, rows: int) -> None:
        slots, old_rows, lanes = self.buffer.shape
        rows_needed = min(max(rows, 2 * old_rows), len(self.local))
        self.buffer = np.zeros((slots, rows_needed, lanes), self.buffer.dtype)


CHUNK = 1 << 14  # arcs whose closed forms are evaluated together: their values stay in the cache


class RowCount:
    """One count by closed forms: passes in order, each over independent ranges of roots."""

    def __init__(self, graph: RowGraph, k: int, word: type, layout: Layout) -> None:
        self.graph, self.k, self.word, self.layout = graph, k, word, layout
        self.program: Program = program(k, graph.directed)
        self.roots = graph.roots(layout)
        self.arrays = tables.Graph(graph.indptr, graph.indices, graph.rank, graph.flags)
        self.known_pendants: set[int] = set()
        self.copied: set[int] = set()

    @classmethod
    def build(cls, reduced: Reduced, k: int, word: type, layout: Layout, near: Bool | None = None) -> RowCount:
        """Prepare a count; with the mask ``near``, only of the arcs of these nodes."""
        return cls(RowGraph.build(reduced, program(k, reduced.directed).symmetric, near), k, word, layout)

    def with_layout(self, layout: Layout) -> RowCount:
        return RowCount(self.graph, self.k, self.word, layout)

    @cached_property
    def ear_values(self) -> Integers:
        return np.zeros((len(self.program.formulas.ear_sums), len(self.graph.indices)), self.word)

    @cached_property
    def pendant_values(self) -> Integers:
        return np.zeros((len(self.program.formulas.pendants), self.graph.num_nodes), self.word)

    def run(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        passes, total = len(self.program.passes), len(self.roots)
        for index in range(passes):
            running = self.start(index)
            report = None if progress is None else partial(_report, progress, index * total, passes * total)
            run_ranges(total, self.layout.lanes, running.run, running.scratch, n_jobs, report)
        self.finish(tally, n_jobs)

    def start(self, index: int) -> RunningPass:
        """Prepare pass `index`; all earlier passes must be finished."""
        for pendant in self.program.pendants_before[index]:
            self.evaluate_pendant(pendant)
        return RunningPass(self, self.program.passes[index])

    def finish(self, tally: Tally, n_jobs: int) -> None:
        """Write the counts; all passes must be finished."""
        graph = self.graph
        if tally.cycles is None:
            self.detours(graph.arc, tally.by_length, n_jobs)
        else:
            counts = np.empty((len(graph.indices), self.k - 1), np.int64)
            self.detours(np.arange(len(counts)), counts, n_jobs)
            tally.by_length[graph.arc] = counts[graph.existing]
            tally.cycles[graph.arc] = counts[graph.reverse[graph.existing]]

    def detours(self, arc: Int64, out: Int64, n_jobs: int) -> None:
        """Evaluate every length on the arcs of the row graph: arc a goes to out[arc[a]]."""
        lengths = self.program.formulas.lengths
        for pendant in {p for terms in lengths.values() for t in terms for p in (*t.at_i, *t.at_j)}:
            self.evaluate_pendant(pendant)

        def work(worker: None, first: int, last: int, stop: Stop) -> None:
            for begin in range(first, last, CHUNK):
                arcs = self.graph.served[begin : min(begin + CHUNK, last)]
                evaluator = _ArcEvaluator(self, arcs)
                counts = np.stack([evaluator.sum(terms) for terms in lengths.values()], axis=1, dtype=np.int64)
                row = np.arange(len(arcs), dtype=np.int32)
                write_rows(counts, row, arc[arcs], out)
                if self.program.symmetric:
                    write_rows(counts, row, arc[self.graph.reverse[arcs]], out)

        run_ranges(len(self.graph.served), CHUNK, work, lambda: None, n_jobs)

    def evaluate_pendant(self, index: int) -> None:
        """Sum the terms of a pendant over the neighbours of every node, unless that is done."""
        if index not in self.known_pendants:
            terms = self.program.formulas.pendants[index]
            for inner in {p for term in terms for p in (*term.at_i, *term.at_j)}:
                self.evaluate_pendant(inner)
            self.copy_to_reverses({ear for term in terms for ear in term.ear_sums})
            self.pendant_values[index] = np.add.reduceat(_ArcEvaluator(self).sum(terms), self.graph.indptr[:-1])
            self.known_pendants.add(index)

    def copy_to_reverses(self, ear_sums: set[int]) -> None:
        """Copy ear sums from the served arcs to their reverses."""
        graph = self.graph
        if self.program.symmetric:
            for ear in ear_sums - self.copied:
                self.ear_values[ear, graph.reverse[graph.served]] = self.ear_values[ear, graph.served]
            self.copied |= ear_sums

    def weights(self, weighting: Weighting) -> Integers:
        """The entries (v, u) of a weighting on all arcs v -> u."""
        self.copy_to_reverses({ear for _, ears in weighting.terms for ear in ears})
        terms = [EdgeTerm(coefficient, weighting.tie, (), (), ears) for coefficient, ears in weighting.terms]
        return _ArcEvaluator(self).sum(terms)


class _ArcEvaluator:
    """Evaluates edge polynomials on some arcs of the row graph; each factor is looked up once."""

    def __init__(self, count: RowCount, arcs: Int64 | slice = slice(None)) -> None:
        self.count, self.arcs = count, arcs
        self.i, self.j = count.graph.source[arcs], count.graph.indices[arcs]
        self.factors: dict[tuple[str, int | str], NDArray[Any]] = {}

    def sum(self, terms: Sequence[EdgeTerm]) -> Integers:
        total: Integers = np.zeros(len(self.j), self.count.word)
        for term in terms:
            product = self.product(term)
            if term.coefficient == 1:
                total += product
            elif term.coefficient == -1:
                total -= product
            else:
                total += term.coefficient * product
        return total

    def product(self, term: EdgeTerm) -> Integers | int:
        names: list[tuple[str, int | str]] = [("ear", n) for n in term.ear_sums]
        names += [("i", n) for n in term.at_i] + [("j", n) for n in term.at_j]
        if term.tie and len(self.count.graph.flags):
            names.append(("tie", term.tie))
        factors = [self.factor(*name) for name in names]
        return prod(factors[1:], start=factors[0]) if factors else 1

    def factor(self, kind: str, key: int | str) -> NDArray[Any]:
        if (kind, key) not in self.factors:
            self.factors[kind, key] = self.look_up(kind, key)
        return self.factors[kind, key]

    def look_up(self, kind: str, key: Any) -> NDArray[Any]:
        if kind == "tie":
            mask = _MASK[key]
            return np.asarray((self.count.graph.flags[self.arcs] & mask) == mask, self.count.word)
        values = self.count.ear_values if kind == "ear" else self.count.pendant_values
        return np.asarray(values[key][{"ear": self.arcs, "i": self.i, "j": self.j}[kind]])


class RunningPass:
    """One pass as arguments of the compiled loops: tables of operations, and the arrays they refer to."""

    def __init__(self, count: RowCount, one_pass: Pass, reach: int | None = None) -> None:
        """``reach`` is how far from the roots the pass looks; by default as far as its vectors need."""
        self.count = count
        self.reach = one_pass.reach if reach is None else reach
        self.weightings: dict[Weighting, int] = {}
        self.products: dict[tuple[int, ...], int] = {}
        slots, self.slots = one_pass.slot, one_pass.slots
        operations, terms, start = [], [], [0]
        for index, vector in enumerate(one_pass.vectors):
            operation, target = vector.operation, slots[index]
            kind, source, weighting = loops.COMBINE, 0, loops.PLAIN
            if isinstance(operation, Touch):
                kind, source = loops.TOUCH, _MASK_AT_ROOT[operation.tie] if count.graph.directed else 0
            elif isinstance(operation, Product):
                kind, source = loops.PRODUCT, slots[operation.source]
                weighting = self.weighting(operation.weighting)
            else:
                terms += [self.term(*term, slots) for term in operation.terms]
            operations.append((kind, target, source, weighting, vector.support, vector.demand))
            start.append(len(terms))
        readings = []
        for ear, group in one_pass.readings.items():
            for reading in group:
                how = loops.READ_VECTOR if reading.weighting is None else self.weighting(reading.weighting)
                readings.append((ear, reading.coefficient, slots[reading.vector], how))
        self.code = tables.Code(
            np.array(operations, tables.OPERATION),
            np.array(start, np.int64),
            np.array(terms, tables.TERM),
            np.array(readings, tables.READING),
        )
        self.links = self.build_links()
        no_values: Integers = np.zeros((0, len(count.graph.indices)), count.word)
        self.out = count.ear_values if readings else no_values

    def weighting(self, weighting: Weighting) -> int:
        if weighting.plain and not self.count.graph.directed:
            return loops.PLAIN
        return self.weightings.setdefault(weighting, len(self.weightings))

    def term(
        self, coefficient: int, pendants: tuple[int, ...], factors: tuple[int, ...], slots: list[int]
    ) -> tuple[int, ...]:
        pendant = self.products.setdefault(pendants, len(self.products)) if pendants else loops.NO_PENDANT
        if len(factors) > 3:
            raise NotImplementedError("a product of more than three vectors")
        return coefficient, pendant, len(factors), *(slots[f] for f in factors), *[0] * (3 - len(factors))

    def build_links(self) -> tables.Links:
        count, graph = self.count, self.count.graph
        weights: Integers = np.zeros((len(self.weightings), len(graph.indices)), count.word)
        for weighting, index in self.weightings.items():
            weights[index] = count.weights(weighting)
        back = weights if count.program.symmetric else weights[:, graph.reverse]
        pendants: Integers = np.ones((len(self.products), graph.num_nodes), count.word)
        for numbers, row in self.products.items():
            for index in numbers:
                pendants[row] *= count.pendant_values[index]
        return tables.Links(weights, back, pendants)

    def scratch(self, rows: int = 0) -> Scratch:
        count = self.count
        return Scratch.for_nodes(count.graph.num_nodes, count.word, self.slots, count.layout.lanes, rows)

    def run(self, scratch: Scratch, begin: int, end: int, stop: Int64) -> None:
        """Run roots[begin:end]; returns early when stop[0] is set."""
        count = self.count
        while begin < end and not stop[0]:
            begin, rows_needed = loops.run_roots(
                count.arrays, count.roots, begin, end, count.layout.lanes, self.reach, self.code, self.links,
                self.out, scratch.space, scratch.buffer, stop,
            )  # fmt: skip
            if rows_needed:
                scratch.grow(rows_needed)


def _report(progress: Progress, before: float, total: float, done: float, _: float) -> None:
    progress(before + done, total)
