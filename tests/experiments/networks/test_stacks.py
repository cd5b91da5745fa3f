"""The stacks of the queue: how they are divided, and how they resume after an interruption."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from detours.data import GraphSet
from detours.experiments.networks import queue as module
from detours.experiments.networks.entries import num_weights
from detours.experiments.networks.queue import even_size
from detours.experiments.networks.records import read_records
from detours.store import Store
from detours.training import stacks as training
from detours.training.loop import Training
from tests.experiments.networks.queues import PLAIN, interrupt, new_queue, suffixes

FOUR_SEEDS: dict[str, object] = {"seeds": [0, 1, 2, 3], "folds": [0]}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], int]]:
    """The seeds and the finished epochs of every stack whose training starts or resumes."""
    stacks: list[tuple[list[int], int]] = []
    begin = Training.begin

    def recording(self: Training, finished: list[bool]) -> None:
        begin(self, finished)
        stacks.append(([run.recipe.seed for run in self.runs], self.fit.done))

    monkeypatch.setattr(Training, "begin", recording)
    return stacks


def test_an_interrupted_entry_resumes_with_the_same_results(tmp_path: Path, data: GraphSet) -> None:
    uninterrupted, parts = tmp_path / "uninterrupted", tmp_path / "parts"
    new_queue(uninterrupted, data).run([PLAIN])
    reports: list[str] = []
    for _ in range(20):
        queue = new_queue(parts, data, reports=reports)
        interrupt(queue)
        if not queue.run([PLAIN]):
            break
        assert [file.suffix for file in (parts / "work" / "networks").glob("*.ckpt")] == [".ckpt"]
    assert "interrupted, it resumes from its checkpoint" in reports[0] and 2 <= len(reports) < 20
    scores = [
        [run["test_loss"] for record in read_records(Store(each)) for run in record.runs.values()]
        for each in (uninterrupted, parts)
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-4)
    assert suffixes(parts) == [".json", ".json"]


def test_folds_of_a_killed_process_are_recorded_next_time(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "pack", killed)
        with pytest.raises(KeyboardInterrupt):
            new_queue(tmp_path, data).run([PLAIN])
    assert read_records(Store(tmp_path)) == []
    monkeypatch.setattr("detours.training.stacks.train", lambda *a, **k: pytest.fail("trained again"))
    assert new_queue(tmp_path, data).run([PLAIN]) == []
    assert len(read_records(Store(tmp_path))) == 2


def test_every_finished_stack_is_recorded_before_the_next(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all, recorded = training.run_all, []

    def killed(store: Store, runs: list[training.Run], place: training.Resources) -> object:
        recorded.append(sum(len(record.runs) for record in read_records(Store(tmp_path))))
        if len(recorded) == 4:
            raise SystemExit
        return run_all(store, runs, place)

    monkeypatch.setattr(training, "run_all", killed)
    with pytest.raises(SystemExit):
        new_queue(tmp_path, data, replicas=1).run([PLAIN])
    assert recorded == [0, 1, 2, 3]
    shutil.rmtree(tmp_path / "work")  # the records are enough to resume
    reports: list[str] = []
    assert new_queue(tmp_path, data, reports=reports).run([PLAIN]) == []
    assert "1 of 1 runs" in reports[0] and [len(record.runs) for record in read_records(Store(tmp_path))] == [2, 2]


def test_runs_that_a_killed_process_has_finished_are_left_out_of_the_stacks(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all, stacks = training.run_all, []

    def recording(store: Store, runs: list[training.Run], place: training.Resources) -> object:
        stacks.append([run.recipe.seed for run in runs])
        return run_all(store, runs, place)

    monkeypatch.setattr(training, "run_all", recording)
    new_queue(tmp_path, data, **FOUR_SEEDS).run([PLAIN])
    killed = new_queue(tmp_path / "killed", data, **FOUR_SEEDS)
    run_all(killed.work, killed._runs(PLAIN)[1:2], training.Resources("cpu"))  # the second of a stack of four
    stacks.clear()
    assert new_queue(tmp_path / "killed", data, replicas=2, **FOUR_SEEDS).run([PLAIN]) == []
    assert stacks == [[0, 2], [3]]
    values = [[record.runs for record in read_records(Store(folder))] for folder in (tmp_path, tmp_path / "killed")]
    assert [list(runs) for runs in values[0]] == [list(runs) for runs in values[1]] == [[0]] * 4


def test_an_interrupted_stack_resumes_whatever_was_finished_before_it(
    tmp_path: Path, data: GraphSet, started: list[tuple[list[int], int]]
) -> None:
    killed = new_queue(tmp_path, data, **FOUR_SEEDS)
    runs = killed._runs(PLAIN)
    training.run_all(killed.work, runs[1:2], training.Resources("cpu"))
    started.clear()
    interrupt(killed)
    assert killed.run([PLAIN]) == [PLAIN] and started == [([0, 2, 3], 0)]
    training.run_all(killed.work, runs[2:3], training.Resources("cpu"))  # one of them ends
    started.clear()
    assert new_queue(tmp_path, data, **FOUR_SEEDS).run([PLAIN]) == []
    assert started == [([0, 2, 3], 1)]
    assert [list(record.runs) for record in read_records(Store(tmp_path))] == [[0]] * 4
    assert suffixes(tmp_path) == [".json"] * 4


def test_stacks_too_large_for_the_memory_are_divided(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    sizes: list[int] = []
    run_all = training.run_all

    def small(store: Store, runs: list[training.Run], place: training.Resources) -> object:
        sizes.append(len(runs))
        if len(runs) > 2:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return run_all(store, runs, place)

    monkeypatch.setattr(training, "run_all", small)
    assert new_queue(tmp_path, data).run([PLAIN]) == []
    assert sizes == [4, 2, 2]


def test_stacks_are_equal_and_their_checkpoints_fit_on_the_disk(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch, started: list[tuple[list[int], int]]
) -> None:
    def disk(folder: Path) -> SimpleNamespace:
        return SimpleNamespace(free=3.5 * checkpoint - sum(file.stat().st_size for file in folder.rglob("*.ckpt")))

    queue = new_queue(tmp_path, data, **FOUR_SEEDS)
    checkpoint = module.BYTES_PER_WEIGHT * num_weights(queue._runs(PLAIN)[0].recipe) / module.SHARE_OF_DISK
    monkeypatch.setattr(module, "disk_usage", disk)
    interrupt(queue)
    assert queue.run([PLAIN]) == [PLAIN] and started == [([0, 1], 0)]
    started.clear()
    assert new_queue(tmp_path, data, **FOUR_SEEDS).run([PLAIN]) == []  # with the checkpoint on the disk
    assert started == [([0, 1], 1), ([2, 3], 0)]
    started.clear()
    assert new_queue(tmp_path / "requested", data, replicas=4, **FOUR_SEEDS).run([PLAIN]) == []  # however full the disk
    assert started == [([0, 1, 2, 3], 0)]
    assert [even_size(10, most) for most in (1, 3, 4, 6, 9, 10, 99)] == [1, 3, 4, 5, 5, 10, 10]


def test_an_interrupted_stack_resumes_on_a_fuller_disk(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch, started: list[tuple[list[int], int]]
) -> None:
    queue = new_queue(tmp_path, data)
    interrupt(queue)
    assert queue.run([PLAIN]) == [PLAIN]
    monkeypatch.setattr(module, "disk_usage", lambda folder: SimpleNamespace(free=0))
    (queue.work.folder / "gone.ckpt").symlink_to("nowhere")  # like one that another process has just removed
    assert new_queue(tmp_path, data).run([PLAIN]) == []
    ((seeds, _), _) = started
    assert started == [(seeds, 0), (seeds, 1)] and len(seeds) > 1


@pytest.mark.parametrize(("most", "stack", "rest"), [(2, "0.2 1.0", ["1.1 1.2"]), (1, "1.0", ["1.1", "1.2"])])
def test_an_interrupted_stack_that_was_divided_resumes(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch, most: int, stack: str, rest: list[str]
) -> None:
    import torch

    seeds: dict[str, object] = {"seeds": [0, 1, 2], "folds": [0, 1]}
    started: list[tuple[str, int]] = []
    train, begin, go_on = training.train, Training.begin, Training.go_on

    def small(fabric: object, runs: list[training.Run], *other: object, finished: list[bool], **more: object) -> None:
        if finished.count(False) > most:
            raise torch.cuda.OutOfMemoryError("out of memory")
        train(fabric, runs, *other, finished=finished, **more)  # type: ignore[arg-type]

    def recording(self: Training, finished: list[bool]) -> None:
        begin(self, finished)
        names = [f"{run.recipe.fold}.{run.recipe.seed}" for run in (self.runs[index] for index in self.members)]
        started.append((" ".join(names), self.fit.done))

    def interrupted(self: Training, deadline: float) -> None:
        go_on(self, 0.0 if "1.0" in started[-1][0] and not self.fit.done else deadline)

    monkeypatch.setattr(training, "train", small)
    monkeypatch.setattr(Training, "begin", recording)
    monkeypatch.setattr(Training, "go_on", interrupted)
    assert new_queue(tmp_path, data, **seeds).run([PLAIN]) == [PLAIN]
    assert started[-1] == (stack, 0)
    started.clear()
    assert new_queue(tmp_path, data, **seeds).run([PLAIN]) == []
    assert started == [(stack, 1), *((each, 0) for each in rest)]
    assert suffixes(tmp_path) == [".json"] * 3


def test_an_interrupted_stack_resumes_after_a_part_of_its_runs_was_requested(
    tmp_path: Path, data: GraphSet, started: list[tuple[list[int], int]]
) -> None:
    queue = new_queue(tmp_path, data)
    interrupt(queue)
    assert queue.run([PLAIN]) == [PLAIN] and suffixes(tmp_path).count(".ckpt") == 1
    assert new_queue(tmp_path, data, folds=[0], seeds=[0]).run([PLAIN]) == []
    assert started == [([0, 1, 0, 1], 0), ([0], 0)] and suffixes(tmp_path).count(".ckpt") == 1
    assert new_queue(tmp_path, data).run([PLAIN]) == []
    assert started[2:] == [([0, 1, 0, 1], 1)] and set(suffixes(tmp_path)) == {".json"}


def test_a_stack_of_finished_runs_is_not_resumed(
    tmp_path: Path, data: GraphSet, started: list[tuple[list[int], int]]
) -> None:
    queue = new_queue(tmp_path, data)
    interrupt(queue)
    assert queue.run([PLAIN]) == [PLAIN]
    for fold in (0, 1):
        assert new_queue(tmp_path, data, folds=[fold]).run([PLAIN]) == []
    started.clear()
    assert new_queue(tmp_path, data).run([PLAIN]) == [] == started
    assert ".ckpt" not in suffixes(tmp_path)
