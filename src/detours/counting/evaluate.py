"""Evaluation of closed forms on dense matrices: exact, with BLAS wherever that is proven safe.

A step below 2^53 (`bounds.py`) is done in float64, where sums of integers are exact in any order; from there on in
int64 modulo 2^64, a ring, in which the final counts come out right as long as they fit themselves. Matrices come as
stacks [graphs, n, n], so that many small graphs share every step. In sparse graphs, what is zero off the arcs is
worked out on the arcs alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.counting.bounds import words
from detours.counting.csr import Int64
from detours.counting.evaluate_kernel import multiply_rows, sum_cliques
from detours.counting.steps import (
    Clique,
    Combination,
    Contraction,
    Gathered,
    Product,
    Step,
    Term,
    Tied,
    Transposed,
    sources,
)

Values = NDArray[Any]
"""float64 or int64, as the bounds allow."""

FILLED = 1 / 12
"""The share of pairs joined by an arc from which BLAS beats skipping the zeros, ..."""
SCATTERED = 1 / 6
"""... and from which whole matrices beat lists of arcs."""


class Stack:
    """Graphs of n nodes each, as 0-1 matrices [graphs, n, n]."""

    def __init__(self, adjacency: NDArray[np.float64], directed: bool) -> None:
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

    @property
    def density(self) -> float:
        return len(self.tied) / max(1, self.adjacency.size)


def evaluate(contraction: Contraction, stack: Stack) -> Iterator[tuple[int, Int64]]:
    """Yield each length with its counts for all pairs, int64 [graphs, n, n]; the diagonals mean nothing.

    >>> from detours.counting.contraction import contraction
    >>> triangle = Stack(np.ones((1, 3, 3)) - np.eye(3), directed=False)
    >>> {length: int(counts[0, 0, 1]) for length, counts in evaluate(contraction(3, False), triangle)}
    {2: 1, 3: 0}
    """
    return _Evaluation(contraction, stack).run(only_tied=False)


def evaluate_tied(contraction: Contraction, stack: Stack) -> Iterator[tuple[int, Int64]]:
    """Yield each length with its counts for the pairs ``stack.tied`` only, in that order."""
    return _Evaluation(contraction, stack).run(only_tied=True)


class Size(NamedTuple):
    """What the time and memory of an evaluation depend on."""

    graphs: int
    nodes: int
    """Nodes of each graph."""
    arcs: int
    """Arcs of all graphs together."""
    degree: int
    """The largest degree."""
    cubes: float
    """The sum of the third powers of all degrees."""

    @property
    def entries(self) -> int:
        return self.graphs * self.nodes**2


def expected_seconds(contraction: Contraction, size: Size) -> float:
    """About how long an evaluation takes; right within a small factor."""
    density = size.arcs / max(1, size.entries)
    terms = sum(len(step.terms) for step in contraction.steps if isinstance(step, Combination))
    nanoseconds = terms * (10_000 + size.entries * (0.7 if density < SCATTERED else 1.2))
    for step, word in zip(contraction.steps, words(contraction, size.degree, size.degree), strict=True):
        if isinstance(step, Product):
            in_integers = word is np.int64
            sparse = contraction.on_arcs[step.left] and (density < FILLED or in_integers)
            each = 0.5 if sparse or in_integers else 0.04
            nanoseconds += 1_000 * size.graphs + size.nodes * (size.arcs if sparse else size.entries) * each
        elif isinstance(step, Clique):
            # neighbours of a node are taken to be neighbours of each other more often than chance would have it
            nanoseconds += 2 * size.entries + size.cubes * max(density, 0.25) * 0.4
    return 1e-9 * nanoseconds


def expected_bytes(contraction: Contraction, size: Size) -> int:
    """What an evaluation keeps at a time, and a few matrices for the step under way."""
    return 8 * size.entries * (contraction.most_held + 4)


class _Evaluation:
    """Steps under way: their results as whole matrices, as lists over the tied pairs, or both."""

    def __init__(self, contraction: Contraction, stack: Stack) -> None:
        self.contraction, self.stack = contraction, stack
        self.words = words(contraction, stack.out_degree, stack.in_degree)
        self.scattered = stack.density < SCATTERED
        self.whole: dict[int, Values] = {}
        self.listed: dict[int, Values] = {}

    def run(self, only_tied: bool) -> Iterator[tuple[int, Int64]]:
        asked: dict[int, list[int]] = defaultdict(list)
        for length, number in self.contraction.lengths.items():
            asked[number].append(length)
        for number, step in enumerate(self.contraction.steps):
            done = self.contraction.done_after[number]
            listed = self.scattered and (self.contraction.on_arcs[number] or (only_tied and number in done))
            self.carry_out(number, step, listed)
            for length in asked[number]:
                get = self.on_tied if only_tied else self.everywhere
                yield length, get(number, self.words[number]).astype(np.int64)
            for old in done:
                self.whole.pop(old, None)
                self.listed.pop(old, None)

    def carry_out(self, number: int, step: Step, listed: bool) -> None:
        word = self.words[number]
        if isinstance(step, Combination) and listed:
            self.listed[number] = self.sum(step.terms, word, _OnTied(self, word))
        else:
            self.whole[number] = self.result(step, word)

    def result(self, step: Step, word: type) -> Values:
        match step:
            case Tied(tie):
                back = self.stack.adjacency.swapaxes(1, 2)
                if tie == "r" and self.stack.directed:
                    return self.stack.adjacency * back
                return np.ascontiguousarray(back) if tie == "b" else self.stack.adjacency
            case Transposed(source):
                return self.everywhere(source, word).swapaxes(1, 2)
            case Product(left, right):
                sparse = self.contraction.on_arcs[left] and self.stack.density < FILLED
                return _product(self.everywhere(left, word), self.everywhere(right, word), sparse)
            case Clique():
                iu, iv, uv, uj, vj = (np.ascontiguousarray(self.everywhere(side, word)) for side in sources(step))
                out = self.zeros(word)
                sum_cliques(iu, iv, uv, uj, vj, out)
                return out
            case Combination(terms):
                return self.combine(terms, word)
            case Gathered(matrix, weights):
                values = self.everywhere(matrix, word)
                return _matrix_vector(values, self.vector(weights, word)) if weights else values.sum(2)

    def combine(self, terms: tuple[Term, ...], word: type) -> Values:
        """A sum for all pairs; those of its terms that are zero off the arcs are still worked out there only."""
        on_arcs = self.contraction.on_arcs
        listed: dict[bool, list[Term]] = {False: [], True: []}
        for term in terms:
            listed[self.scattered and any(on_arcs[factor] for factor in term.factors)].append(term)
        # a sum that begins with a transposed matrix may come out transposed itself
        total = np.ascontiguousarray(self.sum(listed[False], word, _Everywhere(self, word)))
        if listed[True]:
            total.reshape(-1)[self.stack.tied] += self.sum(listed[True], word, _OnTied(self, word))
        return total

    def sum(self, terms: Iterable[Term], word: type, frame: _Everywhere | _OnTied) -> Values:
        """Add up the terms: those with the same matrices first, as one weight of low rank in front of them."""
        by_factors: dict[tuple[int, ...], list[Term]] = defaultdict(list)
        for term in terms:
            by_factors[term.factors].append(term)
        total: Any = None
        for factors, alike in by_factors.items():
            matrix = reduce(np.multiply, (frame.matrix(factor) for factor in factors))
            weight = self.weight(alike, word, frame)
            if total is None:
                total = weight * matrix
            elif isinstance(weight, int) and weight == 1:
                total += matrix
            elif isinstance(weight, int) and weight == -1:
                total -= matrix
            else:
                total += weight * matrix
        return np.asarray(total)

    def weight(self, terms: list[Term], word: type, frame: _Everywhere | _OnTied) -> Any:
        """Σ coefficient · x(i) · y(j); a number where there are no vectors."""
        by_left: dict[tuple[int, ...], Any] = defaultdict(int)
        for term in terms:
            by_left[term.at_i] += term.coefficient * (self.vector(term.at_j, word) if term.at_j else 1)
        return frame.outer([(self.vector(at_i, word) if at_i else 1, right) for at_i, right in by_left.items()])

    def vector(self, numbers: tuple[int, ...], word: type) -> Values:
        """The product of some vectors, [graphs, n]."""
        return reduce(np.multiply, (self.everywhere(number, word) for number in numbers))

    def everywhere(self, number: int, word: type) -> Values:
        if number not in self.whole:
            known = self.listed[number]
            self.whole[number] = self.zeros(known.dtype)
            self.whole[number].reshape(-1)[self.stack.tied] = known
        return self.whole[number].astype(word, copy=False)

    def on_tied(self, number: int, word: type) -> Values:
        if number not in self.listed:
            self.listed[number] = self.whole[number].reshape(-1)[self.stack.tied]
        return self.listed[number].astype(word, copy=False)

    def zeros(self, word: Any) -> Values:
        return np.zeros(self.stack.adjacency.shape, word)


class _Everywhere:
    """Terms are worked out for all pairs."""

    def __init__(self, evaluation: _Evaluation, word: type) -> None:
        self.evaluation, self.word = evaluation, word

    def matrix(self, number: int) -> Values:
        return self.evaluation.everywhere(number, self.word)

    def outer(self, pairs: list[tuple[Any, Any]]) -> Any:
        """The sum of x(i) · y(j) over some pairs of vectors; a number stands for a constant vector."""
        if len(pairs) == 1:
            ((x, y),) = pairs
            return (x if isinstance(x, int) else x[:, :, None]) * (y if isinstance(y, int) else y[:, None, :])
        shape = self.evaluation.stack.adjacency.shape[:2]
        full = [[np.full(shape, v, self.word) if isinstance(v, int) else v for v in pair] for pair in pairs]
        return np.stack([x for x, _ in full], axis=2) @ np.stack([y for _, y in full], axis=1)


class _OnTied:
    """Terms are worked out for the tied pairs only."""

    def __init__(self, evaluation: _Evaluation, word: type) -> None:
        self.evaluation, self.word = evaluation, word

    def matrix(self, number: int) -> Values:
        return self.evaluation.on_tied(number, self.word)

    def outer(self, pairs: list[tuple[Any, Any]]) -> Any:
        at_i, at_j = self.evaluation.stack.ends
        return sum(
            (x if isinstance(x, int) else x.reshape(-1)[at_i]) * (y if isinstance(y, int) else y.reshape(-1)[at_j])
            for x, y in pairs
        )


def _product(left: Values, right: Values, sparse: bool) -> Values:
    if left.dtype == np.float64 and not sparse:
        return np.asarray(np.matmul(left, right))
    out = np.zeros(left.shape, left.dtype)
    multiply_rows(np.ascontiguousarray(left), np.ascontiguousarray(right), out)
    return out


def _matrix_vector(matrix: Values, vector: Values) -> Values:
    return np.asarray(np.matmul(matrix, vector[:, :, None])[:, :, 0])
