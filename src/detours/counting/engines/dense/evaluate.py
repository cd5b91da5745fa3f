"""Evaluation of closed forms on dense matrices: exact, with BLAS wherever that is proven safe.

A step proven below 2^53 (`bounds.py`) is done in float64, where sums of integers are exact in any order; others in
int64 modulo 2^64, a ring, in which the final counts come out right as long as they fit themselves. Matrices come as
stacks [graphs, n, n], so that many small graphs share every step. In sparse graphs, what is zero off the arcs is
worked out on the arcs alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.counting.derive.matrix_steps import (
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
from detours.counting.engines.dense.bounds import Proof, words
from detours.counting.engines.dense.loops_numba import (
    multiply_list_by_rows,
    multiply_rows,
    multiply_rows_by_list,
    sum_cliques,
)
from detours.counting.engines.dense.sums import add_up, product_of

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
    nanoseconds = 0.0
    chosen = words(contraction, size.degree, size.degree)
    for number, (step, word) in enumerate(zip(contraction.steps, chosen, strict=True)):
        if isinstance(step, Combination):
            listed = 0
            if density < SCATTERED:
                on_arcs = (any(contraction.on_arcs[factor] for factor in term.factors) for term in step.terms)
                listed = sum(on_arcs) if contraction.whole[number] else len(step.terms)
            whole = len(step.terms) - listed
            each = 5.5 if density < SCATTERED else 2.5
            nanoseconds += 10_000 * len(step.terms) + 6 * listed * size.arcs + each * whole * size.entries
        elif isinstance(step, Product):
            in_integers = word is np.int64
            left, right = (contraction.on_arcs[side] for side in (step.left, step.right))
            if (left or right) and density < FILLED:
                nanoseconds += 3 * size.entries + size.nodes * size.arcs * (0.4 if left else 1.0)
            else:
                each = 0.5 if in_integers else 0.09
                filled = size.arcs if left and in_integers else size.entries
                nanoseconds += 1_000 * size.graphs + size.nodes * filled * each
        elif isinstance(step, Clique):
            # neighbours of a node are taken to be neighbours of each other more often than chance would have it
            nanoseconds += 2 * size.entries + size.cubes * max(density, 0.25) * 0.4
    return 1e-9 * nanoseconds


def expected_bytes(contraction: Contraction, size: Size, only_tied: bool = True) -> int:
    """What an evaluation keeps at a time, and a few matrices for the step under way."""
    scattered = only_tied and size.arcs < SCATTERED * size.entries
    return 8 * size.entries * ((contraction.most_whole if scattered else contraction.most_held) + 4)


class _Evaluation:
    """Steps under way: their results as whole matrices, as lists over the tied pairs, or both."""

    def __init__(self, contraction: Contraction, stack: Stack) -> None:
        self.contraction, self.stack = contraction, stack
        self.proof = Proof((stack.out_degree, stack.in_degree), self.measure)
        self.scattered = stack.density < SCATTERED
        self.whole: dict[int, Values] = {}
        self.listed: dict[int, Values] = {}

    def run(self, only_tied: bool) -> Iterator[tuple[int, Int64]]:
        asked: dict[int, list[int]] = defaultdict(list)
        for length, number in self.contraction.lengths.items():
            asked[number].append(length)
        for number, step in enumerate(self.contraction.steps):
            word = np.float64 if self.proof.add(step) else np.int64
            self.carry_out(number, step, word, only_tied)
            for length in asked[number]:
                get = self.on_tied if only_tied else self.everywhere
                yield length, get(number, word).astype(np.int64)
            for old in self.contraction.done_after[number]:
                self.whole.pop(old, None)
                self.listed.pop(old, None)

    def carry_out(self, number: int, step: Step, word: type, only_tied: bool) -> None:
        """In sparse graphs, a matrix that is zero off the arcs, or read nowhere else, is kept as a list."""
        listed = self.contraction.on_arcs[number] or (only_tied and not self.contraction.whole[number])
        if not self.scattered or not listed or isinstance(step, Tied | Gathered):
            self.whole[number] = self.result(step, word)
        elif isinstance(step, Combination):
            self.listed[number] = add_up(step.terms, _OnTied(self, word))
        else:
            self.listed[number] = self.result(step, word).reshape(-1)[self.stack.tied]

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
                return self.multiply(left, right, word)
            case Clique():
                iu, iv, uv, uj, vj = (np.ascontiguousarray(self.everywhere(side, word)) for side in sources(step))
                out: Values = np.zeros(self.stack.adjacency.shape, word)
                sum_cliques(iu, iv, uv, uj, vj, out)
                return out
            case Combination(terms):
                return self.combine(terms, word)
            case Gathered(matrix, weights):
                values = self.everywhere(matrix, word)
                weight = product_of(weights, _Everywhere(self, word)) if weights else None
                return values.sum(2) if weight is None else _matrix_vector(values, weight)

    def multiply(self, left: int, right: int, word: type) -> Values:
        """A product; of a sparse graph, with the factor that is zero off the arcs as a list."""
        on_arcs, sparse = self.contraction.on_arcs, self.stack.density < FILLED
        if word is np.float64 and not (sparse and (on_arcs[left] or on_arcs[right])):
            return np.asarray(np.matmul(self.everywhere(left, word), self.everywhere(right, word)))
        out: Values = np.zeros(self.stack.adjacency.shape, word)
        if sparse and on_arcs[left]:
            factor = np.ascontiguousarray(self.everywhere(right, word))
            multiply_list_by_rows(*self.stack.rows, self.on_tied(left, word), factor, out)
        elif sparse and on_arcs[right]:
            factor = np.ascontiguousarray(self.everywhere(left, word))
            multiply_rows_by_list(factor, *self.stack.rows, self.on_tied(right, word), out)
        else:
            first, second = (np.ascontiguousarray(self.everywhere(side, word)) for side in (left, right))
            multiply_rows(first, second, out)
        return out

    def combine(self, terms: tuple[Term, ...], word: type) -> Values:
        """A sum for all pairs; those of its terms that are zero off the arcs are still worked out there only."""
        on_arcs = self.contraction.on_arcs
        listed: dict[bool, list[Term]] = {False: [], True: []}
        for term in terms:
            listed[self.scattered and any(on_arcs[factor] for factor in term.factors)].append(term)
        # a sum that begins with a transposed matrix may come out transposed itself
        total = np.ascontiguousarray(add_up(listed[False], _Everywhere(self, word)))
        if listed[True]:
            total.reshape(-1)[self.stack.tied] += add_up(listed[True], _OnTied(self, word))
        return total

    def measure(self, number: int) -> list[float]:
        """The largest entry, sum of a row and sum of a column, signs left out."""
        if number in self.whole and self.whole[number].ndim == 3:
            sizes = np.abs(self.whole[number])
            return [float(sizes.max()), *(float(sizes.sum(axis).max()) for axis in (2, 1))]
        if number in self.whole:
            return [float(np.abs(self.whole[number]).max())] * 3
        sizes = np.abs(self.listed[number])
        sums = (np.bincount(end, sizes) for end in self.stack.ends)
        return [float(sizes.max()), *(float(each.max()) for each in sums)]

    def everywhere(self, number: int, word: type) -> Values:
        if number in self.whole:
            return self.whole[number].astype(word, copy=False)
        filled: Values = np.zeros(self.stack.adjacency.shape, word)
        filled.reshape(-1)[self.stack.tied] = self.listed[number]
        return filled

    def on_tied(self, number: int, word: type) -> Values:
        if number not in self.listed:
            self.listed[number] = self.whole[number].reshape(-1)[self.stack.tied]
        return self.listed[number].astype(word, copy=False)


class _Everywhere:
    """Terms are worked out for all pairs."""

    def __init__(self, evaluation: _Evaluation, word: type) -> None:
        self.evaluation, self.word = evaluation, word

    def matrix(self, number: int) -> Values:
        return self.evaluation.everywhere(number, self.word)

    vector = matrix

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

    def vector(self, number: int) -> Values:
        return self.evaluation.everywhere(number, self.word)

    def outer(self, pairs: list[tuple[Any, Any]]) -> Any:
        at_i, at_j = self.evaluation.stack.ends
        return sum(
            (x if isinstance(x, int) else x.reshape(-1)[at_i]) * (y if isinstance(y, int) else y.reshape(-1)[at_j])
            for x, y in pairs
        )


def _matrix_vector(matrix: Values, vector: Values) -> Values:
    return np.asarray(np.matmul(matrix, vector[:, :, None])[:, :, 0])
