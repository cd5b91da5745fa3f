"""Wilcoxon's signed-rank test by its definition: all signs are gone through."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product


def by_all_signs(differences: Sequence[int]) -> Fraction:
    """The definition: how likely signs are at least as far on either side, twice the smaller of the two."""
    sizes = sorted(abs(each) for each in differences if each)
    places = {size: [at for at, each in enumerate(sizes, 1) if each == size] for size in sizes}
    ranks = [Fraction(sum(places[abs(each)]), len(places[abs(each)])) for each in differences if each]
    positive = sum(rank for rank, each in zip(ranks, filter(None, differences), strict=True) if each > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in product((0, 1), repeat=len(ranks))
    ]
    tails = sum(each <= positive for each in sums), sum(each >= positive for each in sums)
    return min(Fraction(1), Fraction(2 * min(tails), len(sums)))
