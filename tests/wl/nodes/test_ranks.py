"""Numbering of integer rows against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.wl.nodes.ranks import rank_vectors


@given(st.integers(0, 4), st.data())
def test_ranks_of_short_tables(width: int, data: st.DataObject) -> None:
    entry = st.integers(*data.draw(st.sampled_from([(-2, 2), (0, 3), (0, 2**63 - 1)])))
    rows = data.draw(st.lists(st.lists(entry, min_size=width, max_size=width), max_size=40))
    table = np.array(rows, np.int64).reshape(len(rows), width)
    rank, distinct = rank_vectors(table)
    assert distinct.tolist() == sorted(map(list, set(map(tuple, rows))))
    assert np.array_equal(distinct[rank], table)


@pytest.mark.parametrize("order", ["random", "ascending", "descending", "saw", "equal"])
@pytest.mark.parametrize("distinct_entries", [3, 5000])
def test_ranks_of_long_tables(order: str, distinct_entries: int) -> None:
    table = np.random.default_rng(0).integers(0, distinct_entries, (20_000, 3)) - 2**62
    by_row = np.lexsort(table.T[::-1])
    if order == "ascending":
        table = table[by_row]
    elif order == "descending":
        table = table[by_row[::-1]]
    elif order == "saw":
        table = table[by_row][np.arange(20_000) % 500 * 40 + np.arange(20_000) // 500]
    elif order == "equal":
        table = np.repeat(table[:1], 20_000, axis=0)
    rank, distinct = rank_vectors(table)
    right, inverse = np.unique(table, axis=0, return_inverse=True)
    assert np.array_equal(distinct, right)
    assert np.array_equal(rank, inverse.ravel())
