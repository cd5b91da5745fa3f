"""Evaluation of closed forms with NumPy: exact, with BLAS wherever floats are proven exact."""

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

BLAS_DENSITY = 1 / 12  # density from which BLAS is faster than skipping zeros
MATRIX_DENSITY = 1 / 6  # density from which full matrices are faster than lists of arcs
MOST_ROWS, LEAST_ROWS = 256, 32  # rows per task of a thread: BLAS is slower with fewer of them
CLIQUE_THREADS = 8  # most threads that share a sum over cliques: each needs its own matrices


class Crew(NamedTuple):
    """Threads that share every step of an evaluation."""

    n_jobs: int = 1
    report: Callable[[int, float], None] | None = None
    """Called with the index of a step and the share of it that is done."""


class Stack:
    """Graphs of n nodes each, as 0-1 matrices [graphs, n, n]."""

    def __init__(self, adjacency: Float64, directed: bool) -> None:
        self.adjacency, self.directed = adjacency, directed
        self.out_degree, self.in_degree = (int(adjacency.sum(axis).max(initial=0)) for axis in (2, 1))

    @cached_property
    def tied(self) -> Int64:
        """Flat positions of the pairs joined by an arc in either direction, ascending."""
        both = self.adjacency + self.adjacency.swapaxes(1, 2) if self.directed else self.adjacency
        return np.flatnonzero(both)

    @cached_property
    def ends(self) -> tuple[Int64, Int64]:
        """The positions of i and j of each tied pair in a flat vector [graphs, n]."""
        n = self.adjacency.shape[-1]
        at_i = self.tied // n
        return at_i, at_i // n * n + self.tied % n

    @cached_property
    def rows(self) -> tuple[Int64, Int64]:
        """The tied pairs as a CSR: row pointer and columns."""
        n = self.adjacency.shape[-1]
        return np.searchsorted(self.tied, np.arange(len(self.adjacency) * n + 1) * n), self.tied % n

    @property
    def density(self) -> float:
        return len(self.tied) / max(1, self.adjacency.size)


def evaluate(contraction: Contraction, stack: Stack) -> Iterator[tuple[int, Int64]]:
    """Yield each length with its counts for all pairs, int64 [graphs, n, n]; the diagonals are meaningless.

    >>> from detours.counting.derive.matrix_program import contraction
    >>> triangle = Stack(np.ones((1, 3, 3)) - np.eye(3), directed=False)
    >>> {length: int(counts[0, 0, 1]) for length, counts in evaluate(contraction(3, False), triangle)}
    {2: 1, 3: 0}
    """
    return _Evaluation(contraction, stack, only_tied=False).run()


def evaluate_tied(contraction: Contraction, stack: Stack, crew: Crew | None = None) -> Iterator[tuple[int, Int64]]:
    """Yield each length with its counts for the pairs ``stack.tied`` only, in that order.

    A crew, even of one thread, works in ranges of rows and can be interrupted between them; this is for large graphs.
    """
    return _Evaluation(contraction, stack, only_tied=True, crew=crew).run()


class _Evaluation(Evaluation):
    """Evaluation on NumPy arrays. In dense graphs all results are full matrices, as lists would save nothing."""

    dtypes = (np.int64, np.float64)

    def __init__(self, contraction: Contraction, stack: Stack, only_tied: bool, crew: Crew | None = None) -> None:
        super().__init__(contraction, (stack.out_degree, stack.in_degree))
        self.stack, self.only_tied, self.crew, self.current_step = stack, only_tied, crew, 0
        self.use_lists = stack.density < MATRIX_DENSITY
        self.all_rows = Rows(0, stack.adjacency.shape[-1], slice(None))

    def run_step(self, index: int, step: Step, dtype: type) -> None:
        self.current_step = index
        as_list = self.contraction.on_arcs[index] or (self.only_tied and not self.contraction.whole[index])
        if isinstance(step, steps.Gathered):
            self.vectors[index] = self.gather(step, dtype)
        elif not self.use_lists or not as_list or isinstance(step, steps.Tied):
            self.matrices[index] = self.compute(step, dtype)
        elif isinstance(step, steps.Combination):
            self.lists[index] = self.add_up(step.terms, dtype)
        else:
            self.lists[index] = self.compute(step, dtype).reshape(-1)[self.stack.tied]
        if self.crew is not None and self.crew.report is not None:
            self.crew.report(index, 1.0)

    def compute(self, step: Step, dtype: type) -> Values:
        match step:
            case steps.Tied(tie):
                back = self.stack.adjacency.swapaxes(1, 2)
                if tie == "r" and self.stack.directed:
                    return self.stack.adjacency * back
                return np.ascontiguousarray(back) if tie == "b" else self.stack.adjacency
            case steps.Transposed(source):
                return self.full_matrix(source, dtype).swapaxes(1, 2)
            case steps.Product(left, right):
                return self.multiply(left, right, dtype)
            case steps.Clique():
                return self.sum_cliques(
                    Sides(*(np.ascontiguousarray(self.full_matrix(side, dtype)) for side in sources(step))), dtype
                )
            case steps.Combination(terms):
                return self.sum_terms(terms, dtype)
            case _:
                raise AssertionError(step)

    def over_rows(self, work: Callable[[int, int], None]) -> None:
        """Call work(first, last) on ranges that cover all rows."""
        rows = self.stack.adjacency.shape[-1]
        if self.crew is None:
            work(0, rows)
        else:
            step = min(MOST_ROWS, max(LEAST_ROWS, rows // (4 * self.crew.n_jobs)))
            self.share(rows, step, lambda _, first, last, stop: work(first, last), lambda: None, self.crew)

    def share(self, total: int, step: int, work: Any, make_worker: Callable[[], Any], crew: Crew) -> None:
        """Run ranges on the threads of the crew, and report the progress of the step."""

        def progress(done: float, total: float) -> None:
            if crew.report is not None:
                crew.report(self.current_step, done / total)

        run_ranges(total, step, work, make_worker, crew.n_jobs, progress)

    def sum_cliques(self, sides: Sides, dtype: type) -> Values:
        """Each thread sums over its own nodes u, in its own matrix."""
        shape, partial_sums = self.stack.adjacency.shape, list[Values]()

        def make_worker() -> tuple[Values, Values]:
            own: Values = np.zeros(shape, dtype)
            partial_sums.append(own)
            return np.empty(shape[1:], dtype), own

        def work(worker: tuple[Values, Values], first: int, last: int, stop: Stop) -> None:
            sum_cliques(sides, *worker, first, last)

        num_nodes, crew = shape[0] * shape[1], self.crew
        if crew is None:
            sum_cliques(sides, *make_worker(), 0, num_nodes)
        else:
            crew = crew._replace(n_jobs=min(crew.n_jobs, CLIQUE_THREADS))
            self.share(num_nodes, 1, work, make_worker, crew)
        total = partial_sums.pop()
        for other in partial_sums:
            total += other
        return total

    def sum_terms(self, terms: tuple[steps.Term, ...], dtype: type) -> Values:
        if self.crew is None or len(self.stack.adjacency) > 1:
            total, on_tied = self.combine(terms, self.all_rows, dtype, use_lists=self.use_lists)
            # a sum whose first term is a transposed matrix may be transposed in memory
            total = np.ascontiguousarray(total)
        else:
            on_all, tied = self.split_terms(terms, self.use_lists)
            total = np.empty(self.stack.adjacency.shape, dtype)
            starts = self.stack.rows[0]

            def work(first: int, last: int) -> None:
                for begin in range(first, last, LEAST_ROWS):  # few enough to stay in the cache
                    end = min(begin + LEAST_ROWS, last)
                    rows = Rows(begin, end, slice(starts[begin], starts[end]))
                    total[:, begin:end] = self.add_up(on_all, dtype, rows)

            self.over_rows(work)
            on_tied = self.add_up(tied, dtype) if tied else None
        if on_tied is not None:
            total.reshape(-1)[self.stack.tied] += on_tied
        return total

    def gather(self, step: steps.Gathered, dtype: type) -> Values:
        values = self.full_matrix(step.matrix, dtype)
        if not step.weights:
            return values.sum(2)
        return np.matmul(values, self.vector(step.weights, dtype)[:, :, None])[:, :, 0]

    def multiply(self, left: int, right: int, dtype: type) -> Values:
        """A matrix product; in a sparse graph, a factor that is zero off the arcs is used as a list."""
        on_arcs, sparse = self.contraction.on_arcs, self.stack.density < BLAS_DENSITY
        if dtype is np.float64 and not (sparse and (on_arcs[left] or on_arcs[right])):
            return self.multiply_floats(self.full_matrix(left, dtype), self.full_matrix(right, dtype))
        out: Values = np.zeros(self.stack.adjacency.shape, dtype)
        if sparse and on_arcs[left]:
            factor = np.ascontiguousarray(self.full_matrix(right, dtype))
            self.over_rows(partial(multiply_list_by_rows, *self.stack.rows, self.on_tied(left, dtype), factor, out))
        elif sparse and on_arcs[right]:
            factor = np.ascontiguousarray(self.full_matrix(left, dtype))
            self.over_rows(partial(multiply_rows_by_list, factor, *self.stack.rows, self.on_tied(right, dtype), out))
        else:
            first, second = (np.ascontiguousarray(self.full_matrix(side, dtype)) for side in (left, right))
            self.over_rows(partial(multiply_rows, first, second, out))
        return out

    def multiply_floats(self, left: Values, right: Values) -> Values:
        out: Values = np.empty(left.shape)

        def work(first: int, last: int) -> None:
            np.matmul(left[:, first:last], right, out=out[:, first:last])

        self.over_rows(work)
        return out

    def measure(self, index: int) -> list[float]:
        if index in self.vectors:
            return [float(np.abs(self.vectors[index]).max())] * 3
        if index in self.matrices:
            sizes = np.abs(self.matrices[index])
            return [float(sizes.max()), *(float(sizes.sum(axis).max()) for axis in (2, 1))]
        sizes = np.abs(self.lists[index])
        sums = (np.bincount(end, sizes) for end in self.stack.ends)
        return [float(sizes.max()), *(float(each.max()) for each in sums)]

    def result_of(self, index: int) -> Values:
        counts = self.on_tied(index, np.int64) if self.only_tied else self.full_matrix(index, np.int64)
        return np.array(counts)  # a copy, as results are kept

    def in_rows(self, index: int, rows: Rows) -> Values:
        if index in self.matrices:
            return self.matrices[index][:, rows.begin : rows.end]
        values, (graphs, n, _) = self.lists[index], self.stack.adjacency.shape
        filled: Values = np.zeros((graphs, rows.end - rows.begin, n), values.dtype)
        filled.reshape(-1)[self.stack.tied[rows.pairs] - rows.begin * n] = values[rows.pairs]
        return filled

    def full_matrix(self, index: int, dtype: type) -> Values:
        return self.in_rows(index, self.all_rows).astype(dtype, copy=False)

    def on_tied(self, index: int, dtype: type) -> Values:
        if index not in self.lists:
            self.lists[index] = self.matrices[index].reshape(-1)[self.stack.tied]
        return self.lists[index].astype(dtype, copy=False)

    def cast(self, values: Values, dtype: type) -> Values:
        return values.astype(dtype, copy=False)

    def ends(self) -> tuple[Int64, Int64]:
        return self.stack.ends

    def outer(self, pairs: list[tuple[Any, Any]], dtype: type, rows: Rows | None) -> Values:
        """Several pairs as one matrix product of low rank: fewer passes over memory."""
        if len(pairs) == 1 or rows is None:
            return super().outer(pairs, dtype, rows)
        shape = self.stack.adjacency.shape[:2]
        full = [[np.full(shape, v, dtype) if isinstance(v, int) else v for v in pair] for pair in pairs]
        left = np.stack([x[:, rows.begin : rows.end] for x, _ in full], axis=2)
        return left @ np.stack([y for _, y in full], axis=1)
