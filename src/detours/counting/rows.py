"""Row engine: closed forms evaluated by blocks of roots on the CPU, exact for k <= 6.

The program of `program.py` is run pass by pass; `lanes.py` holds the inner loops.  Between passes the ear sums of all arcs
are combined into pendants and link weights, at the end into the number of detours of each length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from detours.counting import lanes as kernels
from detours.counting.formulas import EdgeTerm, Tie
from detours.counting.program import Combine, Pass, Product, Program, Touch, Weighting, program

Int64 = NDArray[np.int64]
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
    buffer: Integers

    @classmethod
    def for_nodes(cls, n: int, dtype: type, slots: int, lanes: int, rows: int = 0) -> Scratch:
        return cls(
            place=np.zeros(n + 1, np.int32),
            nodes=np.empty(n + 1, np.int32),
            asked=np.empty(n + 1, np.int32),
            steps=np.empty(n + 1, np.uint8),
            buffer=np.zeros((slots, rows + 1, lanes), dtype),
        )

    def grow(self, rows: int) -> None:
        slots, had, lanes = self.buffer.shape
        wanted = min(max(rows, 2 * had), len(self.place))
        self.buffer = np.zeros((slots, wanted, lanes), self.buffer.dtype)


class RowEngine:
    """One count: `passes` in order, each a set of independent ranges of roots."""

    def __init__(self, pattern: Pattern, k: int, directed: bool, dtype: type, lanes: int, order: Int64 | None = None) -> None:
        self.pattern = pattern
        self.program: Program = program(k, directed)
        self.dtype, self.lanes = dtype, lanes
        derived = self.program.formulas
        degree = np.diff(pattern.indptr)
        self.rank = kernels.rank_by_degree(degree) if self.program.symmetric else np.empty(0, np.int32)
        self.roots = kernels.serving_roots(pattern.indptr, pattern.indices, self.rank, order)
        self.ear_values = np.zeros((len(derived.ear_sums), len(pattern.indices)), np.int64)
        self.pendant_values = np.zeros((len(derived.pendants), pattern.num_nodes), np.int64)
        self.pendants_done: set[int] = set()

    def start(self, number: int) -> _Running:
        """Make ready for pass `number`; all earlier passes must be finished."""
        one_pass = self.program.passes[number]
        for pendant in self.program.pendants_before[number]:
            self.need_pendant(pendant)
        return _Running(self, one_pass)

    def finish(self, number: int) -> None:
        if self.program.symmetric:
            for ear in self.program.passes[number].readings:
                kernels.mirror(self.ear_values[ear], self.pattern.indptr, self.pattern.indices, self.rank, self.pattern.reverse)

    def result(self) -> Int64:
        """Detours by length on every arc of the pattern, [arcs, k - 1]."""
        lengths = self.program.formulas.lengths
        found = np.empty((len(self.pattern.indices), len(lengths)), np.int64)
        for column, terms in enumerate(lengths.values()):
            self.evaluate(terms, found[:, column])
        if self.dtype == np.int32:
            found &= 0xFFFFFFFF
        return found

    def need_pendant(self, number: int) -> None:
        if number not in self.pendants_done:
            terms = self.program.formulas.pendants[number]
            on_arcs = np.empty(len(self.pattern.indices), np.int64)
            self.evaluate(terms, on_arcs)
            self.pendant_values[number] = np.add.reduceat(on_arcs, self.pattern.indptr[:-1])
            self.pendants_done.add(number)

    def evaluate(self, terms: Sequence[EdgeTerm], out: Int64) -> None:
        for term in terms:
            for pendant in (*term.at_i, *term.at_j):
                self.need_pendant(pendant)
        table = np.array([_row(term, self.program.formulas.directed) for term in terms], np.int64)
        p = self.pattern
        kernels.evaluate_terms(table, p.indptr, p.indices, p.flags, self.pendant_values, self.ear_values, out)

    def weights(self, weighting: Weighting) -> Integers:
        """The matrix of a weighting on the arcs (v, u), read from v."""
        total = np.zeros(len(self.pattern.indices), np.int64)
        for coefficient, ears in weighting.terms:
            term = np.full(len(total), coefficient, np.int64)
            for ear in ears:
                term *= self.ear_values[ear]
            total += term
        if len(self.pattern.flags):
            mask = _MASK[weighting.tie]
            total[(self.pattern.flags & mask) != mask] = 0
        return total.astype(self.dtype)


def _row(term: EdgeTerm, directed: bool) -> list[int]:
    def padded(numbers: tuple[int, ...], width: int) -> list[int]:
        if len(numbers) > width:
            raise NotImplementedError(f"a term with more than {width} factors of one kind")
        return [*numbers, *[-1] * (width - len(numbers))]

    mask = _MASK[term.tie] if directed else 0
    return [term.coefficient, mask, *padded(term.at_i, 2), *padded(term.at_j, 2), *padded(term.ear_sums, 3)]


class _Running:
    """One pass in the form the kernels take: tables of operations, and the arrays they refer to."""

    def __init__(self, engine: RowEngine, one_pass: Pass) -> None:
        self.engine = engine
        self.reach = max(min(v.support, v.demand) for v in one_pass.vectors)
        self.weightings: dict[Weighting, int] = {}
        self.products: dict[tuple[int, ...], int] = {}
        slots, self.slots = _assign_slots(one_pass)
        operations, terms, start = [], [], [0]
        for number, vector in enumerate(one_pass.vectors):
            operation, target = vector.operation, slots[number]
            kind, source, weighting = kernels.COMBINE, 0, kernels.PLAIN
            if isinstance(operation, Touch):
                kind, source = kernels.TOUCH, _MASK_AT_ROOT[operation.tie] if engine.program.formulas.directed else 0
            elif isinstance(operation, Product):
                kind, source = kernels.PRODUCT, slots[operation.source]
                weighting = self.weighting(operation.weighting)
            else:
                terms += [self.term(*term, slots) for term in operation.terms]
            operations.append((kind, target, source, weighting, vector.support, vector.demand))
            start.append(len(terms))
        readings = [
            (ear, r.coefficient, slots[r.vector], kernels.READ_VECTOR if r.weighting is None else self.weighting(r.weighting))
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

    def term(self, coefficient: int, pendants: tuple[int, ...], factors: tuple[int, ...], slots: list[int]) -> list[int]:
        pendant = self.products.setdefault(pendants, len(self.products)) if pendants else -1
        if len(factors) > 3:
            raise NotImplementedError("a product of more than three vectors")
        return [coefficient, pendant, len(factors), *[slots[f] for f in factors], *[0] * (3 - len(factors))]

    def link_arrays(self) -> tuple[Integers, Integers, Integers]:
        engine, pattern = self.engine, self.engine.pattern
        weights = np.zeros((len(self.weightings), len(pattern.indices)), engine.dtype)
        for weighting, number in self.weightings.items():
            weights[number] = engine.weights(weighting)
        back = weights if engine.program.symmetric else weights[:, pattern.reverse]
        pendants = np.ones((len(self.products), pattern.num_nodes), engine.dtype)
        for numbers, row in self.products.items():
            for number in numbers:
                pendants[row] *= engine.pendant_values[number].astype(engine.dtype)
        return weights, back, pendants

    def scratch(self, rows: int = 0) -> Scratch:
        engine = self.engine
        return Scratch.for_nodes(engine.pattern.num_nodes, engine.dtype, self.slots, engine.lanes, rows)

    def run(self, begin: int, end: int, scratch: Scratch, stop: Int64) -> None:
        """Serve roots[begin:end]; returns early when stop[0] is set."""
        engine, pattern = self.engine, self.engine.pattern
        graph = (pattern.indptr, pattern.indices, engine.rank, pattern.flags)
        while begin < end and not stop[0]:
            places = (scratch.place, scratch.nodes, scratch.asked, scratch.steps)
            begin, wanted = kernels.run_roots(
                graph, engine.roots, begin, end, engine.lanes, self.reach, self.code, self.arrays,
                engine.ear_values, places, scratch.buffer, stop,
            )  # fmt: skip
            if wanted:
                scratch.grow(wanted)


def _assign_slots(one_pass: Pass) -> tuple[list[int], int]:
    """Vectors share memory once the earlier one has been used for the last time."""
    last_use = list(range(len(one_pass.vectors)))
    for number, vector in enumerate(one_pass.vectors):
        for used in _sources(vector.operation):
            last_use[used] = number
    for reading in (r for shares in one_pass.readings.values() for r in shares):
        last_use[reading.vector] = len(one_pass.vectors)
    slots: list[int] = []
    free_at: list[int] = []
    for number in range(len(one_pass.vectors)):
        slot = next((s for s, end in enumerate(free_at) if end < number), len(free_at))
        if slot == len(free_at):
            free_at.append(0)
        free_at[slot] = last_use[number]
        slots.append(slot)
    return slots, len(free_at)


def _sources(operation: Touch | Product | Combine) -> Sequence[int]:
    if isinstance(operation, Product):
        return [operation.source]
    if isinstance(operation, Combine):
        return [v for _, _, factors in operation.terms for v in factors]
    return []


Progress = Callable[[float, float], None]
