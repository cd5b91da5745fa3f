"""Stacks of runs: finished ones are read, of two processes one trains, obsolete checkpoints are removed."""

import gc
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("lightning")

from detours.atomic import exclusive
from detours.data import stratified_splits
from detours.errors import InputError
from detours.store import Store
from detours.training import stacks
from detours.training.checkpoint import Checkpoint
from detours.training.devices import chosen_device
from detours.training.loop import Diverged, OutOfTime, Run, Training
from detours.training.replicas.fit import Fit
from detours.training.runs import runs_of
from detours.training.stacks import Resources, finished, run_all
from tests.training.cases import run_of, task


def test_finished_runs_are_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, run = Store(tmp_path), run_of(task(16), tmp_path)
    (cell,) = run_all(store, [run], Resources("cpu"))
    assert not run.path.with_suffix(".ckpt").exists()
    with_model = replace(run, model=tmp_path / "model.pt")
    assert finished(store, run) == cell and finished(store, with_model) is None
    run_all(store, [with_model], Resources("cpu"))
    assert finished(store, with_model) is not None
    monkeypatch.setattr("detours.training.stacks.train", lambda *_: pytest.fail("trained again"))
    assert run_all(store, [run], Resources("cpu")) == [finished(store, run)]


def test_folders_that_cannot_be_written_are_reported_before_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr("detours.training.stacks.train", lambda *_, **__: pytest.fail("trained"))
    run = run_of(task(16), tmp_path)
    with_model = replace(run, model=tmp_path / "file" / "models" / "model.pt")
    elsewhere = replace(run, path=tmp_path / "file" / "results" / run.path.name)
    for wrong, name in ((with_model, "models"), (elsewhere, "results")):
        with pytest.raises(InputError, match=f"the folder .*{name} cannot be made"):
            run_all(Store(tmp_path), [wrong], Resources("cpu"))


def test_a_run_that_is_given_twice_is_trained_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, trained = run_of(task(16), tmp_path), []
    original = stacks._train_stack
    monkeypatch.setattr(
        stacks, "_train_stack", lambda store, stack, *more: trained.append(stack) or original(store, stack, *more)
    )
    cells = run_all(Store(tmp_path), [run, run], Resources("cpu", replicas=1))  # else each would be locked by the other
    assert cells[0] == cells[1] and trained == [[run]]


def test_of_two_processes_that_train_one_run_the_second_is_refused(tmp_path: Path) -> None:
    store, data = Store(tmp_path), task(16)
    first, second = (run_of(data, tmp_path, lr=lr) for lr in (1e-3, 1e-2))
    first, second = (replace(run, path=store.path(run.recipe.key())) for run in (first, second))
    lock = first.path.with_name(f".{first.path.stem}.lock")
    lock.parent.mkdir(parents=True)
    refusal = r"another process is training fold 0 of rings in .*networks; wait for its end, or give another folder\.$"
    with exclusive(lock):
        with pytest.raises(InputError, match=refusal):
            run_all(store, [second, first], Resources("cpu"))
        assert [file.name for file in lock.parent.iterdir()] == [lock.name]  # no log was touched
        assert len(run_all(store, [second], Resources("cpu"))) == 1  # another run in the same folder
    lock.touch()  # as a killed process leaves it
    cells = run_all(store, [first, first], Resources("cpu"))
    assert cells[0] == cells[1] and not list(tmp_path.rglob(".*"))
    checkpoint = Checkpoint(first.path.with_suffix(".ckpt"), [first.recipe], 0.0)
    for held in (True, False):
        checkpoint.save({})
        with exclusive(lock if held else tmp_path / "other"):  # by one that trains it again, to save the model
            run_all(store, [first], Resources("cpu"))
        assert checkpoint.path.exists() == held


SOME: dict[str, Any] = {"model": "plain", "hidden": 4, "layers": 1, "epochs": 3, "every": 0.0}


def interrupted(store: Store, runs: list[Run]) -> Path:
    """Return the checkpoint of runs that a deadline has interrupted."""
    before = set(store.folder.rglob("*.ckpt"))
    with pytest.raises(OutOfTime):
        run_all(store, runs, Resources("cpu", deadline=0.0))
    (checkpoint,) = set(store.folder.rglob("*.ckpt")) - before
    return checkpoint


def test_checkpoints_of_other_stacks_are_removed_with_the_last_of_their_runs(tmp_path: Path) -> None:
    data, store = task(16), Store(tmp_path)
    runs = runs_of(data, stratified_splits(data, folds=4), store, numbers=range(4), **SOME)
    left = interrupted(store, runs)
    run_all(store, runs[:3], Resources("cpu", replicas=2))
    assert list(tmp_path.rglob("*.ckpt")) == [left]  # it is that of the fourth run, too
    first = runs[0].path
    for held in (True, False):
        with exclusive(first.with_name(f".{first.stem}.lock") if held else tmp_path / "other"):  # by one that trains it
            run_all(store, runs[3:], Resources("cpu"))  # without the first
        assert left.exists() == held
    assert not list(tmp_path.rglob("*.ckpt")) and len(list(tmp_path.rglob("*.json"))) == 4


def test_obsolete_checkpoints_are_removed_by_any_run_of_the_folder(tmp_path: Path) -> None:
    data, store = task(16), Store(tmp_path)
    parts = stratified_splits(data, folds=4)
    one, two, other = (runs_of(data, parts, store, numbers=range(2), **SOME, lr=lr) for lr in (0.1, 0.2, 0.3))
    stale, needed = interrupted(store, one), interrupted(store, two)
    alone = interrupted(store, two[1:])
    with exclusive(one[0].path.with_name(f".{one[0].path.stem}.lock")):  # a kill after the results, before the end
        for run in one:
            store.keep(run.recipe.key(), {}, 0.0)
        store.keep(two[0].recipe.key(), {}, 0.0)
        run_all(store, other, Resources("cpu"))
        assert stale.exists()
    run_all(store, other, Resources("cpu"))
    assert not stale.exists() and needed.exists() and alone.exists()  # of other settings, and not finished


def test_runs_that_other_code_has_finished_keep_their_checkpoint(tmp_path: Path) -> None:
    data, store = task(16), Store(tmp_path, keep_old=True)
    parts = stratified_splits(data, folds=4)
    run, other = (runs_of(data, parts, store, numbers=[0], **SOME, lr=lr)[0] for lr in (0.1, 0.2))
    left = interrupted(store, [run])
    store.keep(run.recipe.key() | {"code": "0" * 8}, {}, 0.0)
    assert finished(store, run) is not None
    for each in (other, run):
        run_all(store, [each], Resources("cpu"))
        assert left.exists()  # without --keep-old it is needed


def test_checkpoints_of_a_folder_that_cannot_be_written_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, store = task(16), Store(tmp_path)
    (run,) = runs_of(data, stratified_splits(data, folds=4), store, numbers=[0], **SOME)
    left = interrupted(store, [run])
    store.keep(run.recipe.key(), {}, 0.0)

    def refused(self: Path, **_: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "unlink", refused)
    (cell,) = run_all(store, [run], Resources("cpu"))
    assert cell.key["fold"] == 0 and left.exists()


def test_damaged_and_partial_checkpoints_of_finished_runs_are_removed(tmp_path: Path) -> None:
    store, run = Store(tmp_path), run_of(task(16), tmp_path)
    run_all(store, [run], Resources("cpu"))
    damaged = run.path.with_suffix(".ckpt")
    damaged.write_bytes(b"half of it")
    (part := damaged.with_name(f".{damaged.name}.0a1b2c3d.part")).touch()
    run_all(store, [run], Resources("cpu"))
    assert not damaged.exists() and not part.exists()


def test_checkpoints_of_runs_whose_models_are_to_be_saved_stay(tmp_path: Path) -> None:
    data, store = task(16), Store(tmp_path)
    parts = stratified_splits(data, folds=4)
    plain = runs_of(data, parts, store, numbers=range(2), **SOME)
    saved = runs_of(data, parts, store, numbers=range(2), save=tmp_path / "models", **SOME)
    run_all(store, plain, Resources("cpu"))
    left = interrupted(store, saved)  # they have results, but no models
    for one in (plain[:1], plain, saved[:1]):
        run_all(store, one, Resources("cpu"))
        assert left.exists()
    run_all(store, saved[1:], Resources("cpu"))
    assert not list(tmp_path.rglob("*.ckpt")) and len(list(tmp_path.rglob("*.pt"))) == 2


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_stack_that_diverges_does_not_stop_the_others(tmp_path: Path, jobs: int) -> None:
    data, store = task(16), Store(tmp_path)
    runs = [run_of(data, tmp_path, lr=lr, warmup=0.0, epochs=9) for lr in (1e30, 1e-3, 1e-2)]
    with pytest.raises(Diverged, match=r"^rings, fold 0: the loss is \w+ after \d epochs?; take a smaller lr\.$"):
        run_all(store, runs, Resources("cpu", replicas=1, jobs=jobs))
    assert [finished(store, run) is not None for run in runs] == [False, True, True]


def test_processes_share_the_cores_that_this_one_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[tuple[int, int]] = []

    def in_processes(work: Any, tasks: Any, jobs: int) -> list[None]:
        for arguments in tasks:
            monkeypatch.setattr(stacks.torch, "set_num_threads", lambda threads: shares.append((jobs, threads)))
            monkeypatch.setattr(stacks, "_train_stack", lambda *_: None)
            work(*arguments)
        return []

    monkeypatch.setattr(stacks, "run_in_processes", in_processes)
    monkeypatch.setattr(stacks, "check_jobs", lambda _: 12)
    data = task(16)
    run_all(Store(tmp_path), [run_of(data, tmp_path, seed=seed) for seed in range(3)], Resources("cpu", jobs=10))
    assert shares == [(3, 4)] * 3


def test_workplaces() -> None:
    with pytest.raises(InputError, match="not --devices and --jobs"):
        Resources("cpu", devices=2, jobs=2)
    with pytest.raises(InputError, match="jobs must be an integer of at least 1"):
        Resources("cpu", jobs=0)
    for wrong in ("tpu", "cpu:1", "cuda:x"):
        with pytest.raises(InputError, match=f"device must be 'cpu', 'cuda' .* but it is '{wrong}'"):
            chosen_device(wrong)


def test_the_memory_of_a_stack_is_free_without_a_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[weakref.ref[Fit]] = []
    begin = Training.begin

    def noted(self: Training, finished: list[bool]) -> None:
        begin(self, finished)
        kept.append(weakref.ref(self.fit))

    monkeypatch.setattr(Training, "begin", noted)
    gc.disable()
    try:
        run_all(Store(tmp_path), [run_of(task(16), tmp_path)], Resources("cpu"))
        assert [each() for each in kept] == [None]
    finally:
        gc.enable()


def test_out_of_memory_when_runs_are_dropped_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    prepare, prepared = Fit._prepare, []

    def short(self: Fit) -> None:
        prepared.append(len(self.stack))
        if len(prepared) > 1:
            raise torch.cuda.OutOfMemoryError("out of memory")
        prepare(self)

    monkeypatch.setattr(Fit, "_prepare", short)
    runs = [run_of(task(16), tmp_path, epochs=epochs, patience=9) for epochs in (1, 3)]
    with pytest.raises(torch.cuda.OutOfMemoryError):
        run_all(Store(tmp_path), runs, Resources("cpu"))
    assert prepared == [2, 1] and finished(Store(tmp_path), runs[0]) is not None
