"""Which steps of a closed form are exact in float64: bounds from the largest degrees alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

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

EXACT = 2**53
"""Below this, every integer is a float64."""


class Bound(NamedTuple):
    """No entry, sum of a row or sum of a column is larger than this, signs left out; all are at least 1.

    As absolute values are added up, the bounds hold for every partial sum and product on the way, in any order.
    """

    entry: int
    row: int
    column: int


@lru_cache(maxsize=1024)
def words(contraction: Contraction, out_degree: int, in_degree: int) -> tuple[type, ...]:
    """Per step float64 where its bound proves that exact, int64 otherwise and for all that depends on it."""
    chosen: list[type] = []
    for step, bound in zip(contraction.steps, bounds(contraction, out_degree, in_degree), strict=True):
        exact = bound.entry < EXACT and all(chosen[source] is np.float64 for source in sources(step))
        chosen.append(np.float64 if exact else np.int64)
    return tuple(chosen)


def bounds(contraction: Contraction, out_degree: int, in_degree: int) -> list[Bound]:
    """Bounds of all steps on graphs whose degrees are at most these; of a vector only the entry counts.

    >>> from detours.counting.contraction import contraction
    >>> bounds(contraction(2, directed=False), 10, 10)[-1]
    Bound(entry=10, row=100, column=100)
    """
    known: list[Bound] = []
    for step in contraction.steps:
        known.append(_bound(step, known, max(1, out_degree), max(1, in_degree)))
    return known


def _bound(step: Step, known: Sequence[Bound], out_degree: int, in_degree: int) -> Bound:
    match step:
        case Tied(tie):
            ways = {"f": (out_degree, in_degree), "b": (in_degree, out_degree)}
            return Bound(1, *ways.get(tie, (min(out_degree, in_degree),) * 2))
        case Transposed(source):
            entry, row, column = known[source]
            return Bound(entry, column, row)
        case Product(left, right):
            a, b = known[left], known[right]
            return Bound(min(a.row * b.entry, a.entry * b.column), a.row * b.row, a.column * b.column)
        case Clique():
            iu, iv, uv, uj, vj = (known[number] for number in sources(step))
            # i, or j, fixes the choices of u; u those of v; what is left is at most its entry, or its row or column
            entry = min(iu.row * uj.entry, iu.entry * uj.column) * uv.row * iv.entry * vj.entry
            row = iu.row * uv.row * iv.entry * min(uj.row * vj.entry, uj.entry * vj.row)
            column = uj.column * uv.row * vj.entry * min(iu.column * iv.entry, iu.entry * iv.column)
            return Bound(entry, row, column)
        case Combination(terms):
            each = [_term_bound(term, known) for term in terms]
            return Bound(*(sum(bound[side] for bound in each) for side in range(3)))
        case Gathered(matrix, weights):
            entry = known[matrix].row * prod(known[w].entry for w in weights)
            return Bound(entry, entry, entry)


def _term_bound(term: Term, known: Sequence[Bound]) -> Bound:
    entry = prod(known[f].entry for f in term.factors)
    row = min(known[f].row * (entry // known[f].entry) for f in term.factors)
    column = min(known[f].column * (entry // known[f].entry) for f in term.factors)
    scale = abs(term.coefficient) * prod(known[v].entry for v in (*term.at_i, *term.at_j))
    return Bound(scale * entry, scale * row, scale * column)
