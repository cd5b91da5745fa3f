"""Targets other than classes: they are learned, selected by their metric, saved, and refused in one sentence."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")
pytest.importorskip("sklearn")

from sklearn.metrics import roc_auc_score  # noqa: E402

from detours.data import GraphSet, Split, rings  # noqa: E402
from detours.errors import InputError  # noqa: E402
from detours.training import fit, tune  # noqa: E402
from detours.training.saved import SavedModel  # noqa: E402
from detours.training.tasks import rank_of, score_of  # noqa: E402
from tests.training.cases import one_graph, task  # noqa: E402

QUICK: dict[str, Any] = {"epochs": 3, "hidden": 4, "layers": 1, "heads": 1, "pe": 2, "device": "cpu", "lr": 0.01}
ORDER = np.random.default_rng(0).permutation(40)
FOLDS = [Split(ORDER[:20], ORDER[20:30], ORDER[30:]), Split(ORDER[20:], ORDER[:10], ORDER[10:20])]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def with_targets(y: Any) -> GraphSet:
    return replace(task(40), y=np.asarray(y))


def sizes() -> np.ndarray:
    return np.array([float(graph.num_nodes) for graph in task(40).graphs])


def labels() -> np.ndarray:
    found = np.stack([sizes() > np.median(sizes()), np.arange(40) % 2 == 0], axis=1).astype(float)
    found[3:6, 0] = np.nan
    return found


def test_tasks_are_found_from_the_targets() -> None:
    assert task(4).task == "classification" and with_targets(sizes()).task == "regression"
    assert with_targets(labels()).task == with_targets(np.zeros((40, 2), np.int64)).task == "multilabel"
    assert "1 number each" in repr(with_targets(sizes())) and "2 labels each" in repr(with_targets(labels()))
    digests = {each.digest for each in (task(40), with_targets(sizes()), with_targets(sizes() + 1))}
    assert len(digests) == 3


@pytest.mark.parametrize("data", [with_targets(labels()), task(40)], ids=["labels", "classes"])
def test_ranked_metrics_without_test_parts(data: GraphSet) -> None:
    settings: dict[str, Any] = {"model": "plain", "metric": "roc_auc", "epochs": 1, "hidden": 4, "device": "cpu"}
    order = np.arange(40)
    (cell,) = fit(data, folds=[Split(order[:20], order[20:], order[:0])], **settings)
    assert 0 <= cell.value["val_roc_auc"] <= 1 and "test_roc_auc" not in cell.value
    tuned = tune(data, space={"space": {"lr": [0.01]}}, trials=1, folds=[0], **settings)
    assert 0 <= tuned.best.score <= 1


@pytest.mark.parametrize(
    ("data", "metric", "changed"),
    [
        (with_targets(100 + 10 * sizes()), "mae", {}),
        (with_targets(labels()), "roc_auc", {"class_weights": "balanced"}),
        (with_targets(labels()), "ap", {"metric": "ap"}),
        (task(40), "roc_auc", {"metric": "roc_auc", "class_weights": "balanced"}),
    ],
)
def test_two_folds_together(data: GraphSet, metric: str, changed: dict[str, Any], tmp_path: Path) -> None:
    """The metric chooses the best epoch, the saved model has the reported score, and so has a fold by itself."""
    cells = fit(data, folds=FOLDS, save=tmp_path, precision="64-true", **QUICK, **changed)
    assert [cell.value["metric"] for cell in cells] == [metric] * 2 and cells[0].key["task"] == data.task
    (alone,) = fit(data, folds=FOLDS[1:], precision="64-true", **QUICK, **changed)
    assert alone.value["parameters"] == cells[1].value["parameters"]
    for fold, cell in zip(FOLDS, cells, strict=True):
        (file,) = tmp_path.glob(f"*-fold{cell.key['fold']}.pt")
        predicted, y = SavedModel.load(file).predict(data)[fold.test], data.y[fold.test]
        if metric == "mae":
            assert np.abs(predicted[:, 0] - y).mean() == pytest.approx(score_of(cell.value, "test"), rel=1e-5)
        elif metric == "roc_auc":
            columns = predicted[:, 1:] if data.task == "classification" else predicted
            y = y.reshape(len(y), -1)
            known = [~np.isnan(y[:, column]) for column in range(y.shape[1])]
            each = [roc_auc_score(y[rows, at], columns[rows, at]) for at, rows in enumerate(known)]
            assert np.mean(each) == pytest.approx(score_of(cell.value, "test"))


@pytest.mark.parametrize("offset", [0.0, 1e6, 1.7e9])
def test_errors_of_numbers_far_from_zero(offset: float, tmp_path: Path) -> None:
    """As years or seconds since 1970: they differ in digits that 32 bits do not hold."""
    data = with_targets(offset + 10 * sizes())
    (cell,) = fit(data, folds=FOLDS[:1], save=tmp_path, **QUICK)
    (file,) = tmp_path.glob("*.pt")
    predicted, part = SavedModel.load(file).predict(data)[:, 0], FOLDS[0].test
    assert np.abs(predicted - data.y)[part].mean() == pytest.approx(cell.value["test_mae"], rel=1e-4)


@pytest.mark.parametrize("unused", [1e9, 1e12, 1e30])
def test_an_extreme_target_in_no_part_changes_nothing(unused: float) -> None:
    def errors(last: float) -> list[float]:
        made = rings(30)
        numbers = replace(made, y=np.array([*(100.0 + np.arange(29)), last]))
        fold = (range(20), range(20, 25), range(25, 29))
        (cell,) = fit(numbers, folds=[fold], model="plain", hidden=8, layers=1, epochs=3, device="cpu")
        return [cell.value["val_mae"], cell.value["test_mae"]]

    assert errors(unused) == pytest.approx(errors(114.5), rel=1e-5)


def test_numbers_are_learned_in_their_own_unit() -> None:
    data = with_targets(1000 + 10 * sizes())
    changed = {"model": "plain", "epochs": 40, "hidden": 8, "batch_size": 5, "pool": "add", "norm": "none"}
    (cell,) = fit(data, folds=FOLDS[:1], **{**QUICK, **changed})
    spread = np.abs(data.y[FOLDS[0].test] - np.median(data.y[FOLDS[0].train])).mean()
    assert cell.value["test_mae"] < 0.75 * spread and cell.value["best_epoch"] > 10


def test_numbers_that_are_equal_in_the_training_part() -> None:
    """Their standard deviation is a rounding error, not 0: it must not be used as a scale."""
    y = np.where(np.isin(np.arange(40), FOLDS[0].train), 0.1, sizes())
    assert y[FOLDS[0].train].std() > 0
    (cell,) = fit(with_targets(y), folds=FOLDS[:1], **QUICK)
    assert cell.value["val_loss"] == pytest.approx(cell.value["val_mae"]) and cell.value["val_mae"] < 100


def test_nodes_may_have_regression_targets() -> None:
    data = one_graph()
    (cell,) = fit(replace(data, y=data.x[0][:, 0].astype(float)), folds=[0], **QUICK)
    assert cell.value["metric"] == "mae" and np.isfinite(cell.value["test_mae"])


def test_lower_is_better_for_errors_only() -> None:
    values = [{"metric": "mae", "val_mae": mae, "val_loss": 0.0} for mae in (0.3, 0.1)]
    assert min(values, key=rank_of)["val_mae"] == 0.1
    values = [{"metric": "ap", "val_ap": share, "val_loss": loss} for share, loss in ((0.3, 0), (0.5, 2), (0.5, 1))]
    assert min(values, key=rank_of) == values[2]


NAN = np.where(np.arange(40) == 7, np.nan, 1.5)


@pytest.mark.parametrize(
    ("y", "changed", "sentence"),
    [
        (NAN, {}, "the target of graph 7 of rings is nan; targets must be finite"),
        (NAN, {"task": "classification"}, "targets of rings are numbers that are not integers; take task=regression"),
        (
            np.arange(40.0) % 2,
            {"task": "classification"},
            "targets of rings are of the type float64: convert them to integers, or take task=regression",
        ),
        (np.full(40, 3), {}, "rings has 1 class, but classification needs two or more"),
        (np.arange(40), {"task": "multilabel"}, "labels of rings must be 0, 1 or NaN"),
        (np.arange(40) % 3, {"metric": "roc_auc"}, "metric=roc_auc needs two classes or task=multilabel"),
        (
            np.arange(40) % 3,
            {"metric": "mae"},
            "measured by accuracy or roc_auc or ap, but metric=mae",
        ),
        ((np.arange(40) == ORDER[25]), {"metric": "ap"}, "test part of fold 0 of rings has one class only"),
        (sizes(), {"class_weights": "balanced"}, "class_weights=balanced needs classes"),
    ],
)
def test_targets_that_are_refused(y: np.ndarray, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        fit(with_targets(y.astype(int) if y.dtype == bool else y), folds=FOLDS[:1], **QUICK, **changed)
