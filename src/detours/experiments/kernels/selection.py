"""Nested selection: rounds, candidate and C are chosen inside the training part of a fold; the test part is used once.

The protocol of the paper's kernels: stratified 10-fold cross-validation; in each fold one stratified 90/10 hold-out of
the training part is used for selection, the SVM is fitted again on the full training part, and then predicts the test
part. Ties are resolved by the fewest rounds, then the smallest C, then the first candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.errors import InputError
from detours.experiments.kernels.svm import fit_machine, predict_grid

FOLDS = 10
HELD_OUT = 0.1
COSTS = tuple(10.0**power for power in range(-7, 6, 2))
"""C times the number of training graphs times their mean self-product (the mean diagonal of the Gram matrix)."""
FIRST_COST = 0.1
"""The start of the grid: at so small a C, all coefficients of a class are usually at their bound, see `svm`."""

Ladder = Sequence[NDArray[Any]]
"""The Gram matrices of one kernel for 0, 1, 2, … rounds."""


class Fold(NamedTuple):
    """The selection in one fold, and the result on its test part."""

    right: int
    tested: int
    candidate: int
    rounds: int
    cost: float
    fits: int
    skipped: int
    """Grid values of C that needed no separate fit."""
    unconverged: int


def split(y: NDArray[Any], seed: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the training and test parts of one stratified cross-validation."""
    from sklearn.model_selection import StratifiedKFold

    if np.unique(y, return_counts=True)[1].min() < FOLDS:
        raise InputError(f"{FOLDS} folds need at least {FOLDS} graphs of each class; take a larger data set.")
    return list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y))


def run_fold(
    y: NDArray[Any],
    ladders: Sequence[Ladder],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    seed: int,
    hold_outs: int = 1,
) -> Fold:
    """Select inside `train`, fit on `train`, and count the correct predictions on `test`."""
    from sklearn.model_selection import StratifiedShuffleSplit

    right = np.zeros((len(ladders), max(map(len, ladders)), len(COSTS)), np.int64)
    fits = skipped = unconverged = 0
    parts = StratifiedShuffleSplit(hold_outs, test_size=HELD_OUT, random_state=seed).split(train, y[train])
    for inner, held_out in ((train[inner], train[held_out]) for inner, held_out in parts):
        for candidate, ladder in enumerate(ladders):
            start = COSTS.index(FIRST_COST)
            for rounds, gram in enumerate(ladder):
                products = _products(gram, inner, inner), _products(gram, held_out, inner)
                found = predict_grid(products[0], y[inner], products[1], _costs(gram, train), start)
                right[candidate, rounds] += (found.predicted == y[held_out]).sum(axis=1)
                start = found.largest_scaled
                fits, unconverged = fits + found.fits, unconverged + found.unconverged
                skipped += len(COSTS) - found.fits
    # Rounds first, C second, candidate last: argmax resolves ties in this order.
    order = right.transpose(1, 2, 0)
    rounds, cost, candidate = (int(at) for at in np.unravel_index(order.argmax(), order.shape))
    gram = ladders[candidate][rounds]
    machine = fit_machine(_products(gram, train, train), y[train], _costs(gram, train)[cost])
    hits = int((machine.predict(_products(gram, test, train)) == y[test]).sum())
    unconverged += machine.fit_status_ != 0
    return Fold(hits, len(test), candidate, rounds, COSTS[cost], fits + 1, skipped, unconverged)


def _costs(gram: NDArray[Any], train: NDArray[np.int64]) -> list[float]:
    """Return the grid of C, relative to the scale of the Gram matrix.

    Self-products range from 1 (normalised kernels) to 10^8 (pairs of nodes in DD). With the same C for all of them,
    LIBSVM needs hours for the largest C of a kernel that does not separate the classes.
    """
    scale = float(gram.diagonal()[train].mean()) or 1.0
    return [cost / (len(train) * scale) for cost in COSTS]


def _products(gram: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    return gram[rows].take(columns, axis=1).astype(np.float64)
