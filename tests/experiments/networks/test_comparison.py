"""Tests of significance."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from detours.experiments.networks.comparison import signed_rank_p


def by_all_signs(differences: list[int]) -> Fraction:
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


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=8))
def test_p_is_that_of_all_signs(differences: list[int]) -> None:
    expected = float(by_all_signs(differences)) if any(differences) else None
    assert signed_rank_p(differences) == expected


def test_p_is_that_of_scipy_where_there_are_no_ties() -> None:
    differences = [0.3, -1.2, 2.5, 0.7, -0.1, 3.1, 1.9, -2.2, 0.9, 1.4]
    assert signed_rank_p(differences) == pytest.approx(wilcoxon(differences).pvalue)


def test_nothing_to_compare() -> None:
    assert signed_rank_p([]) is signed_rank_p([0.5]) is signed_rank_p([0, 0]) is None


def test_p_of_more_differences_than_a_float_can_count_signs_of() -> None:
    assert signed_rank_p([*range(1, 1031)]) == pytest.approx(0)
