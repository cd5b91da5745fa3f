"""Training: what is best, when it ends, that it learns, that it resumes to the same bits, that processes may share."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from lightning.fabric import Fabric  # noqa: E402

from detours.data import GraphSet  # noqa: E402
from detours.errors import DetoursError, EngineError, InputError  # noqa: E402
from detours.store import Cell, Store  # noqa: E402
from detours.training import loop as training  # noqa: E402
from detours.training.checkpoint import Checkpoint  # noqa: E402
from detours.training.devices import chosen_device  # noqa: E402
from detours.training.folds import Workplace, best_of, finished, run_all, runs_of  # noqa: E402
from detours.training.logs import Epoch, Log, read_log  # noqa: E402
from detours.training.loop import Fit, Run, train  # noqa: E402
from detours.training.recipe import recipe  # noqa: E402
from detours.training.saved import SavedModel  # noqa: E402
from tests.training.cases import fold_of, inputs_of, one_graph, small, task  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def fabric(precision: str = "32-true") -> Fabric:
    return Fabric(accelerator="cpu", devices=1, precision=precision)


def run_of(data: GraphSet, folder: Path, **changed: Any) -> Run:
    made = small(data, **changed)
    return Run(made, data, fold_of(data), Store(folder).path(made.key()), every=0.0)


def fit_of(data: GraphSet, **changed: Any) -> Fit:
    made = small(data, **changed)
    return Fit(fabric(made.precision), made, inputs_of(data, made), fold_of(data), len(data.classes))


def without_times(rows: list[Epoch]) -> list[Epoch]:
    return [row._replace(seconds=0) for row in rows]


# ---------------------------------------------------------------- the loop


@pytest.mark.parametrize("model", ["plain", "weighted", "mdnn"])
@pytest.mark.parametrize("backbone", ["gcn", "gat", "gin"])
def test_every_network_trains(model: str, backbone: str) -> None:
    fit = fit_of(task(16), model=model, backbone=backbone)
    before = [each.clone() for each in fit.network.parameters()]
    row = fit.epoch()
    assert np.isfinite([row.train_loss, row.val_loss]).all() and 0 <= row.train_accuracy <= 1
    assert all(each.grad is not None for each in fit.network.parameters())
    assert any(not torch.equal(a, b) for a, b in zip(before, fit.network.parameters(), strict=True))


@pytest.mark.parametrize(
    "changed", [{}, {"neighbours": (3, 2), "batch_size": 16}, {"preset": "paper", "hidden": 8, "k": 3}, {"pe": 0}]
)
def test_nodes(changed: dict[str, Any], tmp_path: Path) -> None:
    data = one_graph()
    value, _ = train(fabric(), run_of(data, tmp_path, **changed))
    assert value["epochs"] == 4 and 0 <= value["test_accuracy"] <= 1


def test_detours_are_learned(tmp_path: Path) -> None:
    data = task(80)
    changed = {"backbone": "gcn", "hidden": 16, "epochs": 20, "lr": 5e-3}
    value, _ = train(fabric(), run_of(data, tmp_path, **changed))
    assert value["test_accuracy"] >= 0.95
    value, _ = train(fabric(), run_of(data, tmp_path, model="plain", **changed))
    assert value["test_accuracy"] == 0.5  # message passing cannot tell the two of a pair apart


def test_bf16(tmp_path: Path) -> None:
    value, _ = train(fabric("bf16-mixed"), run_of(task(16), tmp_path, precision="bf16-mixed"))
    assert np.isfinite(value["val_loss"])


def test_loss_and_accuracy_are_those_of_the_network() -> None:
    data = task(24)
    fit = fit_of(data, precision="64-true", batch_size=100)  # the whole training part in one step
    start = {name: value.clone() for name, value in fit.network.state_dict().items()}
    row = fit.epoch()
    (batch,) = fit.batches.evaluation(fit.split.val)
    fit.network.eval()
    with torch.no_grad():
        logits = fit.plain(batch)
        assert row.val_loss == pytest.approx(float(torch.nn.functional.cross_entropy(logits, batch.y)), rel=1e-12)
        assert row.val_accuracy == (logits.argmax(1) == batch.y).double().mean()
        fit.network.load_state_dict(start)
        fit.network.train()
        (batch,) = fit.batches.training(fit.split.train, 1)
        loss = torch.nn.functional.cross_entropy(fit.plain(batch).float(), batch.y)
    assert row.train_loss == pytest.approx(float(loss), rel=1e-6)


def test_the_learning_rate_rises_and_stays() -> None:
    made = small(task(16), epochs=100, warmup=0.1, lr=1.0)
    rates = [training._warmup(made, epochs) for epochs in (0.5, 5, 10, 50)]
    assert rates == pytest.approx([0.05, 0.5, 1, 1])
    assert training._warmup(replace(made, warmup=0.0), 0.1) == 1


def scripted(monkeypatch: pytest.MonkeyPatch, fit: Fit, validation: list[tuple[float, float]]) -> list[Epoch]:
    """What the loop makes of these validation losses and accuracies."""
    script = iter(validation)

    def evaluated(ids: Any) -> Any:
        loss, accuracy = next(script) if ids is fit.split.val else (1.0, 0.25)
        return torch.tensor([loss * len(ids), accuracy * len(ids)], dtype=torch.float64)

    monkeypatch.setattr(fit, "_trained", lambda: torch.zeros(2, dtype=torch.float64))
    monkeypatch.setattr(fit, "_evaluated", evaluated)
    rows = []
    while not fit.over():
        rows.append(fit.epoch())
    return rows


VALIDATION = [(1.0, 0.5), (0.9, 0.75), (0.8, 0.75), (0.85, 0.75), (0.7, 0.5), (0.6, 0.25), (0.5, 0.25)]


def test_ties_go_to_the_lower_loss_and_patience_counts_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fit_of(task(16), epochs=50, patience=3)
    rows = scripted(monkeypatch, fit, VALIDATION)
    assert fit.best is not None and fit.best.epoch == 3 and fit.best.val_loss == pytest.approx(0.8)
    assert len(rows) == 6 and [row.test_accuracy is not None for row in rows] == [True, True, True, False, False, False]


def test_ties_go_to_the_first_in_the_preset_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fit_of(task(16), epochs=50, patience=3, ties="first")
    rows = scripted(monkeypatch, fit, VALIDATION)
    assert fit.best is not None and fit.best.epoch == 2 and len(rows) == 5
    assert recipe("a", "b", "c", "graph", preset="paper").ties == "first"


def test_a_loss_that_is_no_number_is_told() -> None:
    fit = fit_of(task(16), lr=1e30, warmup=0.0, epochs=9)
    with pytest.raises(DetoursError, match=r"rings, fold 0: the loss is .* take a smaller lr"):
        for _ in range(9):
            fit.epoch()


# ---------------------------------------------------------------- going on


def test_resumed_between_any_two_epochs(tmp_path: Path) -> None:
    data = task(24)
    whole = run_of(data, tmp_path / "whole", dropout=0.3)
    value, _ = train(fabric(), whole)
    expected = read_log(whole.path.with_suffix(".csv"))
    for stop in (1, 3):
        part = run_of(data, tmp_path / f"part{stop}", dropout=0.3)

        class Stop(Exception):
            pass

        def on_epoch(row: Epoch, stop: int = stop) -> None:
            if row.epoch == stop:
                raise Stop

        with pytest.raises(Stop):
            train(fabric(), part, on_epoch)
        again, _ = train(fabric(), part)
        assert again == value
        assert without_times(read_log(part.path.with_suffix(".csv"))) == without_times(expected)


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the runs of `forked.py` left behind, in an interpreter of its own."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    folder = tmp_path_factory.mktemp("forked")
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
        "XDG_CACHE_HOME": str(folder),
    }
    code = [sys.executable, "-m", "tests.training.forked", str(folder)]
    done = subprocess.run(code, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


def test_killed_three_times_the_run_ends_with_the_same_bits(forked: Path) -> None:
    (one,), (other,) = (list((forked / "killed" / name).rglob("*.json")) for name in ("alone", "often"))
    cells = [json.loads(file.read_text()) for file in (one, other)]
    assert [cell.pop("seconds") > 0 for cell in cells] == [True, True] and cells[0] == cells[1]
    logs = [without_times(read_log(file.with_suffix(".csv"))) for file in (one, other)]
    assert logs[0] == logs[1] and len(logs[0]) == 25
    models = [SavedModel.load(forked / "killed" / name / "model.pt") for name in ("alone", "often")]
    assert all(torch.equal(models[0].weights[name], models[1].weights[name]) for name in models[0].weights)
    left = {file.suffix for file in (forked / "killed" / "often").rglob("*") if file.is_file()}
    assert left == {".json", ".csv", ".pt"}  # no checkpoint, and nothing half written


def test_two_processes_have_the_loss_curve_of_one(forked: Path) -> None:
    (one,), (two,) = (list((forked / "shared" / name).rglob("*.csv")) for name in ("one", "two"))
    for mine, theirs in zip(read_log(one), read_log(two), strict=True):
        assert theirs.train_loss == pytest.approx(mine.train_loss, abs=1e-6)
        assert theirs.val_loss == pytest.approx(mine.val_loss, abs=1e-6)
        assert theirs.val_accuracy == mine.val_accuracy
    (cell,) = (forked / "shared" / "two").rglob("*.json")
    assert json.loads(cell.read_text())["value"]["processes"] == 2


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    data = task(16)
    first = run_of(data, tmp_path)

    def stop(row: Epoch) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(fabric(), first, stop)
    other = run_of(data, tmp_path, lr=0.5)
    first.path.with_suffix(".ckpt").rename(other.path.with_suffix(".ckpt"))
    with pytest.raises(InputError, match=r"checkpoint of another run \(lr 0.001 there and 0.5 here\)"):
        train(fabric(), other)


def test_a_damaged_checkpoint_counts_as_none(tmp_path: Path) -> None:
    run = run_of(task(16), tmp_path)
    run.path.parent.mkdir(parents=True)
    for content in (b"", b"PK\x03\x04 cut off"):
        run.path.with_suffix(".ckpt").write_bytes(content)
        assert Checkpoint(run.path.with_suffix(".ckpt"), run.recipe, 0.0).load() is None
    torch.save({"something": 1}, run.path.with_suffix(".ckpt"))
    with pytest.raises(InputError, match="is no checkpoint of a training run"):
        Checkpoint(run.path.with_suffix(".ckpt"), run.recipe, 0.0).load()


def test_checkpoints_take_a_twentieth_of_the_time_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("detours.training.checkpoint.time.monotonic", lambda: clock[0])
    slow = torch.save

    def saved(*given: Any) -> None:
        clock[0] += 2.0  # a large model
        slow(*given)

    monkeypatch.setattr("detours.training.checkpoint.torch.save", saved)
    checkpoint = Checkpoint(tmp_path / "a.ckpt", small(task(16)), 5.0)
    assert not checkpoint.due()
    clock[0] = 5.0
    assert checkpoint.due()
    checkpoint.save({})
    clock[0] = 7.0 + 39.0
    assert not checkpoint.due()
    clock[0] += 1.0
    assert checkpoint.due()


# ---------------------------------------------------------------- logs


def test_logs_forget_what_is_done_again(tmp_path: Path) -> None:
    file, rows = (
        tmp_path / "log.csv",
        [Epoch(n, 0.1 * n, 0.5, 1 / 3, 0.25, 0.75 if n == 1 else None, n) for n in (1, 2, 3)],
    )
    log = Log(file)
    for row in rows:
        log.add(row)
    assert read_log(file) == rows
    with open(file, "a") as half:
        half.write("4,0.1,0.5")
    assert read_log(file) == rows
    Log(file, epochs=2)
    assert read_log(file) == rows[:2]
    assert file.read_text().splitlines()[0] == ",".join(Epoch._fields)


# ---------------------------------------------------------------- several runs


def test_finished_runs_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, run = Store(tmp_path), run_of(task(16), tmp_path)
    (cell,) = run_all(store, [run], Workplace("cpu"))
    assert not run.path.with_suffix(".ckpt").exists()
    with_model = replace(run, model=tmp_path / "model.pt")
    assert finished(store, run) == cell and finished(store, with_model) is None
    run_all(store, [with_model], Workplace("cpu"))
    assert finished(store, with_model) is not None
    monkeypatch.setattr("detours.training.folds.train", lambda *_: pytest.fail("made again"))
    assert run_all(store, [run], Workplace("cpu")) == [finished(store, run)]


def test_runs_of_folds(tmp_path: Path) -> None:
    from detours.data import stratified_splits

    data, store = task(), Store(tmp_path)
    folds = stratified_splits(data, folds=4)
    runs = runs_of(data, folds, store, numbers=[1, 3], ks=[2, 4], model="weighted", epochs=2)
    assert [(run.recipe.fold, run.recipe.k) for run in runs] == [(1, 2), (1, 4), (3, 2), (3, 4)]
    assert len({run.path for run in runs}) == 4 and runs[0].split is folds[1]
    with pytest.raises(InputError, match=r"rings has the folds 0 \.\. 3, but fold 4"):
        runs_of(data, folds, store, numbers=[4])
    other = runs_of(
        data, stratified_splits(data, folds=4, seed=1), store, numbers=[1], ks=[2], model="weighted", epochs=2
    )
    assert other[0].path != runs[0].path  # other folds, another run


def test_validation_chooses_among_k() -> None:
    values = [(2, 0.8, 0.5), (3, 0.9, 0.6), (4, 0.9, 0.5), (5, 0.9, 0.5)]
    cells = [Cell({"k": k}, {"val_accuracy": accuracy, "val_loss": loss}, 0.0) for k, accuracy, loss in values]
    assert best_of(cells[::-1]).key["k"] == 4


def test_workplaces() -> None:
    with pytest.raises(InputError, match="not --devices and --jobs"):
        Workplace("cpu", devices=2, jobs=2)
    with pytest.raises(InputError, match="jobs must be an integer of at least 1"):
        Workplace("cpu", jobs=0)
    for wrong in ("tpu", "cpu:1", "cuda:x"):
        with pytest.raises(InputError, match=f"device must be 'cpu', 'cuda' .* but it is '{wrong}'"):
            chosen_device(wrong)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu() -> None:
    with pytest.raises(EngineError, match="PyTorch finds no CUDA GPU"):
        chosen_device("cuda")
    assert chosen_device("auto") == "cpu"
