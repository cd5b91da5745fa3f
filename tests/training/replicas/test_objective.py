"""Losses and scores of every task, against torch and NumPy for each replica separately."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

import torch.nn.functional as F  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402

from detours.data import Split  # noqa: E402
from detours.training.recipe import recipe  # noqa: E402
from detours.training.replicas.objective import Objective  # noqa: E402
from detours.training.tasks import balanced  # noqa: E402

ROWS = 30
SPLITS = [
    Split(np.arange(0, 10), np.arange(10, 20), np.arange(20, 30)),
    Split(*(np.arange(at, 30, 3) for at in range(3))),
]


def objective(targets: np.ndarray, **changed: Any) -> Objective:
    recipes = [recipe("data", "", "", "graph", fold=fold, **changed) for fold in range(2)]
    return Objective(recipes, targets, SPLITS, torch.device("cpu"), torch.float64)


def outputs_of(columns: int) -> torch.Tensor:
    return torch.randn(2, ROWS, columns, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_classes() -> None:
    y, outputs = torch.arange(ROWS) % 3, outputs_of(3)
    replicas = objective(y.numpy())
    for at in range(2):
        expected = F.cross_entropy(outputs[at], y, reduction="none")
        assert torch.equal(replicas.losses(outputs, y)[at], expected)
        assert torch.equal(replicas.scores(outputs, y)[at], outputs[at].argmax(1) == y)


def test_balanced_classes_have_the_same_weight() -> None:
    y, outputs = torch.tensor([0] * 7 + [1] * 3 + [0, 1] * 10), outputs_of(2)
    replicas = objective(y.numpy(), class_weights="balanced")
    train = torch.from_numpy(SPLITS[0].train)
    expected = F.cross_entropy(outputs[0, train], y[train], weight=torch.tensor([10 / 14, 10 / 6]).double())
    assert replicas.losses(outputs, y)[0, train].mean() == pytest.approx(float(expected))
    replicas.keep(torch.tensor([0]))
    assert replicas.losses(outputs[:1], y).shape == (1, ROWS)


@pytest.mark.parametrize(("loss", "power"), [("l1", 1), ("mse", 2)])
def test_regression_is_standardised_inside_and_reported_in_its_own_unit(loss: str, power: int) -> None:
    y = np.random.default_rng(0).normal(5, 3, (ROWS, 2))
    outputs, replicas = outputs_of(2), objective(y, task="regression", regression_loss=loss)
    for at, split in enumerate(SPLITS):
        mean, deviation = y[split.train].mean(axis=0), y[split.train].std(axis=0)
        predicted = outputs[at].numpy() * deviation + mean
        error = np.abs(outputs[at].numpy() - (y - mean) / deviation) ** power
        np.testing.assert_allclose(replicas.losses(outputs, torch.from_numpy(y))[at], error.mean(axis=1), rtol=1e-5)
        scores = replicas.scores(outputs, torch.from_numpy(y))[at]
        np.testing.assert_allclose(scores, np.abs(predicted - y).mean(axis=1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weights", ["none", "balanced"])
def test_unknown_labels_cost_nothing(weights: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, (ROWS, 3)).astype(float)
    y[rng.random(y.shape) < 0.3] = np.nan
    y[:, 2] = np.where(np.isnan(y[:, 2]), np.nan, 1)  # one value only: no ranking
    outputs, replicas = outputs_of(3), objective(y, task="multilabel", class_weights=weights)
    labels = torch.from_numpy(np.nan_to_num(y))
    every = F.binary_cross_entropy_with_logits(outputs[1], labels, reduction="none")
    if weights == "balanced":
        train = y[SPLITS[1].train]
        shares = 1 / (~np.isnan(train)).sum(axis=1).clip(min=1)  # of each known label in the loss of its row
        for column in range(3):
            counts = [shares[train[:, column] == value].sum() for value in (0, 1)]
            for value in (0, 1):
                factor = sum(counts) / (np.count_nonzero(counts) * counts[value]) if counts[value] else 1.0
                every[:, column] *= torch.where(labels[:, column] == value, factor, 1.0)
    every[torch.from_numpy(np.isnan(y))] = np.nan
    means = every.nanmean(1).nan_to_num(0)  # a row without known labels costs nothing
    np.testing.assert_allclose(replicas.losses(outputs, torch.from_numpy(y))[1], means, rtol=1e-6)
    part = torch.zeros(2, ROWS, dtype=torch.bool)
    part[1, SPLITS[1].test] = part[0, SPLITS[0].test] = True
    found = replicas.part_scores(outputs, torch.from_numpy(y), part)
    for at, split in enumerate(SPLITS):
        chosen = [split.test[~np.isnan(y[split.test, column])] for column in range(2)]
        expected = [roc_auc_score(y[rows, column], outputs[at, rows, column]) for column, rows in enumerate(chosen)]
        assert found[at] == pytest.approx(np.mean(expected))


def test_balanced_labels_pull_alike_however_many_others_are_known() -> None:
    rng, rows = np.random.default_rng(0), np.arange(ROWS)
    y = np.full((ROWS, 5), np.nan)
    y[:, 0] = rows % 2
    y[rows % 2 == 0, 1:] = rng.integers(0, 2, (ROWS // 2, 4))
    replicas = objective(y, task="multilabel", class_weights="balanced")
    outputs = torch.zeros(2, ROWS, 5, dtype=torch.float64, requires_grad=True)
    (pulls,) = torch.autograd.grad(replicas.losses(outputs, torch.from_numpy(y)).sum(), outputs)
    for at, split in enumerate(SPLITS):
        for column in range(5):
            positive, negative = (pulls[at, split.train[y[split.train, column] == v], column].sum() for v in (1, 0))
            if positive and negative:
                assert float(positive) == pytest.approx(-float(negative))


def test_weights_of_complete_labels_are_their_inverse_frequencies() -> None:
    y = np.random.default_rng(0).integers(0, 2, (ROWS, 3)).astype(float)
    y[:, 2] = 1
    train = y[SPLITS[0].train]
    counts = np.stack([(train == value).sum(axis=0) for value in (0, 1)])
    expected = 10 / ((counts > 0).sum(axis=0) * np.maximum(counts, 1))
    np.testing.assert_array_equal(balanced(y, SPLITS[0].train), expected)
