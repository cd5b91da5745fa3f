"""Replicas trained together give the results of each trained separately."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, get_args

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

import torch.nn.functional as F  # noqa: E402
from lightning.fabric import Fabric  # noqa: E402

from detours.choices import Backbone  # noqa: E402
from detours.data import GraphSet, Split  # noqa: E402
from detours.errors import InputError  # noqa: E402
from detours.training.batches.fixed import FixedBatches  # noqa: E402
from detours.training.batches.inputs import Scaling  # noqa: E402
from detours.training.batches.sampled import FixedSamples  # noqa: E402
from detours.training.build import arguments, network_of  # noqa: E402
from detours.training.recipe import Recipe  # noqa: E402
from detours.training.replicas.fit import Fit  # noqa: E402
from detours.training.replicas.progress import Row  # noqa: E402
from detours.training.replicas.side_stream import SideStream  # noqa: E402
from detours.training.replicas.stack import Stack  # noqa: E402
from detours.training.tasks import outputs_of  # noqa: E402
from tests.training.cases import inputs_of, numbers, one_graph, small, task  # noqa: E402

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def splits_of(data: GraphSet, folds: int) -> list[Split]:
    size = len(data.targets)
    orders = [np.random.default_rng(fold).permutation(size) for fold in range(folds)]
    return [Split(each[: size // 2], each[size // 2 : 3 * size // 4], each[3 * size // 4 :]) for each in orders]


def fit_of(
    data: GraphSet, recipes: Sequence[Recipe], splits: Sequence[Split], *, device: str = "cpu", **more: Any
) -> Fit:
    fabric = Fabric(accelerator=device, devices=1, precision=recipes[0].precision)
    inputs = inputs_of(data, recipes[0])
    return Fit(fabric, recipes, inputs, splits, outputs_of(inputs.y), **more)


def rows_of(fit: Fit, epochs: int) -> list[list[Row]]:
    for _ in range(epochs):
        fit.epoch()
    return fit.read()


CASES = [
    (one_graph(), {"dropout": 0.5}),
    (one_graph(), {"layer_dropout": 0.5, "gate": True}),
    (one_graph(), {"neighbours": (3, 2), "batch_size": 16, "model": "plain", "backbone": "gcn"}),
    (one_graph(), {"model": "weighted", "backbone": "gat"}),
    (task(24), {"dropout": 0.3, "backbone": "gcn"}),
    (numbers(24), {"model": "plain", "edge_den": True}),
    (task(24), {"model": "weighted", "metric": "roc_auc", "class_weights": "balanced"}),
    (task(24), {"average": 0.8, "smooth": 0.5}),
    (task(24), {"norm": "batch"}),  # a separate run leaves out graphs outside the parts of its fold
]


@pytest.mark.parametrize(("data", "changed"), CASES)
def test_ten_together_are_ten_separate_runs(data: GraphSet, changed: dict[str, Any]) -> None:
    """Each with its fold, seed, learning rate and weight decay, in double precision."""
    splits, changed = splits_of(data, 10), {"precision": "64-true", "hidden": 4, **changed}
    recipes = [
        small(data, fold=at, seed=at // 5, lr=1e-3 * (1 + at), weight_decay=0.1 * at, **changed) for at in range(10)
    ]
    width = inputs_of(data, recipes[0]).x.shape[1]
    scalings = [Scaling.of(np.random.default_rng(at % 2).normal(at % 2, 2, (9, width))) for at in range(10)]
    together = fit_of(data, recipes, splits, scalings=scalings)
    rows = rows_of(together, 2)
    kept = [1, 4, 9]
    together.keep(kept)  # the others have stopped
    later = rows_of(together, 1)
    for replica, at in enumerate(kept):
        separate = rows_of(fit_of(data, [recipes[at]], [splits[at]], scalings=[scalings[at]]), 3)
        found = [rows[0][at], rows[1][at], later[0][replica]]
        np.testing.assert_allclose(found, [row for (row,) in separate], rtol=1e-6, atol=1e-9)
    assert len({row.train_loss for row in rows[0]}) == 10


@pytest.mark.parametrize("model", ["plain", "weighted", "mdnn"])
@pytest.mark.parametrize("backbone", get_args(Backbone))
def test_every_network_trains(model: str, backbone: str) -> None:
    data = task(16)
    fit = fit_of(data, [small(data, model=model, backbone=backbone, fold=at) for at in range(2)], splits_of(data, 2))
    before = fit.stack.flat.clone()
    ((one, other),) = rows_of(fit, 1)
    assert np.isfinite([*one, *other]).all() and one.train_loss != other.train_loss
    changed = fit.stack.parameters(fit.stack.flat - before)
    assert all((each != 0).flatten(1).any(1).all() for each in changed.values())


def test_loss_and_accuracy_are_those_of_the_network() -> None:
    data = task(24)
    recipe, (split,) = small(data, precision="64-true", batch_size=100), splits_of(data, 1)
    fit = fit_of(data, [recipe], [split])
    network = network_of(recipe, fit.batches.packed.x.size(1), 2).double()
    (batch,) = fit.batches.training(1)
    positional, named = arguments(batch, recipe)
    chosen = torch.isin(batch.ids, torch.from_numpy(split.train))
    logits = network(*positional, **{**named, "counted": chosen[batch.batch]})
    loss = F.cross_entropy(logits[chosen], batch.y[chosen]).detach()
    ((row,),) = rows_of(fit, 1)
    assert row.train_loss == pytest.approx(float(loss), rel=1e-9)
    network.load_state_dict(fit.stack.weights(0))
    (full,) = fit.batches.evaluation()
    positional, named = arguments(full, recipe)
    with torch.no_grad():
        logits = network.eval()(*positional, **named)
    for part, loss, accuracy in (("val", row.val_loss, row.val_score), ("test", row.test_loss, row.test_score)):
        mask = torch.isin(full.ids, torch.from_numpy(getattr(split, part)))
        assert loss == pytest.approx(float(F.cross_entropy(logits[mask], full.y[mask])), rel=1e-9)
        assert accuracy == pytest.approx(float((logits[mask].argmax(1) == full.y[mask]).double().mean()))


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_rows_without_a_known_label_are_in_no_part(norm: str) -> None:
    data, (split,) = task(24), splits_of(task(24), 1)
    y = np.stack([data.y, 1 - data.y], axis=1).astype(float)
    y[::3] = np.nan
    y[1::3, 0] = np.nan
    data = replace(data, y=y)
    labelled = Split(*(part[part % 3 > 0] for part in split))
    settings = {"precision": "64-true", "norm": norm, "class_weights": "balanced", "batch_size": 100}
    fit, fewer = (fit_of(data, [small(data, **settings)], [each]) for each in (split, labelled))
    rows, expected = rows_of(fit, 3), rows_of(fewer, 3)
    np.testing.assert_allclose(rows, expected, rtol=1e-9)


def test_the_loss_of_labels_is_the_mean_over_the_rows_that_have_any() -> None:
    data, (split,) = task(24), splits_of(task(24), 1)
    data = replace(data, y=np.where(np.arange(24) % 3 > 0, data.y, np.nan).reshape(-1, 1))
    recipe = small(data, precision="64-true", batch_size=100)
    fit = fit_of(data, [recipe], [split])
    ((row,),) = rows_of(fit, 1)
    network = network_of(recipe, fit.batches.packed.x.size(1), 1).double().eval()
    network.load_state_dict(fit.stack.weights(0))
    (batch,) = fit.batches.evaluation()
    positional, named = arguments(batch, recipe)
    with torch.no_grad():
        logits = network(*positional, **named)
    for part, loss in (("val", row.val_loss), ("test", row.test_loss)):
        mask = torch.isin(batch.ids, torch.from_numpy(getattr(split, part))) & ~batch.y.isnan().squeeze(1)
        expected = F.binary_cross_entropy_with_logits(logits[mask], batch.y[mask])
        assert loss == pytest.approx(float(expected), rel=1e-9)


def test_dropout_differs_between_folds_seeds_and_epochs() -> None:
    data, factors = task(8), set[int]()
    recipes = [small(data, dropout=0.5, **changed) for changed in ({}, {"fold": 1}, {"seed": 1})]
    fit = fit_of(data, recipes, splits_of(data, 3))
    for _ in range(2):
        fit.epoch()
        factors |= set(fit.factors.tolist())
    assert len(factors) == 6


@pytest.mark.parametrize("data", [task(20), numbers(20)], ids=["classes", "numbers"])
def test_padding_changes_nothing(data: GraphSet) -> None:
    recipes, splits = [small(data, precision="64-true", fold=at) for at in range(2)], splits_of(data, 2)
    plain, padded = (fit_of(data, recipes, splits) for _ in range(2))
    padded.batches = FixedBatches(padded.batches, 8)
    np.testing.assert_allclose(rows_of(padded, 3), rows_of(plain, 3), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("padded", [False, True])
def test_only_validation_and_test_graphs_are_evaluated(padded: bool) -> None:
    data = task(20)
    recipes, splits = [small(data, dropout=0.3, fold=at) for at in range(2)], splits_of(data, 2)
    fit = fit_of(data, recipes, splits)
    if padded:
        fit.batches = FixedBatches(fit.batches, 8)
    fit.keep([1])
    evaluated = torch.cat([batch.ids for batch in fit.evaluation]).tolist()
    assert evaluated == sorted([*splits[1].val, *splits[1].test])
    assert len(evaluated) < len(data)


def test_padding_of_samples_changes_nothing() -> None:
    data = one_graph()
    settings = {
        "precision": "64-true",
        "neighbours": (3, 2),
        "batch_size": 6,
        "token_norm": "batch",
        "input_dropout": 0.0,
    }
    recipes, splits = [small(data, fold=at, **settings) for at in range(2)], splits_of(data, 2)
    plain, padded = (fit_of(data, recipes, splits) for _ in range(2))
    padded.batches = FixedSamples(padded.batches)
    np.testing.assert_allclose(rows_of(padded, 3), rows_of(plain, 3), rtol=1e-9, atol=1e-9)


@CUDA
@pytest.mark.parametrize("data", [one_graph(), task(24)])
def test_evaluation_on_a_side_stream_is_evaluation_after_training(
    data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same results and weights, whether the next step waits or not, however late the evaluation is."""
    evaluated = Fit._evaluate
    monkeypatch.setattr(Fit, "_evaluate", lambda self: (torch.cuda._sleep(10**7), evaluated(self)))
    recipes = [small(data, fold=at, lr=0.02, norm="batch", dropout=0.2) for at in range(3)]
    found, weights = [], []
    start = SideStream.start
    for waits in (False, True):
        if waits:
            monkeypatch.setattr(SideStream, "start", lambda self: (start(self), self.wait()))
        fit = fit_of(data, recipes, splits_of(data, 3), device="cuda", keep_weights=True)
        rows = rows_of(fit, 9)
        fit.keep([0, 2])
        found.append([*rows, *rows_of(fit, 9)])
        weights.append([fit.weights(at) for at in range(2)])
    assert found[0] == found[1]
    for one, other in zip(weights[0], weights[1], strict=True):
        assert all(torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=CUDA)])
def test_weights_of_the_best_epoch_are_kept(device: str) -> None:
    data = one_graph()
    recipes, splits = [small(data, fold=at, lr=0.02) for at in range(3)], splits_of(data, 3)
    fit = fit_of(data, recipes, splits, keep_weights=True, device=device)
    seen = []
    for _ in range(6):
        fit.epoch()
        seen.append([fit.stack.weights(at) for at in range(3)])
    fit.read()
    for at in range(3):
        best = seen[fit.progress.best_of(at).epoch - 1][at]
        assert all(torch.equal(value, best[name]) for name, value in fit.weights(at).items())
        assert fit.weights(at).keys() == network_of(recipes[at], 5, 3).state_dict().keys()


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("changed", [{}, {"encoder": "hops", "hops": 2}, {"skip": True, "model": "plain"}])
def test_columns_of_zeros_and_blocks_change_no_result(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], alike: bool
) -> None:
    """Wide features are padded for the device, and large weights are blocks; the weights that are kept and counted are
    those of the network. (With dropout of the features, other random bits would meet them.)"""
    data, still = one_graph(), {"dropout": 0.0, "input_dropout": 0.0}
    recipes = [small(data, fold=at, lr=0.02, precision="64-true", **still, **changed) for at in range(3)]
    width, splits = inputs_of(data, recipes[0]).x.shape[1], splits_of(data, 3)
    means = [1, 1, 1] if alike else [0, 1, 2]
    scalings = [Scaling.of(np.random.default_rng(mean).normal(mean, 2, (9, width))) for mean in means]
    fits = []
    for narrow, large in ((10_000, 10_000), (1, 32)):
        monkeypatch.setattr("detours.training.replicas.wide.NARROW", narrow)
        monkeypatch.setattr("detours.training.replicas.stack.LARGE", large)
        fits.append(fit_of(data, recipes, splits, keep_weights=True, scalings=scalings))
    rows, padded_rows = (rows_of(fit, 4) for fit in fits)
    (fit, padded), features = fits, 5
    assert width % (8 * recipes[0].blocks)  # or there would be nothing to add
    assert len(fit.stack.linear_blocks) == 1 < len(padded.stack.linear_blocks)
    assert {each.size(-1) for each in padded.stack.parameters(padded.stack.flat).values()} >= {features + 3}
    assert fit.stack.num_parameters == padded.stack.num_parameters < padded.stack.flat.size(1)
    for row, other in zip(chain(*rows), chain(*padded_rows), strict=True):
        assert list(other) == pytest.approx(list(row), rel=1e-9)
    for at in range(3):
        expected, weights = fit.weights(at), padded.weights(at)
        for name, value in expected.items():
            torch.testing.assert_close(weights[name], value)


def test_networks_of_other_shape_are_refused() -> None:
    data = task(16)
    networks = [network_of(small(data, hidden=hidden), 3, 2) for hidden in (4, 8)]
    with pytest.raises(InputError, match="networks of different shape cannot be trained as one"):
        Stack(networks, torch.device("cpu"), torch.float32)
