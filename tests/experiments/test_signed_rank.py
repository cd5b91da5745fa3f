"""The Wilcoxon signed-rank test against its definition and SciPy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from detours.experiments.signed_rank import signed_rank_p
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
