"""Row engine: closed forms evaluated by blocks of roots on the CPU, exact for k <= 6.

The program of `program.py` is run pass by pass; `lanes.py` holds the inner loops.  Between passes the ear sums of all
arcs are combined into pendants and link weights, at the end into the number of detours of each length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.counting.derive.closed_forms import MAX_LENGTH, EdgeTerm, Tie
from detours.counting.derive.vector_program import (
    Pass,
    Product,
    Program,
    Touch,
    Weighting,
    assign_slots,
    program,
    reach_of,
)
from detours.counting.engines.base import Tally, write_rows
from detours.counting.engines.rows import loops_numba as kernels
from detours.counting.engines.threads import Progress, Stop, run_ranges
from detours.counting.shrink.cyclic_part import Reduced

Integers = NDArray[np.signedinteger]

_FORWARD, _BACKWARD = 1, 2
_MASK: dict[Tie, int] = {"": 0, "f": _FORWARD, "b": _BACKWARD, "r": _FORWARD | _BACKWARD}
_MASK_AT_ROOT: dict[Tie, int] = {"f": _BACKWARD, "b": _FORWARD, "r": _FORWARD | _BACKWARD}
"""A touch is told from the node that is tied to the root, but looked up on the root's own arcs."""


@dataclass(frozen=True)
class Pattern:
    """The graph as the engine sees it: symmetric CSR, and for directed graphs which of the two arcs exist."""

    indptr: Int64
    indices: NDArray[np.int32]
    reverse: Int64
    flags: NDArray[np.uint8]
    """Bit 1: the arc itself exists, bit 2: its reverse exists; empty when undirected."""
    arc: Int64
    """Position of each existing arc among the pattern's arcs, in the order of the given CSR."""

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1


def pattern_of(indptr: Int64, indices: NDArray[np.int32], directed: bool) -> Pattern:
    if not directed:
        flags = np.empty(0, np.uint8)
        return Pattern(indptr, indices, kernels.reverse_arcs(indptr, indices), flags, np.empty(0, np.int64))
    both_ptr, both, flags, arc = kernels.symmetrise(indptr, indices)
    return Pattern(both_ptr, both, kernels.reverse_arcs(both_ptr, both), flags, arc)


@dataclass
class Scratch:
    """What one worker needs besides the graph; the vectors grow with the largest neighbourhood met so far."""

    place: NDArray[np.int32]
    nodes: NDArray[np.int32]
    asked: NDArray[np.int32]
    steps: NDArray[np.uint8]
    sizes: Int64
    """Of the block of roots that was run last, by distance: see `lanes.run_roots`."""
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
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All but the vectors, as the kernel takes them."""
        return self.place, self.nodes, self.asked, self.steps, self.sizes

    def grow(self, rows: int) -> None:
        slots, had, lanes = self.buffer.shape
        wanted = min(max(rows, 2 * had), len(self.place))
        self.buffer = np.zeros((slots, wanted, lanes), self.buffer.dtype)


CHUNK = 1 << 14
"""Arcs whose closed forms are evaluated together: few enough to stay in the cache."""


class Layout(NamedTuple):
    """How roots are bundled: in which order, and how many side by side."""

    by_degree: bool
    """Roots of similar degree together, instead of roots that lie close together."""
    lanes: int


class RowEngine:
    """One count by closed forms: passes in order, each a set of independent ranges of roots."""

    name = "rows"
    fills = False

    def __init__(self, reduced: Reduced, k: int, word: type, layout: Layout) -> None:
        self.k, self.word, self.arc = k, word, reduced.arc
        self.program: Program = program(k, reduced.directed)
        self.pattern = pattern = pattern_of(reduced.indptr, reduced.indices, reduced.directed)
        self.rank = _rank_by_degree(pattern.indptr) if self.program.symmetric else np.empty(0, np.int32)
        self.graph = (pattern.indptr, pattern.indices, self.rank, pattern.flags)
        self.source = np.repeat(np.arange(pattern.num_nodes, dtype=np.int32), np.diff(pattern.indptr))
        self.served = np.arange(len(pattern.indices))
        """Arcs on which ear sums are read: of an undirected edge, the one that leaves its end of higher rank."""
        if self.program.symmetric:
            self.served = np.flatnonzero(self.rank[pattern.indices] < self.rank[self.source])
        self.serves = np.zeros(pattern.num_nodes, np.bool_)
        self.serves[self.source[self.served]] = True
        self.set_layout(layout)

    def set_layout(self, layout: Layout) -> None:
        self.layout = layout
        if layout.by_degree:
            order = _by_degree(np.diff(self.pattern.indptr))[::-1]  # hubs first: threads end together
            self.roots = order[self.serves[order]]
        else:
            self.roots = np.flatnonzero(self.serves)

    def count(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        derived, pattern, total = self.program.formulas, self.pattern, len(self.roots)
        self.ear_values: Integers = np.zeros((len(derived.ear_sums), len(pattern.indices)), self.word)
        self.pendant_values: Integers = np.zeros((len(derived.pendants), pattern.num_nodes), self.word)
        self.pendants_done: set[int] = set()
        self.whole: set[int] = set()
        passes = len(self.program.passes)
        for number in range(passes):
            running = self.start(number)
            report = None
            if progress is not None:
                report = partial(_report, progress, number * total, passes * total)
            run_ranges(total, self.layout.lanes, running.run, running.scratch, n_jobs, report)
        if tally.cycles is None:
            self.detours(self.arc, tally.by_length, n_jobs)
        else:
            found = np.empty((len(pattern.indices), self.k - 1), np.int64)
            self.detours(np.arange(len(found)), found, n_jobs)
            tally.by_length[self.arc] = found[pattern.arc]
            tally.cycles[self.arc] = found[pattern.reverse[pattern.arc]]

    def start(self, number: int) -> _Running:
        """Make ready for pass `number`; all earlier passes must be finished."""
        one_pass = self.program.passes[number]
        for pendant in self.program.pendants_before[number]:
            self.need_pendant(pendant)
        return _Running(self, one_pass)

    def detours(self, arc: Int64, out: Int64, n_jobs: int) -> None:
        """Evaluate every length on the arcs of the pattern, into the rows of `out` that `arc` gives them."""
        lengths = self.program.formulas.lengths
        for pendant in {p for terms in lengths.values() for t in terms for p in (*t.at_i, *t.at_j)}:
            self.need_pendant(pendant)

        def work(worker: None, first: int, last: int, stop: Stop) -> None:
            for begin in range(first, last, CHUNK):
                arcs = self.served[begin : min(begin + CHUNK, last)]
                on_arcs = _OnArcs(self, arcs)
                found = np.stack([on_arcs.sum(terms) for terms in lengths.values()], axis=1, dtype=np.int64)
                row = np.arange(len(arcs), dtype=np.int32)
                write_rows(found, row, arc[arcs], out)
                if self.program.symmetric:
                    write_rows(found, row, arc[self.pattern.reverse[arcs]], out)

        run_ranges(len(self.served), CHUNK, work, lambda: None, n_jobs)

    def survey(self, begins: Int64, reach: int) -> Int64:
        """[4, blocks, reach + 2]: how much of the graph the blocks of roots that begin there see, by distance."""
        nothing: Integers = np.zeros((0, len(self.pattern.indices)), self.word)
        code = tuple(np.zeros(shape, np.int64) for shape in ((0, 6), (1,), (0, 6), (0, 4)))
        pendants: Integers = np.zeros((0, self.pattern.num_nodes), self.word)
        lanes, stop = self.layout.lanes, np.zeros(1, np.int64)
        scratch = Scratch.for_nodes(self.pattern.num_nodes, self.word, 0, lanes, self.pattern.num_nodes)
        sizes = []
        for begin in begins.tolist():
            kernels.run_roots(
                self.graph, self.roots, begin, min(begin + lanes, len(self.roots)), lanes, reach, code,
                (nothing, nothing, pendants), nothing, scratch.arrays, scratch.buffer, stop,
            )  # fmt: skip
            sizes.append(scratch.sizes[:, : reach + 2].copy())
        return np.stack(sizes, axis=1)

    def need_pendant(self, number: int) -> None:
        """Sum the pendant's own terms over the neighbours of every node."""
        if number not in self.pendants_done:
            terms = self.program.formulas.pendants[number]
            for inner in {p for term in terms for p in (*term.at_i, *term.at_j)}:
                self.need_pendant(inner)
            self.make_whole({ear for term in terms for ear in term.ear_sums})
            self.pendant_values[number] = np.add.reduceat(_OnArcs(self).sum(terms), self.pattern.indptr[:-1])
            self.pendants_done.add(number)

    def make_whole(self, ear_sums: set[int]) -> None:
        """Copy ear sums from the arcs that were served to their reverses."""
        if self.program.symmetric:
            for ear in ear_sums - self.whole:
                self.ear_values[ear, self.pattern.reverse[self.served]] = self.ear_values[ear, self.served]
            self.whole |= ear_sums

    def weights(self, weighting: Weighting) -> Integers:
        """The matrix of a weighting on the arcs (v, u), read from v."""
        self.make_whole({ear for _, ears in weighting.terms for ear in ears})
        terms = [EdgeTerm(coefficient, weighting.tie, (), (), ears) for coefficient, ears in weighting.terms]
        return _OnArcs(self).sum(terms)


class _OnArcs:
    """Edge polynomials on some arcs of the pattern; each factor is fetched once."""

    def __init__(self, engine: RowEngine, arcs: Int64 | slice = slice(None)) -> None:
        self.engine, self.arcs = engine, arcs
        self.i, self.j = engine.source[arcs], engine.pattern.indices[arcs]
        self.factors: dict[tuple[str, int | str], NDArray[Any]] = {}

    def sum(self, terms: Sequence[EdgeTerm]) -> Integers:
        total: Integers = np.zeros(len(self.j), self.engine.word)
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
        if term.tie and len(self.engine.pattern.flags):
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
            return np.asarray((self.engine.pattern.flags[self.arcs] & mask) == mask, self.engine.word)
        values = self.engine.ear_values if kind == "ear" else self.engine.pendant_values
        return np.asarray(values[number][{"ear": self.arcs, "i": self.i, "j": self.j}[kind]])


class _Running:
    """One pass in the form the kernels take: tables of operations, and the arrays they refer to."""

    def __init__(self, engine: RowEngine, one_pass: Pass) -> None:
        self.engine = engine
        self.reach = reach_of(one_pass)
        self.weightings: dict[Weighting, int] = {}
        self.products: dict[tuple[int, ...], int] = {}
        slots, self.slots = assign_slots(one_pass)
        operations, terms, start = [], [], [0]
        for number, vector in enumerate(one_pass.vectors):
            operation, target = vector.operation, slots[number]
            kind, source, weighting = kernels.COMBINE, 0, kernels.PLAIN
            if isinstance(operation, Touch):
                kind, source = (
                    kernels.TOUCH,
                    _MASK_AT_ROOT[operation.tie] if engine.program.formulas.directed else 0,
                )
            elif isinstance(operation, Product):
                kind, source = kernels.PRODUCT, slots[operation.source]
                weighting = self.weighting(operation.weighting)
            else:
                terms += [self.term(*term, slots) for term in operation.terms]
            operations.append((kind, target, source, weighting, vector.support, vector.demand))
            start.append(len(terms))
        readings = [
            (
                ear,
                r.coefficient,
                slots[r.vector],
                kernels.READ_VECTOR if r.weighting is None else self.weighting(r.weighting),
            )
            for ear, shares in one_pass.readings.items()
            for r in shares
        ]
        self.code = (
            np.array(operations, np.int64),
            np.array(start, np.int64),
            np.array(terms, np.int64).reshape(-1, 6),
            np.array(readings, np.int64),
        )
        self.arrays = self.link_arrays()

    def weighting(self, weighting: Weighting) -> int:
        if weighting.plain and not self.engine.program.formulas.directed:
            return kernels.PLAIN
        return self.weightings.setdefault(weighting, len(self.weightings))

    def term(
        self, coefficient: int, pendants: tuple[int, ...], factors: tuple[int, ...], slots: list[int]
    ) -> list[int]:
        pendant = self.products.setdefault(pendants, len(self.products)) if pendants else -1
        if len(factors) > 3:
            raise NotImplementedError("a product of more than three vectors")
        return [coefficient, pendant, len(factors), *[slots[f] for f in factors], *[0] * (3 - len(factors))]

    def link_arrays(self) -> tuple[Integers, Integers, Integers]:
        engine, pattern = self.engine, self.engine.pattern
        weights: Integers = np.zeros((len(self.weightings), len(pattern.indices)), engine.word)
        for weighting, number in self.weightings.items():
            weights[number] = engine.weights(weighting)
        back = weights if engine.program.symmetric else weights[:, pattern.reverse]
        pendants: Integers = np.ones((len(self.products), pattern.num_nodes), engine.word)
        for numbers, row in self.products.items():
            for number in numbers:
                pendants[row] *= engine.pendant_values[number]
        return weights, back, pendants

    def scratch(self, rows: int = 0) -> Scratch:
        engine = self.engine
        return Scratch.for_nodes(engine.pattern.num_nodes, engine.word, self.slots, engine.layout.lanes, rows)

    def run(self, scratch: Scratch, begin: int, end: int, stop: Int64) -> None:
        """Serve roots[begin:end]; returns early when stop[0] is set."""
        engine = self.engine
        while begin < end and not stop[0]:
            begin, wanted = kernels.run_roots(
                engine.graph, engine.roots, begin, end, engine.layout.lanes, self.reach, self.code, self.arrays,
                engine.ear_values, scratch.arrays, scratch.buffer, stop,
            )  # fmt: skip
            if wanted:
                scratch.grow(wanted)


def _by_degree(degree: Int64) -> Int64:
    small = degree.max(initial=0) < 2**16  # NumPy sorts 16-bit integers by counting
    return np.argsort(degree.astype(np.uint16) if small else degree, kind="stable")


def _rank_by_degree(indptr: Int64) -> NDArray[np.int32]:
    rank = np.empty(len(indptr) - 1, np.int32)
    rank[_by_degree(np.diff(indptr))] = np.arange(len(rank), dtype=np.int32)
    return rank


def _report(progress: Progress, before: float, total: float, done: float) -> None:
    progress(before + done, total)
