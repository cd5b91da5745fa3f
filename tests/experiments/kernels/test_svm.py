"""Skipped fits: predictions that follow from another C equal those of `SVC` itself."""

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("sklearn")

from sklearn.svm import SVC

from detours.data import load
from detours.experiments.kernels.selection import COSTS
from detours.experiments.kernels.svm import ScaledSolutions, any_at_bound, fit_machine, predict_grid
from detours.kernels import WLShortestPath
from tests.real_data import data_folder

Float64 = NDArray[np.float64]


def random_problem(seed: int, n: int = 120, features: int = 6, share: float = 0.5) -> tuple[Float64, NDArray[np.int64]]:
    """A Gram matrix of counts with inseparable classes; a fraction `share` of the graphs is in class 1."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.5, (n, features)).astype(np.float64)
    score = counts[:, 0] + rng.normal(size=n)
    y = (score > np.quantile(score, 1 - share)).astype(np.int64)
    return counts @ counts.T, y


def agrees_with_svc(gram: Float64, y: NDArray[np.int64], train: NDArray[np.int64], costs: list[float]) -> int:
    """Assert that predictions equal those of `SVC` for every C, except on the boundary; return the fits."""
    test = np.setdiff1d(np.arange(len(y)), train)
    inner, outer = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
    found = predict_grid(inner, y[train], outer, costs)
    assert found.predicted.shape == (len(costs), len(test)) and found.unconverged == 0
    for at, cost in enumerate(costs):
        machine = SVC(C=cost, kernel="precomputed").fit(inner, y[train])
        decision = machine.decision_function(outer)
        # If all coefficients are at their bounds, decisions are tiny but exact; otherwise there is a tolerance.
        clear = (decision.ndim > 1) | (np.abs(decision) > 5e-3 * min(1, np.abs(decision).max()))
        clear = clear.reshape(len(test), -1).all(axis=1)
        assert clear.mean() > 0.5
        np.testing.assert_array_equal(found.predicted[at][clear], machine.predict(outer)[clear], f"C = {cost}")
    again = predict_grid(inner, y[train], outer, costs, start=found.largest_scaled)
    np.testing.assert_array_equal(again.predicted, found.predicted)
    assert again.fits <= found.fits and again.largest_scaled == found.largest_scaled
    return again.fits


@pytest.mark.parametrize("share", [0.5, 0.3, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_random_matrices(seed: int, share: float) -> None:
    gram, y = random_problem(seed, share=share)
    train = np.random.default_rng(seed).permutation(len(y))[:96]
    costs = [cost / (len(train) * gram.diagonal().mean()) for cost in COSTS]
    assert agrees_with_svc(gram, y, train, costs) < len(costs)


@pytest.mark.parametrize("rounds", [0, 3])
def test_mutag(rounds: int) -> None:
    if not (data_folder() / "TUDataset" / "MUTAG").is_dir():
        pytest.skip("real data not found: MUTAG (set DETOURS_DATA to the folder that holds the data sets)")
    data = load("MUTAG", data_folder())
    gram = WLShortestPath(rounds, output="gram", normalize=False).fit_transform(data.graphs).astype(np.float64)
    train = np.random.default_rng(0).permutation(len(data.y))[:150]
    costs = [cost / (len(train) * gram.diagonal().mean()) for cost in COSTS]
    assert agrees_with_svc(gram, data.y, train, costs) < len(costs)


def test_without_a_coefficient_at_its_bound_a_larger_cost_changes_nothing() -> None:
    points = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]])
    y = np.array([1, 1, 0, 0])
    gram = points @ points.T
    small, large, huge = (fit_machine(gram, y, cost) for cost in (0.01, 10.0, 1e6))
    assert any_at_bound(small) and not any_at_bound(large)
    np.testing.assert_array_equal(large.dual_coef_, huge.dual_coef_)
    # The widest margin between these points has its edges at x + y = ±2.
    np.testing.assert_allclose(huge.decision_function(gram), [1, 1, -1, -1], atol=1e-3)
    found = predict_grid(gram, y, gram, [10.0, 1e3, 1e6])
    assert found.fits == 1 and found.predicted.tolist() == [[1, 1, 0, 0]] * 3


@pytest.mark.parametrize("share", [0.5, 0.25, 0.7])
def test_with_the_smaller_class_at_its_bound_a_smaller_cost_scales_the_solution(share: float) -> None:
    gram, y = random_problem(1, share=share)
    cost = 1e-4
    scaled = ScaledSolutions.of(fit_machine(gram, y, cost), gram, y)
    assert scaled is not None
    for scale in (1.0, 0.3, 1e-2, 1e-5):
        machine = fit_machine(gram, y, cost * scale)
        coefficient = np.zeros(len(y))
        coefficient[machine.support_] = machine.dual_coef_[0]
        # Both satisfy the optimality conditions, which are about Σ_j α_j y_j K_ij, within SVC's tolerance of 0.001.
        np.testing.assert_allclose(gram @ coefficient, scale * scaled.values, atol=2e-3)
        assert scaled.bias(scale) == pytest.approx(machine.intercept_[0], abs=2e-3)


def test_otherwise_nothing_follows_for_smaller_costs() -> None:
    gram, y = random_problem(2)
    assert ScaledSolutions.of(fit_machine(gram, y, 1.0), gram, y) is None
    three = np.arange(len(y)) % 3
    assert ScaledSolutions.of(fit_machine(gram, three, 1e-6), gram, three) is None


def test_several_classes() -> None:
    rng = np.random.default_rng(5)
    y = np.repeat([2, 5, 7, 9], 30)
    counts = rng.poisson(1 + 2 * np.eye(10)[y]).astype(np.float64)
    costs = [1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0]
    agrees_with_svc(counts @ counts.T, y, rng.permutation(120)[:100], costs)
    balanced = np.concatenate([np.arange(start, start + 25) for start in (0, 30, 60, 90)])
    assert agrees_with_svc(counts @ counts.T, y, balanced, costs) < len(costs)


def test_graphs_without_features() -> None:
    gram = np.kron(np.ones((4, 4)), np.array([[4.0, 1.0], [1.0, 6.0]]))
    gram[0] = gram[:, 0] = 0
    found = predict_grid(gram, np.array([0, 1] * 4), gram, [1e-3, 10.0])
    assert found.predicted[1].tolist()[1:] == [1, 0, 1, 0, 1, 0, 1]
