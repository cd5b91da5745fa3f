"""The queue of entries: records of finished ones, time budgets, and failures."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from detours.atomic import exclusive
from detours.data import GraphSet
from detours.errors import InputError
from detours.experiments.networks.entries import cost
from detours.experiments.networks.queue import NEAREST, RunSelection
from detours.experiments.networks.records import read_records
from detours.experiments.networks.results import results
from detours.store import Store
from detours.training import stacks as training
from detours.training.loop import Diverged
from tests.experiments.networks.queues import MDNN, PLAIN, TINY, new_queue, suffixes


def test_a_finished_entry_is_one_record_for_each_seed(tmp_path: Path, data: GraphSet) -> None:
    reports: list[str] = []
    assert new_queue(tmp_path, data, reports=reports).run([PLAIN]) == []
    assert len(reports) == 1 and reports[0].startswith("ENZYMES, ours, plain GIN: 4 of 4 runs in ")
    assert suffixes(tmp_path) == [".json", ".json"]  # nothing is left in the working store
    records = read_records(Store(tmp_path))
    assert sorted(record.seed for record in records) == [0, 1] and all(record.entry == PLAIN for record in records)
    cell = records[0].cell
    assert cell.key["preset"] == "ours" and cell.key["hidden"] == 8 and cell.key["code"]
    assert list(records[0].runs) == [0, 1]
    for run in records[0].runs.values():
        assert run["device"] == "cpu" and run["epochs"] == 3 and run["replicas"] == 4 and 0 <= run["test_accuracy"] <= 1
    assert cell.value["curve"]["epoch"] == "1 2 3" and len(cell.value["curve"]["val_score"].split()) == 3


def test_an_entry_that_another_process_trains_is_skipped(tmp_path: Path, data: GraphSet) -> None:
    reports: list[str] = []
    queue = new_queue(tmp_path, data, reports=reports)
    path = queue._runs(PLAIN)[1].path
    path.parent.mkdir(parents=True)
    with exclusive(path.with_name(f".{path.stem}.lock")):
        assert queue.run([PLAIN, MDNN]) == [PLAIN]
    assert (
        "plain GIN: 0 of 4 runs" in reports[0] and "failed: another process is training fold 0 of ENZYMES" in reports[0]
    )
    assert "MDNN GIN: 4 of 4 runs" in reports[1]


def test_a_store_that_cannot_be_written_ends_the_queue(tmp_path: Path, data: GraphSet) -> None:
    (tmp_path / "file").touch()
    reports: list[str] = []
    with pytest.raises(InputError, match="work cannot be made"):
        new_queue(tmp_path / "file" / "results", data, reports=reports).run([PLAIN, MDNN])
    assert not reports


def test_more_runs_than_can_be_looked_up_are_refused(tmp_path: Path, data: GraphSet) -> None:
    with pytest.raises(InputError, match="10 folds × 1,000,000 seeds × 1 k are 10,000,000 runs"):
        new_queue(tmp_path, data, folds=None, seeds=range(10**6)).run([PLAIN, MDNN])
    assert not list(tmp_path.iterdir())


def test_finished_runs_are_not_trained_again(tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    new_queue(tmp_path, data, seeds=[0]).run([PLAIN])
    trained: list[tuple[int, int]] = []
    run_all = training.run_all

    def recording(store: Store, runs: list[training.Run], place: training.Resources) -> object:
        trained.extend((run.recipe.fold, run.recipe.seed) for run in runs)
        return run_all(store, runs, place)

    monkeypatch.setattr(training, "run_all", recording)
    new_queue(tmp_path, data, seeds=[0]).run([PLAIN])
    assert trained == []
    new_queue(tmp_path, data, seeds=[0, 1], folds=[0, 1, 2]).run([PLAIN])
    assert trained == [(0, 1), (1, 1), (2, 0), (2, 1)]
    assert sorted(sorted(record.runs) for record in read_records(Store(tmp_path))) == [[0, 1], [0, 1, 2], [2]]
    assert [sorted(record.runs) for record in results(read_records(Store(tmp_path)))[PLAIN].records] == [[0, 1, 2]] * 2
    new_queue(tmp_path, data, changes={**TINY, "epochs": 4}).run([PLAIN])
    assert len(read_records(Store(tmp_path))) == 5  # other settings have their own records


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


def test_folds_of_two_machines_are_merged_by_copying(tmp_path: Path, data: GraphSet) -> None:
    whole, one, two = tmp_path / "whole", tmp_path / "one", tmp_path / "two"
    for folder, folds in ((whole, [0, 1, 2]), (one, [0, 1]), (two, [2])):
        new_queue(folder, data, seeds=[0], folds=folds).run([PLAIN])
    shutil.copytree(two, one, dirs_exist_ok=True)
    merged, expected = (results(read_records(Store(folder)))[PLAIN] for folder in (one, whole))
    assert merged.by_fold() == pytest.approx(expected.by_fold(), abs=1e-4)
    (curve,), (together,) = ([record.cell.value["curve"] for record in each.records] for each in (merged, expected))
    assert curve["runs"] == 3 and curve.keys() == together.keys() and curve["epoch"] == together["epoch"]
    for name in ("train_loss", "val_score"):
        values, wanted = ([float(value) for value in each[name].split()] for each in (curve, together))
        assert values == pytest.approx(wanted, rel=1e-3)


def test_results_of_other_data_are_neither_mixed_nor_settled(tmp_path: Path, data: GraphSet) -> None:
    new_queue(tmp_path, data, seeds=[0], folds=[0, 1]).run([PLAIN])
    new_queue(tmp_path, data, seeds=[0], folds=[0, 1, 2]).run([MDNN])  # finished, until the corrected data are loaded
    corrected = replace(data, y=data.y[::-1].copy())
    trained: list[str] = []
    queue = new_queue(tmp_path, corrected, seeds=[0], folds=[0, 1, 2], reports=trained)
    assert queue.run([PLAIN, MDNN]) == []
    assert ["3 of 3 runs" in each for each in trained] == [True, True] and "MDNN GIN" in trained[1]
    (record,) = results(read_records(Store(tmp_path)))[PLAIN].records
    assert sorted(record.runs) == [0, 1, 2] and record.cell.key["digest"] == corrected.full_digest != data.full_digest


def test_runs_that_diverge_are_recorded_and_not_repeated(
    tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all = training.run_all

    def diverging(store: Store, runs: list[training.Run], place: training.Resources) -> object:
        run_all(store, [run for run in runs if run.recipe.fold == 0], place)
        raise Diverged("fold 1: the loss is nan")

    monkeypatch.setattr(training, "run_all", diverging)
    reports: list[str] = []
    assert new_queue(tmp_path, data, reports=reports).run([PLAIN]) == []
    assert reports[0].endswith("; the loss of 2 diverged")
    result = results(read_records(Store(tmp_path)))[PLAIN]
    assert sorted(result.by_fold()) == [0] and result.failures == ["the loss diverged"] * 2


def test_unknown_folds() -> None:
    assert RunSelection(folds=[9]).runs(PLAIN) == {(9, seed) for seed in range(3)}
    with pytest.raises(InputError, match=r"^ENZYMES has the folds 0 .. 9, but fold 12 was requested.$"):
        RunSelection(folds=[3, 12]).runs(PLAIN)
    with pytest.raises(InputError, match=r"^ZINC has fold 0 only, but fold 1 was requested.$"):
        RunSelection(folds=[0, 1]).runs(replace(PLAIN, data="ZINC"))


def test_k_is_dropped_where_no_detours_are_used() -> None:
    wanted = RunSelection(changes={"k": 3})
    zinc = replace(PLAIN, data="ZINC")  # its recipe gives plain networks detour numbers
    assert [wanted.settings(each).get("k") for each in (PLAIN, MDNN, zinc)] == [None, 3, 3]
    assert RunSelection(changes={"k": 3, "node_den": True}).settings(PLAIN)["k"] == 3


def test_a_failure_does_not_stop_the_queue(tmp_path: Path, data: GraphSet) -> None:
    reports: list[str] = []
    bad = replace(PLAIN, backbone="gcn")
    queue = new_queue(tmp_path, data, reports=reports)
    train = queue._train_stacks

    def failing(runs: list[training.Run], deadline: float) -> list[training.Run]:
        if runs[0].recipe.backbone == "gcn":
            raise RuntimeError("no such kernel")
        return train(runs, deadline)

    queue._train_stacks = failing  # type: ignore[method-assign]
    assert queue.run([bad, PLAIN]) == [bad]
    assert reports[0].endswith("failed: no such kernel") and "4 of 4" in reports[1]


def test_unreadable_data_or_splits_do_not_stop_others(tmp_path: Path, data: GraphSet) -> None:
    reports: list[str] = []
    queue = new_queue(tmp_path, data, reports=reports)

    def load(name: str) -> GraphSet:
        if name == "MUTAG":
            raise InputError("the file is cut off.")
        return replace(data, name=name, folds=[]) if name == "DD" else data

    queue.load = load
    bad = [replace(PLAIN, data="MUTAG"), replace(PLAIN, data="MUTAG", backbone="gcn"), replace(PLAIN, data="DD")]
    assert set(queue.run([*bad, PLAIN])) == set(bad)
    without_splits, trained, without_data = sorted(reports)
    assert without_splits.startswith("DD: failed: DD has only some of train_mask")
    assert "4 of 4" in trained and without_data == "MUTAG: failed: the file is cut off."
    again = new_queue(tmp_path, data)
    again.load = load
    with pytest.raises(InputError, match="the file is cut off"):  # nothing else to do
        again.run([bad[0], PLAIN])


def test_expected_times_decide_what_is_started(tmp_path: Path, data: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = new_queue(tmp_path, data)
    assert queue.expected(MDNN) == 0
    queue.run([PLAIN])
    assert queue.expected(MDNN) > 0 and queue.expected(PLAIN) == 0  # it is finished
    times = {PLAIN: 50.0, MDNN: 500.0}
    monkeypatch.setattr(queue, "expected", times.__getitem__)
    assert queue._next([MDNN, PLAIN], 100, 600) == PLAIN
    assert queue._next([MDNN], 100, 600) is None  # it would fit next time
    assert queue._next([MDNN], 300, 400) == MDNN  # it never would
    assert queue._next([MDNN], 100, 400) is None


def test_times_are_estimated_from_the_same_preset(tmp_path: Path, data: GraphSet) -> None:
    queue = new_queue(tmp_path, data)
    paper = replace(PLAIN, preset="paper")
    similar, other = replace(MDNN, data="NCI1"), replace(paper, data="MUTAG", model="mdnn")
    near, far = (SimpleNamespace(entry=each, runs={0: {"device": "cpu"}}) for each in (similar, other))
    near.seconds, far.seconds = 100.0, 1.0
    queue.records = [near] * NEAREST
    assert queue.expected(paper) > 100
    queue.records += [far] * NEAREST
    num_runs = len(queue.missing(paper))
    assert queue.expected(paper) == pytest.approx(num_runs * (cost(paper) / cost(far.entry)) ** 0.5)


def test_damaged_records_count_as_missing(tmp_path: Path, data: GraphSet) -> None:
    new_queue(tmp_path, data, seeds=[0]).run([PLAIN])
    file = next((tmp_path / "tables").iterdir())
    assert json.loads(file.read_text())
    file.write_text(file.read_text()[:100])
    assert new_queue(tmp_path, data, seeds=[0]).missing(PLAIN) == {(0, 0), (1, 0)}
