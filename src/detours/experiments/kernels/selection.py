"""Nested selection: rounds, k and C chosen inside the training part of each fold, and the fold tested once.

The protocol of the paper's kernels: stratified 10-fold cross-validation; in each fold one stratified 90/10 hold-out of
the training part decides, the machine is fitted again on the whole training part, and only then sees the test part.
Of equally good choices the one with the fewest rounds is taken, then the smallest C, then the first candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.errors import InputError
from detours.experiments.kernels.svm import Fits, Gram, Machines, fit

FOLDS = 10
HELD_OUT = 0.1
COSTS = tuple(10.0**power for power in range(-7, 6, 2))
"""C times the number of graphs in the training part."""

Ladder = Sequence[Gram]
"""The Gram matrices of one kernel for 0, 1, 2, … rounds."""
Fitter = Callable[[Gram, NDArray[np.int64], NDArray[Any], Sequence[float], Sequence[Machines]], Fits]


class Fold(NamedTuple):
    """What was chosen in one fold, and how the test part came out."""

    right: int
    tested: int
    candidate: int
    rounds: int
    cost: float
    fits: int
    unsolved: int


def cross_validate(
    y: NDArray[np.int64],
    ladders: Sequence[Ladder],
    seed: int,
    *,
    hold_outs: int = 1,
    n_jobs: int = 1,
    fitter: Fitter = fit,
) -> list[Fold]:
    """One stratified 10-fold cross-validation with nested selection; folds run in threads (or by joblib's backend)."""
    from joblib import Parallel, delayed
    from sklearn.model_selection import StratifiedKFold

    if np.unique(y, return_counts=True)[1].min() < FOLDS:
        raise InputError(f"{FOLDS} folds need at least {FOLDS} graphs of each class; take a larger data set.")
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y)
    folds: list[Fold] = Parallel(n_jobs, prefer="threads")(
        delayed(one_fold)(y, ladders, train, test, FOLDS * seed + number, hold_outs, fitter)
        for number, (train, test) in enumerate(splits)
    )
    return folds


def one_fold(
    y: NDArray[np.int64],
    ladders: Sequence[Ladder],
    train: NDArray[Any],
    test: NDArray[Any],
    seed: int,
    hold_outs: int = 1,
    fitter: Fitter = fit,
) -> Fold:
    """Choose inside `train`, fit on `train`, count what is right in `test`."""
    from sklearn.model_selection import StratifiedShuffleSplit

    costs = [cost / len(train) for cost in COSTS]
    right = np.zeros((len(ladders), max(map(len, ladders)), len(costs)), np.int64)
    fits = unsolved = 0
    halves = StratifiedShuffleSplit(hold_outs, test_size=HELD_OUT, random_state=seed).split(train, y[train])
    for inner, held in ((train[inner], train[held]) for inner, held in halves):
        for candidate, ladder in enumerate(ladders):
            starts: Sequence[Machines] = ()
            for rounds, gram in enumerate(ladder):
                found = fitter(gram, y, inner, costs, starts)
                right[candidate, rounds] += (found.predicted[:, held] == y[held]).sum(axis=1)
                starts = found.machines
                fits, unsolved = fits + found.fits, unsolved + found.unsolved
    # Rounds first, C second, candidate last: argmax takes the first of equals in that order.
    order = right.transpose(1, 2, 0)
    best_rounds, best_cost, best = (int(at) for at in np.unravel_index(order.argmax(), order.shape))
    final = fitter(ladders[best][best_rounds], y, train, costs[: best_cost + 1], ())
    hits = int((final.predicted[-1, test] == y[test]).sum())
    return Fold(hits, len(test), best, best_rounds, COSTS[best_cost], fits + final.fits, unsolved + final.unsolved)
