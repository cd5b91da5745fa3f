"""Counts by grouping, against a loop over all pairs."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from detours.experiments.expressiveness import separation

fingerprints = st.lists(st.integers(0, 4), min_size=1, max_size=12).map(np.array)


@given(fingerprints, st.data())
def test_classes(prints: np.ndarray, data: st.DataObject) -> None:
    y = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=len(prints), max_size=len(prints))))
    everyone = range(len(prints))
    alone = [i for i in everyone if all(prints[i] != prints[j] for j in everyone if y[i] != y[j])]
    assert separation.graphs_told_apart(prints, y) == len(alone)
    confused = [(i, j) for i, j in combinations(everyone, 2) if y[i] != y[j] and prints[i] == prints[j]]
    assert separation.cross_pairs_confused(prints, y) == len(confused)


@given(fingerprints)
def test_pairs(prints: np.ndarray) -> None:
    every = list(combinations(range(len(prints)), 2))
    expected = sum(prints[i] != prints[j] for i, j in every)
    assert separation.pairs_told_apart(prints, every) == expected
