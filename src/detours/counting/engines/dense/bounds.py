"""Which steps of a closed form are exact in float64: bounds from the largest degrees, or from the results of steps.

The bound of a step follows from those of its sources. Let r, c, e be the largest row sum, column sum and entry of a
matrix, in absolute value:

* a product X Y has e <= min(r_X e_Y, e_X c_Y), r <= r_X r_Y and c <= c_X c_Y;
* a term of a combination has entries at most the product of those of its factors, and row sums at most those of one
  factor times the entries of the others; terms are added up;
* a 4-clique sum is bounded by the choices of u from i, or from j, and of v from u.

Bounds from degrees hold for every graph with such degrees, and grow fast if there are hubs. If they do not prove a step
exact, the sources are measured, and the bound is computed from their actual values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from detours.counting.derive import matrix_steps as steps
from detours.counting.derive.matrix_steps import Contraction, Step, Term, sources

EXACT = 2**53  # below this, every integer is a float64


class Bound(NamedTuple):
    """No entry, row sum or column sum is larger than this in absolute value; all are at least 1.

    As absolute values are added up, the bounds also hold for every partial sum and product, in any order.
    """

    entry: int
    row: int
    column: int


class Proof:
    """Which steps of a run are exact in float64, determined step by step."""

    def __init__(self, degrees: tuple[int, int], measure: Callable[[int], Iterable[float]]) -> None:
        """``degrees``: the largest out- and in-degree; ``measure`` returns the entry, row and column of a step."""
        self.degrees, self.measure = (max(1, degrees[0]), max(1, degrees[1])), measure
        self.known: list[Bound] = []
        self.exact: list[bool] = []
        self.measured: set[int] = set()

    def add(self, step: Step) -> bool:
        """Whether the next step is exact in float64, given the types of its sources."""
        bound = bound_of(step, self.known, *self.degrees)
        sources_exact = all(self.exact[source] for source in sources(step))
        if sources_exact and bound.entry >= EXACT:
            for source in sources(step):
                self._tighten(source)
            bound = bound_of(step, self.known, *self.degrees)
        self.known.append(bound)
        self.exact.append(sources_exact and bound.entry < EXACT)
        return self.exact[-1]

    def _tighten(self, index: int) -> None:
        if index not in self.measured:
            self.measured.add(index)
            # sums above 2^53 are rounded, but by far less than this
            values = (int(value * (1 + 1e-9)) + 1 for value in self.measure(index))
            self.known[index] = Bound(*map(min, values, self.known[index]))


@lru_cache(maxsize=1024)
def step_dtypes(contraction: Contraction, out_degree: int, in_degree: int) -> tuple[type, ...]:
    """float64 for each step that degrees alone prove exact, int64 for the others and all that depend on them."""
    dtypes: list[type] = []
    for step, bound in zip(contraction.steps, bounds(contraction, out_degree, in_degree), strict=True):
        exact = bound.entry < EXACT and all(dtypes[source] is np.float64 for source in sources(step))
        dtypes.append(np.float64 if exact else np.int64)
    return tuple(dtypes)


def bounds(contraction: Contraction, out_degree: int, in_degree: int) -> list[Bound]:
    """Bounds of all steps on graphs with degrees up to these; for vectors only the entry is meaningful.

    >>> from detours.counting.derive.matrix_program import contraction
    >>> bounds(contraction(2, directed=False), 10, 10)[-1]
    Bound(entry=10, row=100, column=100)
    """
    known: list[Bound] = []
    for step in contraction.steps:
        known.append(bound_of(step, known, max(1, out_degree), max(1, in_degree)))
    return known


def bound_of(step: Step, known: Sequence[Bound], out_degree: int, in_degree: int) -> Bound:
    """The bound of a step, given those of the earlier ones; the smaller they are, the smaller it is."""
    match step:
        case steps.Tied(tie):
            sums = {"f": (out_degree, in_degree), "b": (in_degree, out_degree)}
            return Bound(1, *sums.get(tie, (min(out_degree, in_degree),) * 2))
        case steps.Transposed(source):
            entry, row, column = known[source]
            return Bound(entry, column, row)
        case steps.Product(left, right):
            a, b = known[left], known[right]
            return Bound(min(a.row * b.entry, a.entry * b.column), a.row * b.row, a.column * b.column)
        case steps.Clique():
            iu, iv, uv, uj, vj = (known[index] for index in sources(step))
            # i or j bounds the choices of u, and u those of v; each other factor is at most its entry, row or column
            entry = min(iu.row * uj.entry, iu.entry * uj.column) * uv.row * iv.entry * vj.entry
            row = iu.row * uv.row * iv.entry * min(uj.row * vj.entry, uj.entry * vj.row)
            column = uj.column * uv.row * vj.entry * min(iu.column * iv.entry, iu.entry * iv.column)
            return Bound(entry, row, column)
        case steps.Combination(terms):
            term_bounds = [_term_bound(term, known) for term in terms]
            return Bound(*(sum(bound[side] for bound in term_bounds) for side in range(3)))
        case steps.Gathered(matrix, weights):
            entry = known[matrix].row * prod(known[w].entry for w in weights)
            return Bound(entry, entry, entry)


def _term_bound(term: Term, known: Sequence[Bound]) -> Bound:
    entry = prod(known[f].entry for f in term.factors)
    row = min(known[f].row * (entry // known[f].entry) for f in term.factors)
    column = min(known[f].column * (entry // known[f].entry) for f in term.factors)
    scale = abs(term.coefficient) * prod(known[v].entry for v in (*term.at_i, *term.at_j))
    return Bound(scale * entry, scale * row, scale * column)
