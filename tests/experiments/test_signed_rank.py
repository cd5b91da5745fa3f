"""The Wilcoxon signed-rank test against its definition and SciPy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from detours.experiments.signed_rank import signed_rank_interval, signed_rank_p
from tests.oracles.signed_rank import by_all_signs


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=8))
def test_p_is_exact_over_all_signs(differences: list[int]) -> None:
    expected = float(by_all_signs(differences)) if any(differences) else None
    assert signed_rank_p(differences) == expected


def test_p_equals_scipy_without_ties() -> None:
    differences = [0.3, -1.2, 2.5, 0.7, -0.1, 3.1, 1.9, -2.2, 0.9, 1.4]
    assert signed_rank_p(differences) == pytest.approx(wilcoxon(differences).pvalue)


def test_nothing_to_compare() -> None:
    assert signed_rank_p([]) is signed_rank_p([0.5]) is signed_rank_p([0, 0]) is None


def test_p_of_more_sign_vectors_than_fit_in_a_float() -> None:
    assert signed_rank_p([*range(1, 1031)]) == pytest.approx(0)


def test_the_interval_of_ten_differences_is_tabulated() -> None:
    # ten differences are significant at 5 % if the smaller sum of ranks is at most 8, as tables of the test say
    differences = [0.3, -1.2, 2.5, 0.7, -0.1, 3.1, 1.9, -2.2, 0.9, 1.4]
    averages = sorted((one + other) / 2 for at, one in enumerate(differences) for other in differences[at:])
    assert signed_rank_interval(differences) == pytest.approx((averages[8], averages[-9]))


@given(st.lists(st.integers(-4, 4), min_size=6, max_size=8), st.sampled_from([0.05, 0.1]))
def test_the_interval_holds_what_is_not_rejected(differences: list[int], significance: float) -> None:
    interval = signed_rank_interval(differences, significance)
    assert interval is not None
    for at in range(-40, 41):
        value = at / 8 + 1 / 16  # p changes at halves only
        p = by_all_signs([each - value for each in differences])
        assert (interval[0] < value < interval[1]) == (p >= significance), value


def test_no_interval_of_few_differences() -> None:
    assert signed_rank_interval([]) is signed_rank_interval([1, 2, 3, 4, 5]) is None


def test_the_interval_of_equal_differences_is_their_value() -> None:
    assert signed_rank_interval([2.5] * 10) == (2.5, 2.5)
