"""Wilcoxon's signed-rank test, which the tables of networks and of kernels ask."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def signed_rank_p(differences: Sequence[float]) -> float | None:
    """Return the two-sided p of Wilcoxon's signed-rank test; None if nothing differs, or there is one difference only.

    Zeros are left out. It is exact, with ties too: if nothing but chance differs, all signs are equally likely. SciPy's
    takes a quarter of a second for ties, and what it does with them depends on its version.

    >>> signed_rank_p([1, 2, 2, 0])
    0.25
    """
    from scipy.stats import rankdata

    changed = np.array([each for each in differences if each])
    if len(differences) < 2 or not len(changed):
        return None
    ranks = (2 * rankdata(np.abs(changed))).astype(np.int64)  # twice the ranks: those of ties may be halves
    chances = np.ones(1)  # that the ranks of positive differences have each sum
    for rank in ranks:
        more = np.zeros(rank)
        chances = (np.append(chances, more) + np.append(more, chances)) / 2
    positive = ranks[changed > 0].sum()
    return min(1.0, 2 * float(min(chances[: positive + 1].sum(), chances[positive:].sum())))
