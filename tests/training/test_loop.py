"""Training: what is best, when it ends, that it learns, that it resumes to the same bits, that processes may share."""

import json
import os
import re
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from lightning.fabric import Fabric  # noqa: E402

from detours.data import GraphSet  # noqa: E402
from detours.errors import EngineError, InputError  # noqa: E402
from detours.graph import Graph  # noqa: E402
from detours.training import logs  # noqa: E402
from detours.training.batches.inputs import Scaling  # noqa: E402
from detours.training.checkpoint import Checkpoint  # noqa: E402
from detours.training.devices import chosen_device, fabric_of  # noqa: E402
from detours.training.logs import Epoch, Log, LogReader, read_log  # noqa: E402
from detours.training.loop import PER_REPLICA, Diverged, OutOfTime, Run, Training, scaling_of, train  # noqa: E402
from detours.training.replicas.progress import Progress, Scores  # noqa: E402
from detours.training.saved import SavedModel  # noqa: E402
from tests.training.cases import inputs_of, one_graph, run_of, small, task  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def fabric(precision: str = "32-true") -> Fabric:
    return Fabric(accelerator="cpu", devices=1, precision=precision)


def trained(run: Run) -> dict[str, Any]:
    """The results of one run."""
    results: list[dict[str, Any]] = []
    finish = lambda run, value, seconds: results.append(value)  # noqa: E731
    train(fabric(run.recipe.precision), [run], run.path.with_suffix(".ckpt"), finish)
    (value,) = results
    return value


def without_times(rows: list[Epoch]) -> list[Epoch]:
    return [row._replace(seconds=0) for row in rows]


# ---------------------------------------------------------------- the loop


@pytest.mark.parametrize(
    "changed", [{}, {"neighbours": (3, 2), "batch_size": 16}, {"preset": "paper", "hidden": 8, "k": 3}, {"pe": 0}]
)
def test_nodes(changed: dict[str, Any], tmp_path: Path) -> None:
    data = one_graph()
    value = trained(run_of(data, tmp_path, **changed))
    assert value["epochs"] == 4 and 0 <= value["test_accuracy"] <= 1


def test_features_are_scaled_by_the_training_part_alone() -> None:
    nodes = one_graph(20)
    recipe = small(nodes, standardise=True)
    inputs = inputs_of(nodes, recipe)
    assert np.array_equal(scaling_of(inputs, np.arange(8), recipe).shift, Scaling.of(inputs.x[:8]).shift)
    graphs = task(6)
    recipe = small(graphs, standardise=True)
    inputs = inputs_of(graphs, recipe)
    x = np.random.default_rng(0).normal(size=inputs.x.shape).astype(np.float32)
    found, expected = scaling_of(replace(inputs, x=x), np.arange(2), recipe), Scaling.of(x[: inputs.nodes[2]])
    assert np.array_equal(found.shift, expected.shift) and np.array_equal(found.scale, expected.scale)


@pytest.mark.slow
def test_detours_are_learned(tmp_path: Path) -> None:
    data = task(80)
    changed = {"backbone": "gcn", "hidden": 16, "epochs": 20, "lr": 5e-3}
    value = trained(run_of(data, tmp_path, **changed))
    assert value["test_accuracy"] >= 0.95
    value = trained(run_of(data, tmp_path, model="plain", **changed))
    assert value["test_accuracy"] == 0.5  # message passing cannot distinguish the two of a pair


def test_bf16(tmp_path: Path) -> None:
    runs = [run_of(task(16), tmp_path, precision="bf16-mixed", seed=seed) for seed in range(2)]
    value, together = trained(runs[0]), []
    assert np.isfinite(value["val_loss"])
    train(fabric("bf16-mixed"), runs, tmp_path / "both.ckpt", lambda run, value, seconds: together.append(value))
    assert together[0]["val_loss"] == pytest.approx(value["val_loss"], rel=1e-2) and len(together) == 2


def test_a_loss_that_is_not_finite_is_reported(tmp_path: Path) -> None:
    data, done = task(16), []
    runs = [run_of(data, tmp_path, lr=lr, warmup=0.0, epochs=9) for lr in (1e30, 1e-3)]
    with pytest.raises(Diverged, match=r"^rings, fold 0: the loss is \w+ after \d epochs?; take a smaller lr\.$"):
        train(fabric(), runs, tmp_path / "both.ckpt", lambda run, value, seconds: done.append(run))
    assert done == runs[1:]  # the other one is not stopped by it


def test_a_validation_loss_that_is_always_nan_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a run has no best epoch, and so no result."""
    update = Progress.update

    def with_nan(progress: Progress, scores: Scores) -> torch.Tensor:
        added = torch.tensor([torch.nan, 0.0], dtype=torch.float64)
        return update(progress, scores._replace(val_loss=scores.val_loss + added[: len(scores.val_loss)]))

    monkeypatch.setattr(Progress, "update", with_nan)
    data, done = task(16), []
    runs = [run_of(data, tmp_path, seed=seed, epochs=5) for seed in range(2)]
    with pytest.raises(Diverged, match=r"^rings, fold 0: the validation loss is nan after 5 epochs; take a smaller lr"):
        train(fabric(), runs, tmp_path / "both.ckpt", lambda run, value, seconds: done.append(run))
    assert done == runs[1:]


def test_data_that_cause_such_a_loss_are_reported(tmp_path: Path) -> None:
    plain = one_graph(directed=False)
    assert plain.x is not None
    constant = plain.x[0].copy()
    constant[:, 2] = 3e36  # which standardising leaves as it is
    large = replace(plain, x=[plain.x[0] * np.float32(1e30)])
    edges = replace(plain, edge_x=[np.full((plain.graphs[0].edge_index.shape[1], 1), 1e32, np.float32)])
    nodes = r"the network sees features of nodes up to"
    for data, changed, advice in (
        (
            large,
            {"standardise": False},
            rf"{nodes} \d\.\d+e\+30, so scale them, as standardise=true does, or take a sm",
        ),
        (replace(plain, x=[constant]), {}, rf"{nodes} 3e\+36, so scale them, or take a smaller lr\.$"),
        (
            edges,
            {"edge_features": True},
            r"the network sees features of edges up to 1e\+32, so scale them, or take a sm",
        ),
        (replace(plain, y=np.where(plain.y > 0, 1e39, 0.0)), {}, r"some targets are too large for 32 bits, so scale"),
    ):
        with pytest.raises(Diverged, match=rf"^one, fold 0: the loss is (nan|inf) after \d epochs?; {advice}"):
            trained(run_of(data, tmp_path, **changed))


def test_detour_numbers_that_cause_it_are_reported(tmp_path: Path) -> None:
    clique = Graph.from_networkx(nx.complete_graph(22))
    data = GraphSet("clique", [clique], np.arange(22) % 2, level="node")
    changed = {"model": "weighted", "log": False, "k": 7, "layers": 4, "backbone": "gin", "lr": 1e18, "warmup": 0.0}
    with pytest.raises(Diverged, match=r"; the network sees detour numbers up to \S+, so take log=true or a smaller k"):
        trained(run_of(data, tmp_path, **changed))


# ---------------------------------------------------------------- going on


class Stopped(Exception):
    """Raised instead of an interrupt."""


def trained_until(epoch: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Train until an epoch has been logged, and raise `Stopped`."""
    record = Training._record

    def recording(self: Training, epochs: list[Any]) -> None:
        record(self, epochs)
        if self.fit.done == epoch:
            raise Stopped

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(Training, "_record", recording)
        trained(run)


def test_resumed_between_any_two_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = task(24)
    changed = {"dropout": 0.3, "average": 0.9, "smooth": 0.5}
    whole = run_of(data, tmp_path / "whole", **changed)
    value = trained(whole)
    expected = read_log(whole.path.with_suffix(".csv"))
    for stop in (1, 3):
        part = run_of(data, tmp_path / f"part{stop}", **changed)
        trained_until(stop, part, monkeypatch)
        assert trained(part) == value
        assert without_times(read_log(part.path.with_suffix(".csv"))) == without_times(expected)


def test_a_checkpoint_without_a_model_is_not_used_to_save_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = task(24)
    part = run_of(data, tmp_path / "part")
    whole = replace(run_of(data, tmp_path / "whole"), model=tmp_path / "whole.pt")
    value = trained(whole)
    trained_until(3, part, monkeypatch)
    part = replace(part, model=tmp_path / "part.pt")
    assert trained(part) == value and value["best_epoch"] < 3
    expected, found = (SavedModel.load(tmp_path / name).weights for name in ("whole.pt", "part.pt"))
    assert all(torch.equal(weights, found[name]) for name, weights in expected.items())


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the runs of `forked.py`, in a separate interpreter."""
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


@pytest.mark.slow
def test_a_run_that_is_killed_three_times_ends_with_the_same_bits(forked: Path) -> None:
    cells, logs, models = [], [], []
    for name in ("alone", "often"):
        files = sorted((forked / "killed" / name).rglob("*.json"))
        assert len(files) == 10
        cells.append([{**json.loads(file.read_text()), "seconds": 0} for file in files])
        logs.append([without_times(read_log(file.with_suffix(".csv"))) for file in files])
        models.append([SavedModel.load(forked / "killed" / name / f"{fold}.pt").weights for fold in range(10)])
    assert cells[0] == cells[1] and logs[0] == logs[1] and min(map(len, logs[0])) < max(map(len, logs[0])) <= 25
    for one, other in zip(*models, strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
    left = {file.suffix for file in (forked / "killed" / "often").rglob("*") if file.is_file()}
    assert left == {".json", ".csv", ".pt"}  # no checkpoint, and nothing half written


@pytest.mark.slow
def test_two_processes_have_the_loss_curve_of_one(forked: Path) -> None:
    (one,), (two,) = (list((forked / "shared" / name).rglob("*.csv")) for name in ("one", "two"))
    for mine, theirs in zip(read_log(one), read_log(two), strict=True):
        assert theirs.train_loss == pytest.approx(mine.train_loss, abs=1e-6)
        assert theirs.val_loss == pytest.approx(mine.val_loss, abs=1e-6)
        assert theirs.val_score == mine.val_score
    (cell,) = (forked / "shared" / "two").rglob("*.json")
    assert json.loads(cell.read_text())["value"]["processes"] == 2


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = task(16)
    first = run_of(data, tmp_path)
    trained_until(2, first, monkeypatch)
    other = run_of(data, tmp_path, lr=0.5)
    first.path.with_suffix(".ckpt").rename(other.path.with_suffix(".ckpt"))
    with pytest.raises(InputError, match=r"checkpoint of another run \(lr 0.001 there and 0.5 here\)"):
        trained(other)


def test_a_damaged_checkpoint_counts_as_none(tmp_path: Path) -> None:
    run = run_of(task(16), tmp_path)
    run.path.parent.mkdir(parents=True)
    for content in (b"", b"PK\x03\x04 cut off"):
        run.path.with_suffix(".ckpt").write_bytes(content)
        assert Checkpoint(run.path.with_suffix(".ckpt"), [run.recipe], 0.0).load() is None
    torch.save({"something": 1}, run.path.with_suffix(".ckpt"))
    with pytest.raises(InputError, match="is not a checkpoint of training runs"):
        Checkpoint(run.path.with_suffix(".ckpt"), [run.recipe], 0.0).load()


def test_checkpoints_take_a_twentieth_of_the_time_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("detours.training.checkpoint.time.monotonic", lambda: clock[0])
    slow = torch.save

    def saved(*given: Any) -> None:
        clock[0] += 2.0  # a large model
        slow(*given)

    monkeypatch.setattr("detours.training.checkpoint.torch.save", saved)
    checkpoint = Checkpoint(tmp_path / "a.ckpt", [small(task(16))], 5.0)
    assert not checkpoint.due()
    clock[0] = 5.0
    assert checkpoint.due()
    checkpoint.save({})
    clock[0] = 7.0 + 39.0
    assert not checkpoint.due()
    clock[0] += 1.0
    assert checkpoint.due()


def test_the_first_checkpoint_of_a_large_model_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("detours.training.checkpoint.time.monotonic", lambda: clock[0])
    checkpoint = Checkpoint(tmp_path / "a.ckpt", [small(task(16))], 5.0)
    four_gigabytes = {"done": 0, "fit": {"flat": torch.empty(10**9, device="meta"), "best_flat": None}}
    checkpoint.expect(four_gigabytes)
    clock[0] = 79.0
    assert not checkpoint.due()
    clock[0] = 80.0
    assert checkpoint.due()


# ---------------------------------------------------------------- logs


def test_logs_drop_epochs_that_are_repeated(tmp_path: Path) -> None:
    file, rows = (
        tmp_path / "log.csv",
        [Epoch(n, 0.1 * n, 0.5, 1 / 3, 0.25, 0.75 if n == 1 else None, n) for n in (1, 2, 3)],
    )
    log = Log(file)
    log.add(rows[:1])
    log.add(rows[1:])
    assert read_log(file) == rows
    with open(file, "a") as half:
        half.write("4,0.1,0.5")
    assert read_log(file) == rows
    Log(file, epochs=2)
    assert read_log(file) == rows[:2]
    assert file.read_text().splitlines()[0] == ",".join(Epoch._fields)


def test_a_log_is_read_as_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Epoch(n, 0.1 * n, 0.5, 1 / 3, 0.25, None, n) for n in (1, 2, 3)]
    file, parsed = tmp_path / "log.csv", []
    parse = logs._epoch
    monkeypatch.setattr(logs, "_epoch", lambda row: parsed.append(row[0]) or parse(row))
    reader = LogReader(file)
    assert reader.read() == []
    log = Log(file)
    assert reader.read() == []
    log.add(rows[:2])
    assert reader.read() == rows[:2]
    text = file.read_text()
    log.add(rows[2:])
    line = file.read_text().removeprefix(text)
    file.write_text(text + line[:5])  # half of it is written
    assert reader.read() == rows[:2]
    file.write_text(text + line)
    assert reader.read() == rows and parsed == ["1", "2", "3"]
    Log(file, epochs=1)  # a resumed run
    assert reader.read() == rows[:1]


def test_tensorboard_has_every_epoch_of_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Writer:
        held: ClassVar[list[int]] = []
        written: ClassVar[list[int]] = []

        def add_scalar(self, name: str, value: float, epoch: int) -> None:
            self.held += [epoch] if name == "train_loss" else []

        def flush(self) -> None:
            self.written += self.held
            self.held.clear()

        close = flush

    monkeypatch.setattr(logs, "_writer", lambda folder, epochs: Writer())
    run = replace(run_of(task(16), tmp_path), tensorboard=tmp_path / "board")
    with pytest.raises(OutOfTime):
        train(fabric(), [run], run.path.with_suffix(".ckpt"), lambda *_: None, deadline=0.0)
    assert Writer.written == [1]
    Writer.held.clear()  # lost with the process
    trained(run)
    assert Writer.written == [1, 2, 3, 4]


# ---------------------------------------------------------------- devices and settings


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_named_becomes_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[torch.device] = []
    monkeypatch.setattr("detours.training.devices.Fabric", lambda devices, **_: Namespace(device=devices[0]))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    fabric_of("cuda:1", "32-true")
    assert current == [1]


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(EngineError, match="PyTorch finds no CUDA GPU"):
        chosen_device("cuda")
    assert chosen_device("auto") == "cpu"


def test_the_docs_name_the_settings_in_which_replicas_may_differ() -> None:
    text = (ROOT / "docs" / "training.md").read_text("utf-8")
    sentence = " ".join(text.split()).partition("recipes differ only in the fold, the seed,")[2].partition(" - **")[0]
    listed = set(re.findall(r"`(\w+)`", sentence))
    assert listed == set(PER_REPLICA) - {"fold", "seed"}, (
        "docs/training.md, Replicas, lists the settings of PER_REPLICA"
    )
