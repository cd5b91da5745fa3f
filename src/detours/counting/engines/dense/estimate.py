"""Expected time and memory of closed forms with NumPy; `estimate_torch.py` has those on a device of torch's.

The prices are nanoseconds of one core. What comes out is right within a small factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.counting.derive.matrix_steps import Clique, Combination, Contraction, Product
from detours.counting.engines.dense.bounds import words
from detours.counting.engines.dense.evaluate import CLIQUE_THREADS, FILLED, SCATTERED

TERM = 10_000  # of a term of a combination, however small,
TERM_ON_ARC = 6  # of an arc of a term that is a list,
TERM_AT_ENTRY = 2.5  # of an entry of one that is a matrix,
TERM_BESIDE_LISTS = 5.5  # and of such an entry where other steps are lists

BLAS_MATRIX = 1_000  # of a product of two matrices, however small,
BLAS_FLOAT = 0.09  # of a multiplication in it,
BLAS_INTEGER = 0.5  # and of one in integers
SPARSE_ENTRY = 3  # of an entry of a product that skips zeros,
SPARSE_LEFT = 0.4  # of a multiplication in it if the left factor has the zeros,
SPARSE_RIGHT = 1.0  # and if the right one has

CLIQUE_ENTRY = 2  # of an entry of a sum over cliques,
CLIQUE_TRIPLE = 0.4  # and of three neighbours of a node, if two of them are neighbours:
JOINED = 0.25  # they are so at least this often, more often than chance would have it

AT_WORK = 4  # matrices, besides those kept, that a step under way may fill


class Size(NamedTuple):
    """What the time and memory of an evaluation depend on."""

    graphs: int
    nodes: int  # nodes of each graph
    arcs: int  # arcs of all graphs together
    degree: int  # the largest degree
    cubes: float  # the sum of the third powers of all degrees

    @property
    def entries(self) -> int:
        return self.graphs * self.nodes**2

    @property
    def density(self) -> float:
        return self.arcs / max(1, self.entries)


def expected_seconds(contraction: Contraction, size: Size, n_jobs: int = 1) -> float:
    """Return about how long an evaluation takes that so many threads share."""
    threads = (min(n_jobs, CLIQUE_THREADS) if isinstance(step, Clique) else n_jobs for step in contraction.steps)
    return sum(each / many for each, many in zip(seconds_of_steps(contraction, size), threads, strict=True))


def seconds_of_steps(contraction: Contraction, size: Size) -> list[float]:
    """Return about how long each step of an evaluation takes."""
    found = []
    on_arcs, density = contraction.on_arcs, size.density
    chosen = words(contraction, size.degree, size.degree)
    for number, (step, word) in enumerate(zip(contraction.steps, chosen, strict=True)):
        nanoseconds = 0.0
        if isinstance(step, Combination):
            lists = _lists(step, contraction, number) if density < SCATTERED else 0
            entry = TERM_BESIDE_LISTS if density < SCATTERED else TERM_AT_ENTRY
            matrices = len(step.terms) - lists
            nanoseconds = TERM * len(step.terms) + TERM_ON_ARC * lists * size.arcs + entry * matrices * size.entries
        elif isinstance(step, Product):
            left, right = on_arcs[step.left], on_arcs[step.right]
            if (left or right) and density < FILLED:
                each = SPARSE_LEFT if left else SPARSE_RIGHT
                nanoseconds = SPARSE_ENTRY * size.entries + each * size.nodes * size.arcs
            else:
                each, filled = BLAS_FLOAT, size.entries
                if word is np.int64:
                    each, filled = BLAS_INTEGER, size.arcs if left else size.entries
                nanoseconds = BLAS_MATRIX * size.graphs + each * size.nodes * filled
        elif isinstance(step, Clique):
            nanoseconds = CLIQUE_ENTRY * size.entries + CLIQUE_TRIPLE * size.cubes * max(density, JOINED)
        found.append(1e-9 * nanoseconds)
    return found


def _lists(step: Combination, contraction: Contraction, number: int) -> int:
    """Return how many terms of a step are lists of arcs."""
    if not contraction.whole[number]:
        return len(step.terms)
    return sum(any(contraction.on_arcs[factor] for factor in term.factors) for term in step.terms)


def expected_bytes(contraction: Contraction, size: Size, only_tied: bool = True, n_jobs: int = 1) -> int:
    """Return what an evaluation keeps at a time, and what the step under way fills, shared by so many threads."""
    kept = contraction.peak_full_matrices if only_tied and size.density < SCATTERED else contraction.peak_matrices
    if contraction.number_of(Clique):
        kept += 2 * (min(n_jobs, CLIQUE_THREADS) - 1)
    return 8 * size.entries * (kept + AT_WORK)
