"""Evaluation of closed forms on dense matrices: the part that NumPy and torch share.

A step proven below 2^53 (`bounds.py`) is computed in float64, where sums of integers are exact in any order; others in
int64 modulo 2^64, a ring, in which the final counts are correct as long as they fit themselves. Matrices are stacks
[graphs, n, n], so that many small graphs share every step. A matrix that is zero off the arcs, or read only there, can
be kept as a list with one entry per tied pair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import mul
from typing import Any, NamedTuple

from detours.counting.derive.matrix_steps import Contraction, Step, Term
from detours.counting.engines.dense.bounds import Proof

Values = Any  # a NumPy array or torch tensor, float64 or int64 as the bounds allow


class Rows(NamedTuple):
    """A range of rows of all matrices, and the tied pairs in these rows."""

    begin: int
    end: int
    pairs: Values


class Evaluation(ABC):
    """Runs the steps. Their results are kept as full matrices, as lists over the tied pairs, or as vectors."""

    dtypes: tuple[Any, Any]  # of integers and of floats

    def __init__(self, contraction: Contraction, degrees: tuple[int, int]) -> None:
        """Take the steps, and the largest out-degree and in-degree."""
        self.contraction = contraction
        self.matrices: dict[int, Values] = {}
        self.lists: dict[int, Values] = {}
        self.vectors: dict[int, Values] = {}
        self.proof = Proof(degrees, self.measure)

    def run(self) -> Iterator[tuple[int, Values]]:
        """Run all steps in order, and yield each length with its counts as soon as they are known."""
        lengths: dict[int, list[int]] = defaultdict(list)
        for length, index in self.contraction.lengths.items():
            lengths[index].append(length)
        for index, step in enumerate(self.contraction.steps):
            self.run_step(index, step, self.dtypes[self.proof.add(step)])
            for length in lengths[index]:
                yield length, self.result_of(index)
            for old in self.contraction.freed_after[index]:
                for kept in (self.matrices, self.lists, self.vectors):
                    kept.pop(old, None)

    @abstractmethod
    def run_step(self, index: int, step: Step, dtype: Any) -> None:
        """Compute a step and keep its result."""

    @abstractmethod
    def measure(self, index: int) -> list[float]:
        """The largest entry, row sum and column sum of the result of a step, all in absolute value."""

    @abstractmethod
    def in_rows(self, index: int, rows: Rows) -> Values:
        """Some rows of the result of a step, for all pairs."""

    @abstractmethod
    def on_tied(self, index: int, dtype: Any) -> Values:
        """The result of a step on the tied pairs."""

    @abstractmethod
    def cast(self, values: Values, dtype: Any) -> Values:
        """The same values in another type."""

    @abstractmethod
    def ends(self) -> tuple[Values, Values]:
        """The positions of i and j of each tied pair in a flat vector [graphs, n]."""

    def result_of(self, index: int) -> Values:
        """The result of a step that counts the paths of some length."""
        return self.on_tied(index, self.dtypes[0])

    def outer(self, pairs: list[tuple[Any, Any]], dtype: Any, rows: Rows | None) -> Values:
        """The sum of x(i) · y(j) over some pairs of vectors; an int represents a constant vector."""
        if rows is None:
            at_i, at_j = self.ends()
            factors = ((_entries(x, at_i), _entries(y, at_j)) for x, y in pairs)
        else:
            rows_slice = slice(rows.begin, rows.end)
            factors = (
                (x if isinstance(x, int) else x[:, rows_slice, None], y if isinstance(y, int) else y[:, None, :])
                for x, y in pairs
            )
        return sum(x * y for x, y in factors)

    def combine(self, terms: Iterable[Term], rows: Rows, dtype: Any, use_lists: bool = True) -> tuple[Values, Values]:
        """Add up the terms that need all pairs, in some rows; and the others on the tied pairs, or None."""
        on_all, tied = self.split_terms(terms, use_lists)
        return self.add_up(on_all, dtype, rows), self.add_up(tied, dtype) if tied else None

    def split_terms(self, terms: Iterable[Term], use_lists: bool) -> tuple[list[Term], list[Term]]:
        """The terms that need all pairs, and those that need only the tied pairs."""
        split: dict[bool, list[Term]] = {False: [], True: []}
        for term in terms:
            split[use_lists and any(self.contraction.on_arcs[factor] for factor in term.factors)].append(term)
        return split[False], split[True]

    def add_up(self, terms: Iterable[Term], dtype: Any, rows: Rows | None = None) -> Values:
        """Add up the terms in some rows, or else on the tied pairs.

        Terms with the same matrices are combined first, into one low-rank weight.
        """
        by_factors: dict[tuple[int, ...], list[Term]] = defaultdict(list)
        for term in terms:
            by_factors[term.factors].append(term)
        total: Values = None
        for factors, group in by_factors.items():
            matrix = reduce(mul, (self.matrix(factor, dtype, rows) for factor in factors))
            weight = self.weight(group, dtype, rows)
            if total is None:
                total = weight * matrix
            elif isinstance(weight, int) and weight == 1:
                total += matrix
            elif isinstance(weight, int) and weight == -1:
                total -= matrix
            else:
                total += weight * matrix
        return total

    def matrix(self, index: int, dtype: Any, rows: Rows | None) -> Values:
        return self.on_tied(index, dtype) if rows is None else self.cast(self.in_rows(index, rows), dtype)

    def weight(self, terms: list[Term], dtype: Any, rows: Rows | None) -> Values:
        """Σ coefficient · x(i) · y(j); an int if there are no vectors."""
        by_left: dict[tuple[int, ...], Any] = defaultdict(int)
        for term in terms:
            by_left[term.at_i] += term.coefficient * self.vector(term.at_j, dtype)
        return self.outer([(self.vector(at_i, dtype), right) for at_i, right in by_left.items()], dtype, rows)

    def vector(self, indices: tuple[int, ...], dtype: Any) -> Values:
        """The product of some vectors; 1 if there are none."""
        return reduce(mul, (self.cast(self.vectors[index], dtype) for index in indices)) if indices else 1


def _entries(vector: Values, positions: Values) -> Values:
    return vector if isinstance(vector, int) else vector.reshape(-1)[positions]
