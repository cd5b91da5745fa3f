"""Evaluation of closed forms on dense matrices: what is the same whether NumPy or torch holds the matrices.

A step proven below 2^53 (`bounds.py`) is done in float64, where sums of integers are exact in any order; others in
int64 modulo 2^64, a ring, in which the final counts come out right as long as they fit themselves. Matrices come as
stacks [graphs, n, n], so that many small graphs share every step. A matrix that is zero off the arcs, or read nowhere
else, can be kept as a list with one entry per tied pair.
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

Values = Any  # an array of NumPy's or a tensor of torch's, of float64 or int64 as the bounds allow


class Rows(NamedTuple):
    """Some rows of all matrices, and the tied pairs that lie there."""

    begin: int
    end: int
    pairs: Values


class Evaluation(ABC):
    """Steps under way. Their results are kept as whole matrices, as lists over the tied pairs, or as vectors."""

    words: tuple[Any, Any]  # the types of integers and of floats

    def __init__(self, contraction: Contraction, degrees: tuple[int, int]) -> None:
        """Take the steps, and the largest out-degree and in-degree."""
        self.contraction = contraction
        self.whole: dict[int, Values] = {}
        self.listed: dict[int, Values] = {}
        self.vectors: dict[int, Values] = {}
        self.proof = Proof(degrees, self.measure)

    def run(self) -> Iterator[tuple[int, Values]]:
        """Carry out all steps in order, and yield each length with its counts as soon as they are there."""
        asked: dict[int, list[int]] = defaultdict(list)
        for length, number in self.contraction.lengths.items():
            asked[number].append(length)
        for number, step in enumerate(self.contraction.steps):
            self.carry_out(number, step, self.words[self.proof.add(step)])
            for length in asked[number]:
                yield length, self.answer(number)
            for old in self.contraction.freed_after[number]:
                for kept in (self.whole, self.listed, self.vectors):
                    kept.pop(old, None)

    @abstractmethod
    def carry_out(self, number: int, step: Step, word: Any) -> None:
        """Work out a step and keep what it comes to."""

    @abstractmethod
    def measure(self, number: int) -> list[float]:
        """The largest entry, sum of a row and sum of a column of what a step came to, all in absolute value."""

    @abstractmethod
    def in_rows(self, number: int, rows: Rows) -> Values:
        """Some rows of what a step came to, for all pairs."""

    @abstractmethod
    def on_tied(self, number: int, word: Any) -> Values:
        """What a step came to on the tied pairs."""

    @abstractmethod
    def cast(self, values: Values, word: Any) -> Values:
        """The same numbers in another type."""

    @abstractmethod
    def ends(self) -> tuple[Values, Values]:
        """Where i and j of each tied pair stand in a flat vector [graphs, n]."""

    def answer(self, number: int) -> Values:
        """The counts of a step that counts the paths of some length."""
        return self.on_tied(number, self.words[0])

    def outer(self, pairs: list[tuple[Any, Any]], word: Any, rows: Rows | None) -> Values:
        """The sum of x(i) · y(j) over some pairs of vectors; a number stands for a constant vector."""
        if rows is None:
            at_i, at_j = self.ends()
            each = ((_entries(x, at_i), _entries(y, at_j)) for x, y in pairs)
        else:
            some = slice(rows.begin, rows.end)
            each = (
                (x if isinstance(x, int) else x[:, some, None], y if isinstance(y, int) else y[:, None, :])
                for x, y in pairs
            )
        return sum(x * y for x, y in each)

    def combine(self, terms: Iterable[Term], rows: Rows, word: Any, use_lists: bool = True) -> tuple[Values, Values]:
        """Add up the terms: in some rows those that need all pairs; and on the tied pairs, or None, the others."""
        everywhere, tied = self.divided(terms, use_lists)
        return self.add_up(everywhere, word, rows), self.add_up(tied, word) if tied else None

    def divided(self, terms: Iterable[Term], use_lists: bool) -> tuple[list[Term], list[Term]]:
        """The terms that need all pairs, and those for which the tied pairs will do."""
        split: dict[bool, list[Term]] = {False: [], True: []}
        for term in terms:
            split[use_lists and any(self.contraction.on_arcs[factor] for factor in term.factors)].append(term)
        return split[False], split[True]

    def add_up(self, terms: Iterable[Term], word: Any, rows: Rows | None = None) -> Values:
        """Add up the terms in some rows, or else on the tied pairs.

        Those with the same matrices are added first, as one weight of low rank in front of them.
        """
        by_factors: dict[tuple[int, ...], list[Term]] = defaultdict(list)
        for term in terms:
            by_factors[term.factors].append(term)
        total: Values = None
        for factors, alike in by_factors.items():
            matrix = reduce(mul, (self.matrix(factor, word, rows) for factor in factors))
            weight = self.weight(alike, word, rows)
            if total is None:
                total = weight * matrix
            elif isinstance(weight, int) and weight == 1:
                total += matrix
            elif isinstance(weight, int) and weight == -1:
                total -= matrix
            else:
                total += weight * matrix
        return total

    def matrix(self, number: int, word: Any, rows: Rows | None) -> Values:
        return self.on_tied(number, word) if rows is None else self.cast(self.in_rows(number, rows), word)

    def weight(self, terms: list[Term], word: Any, rows: Rows | None) -> Values:
        """Σ coefficient · x(i) · y(j); a number where there are no vectors."""
        by_left: dict[tuple[int, ...], Any] = defaultdict(int)
        for term in terms:
            by_left[term.at_i] += term.coefficient * self.vector(term.at_j, word)
        return self.outer([(self.vector(at_i, word), right) for at_i, right in by_left.items()], word, rows)

    def vector(self, numbers: tuple[int, ...], word: Any) -> Values:
        """The product of some vectors; 1 if there are none."""
        return reduce(mul, (self.cast(self.vectors[number], word) for number in numbers)) if numbers else 1


def _entries(vector: Values, at: Values) -> Values:
    return vector if isinstance(vector, int) else vector.reshape(-1)[at]
