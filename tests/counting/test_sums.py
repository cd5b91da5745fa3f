"""Sums of counts: exact up to 2^63 - 1, refused beyond, and Python integers where totals may be larger."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.counting import sums

LARGEST = 2**63 - 1
COUNTS = st.one_of(st.integers(0, 100), st.integers(2**61, LARGEST))


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(COUNTS, min_size=width, max_size=width), max_size=6)))
def test_sums_equal_those_of_python(rows: list[list[int]]) -> None:
    values = np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if rows else 3)
    assert sums.sum_columns(values) == [sum(column) for column in values.T.tolist()]
    expected = [sum(row) for row in rows]
    if max(expected, default=0) > LARGEST:
        with pytest.raises(OverflowError, match=r"^too many$"):
            sums.sum_rows(values, "too many")
    else:
        assert sums.sum_rows(values, "too many").tolist() == expected


@given(st.lists(st.lists(COUNTS, max_size=4), max_size=6))
def test_sums_of_groups_equal_those_of_python(groups: list[list[int]]) -> None:
    values = np.array([value for group in groups for value in group], np.int64)
    indptr = np.cumsum([0, *map(len, groups)])
    expected = [sum(group) for group in groups]
    if max(expected, default=0) > LARGEST:
        with pytest.raises(OverflowError, match=r"^too many$"):
            sums.sum_groups(values, indptr, "too many")
    else:
        assert sums.sum_groups(values, indptr, "too many").tolist() == expected


@pytest.mark.parametrize("parts", [[LARGEST, 1], [1, LARGEST], [2**62, 2**62], [LARGEST - 2**32 + 1, 2**32 - 1, 1]])
def test_a_sum_of_exactly_the_limit_is_refused_and_one_less_is_exact(parts: list[int]) -> None:
    values, indptr = np.array([parts]), np.array([0, len(parts)])
    assert sums.sum_columns(values.T) == [LARGEST + 1]
    with pytest.raises(OverflowError, match=r"^too many$"):
        sums.sum_rows(values, "too many")
    with pytest.raises(OverflowError, match=r"^too many$"):
        sums.sum_groups(values[0], indptr, "too many")
    values[0, np.argmax(parts)] -= 1
    assert sums.sum_rows(values, "too many").tolist() == [LARGEST]
    assert sums.sum_groups(values[0], indptr, "too many").tolist() == [LARGEST]


def test_columns_are_added_up_some_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "ROWS", 3)
    values = np.arange(20).reshape(10, 2)
    assert sums.sum_columns(values) == values.sum(axis=0).tolist()


@given(st.lists(st.lists(st.integers(0, 100), max_size=9), max_size=9))
def test_groups_are_added_up_some_at_a_time(groups: list[list[int]]) -> None:
    values = np.array([value for group in groups for value in group], np.int64)
    indptr = np.cumsum([0, *map(len, groups)])
    found: list[int] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sums, "ROWS", 3)
        for first, last in sums.ranges_of_groups(indptr):
            assert first == len(found) < last and (last == first + 1 or indptr[last] - indptr[first] <= 3)
            found += sums.sum_groups(values[slice(*indptr[[first, last]])], indptr[first : last + 1], "").tolist()
    assert found == [sum(group) for group in groups]
