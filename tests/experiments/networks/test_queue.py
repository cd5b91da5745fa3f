"""The queue of entries: records of finished ones, budgets of time, and what happens to interrupted ones."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from detours.atomic import exclusive
from detours.data import GraphSet, rings
from detours.errors import InputError
from detours.experiments.networks import queue as module
from detours.experiments.networks.entries import Entry, cost, weights
from detours.experiments.networks.queue import NEAREST, Queue, Wanted, even
from detours.experiments.networks.records import read_records
from detours.experiments.networks.results import results
from detours.store import Store
from detours.training import stacks as training
from detours.training.loop import Diverged, Training

TINY = {"epochs": 3, "hidden": 8, "layers": 1, "transformer_layers": 1, "pe": 0, "heads": 1, "k": 2}
PLAIN, MDNN = (Entry("ENZYMES", "ours", model, "gin") for model in ("plain", "mdnn"))


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> GraphSet:
    monkeypatch.delenv("DETOURS_DATA", raising=False)
    return replace(rings(40, sizes=(3, 4)), name="ENZYMES")


def new_queue(folder: Path, data: GraphSet, *, said: list[str] | None = None, **wanted: object) -> Queue:
    asked = Wanted(**{"seeds": [0, 1], "folds": [0, 1], "device": "cpu", "changes": TINY, **wanted})  # type: ignore[arg-type]
    return Queue(Store(folder), asked, lambda name: data, (said if said is not None else []).append)


def files(folder: Path) -> list[str]:
    return sorted(file.suffix for file in folder.rglob("*") if file.is_file())


def test_a_finished_entry_is_one_record_for_each_seed(tmp_path: Path, data: GraphSet) -> None:
    said: list[str] = []
    assert new_queue(tmp_path, data, said=said).run([PLAIN]) == []
    assert len(said) == 1 and said[0].startswith("ENZYMES, ours, plain GIN: 4 of 4 runs in ")
    assert files(tmp_path) == [".json", ".json"]  # nothing is left in the working store
    records = read_records(Store(tmp_path))
    assert [record.seed for record in records] == [0, 1] and all(record.entry == PLAIN for record in records)
    cell = records[0].cell
    assert cell.key["preset"] == "ours" and cell.key["hidden"] == 8 and cell.key["code"]
    assert list(records[0].runs) == [0, 1]
    for run in records[0].runs.values():
        assert run["device"] == "cpu" and run["epochs"] == 3 and run["replicas"] == 4 and 0 <= run["test_accuracy"] <= 1
    assert cell.value["curve"]["epoch"] == "1 2 3" and len(cell.value["curve"]["val_score"].split()) == 3


def test_an_entry_that_another_process_trains_is_passed_over(tmp_path: Path, data: GraphSet) -> None:
    said: list[str] = []
    queue = new_queue(tmp_path, data, said=said)
    path = queue._runs(PLAIN)[1].path
    path.parent.mkdir(parents=True)
    with exclusive(path.with_name(f".{path.stem}.lock")):
        assert queue.run([PLAIN, MDNN]) == [PLAIN]
    assert "plain GIN: 0 of 4 runs" in said[0] and "failed: another process is training fold 0 of ENZYMES" in said[0]
    assert "MDNN GIN: 4 of 4 runs" in said[1]


def test_a_store_that_cannot_be_written_ends_the_queue(tmp_path: Path, data: GraphSet) -> None:
    (tmp_path / "file").touch()
    said: list[str] = []
    with pytest.raises(InputError, match="work cannot be made"):
        new_queue(tmp_path / "file" / "results", data, said=said).run([PLAIN, MDNN])
    assert not said


def test_more_runs_than_can_be_looked_up_are_refused(tmp_path: Path, data: GraphSet) -> None:
    with pytest.raises(InputError, match="10 folds × 1,000,000 seeds × 1 k are 10,000,000 runs"):
        new_queue(tmp_path, data, folds=None, seeds=range(10**6)).run([PLAIN, MDNN])
    assert not list(tmp_path.iterdir())


def test_what_is_finished_is_not_trained_again(tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    new_queue(tmp_path, data, seeds=[0]).run([PLAIN])
    trained: list[tuple[int, int]] = []
    run_all = training.run_all

    def counted(store: Store, runs: list[training.Run], place: training.Workplace) -> object:
        trained.extend((run.recipe.fold, run.recipe.seed) for run in runs)
        return run_all(store, runs, place)

    monkeypatch.setattr(training, "run_all", counted)
    new_queue(tmp_path, data, seeds=[0]).run([PLAIN])
    assert trained == []
    new_queue(tmp_path, data, seeds=[0, 1], folds=[0, 1, 2]).run([PLAIN])
    assert trained == [(0, 1), (1, 1), (2, 0), (2, 1)]
    assert [sorted(record.runs) for record in read_records(Store(tmp_path))] == [[0, 1, 2], [0, 1, 2]]
    new_queue(tmp_path, data, changes={**TINY, "epochs": 4}).run([PLAIN])
    assert len(read_records(Store(tmp_path))) == 4  # other settings are other records


def test_an_interrupted_entry_goes_on_and_gives_the_same(tmp_path: Path, data: GraphSet) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    new_queue(whole, data).run([PLAIN])
    said: list[str] = []
    for _ in range(20):
        queue = new_queue(parts, data, said=said)
        train = queue._train_stacks
        queue._train_stacks = lambda runs, deadline, train=train: train(runs, 0.0)  # type: ignore[method-assign]
        if not queue.run([PLAIN]):
            break
        assert [file.suffix for file in (parts / "work" / "networks").glob("*.ckpt")] == [".ckpt"]
    assert "interrupted, it goes on from its checkpoint" in said[0] and 2 <= len(said) < 20
    scores = [
        [run["test_loss"] for record in read_records(Store(each)) for run in record.runs.values()]
        for each in (whole, parts)
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-4)
    assert files(parts) == [".json", ".json"]


def test_folds_of_a_killed_process_are_packed_the_next_time(
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

    def killed(store: Store, runs: list[training.Run], place: training.Workplace) -> object:
        recorded.append(sum(len(record.runs) for record in read_records(Store(tmp_path))))
        if len(recorded) == 4:
            raise SystemExit
        return run_all(store, runs, place)

    monkeypatch.setattr(training, "run_all", killed)
    with pytest.raises(SystemExit):
        new_queue(tmp_path, data, replicas=1).run([PLAIN])
    assert recorded == [0, 1, 2, 3]
    shutil.rmtree(tmp_path / "work")  # what is recorded is enough to go on
    said: list[str] = []
    assert new_queue(tmp_path, data, said=said).run([PLAIN]) == []
    assert "1 of 1 runs" in said[0] and [len(record.runs) for record in read_records(Store(tmp_path))] == [2, 2]


def test_runs_that_a_killed_process_has_finished_are_left_out_of_the_stacks(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all, stacks = training.run_all, []

    def told(store: Store, runs: list[training.Run], place: training.Workplace) -> object:
        stacks.append([run.recipe.seed for run in runs])
        return run_all(store, runs, place)

    monkeypatch.setattr(training, "run_all", told)
    wanted: dict[str, object] = {"seeds": [0, 1, 2, 3], "folds": [0]}
    new_queue(tmp_path, data, **wanted).run([PLAIN])
    killed = new_queue(tmp_path / "killed", data, **wanted)
    run_all(killed.work, killed._runs(PLAIN)[1:2], training.Workplace("cpu"))  # the second of a stack of four
    stacks.clear()
    assert new_queue(tmp_path / "killed", data, replicas=2, **wanted).run([PLAIN]) == []
    assert stacks == [[0, 2], [3]]
    values = [[record.runs for record in read_records(Store(folder))] for folder in (tmp_path, tmp_path / "killed")]
    assert [list(runs) for runs in values[0]] == [list(runs) for runs in values[1]] == [[0]] * 4


def test_an_interrupted_stack_goes_on_whatever_was_finished_before_it(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: dict[str, object] = {"seeds": [0, 1, 2, 3], "folds": [0]}
    begun: list[tuple[list[int], int]] = []
    begin = Training.begin

    def told(self: Training, finished: list[bool]) -> None:
        begin(self, finished)
        begun.append(([run.recipe.seed for run in self.runs], self.fit.done))

    killed = new_queue(tmp_path, data, **wanted)
    runs = killed._runs(PLAIN)
    training.run_all(killed.work, runs[1:2], training.Workplace("cpu"))
    monkeypatch.setattr(Training, "begin", told)
    train = killed._train_stacks
    killed._train_stacks = lambda runs, deadline: train(runs, 0.0)  # type: ignore[method-assign]
    assert killed.run([PLAIN]) == [PLAIN] and begun == [([0, 2, 3], 0)]
    training.run_all(killed.work, runs[2:3], training.Workplace("cpu"))  # one of them ends
    begun.clear()
    assert new_queue(tmp_path, data, **wanted).run([PLAIN]) == []
    assert begun == [([0, 2, 3], 1)]
    assert [list(record.runs) for record in read_records(Store(tmp_path))] == [[0]] * 4
    assert files(tmp_path) == [".json"] * 4


def test_records_of_two_machines_are_merged_by_copying(tmp_path: Path, data: GraphSet) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    new_queue(one, data, seeds=[0]).run([PLAIN])
    new_queue(two, data, seeds=[1]).run([PLAIN])
    shutil.copytree(two, one, dirs_exist_ok=True)
    assert new_queue(one, data).run([PLAIN]) == []
    result = results(read_records(Store(one)))[PLAIN]
    assert result.seeds == [0, 1] and sorted(result.by_fold()) == [0, 1] and result.missing == 16
    first, second = (record.runs[0]["test_accuracy"] for record in result.records)
    assert result.by_fold()[0] == pytest.approx(50 * (first + second))


def test_runs_that_diverge_are_recorded_and_not_repeated(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all = training.run_all

    def diverging(store: Store, runs: list[training.Run], place: training.Workplace) -> object:
        run_all(store, [run for run in runs if run.recipe.fold == 0], place)
        raise Diverged("fold 1: the loss is nan")

    monkeypatch.setattr(training, "run_all", diverging)
    said: list[str] = []
    assert new_queue(tmp_path, data, said=said).run([PLAIN]) == []
    assert said[0].endswith("; the loss of 2 diverged")
    result = results(read_records(Store(tmp_path)))[PLAIN]
    assert sorted(result.by_fold()) == [0] and result.failures == ["the loss diverged"] * 2


def test_folds_that_the_data_do_not_have() -> None:
    assert Wanted(folds=[9]).runs(PLAIN) == {(9, seed) for seed in range(3)}
    with pytest.raises(InputError, match=r"^ENZYMES has the folds 0 .. 9, but fold 12 was asked for.$"):
        Wanted(folds=[3, 12]).runs(PLAIN)
    with pytest.raises(InputError, match=r"^ZINC has fold 0 only, but fold 1 was asked for.$"):
        Wanted(folds=[0, 1]).runs(replace(PLAIN, data="ZINC"))


def test_k_is_left_out_where_no_detours_are_seen() -> None:
    wanted = Wanted(changes={"k": 3})
    zinc = replace(PLAIN, data="ZINC")  # its recipe gives plain networks detour numbers
    assert [wanted.settings(each).get("k") for each in (PLAIN, MDNN, zinc)] == [None, 3, 3]
    assert Wanted(changes={"k": 3, "node_den": True}).settings(PLAIN)["k"] == 3


def test_a_failure_does_not_stop_the_queue(tmp_path: Path, data: GraphSet) -> None:
    said: list[str] = []
    bad = replace(PLAIN, backbone="gcn")
    queue = new_queue(tmp_path, data, said=said)
    train = queue._train_stacks

    def failing(runs: list[training.Run], deadline: float) -> list[training.Run]:
        if runs[0].recipe.backbone == "gcn":
            raise RuntimeError("no such kernel")
        return train(runs, deadline)

    queue._train_stacks = failing  # type: ignore[method-assign]
    assert queue.run([bad, PLAIN]) == [bad]
    assert said[0].endswith("failed: no such kernel") and "4 of 4" in said[1]


def test_expected_times_decide_what_is_started(tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = new_queue(tmp_path, data)
    assert queue.expected(MDNN) == 0
    queue.run([PLAIN])
    assert queue.expected(MDNN) > 0 and queue.expected(PLAIN) == 0  # it is finished
    times = {PLAIN: 50.0, MDNN: 500.0}
    monkeypatch.setattr(queue, "expected", times.__getitem__)
    assert queue._next([MDNN, PLAIN], 100, 600) == PLAIN
    assert queue._next([MDNN], 100, 600) is None  # it will fit the next time
    assert queue._next([MDNN], 300, 400) == MDNN  # it never will
    assert queue._next([MDNN], 100, 400) is None


def test_times_of_the_same_preset_are_expected(tmp_path: Path, data: GraphSet) -> None:
    queue = new_queue(tmp_path, data)
    paper = replace(PLAIN, preset="paper")
    similar, other = replace(MDNN, data="NCI1"), replace(paper, data="MUTAG", model="mdnn")
    near, far = (SimpleNamespace(entry=each, runs={0: {"device": "cpu"}}) for each in (similar, other))
    near.seconds, far.seconds = 100.0, 1.0
    queue.records = [near] * NEAREST
    assert queue.expected(paper) > 100
    queue.records += [far] * NEAREST
    number = len(queue.missing(paper))
    assert queue.expected(paper) == pytest.approx(number * (cost(paper) / cost(far.entry)) ** 0.5)


def test_too_many_runs_for_the_memory_are_divided(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    sizes: list[int] = []
    run_all = training.run_all

    def small(store: Store, runs: list[training.Run], place: training.Workplace) -> object:
        sizes.append(len(runs))
        if len(runs) > 2:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return run_all(store, runs, place)

    monkeypatch.setattr(training, "run_all", small)
    assert new_queue(tmp_path, data).run([PLAIN]) == []
    assert sizes == [4, 2, 2]


def test_stacks_are_equal_and_their_checkpoints_fit_on_the_disk(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[list[int], int]] = []
    begin = Training.begin

    def told(self: Training, finished: list[bool]) -> None:
        begin(self, finished)
        begun.append(([run.recipe.seed for run in self.runs], self.fit.done))

    def disk(folder: Path) -> SimpleNamespace:
        return SimpleNamespace(free=3.5 * room - sum(file.stat().st_size for file in folder.rglob("*.ckpt")))

    wanted: dict[str, object] = {"seeds": [0, 1, 2, 3], "folds": [0]}
    queue = new_queue(tmp_path, data, **wanted)
    room = module.BYTES_PER_WEIGHT * weights(queue._runs(PLAIN)[0].recipe) / module.SHARE_OF_DISK
    monkeypatch.setattr(module, "disk_usage", disk)
    monkeypatch.setattr(Training, "begin", told)
    train = queue._train_stacks
    queue._train_stacks = lambda runs, deadline: train(runs, 0.0)  # type: ignore[method-assign]
    assert queue.run([PLAIN]) == [PLAIN] and begun == [([0, 1], 0)]
    begun.clear()
    assert new_queue(tmp_path, data, **wanted).run([PLAIN]) == []  # with the checkpoint on the disk
    assert begun == [([0, 1], 1), ([2, 3], 0)]
    begun.clear()
    assert new_queue(tmp_path / "asked", data, replicas=4, **wanted).run([PLAIN]) == []  # whatever the disk has
    assert begun == [([0, 1, 2, 3], 0)]
    assert [even(10, most) for most in (1, 3, 4, 6, 9, 10, 99)] == [1, 3, 4, 5, 5, 10, 10]


def test_a_stack_that_was_interrupted_goes_on_though_the_disk_has_less_room(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[int, int]] = []
    begin = Training.begin

    def told(self: Training, finished: list[bool]) -> None:
        begin(self, finished)
        begun.append((len(self.runs), self.fit.done))

    monkeypatch.setattr(Training, "begin", told)
    queue = new_queue(tmp_path, data)
    train = queue._train_stacks
    queue._train_stacks = lambda runs, deadline: train(runs, 0.0)  # type: ignore[method-assign]
    assert queue.run([PLAIN]) == [PLAIN]
    monkeypatch.setattr(module, "disk_usage", lambda folder: SimpleNamespace(free=0))
    (queue.work.folder / "gone.ckpt").symlink_to("nowhere")  # as one that another process has just removed
    assert new_queue(tmp_path, data).run([PLAIN]) == []
    assert begun == [(begun[0][0], 0), (begun[0][0], 1)] and begun[0][0] > 1


@pytest.mark.parametrize(("most", "stack", "rest"), [(2, "0.2 1.0", ["1.1 1.2"]), (1, "1.0", ["1.1", "1.2"])])
def test_a_divided_stack_that_was_interrupted_goes_on(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch, most: int, stack: str, rest: list[str]
) -> None:
    import torch

    seeds: dict[str, object] = {"seeds": [0, 1, 2], "folds": [0, 1]}
    begun: list[tuple[str, int]] = []
    made, begin, go_on = training.train, Training.begin, Training.go_on

    def small(fabric: object, runs: list[training.Run], *other: object, finished: list[bool], **more: object) -> None:
        if finished.count(False) > most:
            raise torch.cuda.OutOfMemoryError("out of memory")
        made(fabric, runs, *other, finished=finished, **more)  # type: ignore[arg-type]

    def told(self: Training, finished: list[bool]) -> None:
        begin(self, finished)
        names = [f"{run.recipe.fold}.{run.recipe.seed}" for run in (self.runs[at] for at in self.members)]
        begun.append((" ".join(names), self.fit.done))

    def interrupted(self: Training, on_epoch: None, deadline: float) -> None:
        go_on(self, on_epoch, 0.0 if "1.0" in begun[-1][0] and not self.fit.done else deadline)

    monkeypatch.setattr(training, "train", small)
    monkeypatch.setattr(Training, "begin", told)
    monkeypatch.setattr(Training, "go_on", interrupted)
    assert new_queue(tmp_path, data, **seeds).run([PLAIN]) == [PLAIN]
    assert begun[-1] == (stack, 0)
    begun.clear()
    assert new_queue(tmp_path, data, **seeds).run([PLAIN]) == []
    assert begun == [(stack, 1), *((each, 0) for each in rest)]
    assert files(tmp_path) == [".json"] * 3


def test_nothing_is_left_of_a_stack_that_was_asked_for_otherwise(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = new_queue(tmp_path, data)
    train = queue._train_stacks
    queue._train_stacks = lambda runs, deadline: train(runs, 0.0)  # type: ignore[method-assign]
    assert queue.run([PLAIN]) == [PLAIN] and files(tmp_path).count(".ckpt") == 1
    assert new_queue(tmp_path, data, folds=[0], seeds=[0]).run([PLAIN]) == []
    assert ".ckpt" not in files(tmp_path)


def test_damaged_records_count_as_missing(tmp_path: Path, data: GraphSet) -> None:
    new_queue(tmp_path, data, seeds=[0]).run([PLAIN])
    file = next((tmp_path / "tables").iterdir())
    assert json.loads(file.read_text())
    file.write_text(file.read_text()[:100])
    assert new_queue(tmp_path, data, seeds=[0]).missing(PLAIN) == {(0, 0), (1, 0)}
