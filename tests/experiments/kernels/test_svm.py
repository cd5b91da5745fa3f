"""Our support vector machine against scikit-learn's: the same dual, bias and predictions for every C of the grid."""

import numpy as np
import pytest
from numpy.typing import NDArray

from detours.data import load
from detours.experiments.kernels.selection import COSTS
from detours.experiments.kernels.svm import TOLERANCE, Gram, Machines, fit, fit_by_sklearn, two_classes
from detours.kernels import WLShortestPath, WLSubtree
from tests.real_data import data_folder

svm = pytest.importorskip("sklearn.svm")


def random_gram(seed: int, n: int = 80, features: int = 6) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Products of counts, few enough to have equal rows and classes that no machine separates."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.5, (n, features))
    y = (counts[:, 0] + rng.normal(size=n) > 1.5).astype(np.int64)
    return counts @ counts.T, y


def dual(gram: NDArray[np.float64], sign: NDArray[np.float64], coefficient: NDArray[np.float64]) -> float:
    return float(sign @ coefficient - coefficient @ gram @ coefficient / 2)


def real_gram(name: str, rounds: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not (data_folder() / "TUDataset" / name).is_dir():
        pytest.skip(f"real data not found: {name} (set DETOURS_DATA to the folder that holds the data sets)")
    data = load(name, data_folder())
    return WLShortestPath(rounds, output="gram").fit_transform(data.graphs), data.y


def agree_with_sklearn(gram: NDArray[np.int64], y: NDArray[np.int64]) -> Machines:
    train = np.random.default_rng(0).permutation(len(y))[: int(0.8 * len(y))]
    costs = [cost / len(train) for cost in COSTS]
    sign = np.where(y == 1, 1.0, -1.0)
    inside = np.zeros(len(y))
    inside[train] = 1
    ours = two_classes(Gram.of(gram), sign * inside, costs)
    for at, cost in enumerate(costs):
        theirs = svm.SVC(C=cost, kernel="precomputed").fit(gram[np.ix_(train, train)], sign[train])
        coefficient = np.zeros(len(y))
        coefficient[train[theirs.support_]] = theirs.dual_coef_[0]
        assert ours.solved[at]
        assert abs(ours.coefficient[at].sum()) <= 1e-9 * cost * len(y)
        assert (np.abs(ours.coefficient[at]) <= cost * (1 + 1e-9)).all()
        values = dual(gram, sign, ours.coefficient[at]), dual(gram, sign, coefficient)
        # Both stop within the tolerance of the optimum, so their duals differ by no more than it times Σ alpha.
        assert values[0] == pytest.approx(values[1], abs=TOLERANCE * np.abs(coefficient).sum() + 1e-12)
        score = theirs.decision_function(gram[:, train])
        spread = np.abs(ours.score[at] - score).max()
        assert spread < 0.05, f"C = {cost}: scores differ by {spread}"
        assert ours.bias[at] == pytest.approx(theirs.intercept_[0], abs=0.05)
        clear = np.abs(score) > 0.05
        assert ((ours.score[at] > 0) == (score > 0))[clear].all()
    return ours


@pytest.mark.parametrize("seed", range(5))
def test_random_matrices(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detours.experiments.kernels.svm.MOVES", 10**7)
    agree_with_sklearn(*random_gram(seed))


@pytest.mark.parametrize("rounds", [1, 4])
def test_mutag(rounds: int) -> None:
    agree_with_sklearn(*real_gram("MUTAG", rounds))


def test_scores_are_those_of_the_coefficients() -> None:
    gram, y = random_gram(7)
    sign = np.where(np.arange(len(y)) < 60, 2.0 * y - 1, 0.0)
    machines = two_classes(Gram.of(gram), sign, [0.01, 1.0])
    assert (machines.coefficient[:, 60:] == 0).all()
    np.testing.assert_allclose(machines.score, machines.coefficient @ gram + machines.bias[:, None], atol=1e-6)


def test_a_separable_solution_is_that_of_every_larger_cost() -> None:
    points = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0], [0.0, -2.0]])
    machines = two_classes(Gram.of(points @ points.T), np.array([1.0, 1, -1, -1]), [0.01, 10.0, 1e3, 1e6])
    assert machines.moves[0] > 0 and machines.moves[1] > 0 and (machines.moves[2:] == 0).all()
    np.testing.assert_array_equal(machines.coefficient[1], machines.coefficient[3])
    # The widest margin between these points has its edges at x + y = ±2.
    np.testing.assert_allclose(machines.score[3], [1, 1, -1, -1], atol=1e-3)


def test_a_start_from_another_matrix_ends_at_the_same_solution() -> None:
    gram, y = random_gram(3, features=12)
    other, _ = random_gram(3, features=11)
    sign, costs = 2.0 * y - 1, [0.001, 0.1, 10.0]
    begin = two_classes(Gram.of(other), sign, costs)
    cold, warm = two_classes(Gram.of(gram), sign, costs), two_classes(Gram.of(gram), sign, costs, begin)
    for at in range(len(costs)):
        values = dual(gram, sign, cold.coefficient[at]), dual(gram, sign, warm.coefficient[at])
        assert values[0] == pytest.approx(values[1], rel=1e-3)


def test_more_classes_vote_as_in_sklearn() -> None:
    rng = np.random.default_rng(5)
    y = np.repeat([2, 5, 7, 9], 30)
    counts = rng.poisson(1 + 2 * np.eye(10)[y])
    train, costs = rng.permutation(120)[:100], [1e-4, 1e-2, 1.0]
    gram = Gram.of(counts @ counts.T)
    ours, theirs = fit(gram, y, train, costs), fit_by_sklearn(gram, y, train, costs)
    assert (ours.predicted == theirs.predicted).mean() > 0.99
    assert ours.fits == 18 and ours.unsolved == 0


def test_single_precision_only_where_it_is_exact() -> None:
    exact, rounded = np.diag([2**24, 3]), np.diag([2**24 + 1, 3])
    assert Gram.of(exact).values.dtype == np.float32 and Gram.of(rounded).values.dtype == np.float64
    for gram in (exact, rounded):
        held = Gram.of(gram)
        np.testing.assert_array_equal(held.values.astype(np.float64) * held.scale, gram)


def test_a_fit_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detours.experiments.kernels.svm.MOVES", 3)
    gram, y = random_gram(0)
    assert fit(Gram.of(gram), y, np.arange(80), [1.0]).unsolved == 1


def test_graphs_without_features() -> None:
    gram = WLSubtree(1, output="gram", normalize=True).fit_transform(
        [[(0, 1), (1, 0)], [(0, 1, 1, 2), (1, 0, 2, 1)]] * 4
    )
    gram[0] = gram[:, 0] = 0
    found = fit(Gram.of(gram), np.array([0, 1] * 4), np.arange(8), [1e-3, 10.0])
    assert found.predicted[1].tolist()[1:] == [1, 0, 1, 0, 1, 0, 1]
