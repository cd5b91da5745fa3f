"""How much a test tells apart, from fingerprints: graphs are grouped, without a loop over pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detours.arrays import Int64


def pairs_told_apart(fingerprints: Int64, pairs: Sequence[tuple[int, int]]) -> int:
    """Count the given pairs with different fingerprints.

    >>> pairs_told_apart(np.array([0, 0, 1, 2]), [(0, 1), (2, 3)])
    1
    """
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    return int(np.count_nonzero(fingerprints[first] != fingerprints[second]))


def graphs_told_apart(fingerprints: Int64, y: Int64) -> int:
    """Count the graphs that share their fingerprint with no graph of another class.

    >>> graphs_told_apart(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 1, 1]))
    2
    """
    counts = _by_fingerprint_and_class(fingerprints, y)
    of_one_class = np.count_nonzero(counts, axis=1) == 1
    return int(counts[of_one_class].sum())


def cross_pairs_confused(fingerprints: Int64, y: Int64) -> int:
    """Count the pairs of graphs of different classes that share their fingerprint.

    >>> cross_pairs_confused(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 1, 1]))
    2
    """
    counts = _by_fingerprint_and_class(fingerprints, y)
    return int((counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)).sum() // 2)


def _by_fingerprint_and_class(fingerprints: Int64, y: Int64) -> Int64:
    rows, row = np.unique(fingerprints, return_inverse=True)
    columns, column = np.unique(y, return_inverse=True)
    counts = np.zeros((len(rows), len(columns)), np.int64)
    np.add.at(counts, (row, column), 1)
    return counts
