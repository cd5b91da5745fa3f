"""Sums of the terms of closed forms, the same for whoever holds the matrices: NumPy arrays or torch tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import reduce
from operator import mul
from typing import Any, Protocol

from detours.counting.derive.matrix_steps import Term


class Frame(Protocol):
    """The pairs (i, j) for which terms are worked out."""

    def matrix(self, number: int) -> Any:
        """What a step came to on these pairs."""

    def vector(self, number: int) -> Any:
        """What a step came to on the nodes."""

    def outer(self, pairs: list[tuple[Any, Any]]) -> Any:
        """The sum of x(i) · y(j) over some pairs of vectors; a number stands for a constant vector."""


def add_up(terms: Iterable[Term], frame: Frame) -> Any:
    """Add up the terms: those with the same matrices first, as one weight of low rank in front of them."""
    by_factors: dict[tuple[int, ...], list[Term]] = defaultdict(list)
    for term in terms:
        by_factors[term.factors].append(term)
    total: Any = None
    for factors, alike in by_factors.items():
        matrix = reduce(mul, map(frame.matrix, factors))
        weight = _weight(alike, frame)
        if total is None:
            total = weight * matrix
        elif isinstance(weight, int) and abs(weight) == 1:
            total = _added(total, matrix, weight)
        else:
            total += weight * matrix
    return total


def product_of(numbers: tuple[int, ...], frame: Frame) -> Any:
    """The product of some vectors."""
    return reduce(mul, map(frame.vector, numbers))


def _added(total: Any, matrix: Any, sign: int) -> Any:
    if sign > 0:
        total += matrix
    else:
        total -= matrix
    return total


def _weight(terms: list[Term], frame: Frame) -> Any:
    """Σ coefficient · x(i) · y(j); a number where there are no vectors."""
    by_left: dict[tuple[int, ...], Any] = defaultdict(int)
    for term in terms:
        by_left[term.at_i] += term.coefficient * (product_of(term.at_j, frame) if term.at_j else 1)
    return frame.outer([(product_of(at_i, frame) if at_i else 1, right) for at_i, right in by_left.items()])
