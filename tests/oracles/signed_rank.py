"""Wilcoxon's signed-rank test from its definition: by enumerating all signs."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product


def by_all_signs(differences: Sequence[int]) -> Fraction:
    """The two-sided p-value: twice the smaller probability of a rank sum at least as extreme on either side."""
    sizes = sorted(abs(each) for each in differences if each)
    positions = {size: [rank for rank, each in enumerate(sizes, 1) if each == size] for size in sizes}
    ranks = [Fraction(sum(positions[abs(each)]), len(positions[abs(each)])) for each in differences if each]
    positive = sum(rank for rank, each in zip(ranks, filter(None, differences), strict=True) if each > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in product((0, 1), repeat=len(ranks))
    ]
    tails = sum(each <= positive for each in sums), sum(each >= positive for each in sums)
    return min(Fraction(1), Fraction(2 * min(tails), len(sums)))
