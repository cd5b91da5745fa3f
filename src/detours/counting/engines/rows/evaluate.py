"""Closed forms evaluated for blocks of roots on the CPU.

The program of `derive/vector_program.py` is run pass by pass; `loops_numba.py` holds the inner loops. Between passes
the ear sums of all arcs are combined into pendants and link weights, at the end into the number of detours of each
length.
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
"""A touch is told from the node that is tied to the root, but looked up on the root's own arcs."""


@dataclass
class Scratch:
    """What one worker needs besides the graph; the vectors grow with the largest neighbourhood met so far."""

    place: Int32
    nodes: Int32
    asked: Int32
    steps: UInt8
    sizes: Int64  # of the block of roots that was run last, by distance: see `tables.Space`
    buffer: Integers

    @classmethod
    def for_nodes(cls, n: int, word: type, slots: int, lanes: int, rows: int = 0) -> Scratch:
        return cls(
            place=np.zeros(n + 1, np.int32),
            nodes=np.empty(n + 1, np.int32),
            asked=np.empty(n + 1, np.int32),
            steps=np.empty(n + 1, np.uint8),
            sizes=np.zeros((4, MAX_LENGTH + 2), np.int64),
            buffer=np.zeros((slots, rows + 1, lanes), word),
        )

    @property
    def space(self) -> tables.Space:
        """All but the vectors, as the compiled loops take them."""
        return tables.Space(self.place, self.nodes, self.asked, self.steps, self.sizes)

    def grow(self, rows: int) -> None:
        slots, had, lanes = self.buffer.shape
        wanted = min(max(rows, 2 * had), len(self.place))
        self.buffer = np.zeros((slots, wanted, lanes), self.buffer.dtype)


CHUNK = 1 << 14  # arcs whose closed forms are evaluated together: few enough to stay in the cache


class RowCount:
    """One count by closed forms: passes in order, each a set of independent ranges of roots."""

    def __init__(self, graph: RowGraph, k: int, word: type, layout: Layout) -> None:
        self.graph, self.k, self.word, self.layout = graph, k, word, layout
        self.program: Program = program(k, graph.directed)
        self.roots = graph.roots(layout)
        self.arrays = tables.Graph(graph.indptr, graph.indices, graph.rank, graph.flags)
        self.pendants_done: set[int] = set()
        self.whole: set[int] = set()

    @classmethod
    def build(cls, reduced: Reduced, k: int, word: type, layout: Layout, near: Bool | None = None) -> RowCount:
        """Prepare a count; with ``near``, of the arcs of these nodes alone."""
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
        for number in range(passes):
            running = self.start(number)
            report = None if progress is None else partial(_report, progress, number * total, passes * total)
            run_ranges(total, self.layout.lanes, running.run, running.scratch, n_jobs, report)
        self.finish(tally, n_jobs)

    def start(self, number: int) -> RunningPass:
        """Prepare pass `number`; all earlier passes must be finished."""
        for pendant in self.program.pendants_before[number]:
            self.need_pendant(pendant)
        return RunningPass(self, self.program.passes[number])

    def finish(self, tally: Tally, n_jobs: int) -> None:
        """Write the counts, when all passes are finished."""
        graph = self.graph
        if tally.cycles is None:
            self.detours(graph.arc, tally.by_length, n_jobs)
        else:
            found = np.empty((len(graph.indices), self.k - 1), np.int64)
            self.detours(np.arange(len(found)), found, n_jobs)
            tally.by_length[graph.arc] = found[graph.existing]
            tally.cycles[graph.arc] = found[graph.reverse[graph.existing]]

    def detours(self, arc: Int64, out: Int64, n_jobs: int) -> None:
        """Evaluate every length on the arcs of the row graph, into the rows of `out` that `arc` gives them."""
        lengths = self.program.formulas.lengths
        for pendant in {p for terms in lengths.values() for t in terms for p in (*t.at_i, *t.at_j)}:
            self.need_pendant(pendant)

        def work(worker: None, first: int, last: int, stop: Stop) -> None:
            for begin in range(first, last, CHUNK):
                arcs = self.graph.served[begin : min(begin + CHUNK, last)]
                on_arcs = _OnArcs(self, arcs)
                found = np.stack([on_arcs.sum(terms) for terms in lengths.values()], axis=1, dtype=np.int64)
                row = np.arange(len(arcs), dtype=np.int32)
                write_rows(found, row, arc[arcs], out)
                if self.program.symmetric:
                    write_rows(found, row, arc[self.graph.reverse[arcs]], out)

        run_ranges(len(self.graph.served), CHUNK, work, lambda: None, n_jobs)

    def need_pendant(self, number: int) -> None:
        """Sum the pendant's own terms over the neighbours of every node."""
        if number not in self.pendants_done:
            terms = self.program.formulas.pendants[number]
            for inner in {p for term in terms for p in (*term.at_i, *term.at_j)}:
                self.need_pendant(inner)
            self.make_whole({ear for term in terms for ear in term.ear_sums})
            self.pendant_values[number] = np.add.reduceat(_OnArcs(self).sum(terms), self.graph.indptr[:-1])
            self.pendants_done.add(number)

    def make_whole(self, ear_sums: set[int]) -> None:
        """Copy ear sums from the arcs that were served to their reverses."""
        graph = self.graph
        if self.program.symmetric:
            for ear in ear_sums - self.whole:
                self.ear_values[ear, graph.reverse[graph.served]] = self.ear_values[ear, graph.served]
            self.whole |= ear_sums

    def weights(self, weighting: Weighting) -> Integers:
        """The matrix of a weighting on the arcs (v, u), read from v."""
        self.make_whole({ear for _, ears in weighting.terms for ear in ears})
        terms = [EdgeTerm(coefficient, weighting.tie, (), (), ears) for coefficient, ears in weighting.terms]
        return _OnArcs(self).sum(terms)


class _OnArcs:
    """Edge polynomials on some arcs of the row graph; each factor is fetched once."""

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

    def factor(self, kind: str, number: int | str) -> NDArray[Any]:
        if (kind, number) not in self.factors:
            self.factors[kind, number] = self.fetch(kind, number)
        return self.factors[kind, number]

    def fetch(self, kind: str, number: Any) -> NDArray[Any]:
        if kind == "tie":
            mask = _MASK[number]
            return np.asarray((self.count.graph.flags[self.arcs] & mask) == mask, self.count.word)
        values = self.count.ear_values if kind == "ear" else self.count.pendant_values
        return np.asarray(values[number][{"ear": self.arcs, "i": self.i, "j": self.j}[kind]])


class RunningPass:
    """One pass in the form that the compiled loops take: tables of operations, and the arrays they refer to."""

    def __init__(self, count: RowCount, one_pass: Pass, reach: int | None = None) -> None:
        """Take a pass, and how far from the roots it looks, unless its vectors tell."""
        self.count = count
        self.reach = one_pass.reach if reach is None else reach
        self.weightings: dict[Weighting, int] = {}
        self.products: dict[tuple[int, ...], int] = {}
        slots, self.slots = one_pass.slot, one_pass.slots
        operations, terms, start = [], [], [0]
        for number, vector in enumerate(one_pass.vectors):
            operation, target = vector.operation, slots[number]
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
        for ear, shares in one_pass.readings.items():
            for r in shares:
                how = loops.READ_VECTOR if r.weighting is None else self.weighting(r.weighting)
                readings.append((ear, r.coefficient, slots[r.vector], how))
        self.code = tables.Code(
            np.array(operations, tables.OPERATION),
            np.array(start, np.int64),
            np.array(terms, tables.TERM),
            np.array(readings, tables.READING),
        )
        self.links = self.make_links()
        nothing: Integers = np.zeros((0, len(count.graph.indices)), count.word)
        self.out = count.ear_values if readings else nothing

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

    def make_links(self) -> tables.Links:
        count, graph = self.count, self.count.graph
        weights: Integers = np.zeros((len(self.weightings), len(graph.indices)), count.word)
        for weighting, number in self.weightings.items():
            weights[number] = count.weights(weighting)
        back = weights if count.program.symmetric else weights[:, graph.reverse]
        pendants: Integers = np.ones((len(self.products), graph.num_nodes), count.word)
        for numbers, row in self.products.items():
            for number in numbers:
                pendants[row] *= count.pendant_values[number]
        return tables.Links(weights, back, pendants)

    def scratch(self, rows: int = 0) -> Scratch:
        count = self.count
        return Scratch.for_nodes(count.graph.num_nodes, count.word, self.slots, count.layout.lanes, rows)

    def run(self, scratch: Scratch, begin: int, end: int, stop: Int64) -> None:
        """Serve roots[begin:end]; returns early when stop[0] is set."""
        count = self.count
        while begin < end and not stop[0]:
            begin, wanted = loops.run_roots(
                count.arrays, count.roots, begin, end, count.layout.lanes, self.reach, self.code, self.links,
                self.out, scratch.space, scratch.buffer, stop,
            )  # fmt: skip
            if wanted:
                scratch.grow(wanted)


def _report(progress: Progress, before: float, total: float, done: float, _: float) -> None:
    progress(before + done, total)
