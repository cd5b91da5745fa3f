"""The Wilcoxon signed-rank test and its confidence interval, for the tables of networks and of kernels."""

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


def signed_rank_interval(differences: Sequence[float], significance: float = 0.05) -> tuple[float, float] | None:
    """Return the confidence interval of a typical difference that belongs to the test; None if it is unbounded.

    These are the values that the test does not reject: subtracted from all differences, they leave a p of at least
    `significance`. p only changes at means of two differences (Walsh averages), so one value between each two decides.

    >>> signed_rank_interval([1, 2, 3, 4, 5, 6])
    (1.0, 6.0)
    >>> signed_rank_interval([1, 2, 3])  # three differences cannot reject anything
    """
    values = np.array(differences, float)
    if not len(values) or 2.0 ** (1 - len(values)) >= significance:
        return None
    averages = np.unique(((values[:, None] + values) / 2).round(9))
    middles = (averages[1:] + averages[:-1]) / 2
    kept = [at for at, value in enumerate(middles) if (signed_rank_p(values - value) or 0.0) >= significance]
    if not kept:  # most differences are equal, and only their value is left
        return (float(np.median(values)),) * 2
    return float(averages[kept[0]]), float(averages[kept[-1] + 1])
