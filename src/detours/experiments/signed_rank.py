"""The Wilcoxon signed-rank test, for the tables of networks and of kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def signed_rank_p(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of a Wilcoxon signed-rank test; None if nothing differs, or for a single difference.

    Zeros are dropped. The test is exact, also with ties: under the null hypothesis all signs are equally likely.
    SciPy's takes a quarter of a second with ties, and how it handles them depends on its version.

    >>> signed_rank_p([1, 2, 2, 0])
    0.25
    """
    from scipy.stats import rankdata

    nonzero = np.array([each for each in differences if each])
    if len(differences) < 2 or not len(nonzero):
        return None
    ranks = (2 * rankdata(np.abs(nonzero))).astype(np.int64)  # doubled, as the ranks of ties may be half-integers
    probabilities = np.ones(1)  # of each possible sum of the ranks of positive differences
    for rank in ranks:
        padding = np.zeros(rank)
        probabilities = (np.append(probabilities, padding) + np.append(padding, probabilities)) / 2
    positive = ranks[nonzero > 0].sum()
    return min(1.0, 2 * float(min(probabilities[: positive + 1].sum(), probabilities[positive:].sum())))
