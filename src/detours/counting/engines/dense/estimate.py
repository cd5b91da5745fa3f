"""Expected time and memory of closed forms with NumPy; see `estimate_torch.py` for torch devices.

Prices are in nanoseconds of one core. Estimates are correct within a small factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.counting.derive.matrix_steps import Clique, Combination, Contraction, Product
from detours.counting.engines.dense.bounds import step_dtypes
from detours.counting.engines.dense.evaluate import BLAS_DENSITY, CLIQUE_THREADS, MATRIX_DENSITY

TERM = 10_000  # per term of a combination
TERM_ON_ARC = 6  # per arc of a term that is a list
TERM_AT_ENTRY = 2.5  # per entry of a term that is a matrix
TERM_BESIDE_LISTS = 5.5  # the same if other steps are lists

BLAS_MATRIX = 1_000  # per product of two matrices
BLAS_FLOAT = 0.09  # per multiplication of floats
BLAS_INTEGER = 0.5  # per multiplication of integers
SPARSE_ENTRY = 3  # per entry of a product that skips zeros
SPARSE_LEFT = 0.4  # per multiplication if the left factor is sparse
SPARSE_RIGHT = 1.0  # per multiplication if the right factor is sparse

CLIQUE_ENTRY = 2  # per entry of a sum over cliques
CLIQUE_TRIPLE = 0.4  # per three neighbours of a node, two of which are adjacent
JOINED = 0.25  # assumed least share of adjacent neighbours, which are more frequent than by chance

AT_WORK = 4  # temporary matrices of the current step, in addition to the results kept


class Size(NamedTuple):
    """The quantities that determine the time and memory of an evaluation."""

    graphs: int
    nodes: int  # nodes of each graph
    arcs: int  # arcs of all graphs together
    degree: int  # the largest degree
    cubes: float  # sum of the cubes of all degrees

    @property
    def entries(self) -> int:
        return self.graphs * self.nodes**2

    @property
    def density(self) -> float:
        return self.arcs / max(1, self.entries)


def expected_seconds(contraction: Contraction, size: Size, n_jobs: int = 1) -> float:
    """Return the approximate time of an evaluation with ``n_jobs`` threads."""
    threads = (min(n_jobs, CLIQUE_THREADS) if isinstance(step, Clique) else n_jobs for step in contraction.steps)
    return sum(seconds / n for seconds, n in zip(seconds_of_steps(contraction, size), threads, strict=True))


def seconds_of_steps(contraction: Contraction, size: Size) -> list[float]:
    """Return the approximate time of each step of an evaluation."""
    result = []
    on_arcs, density = contraction.on_arcs, size.density
    dtypes = step_dtypes(contraction, size.degree, size.degree)
    for index, (step, dtype) in enumerate(zip(contraction.steps, dtypes, strict=True)):
        nanoseconds = 0.0
        if isinstance(step, Combination):
            lists = _lists(step, contraction, index) if density < MATRIX_DENSITY else 0
            entry = TERM_BESIDE_LISTS if density < MATRIX_DENSITY else TERM_AT_ENTRY
            matrices = len(step.terms) - lists
            nanoseconds = TERM * len(step.terms) + TERM_ON_ARC * lists * size.arcs + entry * matrices * size.entries
        elif isinstance(step, Product):
            left, right = on_arcs[step.left], on_arcs[step.right]
            if (left or right) and density < BLAS_DENSITY:
                cost = SPARSE_LEFT if left else SPARSE_RIGHT
                nanoseconds = SPARSE_ENTRY * size.entries + cost * size.nodes * size.arcs
            else:
                cost, nonzeros = BLAS_FLOAT, size.entries
                if dtype is np.int64:
                    cost, nonzeros = BLAS_INTEGER, size.arcs if left else size.entries
                nanoseconds = BLAS_MATRIX * size.graphs + cost * size.nodes * nonzeros
        elif isinstance(step, Clique):
            nanoseconds = CLIQUE_ENTRY * size.entries + CLIQUE_TRIPLE * size.cubes * max(density, JOINED)
        result.append(1e-9 * nanoseconds)
    return result


def _lists(step: Combination, contraction: Contraction, index: int) -> int:
    """Return the number of terms of a step that are lists of arcs."""
    if not contraction.whole[index]:
        return len(step.terms)
    return sum(any(contraction.on_arcs[factor] for factor in term.factors) for term in step.terms)


def expected_bytes(contraction: Contraction, size: Size, only_tied: bool = True, n_jobs: int = 1) -> int:
    """Return the peak memory: the results kept, and temporary matrices of the current step with ``n_jobs`` threads."""
    kept = contraction.peak_full_matrices if only_tied and size.density < MATRIX_DENSITY else contraction.peak_matrices
    if contraction.number_of(Clique):
        kept += 2 * (min(n_jobs, CLIQUE_THREADS) - 1)
    return 8 * size.entries * (kept + AT_WORK)
