"""Support vector machines on a Gram matrix for a grid of C: scikit-learn's `SVC`, without redundant fits.

The dual problem is to maximise Σ α_i - ½ Σ α_i α_j y_i y_j K_ij over 0 ≤ α_i ≤ C with Σ α_i y_i = 0. With
g_i = Σ α_j y_j K_ij and the bias b, the solutions are the α that satisfy the optimality conditions

    y_i (g_i + b) ≥ 1 where α_i = 0,    = 1 where 0 < α_i < C,    ≤ 1 where α_i = C.

Two facts about them save most fits:

*Larger C.* If no α_i is at its bound C, the same α satisfies the conditions for every larger C, since C appears in them
only through α_i = C. The solution, and with it every prediction, stays the same.

*Smaller C, for two classes.* If every α_i of the smaller class is at its bound, s α is a solution for s C, 0 < s ≤ 1.
It is feasible. Let σ be the label of the larger class. Its graphs with α_i = 0, 0 < α_i < C and α_i = C are ordered by
σ g_i (those at zero have the largest values), and multiplying by s keeps that order: some b satisfies their
conditions. All graphs of the smaller class are at the bound, and need -σ (s g_i + b) ≤ 1. Together with the larger
class this requires s σ (g_j - g_i) ≤ 2 for graphs i of the smaller and j of the larger class with α_j > 0. This holds
for s = 1, hence for all smaller s. The bias follows from the conditions, as in LIBSVM: the mean over the graphs with
0 < α_i < C, or the middle of the interval that the conditions leave. If the classes are of equal size, every α_i is at
its bound and the bias is multiplied by s as well: predictions stay the same, also for the votes of several classes.

As for `SVC`, solutions satisfy the optimality conditions within its tolerance of 0.001.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float64

if TYPE_CHECKING:
    from sklearn.svm import SVC

CACHE_MEGABYTES = 4000
"""An upper limit: LIBSVM allocates only what it needs, 4 bytes per entry of the Gram matrix."""
AT_BOUND = 1 - 1e-9
"""LIBSVM sets a coefficient at its bound to C itself; the factor allows for rounding."""


@dataclass(frozen=True)
class GridPredictions:
    """The predictions of SVMs for ascending C."""

    predicted: NDArray[Any]
    """[C, graphs]: predicted classes."""
    fits: int
    """Number of fits; all other grid values follow from them."""
    unconverged: int
    """Number of fits that `SVC` reports as not converged."""
    largest_scaled: int
    """Index of the largest C from which the solutions of all smaller C follow; 0 if there is none."""


def predict_grid(
    train: Float64, y: NDArray[Any], test: Float64, costs: Sequence[float], start: int = 0
) -> GridPredictions:
    """Predict graphs by SVMs for ascending C.

    Args:
        train: Gram matrix of the training graphs.
        y: Their classes.
        test: Kernel values of the graphs to predict with the training graphs, [graphs, training graphs].
        costs: The values of C, in ascending order.
        start: Index of the C to fit first. The predictions do not depend on it; the number of fits is smallest if it
            equals the `largest_scaled` of the result.
    """
    predicted: list[NDArray[Any] | None] = [None] * len(costs)
    machines: list[SVC] = []
    largest_scaled = 0

    def fit(at: int) -> SVC:
        machines.append(fit_machine(train, y, costs[at]))
        predicted[at] = machines[-1].predict(test)
        return machines[-1]

    for at in range(start, -1, -1):
        machine = fit(at)
        if all_at_bound(machine):
            predicted[:at] = [predicted[at]] * at
        elif (scaled := ScaledSolutions.of(machine, train, y)) is not None:
            values = test @ scaled.coefficient
            predicted[:at] = [scaled.predict(values, cost / costs[at]) for cost in costs[:at]]
        else:
            continue
        largest_scaled = at
        break
    machine = machines[0]
    for at in range(start + 1, len(costs)):
        if not any_at_bound(machine):
            predicted[at:] = [predicted[at - 1]] * (len(costs) - at)
            break
        machine = fit(at)
        if largest_scaled == at - 1 and smaller_class_at_bound(machine, y):
            largest_scaled = at
    unconverged = sum(machine.fit_status_ != 0 for machine in machines)
    return GridPredictions(np.array(predicted), len(machines), unconverged, largest_scaled)


def fit_machine(train: Float64, y: NDArray[Any], cost: float) -> SVC:
    """Fit `SVC` with its default tolerance and unlimited iterations."""
    from sklearn.svm import SVC  # here: reports read results without it

    return SVC(C=cost, kernel="precomputed", cache_size=CACHE_MEGABYTES).fit(train, y)


def any_at_bound(machine: SVC) -> bool:
    """Whether any coefficient of a fitted SVM is at its bound C; for several classes, in any pair of them."""
    return bool((np.abs(machine.dual_coef_) >= machine.C * AT_BOUND).any())


def all_at_bound(machine: SVC) -> bool:
    """Whether the coefficients of all training graphs are at their bound; for several classes, in all pairs of them."""
    return len(machine.support_) == machine.shape_fit_[0] and bool(
        (np.abs(machine.dual_coef_) >= machine.C * AT_BOUND).all()
    )


def smaller_class_at_bound(machine: SVC, y: NDArray[Any]) -> bool:
    """Whether all solutions for smaller C follow from this one; for several classes, only if all are at the bound."""
    if len(machine.classes_) != 2:
        return all_at_bound(machine)
    smaller = min(machine.classes_, key=lambda name: np.count_nonzero(y == name))
    at_bound = machine.support_[np.abs(machine.dual_coef_[0]) >= machine.C * AT_BOUND]
    return bool((y[at_bound] == smaller).sum() == (y == smaller).sum())


@dataclass(frozen=True)
class ScaledSolutions:
    """A solution from which those for all smaller C follow by scaling."""

    coefficient: Float64
    """α_i y_i of every training graph."""
    sign: Float64
    """y_i as 1 or -1."""
    values: Float64
    """g_i of every training graph."""
    at_bound: NDArray[np.bool_]
    classes: NDArray[Any]

    @classmethod
    def of(cls, machine: SVC, train: Float64, y: NDArray[Any]) -> ScaledSolutions | None:
        """Return the solutions for smaller C, or None if they do not follow from this one."""
        if len(machine.classes_) != 2 or not smaller_class_at_bound(machine, y):
            return None
        coefficient = np.zeros(len(y))
        coefficient[machine.support_] = machine.dual_coef_[0]
        sign = np.where(y == machine.classes_[1], 1.0, -1.0)
        at_bound = np.abs(coefficient) >= machine.C * AT_BOUND
        return cls(coefficient, sign, train @ coefficient, at_bound, machine.classes_)

    def predict(self, values: Float64, scale: float) -> NDArray[Any]:
        """Predict classes of graphs from their Σ_j α_j y_j K_ij, with C multiplied by `scale`."""
        return self.classes[(scale * values + self.bias(scale) >= 0).astype(np.int64)]

    def bias(self, scale: float) -> float:
        """Return the bias with C multiplied by `scale`."""
        bias = self.sign - scale * self.values  # of each graph whose condition is an equality
        free = (self.coefficient != 0) & ~self.at_bound
        if free.any():
            return float(bias[free].mean())
        above = self.at_bound == (self.sign < 0)  # the conditions b ≥ bias_i; the others are b ≤ bias_i
        return float((bias[above].max() + bias[~above].min()) / 2)
