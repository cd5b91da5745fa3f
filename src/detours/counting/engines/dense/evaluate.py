"""Evaluation of closed forms with NumPy: exact, with BLAS wherever that is proven safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Float64, Int64
from detours.counting.derive import matrix_steps as steps
from detours.counting.derive.matrix_steps import Contraction, Step, sources
from detours.counting.engines.dense.evaluation import Evaluation, Rows, Values
from detours.counting.engines.dense.loops_numba import (
    Sides,
    multiply_list_by_rows,
    multiply_rows,
    multiply_rows_by_list,
    sum_cliques,
)
from detours.counting.engines.threads import Stop, run_ranges

FILLED = 1 / 12  # share of pairs joined by an arc from which BLAS beats skipping the zeros
SCATTERED = 1 / 6  # the same from which whole matrices beat lists of arcs
MOST_ROWS, LEAST_ROWS = 256, 32  # rows that a thread takes at a time: BLAS is slower with fewer of them
CLIQUE_THREADS = 8  # threads that share a sum over cliques: each needs matrices of its own


class Crew(NamedTuple):
    """Threads that share every step of an evaluation."""

    n_jobs: int = 1
    report: Callable[[int, float], None] | None = None
    """Called with the number of a step and the share of it that is done."""


class Stack:
    """Graphs of n nodes each, as 0-1 matrices [graphs, n, n]."""

    def __init__(self, adjacency: Float64, directed: bool) -> None:
        self.adjacency, self.directed = adjacency, directed
        self.out_degree, self.in_degree = (int(adjacency.sum(axis).max(initial=0)) for axis in (2, 1))

    @cached_property
    def tied(self) -> Int64:
        """Flat positions of the pairs that an arc joins, in either direction, ascending."""
        both = self.adjacency + self.adjacency.swapaxes(1, 2) if self.directed else self.adjacency
        return np.flatnonzero(both)

    @cached_property
    def ends(self) -> tuple[Int64, Int64]:
        """Where i and j of each tied pair stand in a flat vector [graphs, n]."""
        n = self.adjacency.shape[-1]
        at_i = self.tied // n
        return at_i, at_i // n * n + self.tied % n

    @cached_property
    def rows(self) -> tuple[Int64, Int64]:
        """The tied pairs as rows of neighbours: where each row starts, and the columns."""
        n = self.adjacency.shape[-1]
        return np.searchsorted(self.tied, np.arange(len(self.adjacency) * n + 1) * n), self.tied % n

    @property
    def density(self) -> float:
        return len(self.tied) / max(1, self.adjacency.size)


def evaluate(contraction: Contraction, stack: Stack) -> Iterator[tuple[int, Int64]]:
    """Yield each length with its counts for all pairs, int64 [graphs, n, n]; the diagonals mean nothing.

    >>> from detours.counting.derive.matrix_program import contraction
    >>> triangle = Stack(np.ones((1, 3, 3)) - np.eye(3), directed=False)
    >>> {length: int(counts[0, 0, 1]) for length, counts in evaluate(contraction(3, False), triangle)}
    {2: 1, 3: 0}
    """
    return _Evaluation(contraction, stack, only_tied=False).run()


def evaluate_tied(contraction: Contraction, stack: Stack, crew: Crew | None = None) -> Iterator[tuple[int, Int64]]:
    """Yield each length with its counts for the pairs ``stack.tied`` only, in that order.

    A crew, even of one thread, works in ranges of rows, between which Ctrl-C ends it; this is for large graphs.
    """
    return _Evaluation(contraction, stack, only_tied=True, crew=crew).run()


class _Evaluation(Evaluation):
    """On arrays of NumPy's. In dense graphs whole matrices are kept of all steps: lists would save nothing."""

    words = (np.int64, np.float64)

    def __init__(self, contraction: Contraction, stack: Stack, only_tied: bool, crew: Crew | None = None) -> None:
        super().__init__(contraction, (stack.out_degree, stack.in_degree))
        self.stack, self.only_tied, self.crew, self.number = stack, only_tied, crew, 0
        self.scattered = stack.density < SCATTERED
        self.all_rows = Rows(0, stack.adjacency.shape[-1], slice(None))

    def carry_out(self, number: int, step: Step, word: type) -> None:
        self.number = number
        listed = self.contraction.on_arcs[number] or (self.only_tied and not self.contraction.whole[number])
        if isinstance(step, steps.Gathered):
            self.vectors[number] = self.gather(step, word)
        elif not self.scattered or not listed or isinstance(step, steps.Tied):
            self.whole[number] = self.result(step, word)
        elif isinstance(step, steps.Combination):
            self.listed[number] = self.add_up(step.terms, word)
        else:
            self.listed[number] = self.result(step, word).reshape(-1)[self.stack.tied]
        if self.crew is not None and self.crew.report is not None:
            self.crew.report(number, 1.0)

    def result(self, step: Step, word: type) -> Values:
        match step:
            case steps.Tied(tie):
                back = self.stack.adjacency.swapaxes(1, 2)
                if tie == "r" and self.stack.directed:
                    return self.stack.adjacency * back
                return np.ascontiguousarray(back) if tie == "b" else self.stack.adjacency
            case steps.Transposed(source):
                return self.everywhere(source, word).swapaxes(1, 2)
            case steps.Product(left, right):
                return self.multiply(left, right, word)
            case steps.Clique():
                return self.sum_cliques(
                    Sides(*(np.ascontiguousarray(self.everywhere(side, word)) for side in sources(step))), word
                )
            case steps.Combination(terms):
                return self.sum_terms(terms, word)
            case _:
                raise AssertionError(step)

    def over_rows(self, work: Callable[[int, int], None]) -> None:
        """Do work(first, last) for all rows."""
        rows = self.stack.adjacency.shape[-1]
        if self.crew is None:
            work(0, rows)
        else:
            step = min(MOST_ROWS, max(LEAST_ROWS, rows // (4 * self.crew.n_jobs)))
            self.share(rows, step, lambda _, first, last, stop: work(first, last), lambda: None, self.crew)

    def share(self, total: int, step: int, work: Any, make_worker: Callable[[], Any], crew: Crew) -> None:
        """Let the crew run ranges, and report how far they are in the step."""

        def progress(done: float, total: float) -> None:
            if crew.report is not None:
                crew.report(self.number, done / total)

        run_ranges(total, step, work, make_worker, crew.n_jobs, progress)

    def sum_cliques(self, sides: Sides, word: type) -> Values:
        """Each thread adds up what it finds around its own nodes u, in a matrix of its own."""
        shape, found = self.stack.adjacency.shape, list[Values]()

        def make_worker() -> tuple[Values, Values]:
            mine: Values = np.zeros(shape, word)
            found.append(mine)
            return np.empty(shape[1:], word), mine

        def work(worker: tuple[Values, Values], first: int, last: int, stop: Stop) -> None:
            sum_cliques(sides, *worker, first, last)

        nodes, crew = shape[0] * shape[1], self.crew
        if crew is None:
            sum_cliques(sides, *make_worker(), 0, nodes)
        else:
            crew = crew._replace(n_jobs=min(crew.n_jobs, CLIQUE_THREADS))
            self.share(nodes, 1, work, make_worker, crew)
        total = found.pop()
        for more in found:
            total += more
        return total

    def sum_terms(self, terms: tuple[steps.Term, ...], word: type) -> Values:
        if self.crew is None or len(self.stack.adjacency) > 1:
            total, on_tied = self.combine(terms, self.all_rows, word, use_lists=self.scattered)
            # a sum that begins with a transposed matrix may come out transposed itself
            total = np.ascontiguousarray(total)
        else:
            everywhere, tied = self.divided(terms, self.scattered)
            total = np.empty(self.stack.adjacency.shape, word)
            starts = self.stack.rows[0]

            def work(first: int, last: int) -> None:
                for begin in range(first, last, LEAST_ROWS):  # few rows at a time stay in the cache
                    end = min(begin + LEAST_ROWS, last)
                    rows = Rows(begin, end, slice(starts[begin], starts[end]))
                    total[:, begin:end] = self.add_up(everywhere, word, rows)

            self.over_rows(work)
            on_tied = self.add_up(tied, word) if tied else None
        if on_tied is not None:
            total.reshape(-1)[self.stack.tied] += on_tied
        return total

    def gather(self, step: steps.Gathered, word: type) -> Values:
        values = self.everywhere(step.matrix, word)
        if not step.weights:
            return values.sum(2)
        return np.matmul(values, self.vector(step.weights, word)[:, :, None])[:, :, 0]

    def multiply(self, left: int, right: int, word: type) -> Values:
        """A product; of a sparse graph, with the factor that is zero off the arcs as a list."""
        on_arcs, sparse = self.contraction.on_arcs, self.stack.density < FILLED
        if word is np.float64 and not (sparse and (on_arcs[left] or on_arcs[right])):
            return self.multiply_floats(self.everywhere(left, word), self.everywhere(right, word))
        out: Values = np.zeros(self.stack.adjacency.shape, word)
        if sparse and on_arcs[left]:
            factor = np.ascontiguousarray(self.everywhere(right, word))
            self.over_rows(partial(multiply_list_by_rows, *self.stack.rows, self.on_tied(left, word), factor, out))
        elif sparse and on_arcs[right]:
            factor = np.ascontiguousarray(self.everywhere(left, word))
            self.over_rows(partial(multiply_rows_by_list, factor, *self.stack.rows, self.on_tied(right, word), out))
        else:
            first, second = (np.ascontiguousarray(self.everywhere(side, word)) for side in (left, right))
            self.over_rows(partial(multiply_rows, first, second, out))
        return out

    def multiply_floats(self, left: Values, right: Values) -> Values:
        out: Values = np.empty(left.shape)

        def work(first: int, last: int) -> None:
            np.matmul(left[:, first:last], right, out=out[:, first:last])

        self.over_rows(work)
        return out

    def measure(self, number: int) -> list[float]:
        if number in self.vectors:
            return [float(np.abs(self.vectors[number]).max())] * 3
        if number in self.whole:
            sizes = np.abs(self.whole[number])
            return [float(sizes.max()), *(float(sizes.sum(axis).max()) for axis in (2, 1))]
        sizes = np.abs(self.listed[number])
        sums = (np.bincount(end, sizes) for end in self.stack.ends)
        return [float(sizes.max()), *(float(each.max()) for each in sums)]

    def answer(self, number: int) -> Values:
        found = self.on_tied(number, np.int64) if self.only_tied else self.everywhere(number, np.int64)
        return np.array(found)  # not one that is kept

    def in_rows(self, number: int, rows: Rows) -> Values:
        if number in self.whole:
            return self.whole[number][:, rows.begin : rows.end]
        values, (graphs, n, _) = self.listed[number], self.stack.adjacency.shape
        filled: Values = np.zeros((graphs, rows.end - rows.begin, n), values.dtype)
        filled.reshape(-1)[self.stack.tied[rows.pairs] - rows.begin * n] = values[rows.pairs]
        return filled

    def everywhere(self, number: int, word: type) -> Values:
        return self.in_rows(number, self.all_rows).astype(word, copy=False)

    def on_tied(self, number: int, word: type) -> Values:
        if number not in self.listed:
            self.listed[number] = self.whole[number].reshape(-1)[self.stack.tied]
        return self.listed[number].astype(word, copy=False)

    def cast(self, values: Values, word: type) -> Values:
        return values.astype(word, copy=False)

    def ends(self) -> tuple[Int64, Int64]:
        return self.stack.ends

    def outer(self, pairs: list[tuple[Any, Any]], word: type, rows: Rows | None) -> Values:
        """Several pairs as one matrix product of low rank: fewer passes over the matrix."""
        if len(pairs) == 1 or rows is None:
            return super().outer(pairs, word, rows)
        shape = self.stack.adjacency.shape[:2]
        full = [[np.full(shape, v, word) if isinstance(v, int) else v for v in pair] for pair in pairs]
        left = np.stack([x[:, rows.begin : rows.end] for x, _ in full], axis=2)
        return left @ np.stack([y for _, y in full], axis=1)
