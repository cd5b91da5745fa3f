"""Support vector machines on a Gram matrix for a whole range of C, the problem of scikit-learn's precomputed SVC.

Choosing C, rounds and k in nested cross-validation takes hundreds of thousands of fits on parts of the same few
matrices. Here a fit takes no copy of the matrix, starts from the solution for the C before it or the matrix before it,
and scores all graphs as a by-product.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float64
from detours.experiments.kernels.svm_numba import Real, ascend

TOLERANCE = 1e-3
"""Of the optimality conditions, as in scikit-learn and LIBSVM."""
MOVES = 20_000
"""After so many moves a fit ends, solved or not."""


class Gram(NamedTuple):
    """A Gram matrix as the solver takes it: divided by `scale`, a power of two near its mean diagonal."""

    values: Real
    scale: float

    @classmethod
    def of(cls, gram: NDArray[Any]) -> Gram:
        """In single precision where that holds every entry exactly, else in double.

        Rounding would make slightly different graphs contradict each other, which takes a solver very long to settle.

        >>> Gram.of(np.array([[6, 2], [2, 10]])).values.tolist()
        [[0.75, 0.25], [0.25, 1.25]]
        """
        mean = float(np.diagonal(gram).mean())
        scale = 2.0 ** round(np.log2(mean)) if mean > 0 else 1.0
        # In stripes, so that a large matrix needs little more than its copy.
        single = np.empty(gram.shape, np.float32)
        for begin in range(0, len(gram), 256):
            stripe = gram[begin : begin + 256] / scale
            single[begin : begin + 256] = stripe
            if not np.array_equal(single[begin : begin + 256], stripe):
                return cls(np.ascontiguousarray(gram / scale, np.float64), scale)
        return cls(single, scale)


class Machines(NamedTuple):
    """Machines of two classes for several C."""

    coefficient: Float64
    """[C, graphs]: alpha · y; 0 outside the training part."""
    score: Float64
    """[C, graphs]: the decision value of every graph, in the training part or not."""
    bias: Float64
    moves: NDArray[np.int64]
    solved: NDArray[np.bool_]


class Fits(NamedTuple):
    """Machines for several C: the predicted class of every graph, and what the fits took."""

    predicted: NDArray[np.int64]
    """int64 [C, graphs]."""
    machines: list[Machines]
    """Pair of classes by pair of classes."""
    fits: int
    unsolved: int
    """How many machines ended at the limit of moves."""


def fit(
    gram: Gram,
    y: NDArray[np.int64],
    train: NDArray[Any],
    costs: Sequence[float],
    starts: Sequence[Machines] = (),
) -> Fits:
    """Fit the graphs `train` for ascending C, one class against one as SVC does, and predict the class of all graphs.

    `starts` are the machines of the same graphs and C on a similar matrix: where the search begins, not where it ends.
    """
    classes = np.unique(y[train])
    inside = np.zeros(len(y), bool)
    inside[train] = True
    votes = np.zeros((len(costs), len(classes), len(y)), np.int8)
    machines = []
    for number, (first, second) in enumerate(combinations(range(len(classes)), 2)):
        sign = ((y == classes[first]).astype(np.float64) - (y == classes[second])) * inside
        machine = two_classes(gram, sign, costs, starts[number] if starts else None)
        machines.append(machine)
        wins = machine.score > 0
        votes[:, first] += wins
        votes[:, second] += ~wins
    unsolved = sum(int(np.count_nonzero(~machine.solved)) for machine in machines)
    return Fits(classes[votes.argmax(axis=1)], machines, len(costs) * len(machines), unsolved)


def fit_by_sklearn(
    gram: Gram, y: NDArray[np.int64], train: NDArray[Any], costs: Sequence[float], starts: Sequence[Machines] = ()
) -> Fits:
    """The same by scikit-learn's SVC, to check `fit` with; slow on thousands of graphs."""
    from sklearn.svm import SVC

    predicted = np.empty((len(costs), len(y)), np.int64)
    columns = gram.values[:, train].astype(np.float64) * gram.scale
    for at, cost in enumerate(costs):
        predicted[at] = SVC(C=cost, kernel="precomputed").fit(columns[train], y[train]).predict(columns)
    return Fits(predicted, [], len(costs), 0)


def two_classes(gram: Gram, sign: Float64, costs: Sequence[float], starts: Machines | None = None) -> Machines:
    """The machines for ascending C of the graphs with sign 1 against those with -1; a sign of 0: not for training."""
    bounds = np.asarray(costs, np.float64) * gram.scale
    begin = np.empty((0, len(sign))) if starts is None else starts.coefficient * gram.scale
    coefficient, error, moves, excess = ascend(gram.values, sign, bounds, begin, TOLERANCE, MOVES)
    bias = _biases(sign, bounds, coefficient, error)
    return Machines(coefficient / gram.scale, sign - error + bias[:, None], bias, moves, excess < TOLERANCE)


def _biases(sign: Float64, bounds: Float64, coefficient: Float64, error: Float64) -> Float64:
    """The mean error of the free graphs; without any, all biases in a range are optimal: its middle, as in LIBSVM."""
    box = bounds[:, None]
    grows = coefficient < np.maximum(sign, 0.0) * box
    shrinks = coefficient > np.minimum(sign, 0.0) * box
    free = grows & shrinks
    number = np.count_nonzero(free, axis=1)
    mean = np.where(free, error, 0.0).sum(axis=1) / np.maximum(number, 1)
    highest = np.where(grows, error, -np.inf).max(axis=1)
    lowest = np.where(shrinks, error, np.inf).min(axis=1)
    biases: Float64 = np.where(number > 0, mean, (highest + lowest) / 2)
    return biases
