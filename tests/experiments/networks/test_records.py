"""Records of finished entries, their results, and the tables."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from detours.experiments.networks.comparison import against_baselines, compare, distinct, sign_test
from detours.experiments.networks.entries import Entry
from detours.experiments.networks.records import Record, joined_curve, mean_curve, read_records
from detours.experiments.networks.results import Result, results
from detours.experiments.networks.tables import (
    ablation_table,
    accuracy_table,
    best_published,
    detail_table,
    published,
    tables,
    written,
)
from detours.experiments.report.report import report_sections
from detours.store import Cell, Store
from tests.experiments.networks.cases import keep

PLAIN = Entry("Texas", "ours", "plain", "gin")
MDNN = replace(PLAIN, model="mdnn")
TEN = [0.5, 0.6, 0.7, 0.5, 0.6, 0.7, 0.5, 0.6, 0.7, 0.6]


def found(folder: Path) -> dict[Entry, Result]:
    return results(read_records(Store(folder)))


def test_folds_are_averaged_over_seeds_first(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN, seed=0)
    keep(tmp_path, PLAIN, [each + 0.1 for each in TEN], seed=1)
    result = results(read_records(Store(tmp_path)))[PLAIN]
    assert result.mean == pytest.approx(65) and result.std == pytest.approx(100 * np.std(TEN, ddof=1))
    assert result.seeds == [0, 1] and result.missing == 0 and result.devices == ["cpu"]
    assert result.seconds == pytest.approx(60)  # ten folds of thirty seconds, ten of them at a time, twice
    assert written(result) == "65.00 ± 8.16"


def test_the_spread_of_a_single_fold_is_that_of_its_seeds(tmp_path: Path) -> None:
    zinc = replace(PLAIN, data="ZINC")
    for seed, error in enumerate((0.1, 0.2, 0.3)):
        keep(tmp_path, zinc, [error], seed=seed, metric="mae")
    result = found(tmp_path)[zinc]
    assert result.mean == pytest.approx(0.2) and result.std == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("ends", "seconds"),
    [
        ([(1, float(end)) for end in range(1, 11)], 55),  # one after the other
        ([(10, 30.0)] * 9 + [(10, 12.0)], 30),  # one stack, with a run that ended early
        ([(30, 30.0)] * 10, 10),  # a third of a stack
        ([(4, 8.0)] * 4 + [(6, 3.0)] * 5 + [(6, 1.0)], 11),  # two stacks
        ([(2, float(1 + fold // 2)) for fold in range(10)], 15),  # five of the same size
        ([(10, 5.0)] * 8, 4),  # two diverged
    ],
)
def test_the_time_of_runs_is_that_of_their_stacks(
    tmp_path: Path, ends: list[tuple[int, float]], seconds: float
) -> None:
    keep(tmp_path, PLAIN, TEN[: len(ends)], ends=ends)
    (record,) = read_records(Store(tmp_path))
    assert record.seconds == pytest.approx(seconds) and record.cell.seconds == pytest.approx(seconds)
    Store(tmp_path).keep(record.cell.key, record.cell.value, 1000.0)  # as written by older versions
    assert results(read_records(Store(tmp_path)))[PLAIN].seconds == pytest.approx(seconds)


def test_an_incomplete_entry_says_so(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN[:4])
    result = results(read_records(Store(tmp_path)))[PLAIN]
    assert result.missing == 6 and str(written(result)).endswith("(4/10)")


def test_diverged_runs_are_noted(tmp_path: Path) -> None:
    for seed, failed in enumerate(([3, 7], [], [])):
        keep(tmp_path, PLAIN, TEN[len(failed) :], seed=seed, failed=failed)
    found = results(read_records(Store(tmp_path)))
    assert not found[PLAIN].complete and str(written(found[PLAIN])).endswith("(28/30)")
    (note,) = accuracy_table("nodes", found).notes[1:]
    assert note == "Texas plain GIN (ours): 2 of 30 runs diverged. The means are over the other runs."
    assert len(accuracy_table("graphs", found).notes) == 1


def test_entries_with_other_settings_are_noted(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN)
    keep(tmp_path, MDNN, TEN, precision="bf16-mixed")
    found = results(read_records(Store(tmp_path)))
    assert accuracy_table("nodes", found).notes[1:] == [
        "Trained with precision=bf16-mixed (current recipe: 32-true): Texas, ours: MDNN GIN."
    ]
    details = detail_table("nodes", found)
    place = [column.name for column in details.columns].index("precision")
    assert [line[place] for line in details.rows] == ["32-true", "bf16-mixed"]


def test_runs_that_diverged_are_kept_when_folds_are_added(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN[:2], failed=[1])
    keep(tmp_path, PLAIN, TEN[:5], failed=[5])
    (record,) = read_records(Store(tmp_path))
    assert list(record.runs) == [0, 1, 2, 3, 4] and list(record.failed) == [5]  # fold 1 was trained after all
    keep(tmp_path, PLAIN, TEN[:4])
    (record,) = read_records(Store(tmp_path))
    assert list(record.failed) == [5] and len(record.settled()) == 6


def test_the_latest_settings_with_all_folds_count(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN)
    records = read_records(Store(tmp_path))
    cell = records[0].cell
    newer = {**cell.key, "lr": 0.5}
    Store(tmp_path).keep(newer, {**cell.value, "finished": "2999-01-01", "runs": cell.value["runs"][:3]}, 1.0)
    assert results(read_records(Store(tmp_path)))[PLAIN].records[0].cell.key["lr"] != 0.5
    Store(tmp_path).keep(newer, {**cell.value, "finished": "2999-01-01"}, 1.0)
    assert results(read_records(Store(tmp_path)))[PLAIN].records[0].cell.key["lr"] == 0.5


def test_settings_are_as_new_as_their_newest_seed(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN)
    (record,) = read_records(Store(tmp_path))
    key, value, _ = record.cell
    for seed, finished in ((0, "1999-01-01"), (1, "2999-01-01")):
        Store(tmp_path).keep({**key, "lr": 0.5, "seed": seed}, {**value, "finished": finished}, 1.0)
    assert [each.cell.key["lr"] for each in found(tmp_path)[PLAIN].records] == [0.5, 0.5]


@pytest.mark.parametrize(("finished", "mean"), [("2999-01-01", 50), ("1999-01-01", 60)])
def test_newer_code_replaces_the_folds_of_older_code(tmp_path: Path, finished: str, mean: float) -> None:
    keep(tmp_path, PLAIN, TEN)
    (record,) = read_records(Store(tmp_path))
    key, value, _ = record.cell
    runs = [{**run, "test_accuracy": 0.5} for run in value["runs"]]
    Store(tmp_path).keep({**key, "code": "12345678"}, {**value, "runs": runs, "finished": finished}, 1.0)
    assert found(tmp_path)[PLAIN].mean == pytest.approx(mean)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_newest_folds_win_whatever_the_order_of_records(tmp_path: Path, order: Sequence[int]) -> None:
    keep(tmp_path, PLAIN, TEN)
    (record,) = read_records(Store(tmp_path))
    key, value, _ = record.cell
    records = []
    for finished, part, accuracy in (("2001", slice(5), 0.1), ("2002", slice(5, 10), 0.2), ("2003", slice(5), 0.9)):
        runs = [{**run, "test_accuracy": accuracy} for run in value["runs"][part]]
        records.append(Record(Cell({**key, "code": finished}, {**value, "runs": runs, "finished": finished}, 1.0)))
    assert results([records[at] for at in order])[PLAIN].mean == pytest.approx(55)


def test_folds_of_a_seed_from_different_code_are_merged(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN)
    (record,) = read_records(Store(tmp_path))
    key, value, _ = record.cell
    for code, runs, wrong in (("abcdef01", value["runs"][:6], {"9": "lost"}), ("12345678", value["runs"][4:], {})):
        Store(tmp_path).keep({**key, "code": code}, {**value, "runs": runs, "failed": wrong}, 6.0)
    result = results(read_records(Store(tmp_path)))[PLAIN]
    assert list(result.by_fold().values()) == pytest.approx([100 * each for each in TEN])
    assert result.missing == 0 and not result.failures and result.seconds == pytest.approx(30)
    assert set(result.records[0].cell.key["code"].split(", ")) == {"abcdef01", "12345678"}
    for code, runs, wrong in (("abcdef01", value["runs"][:6], {}), ("12345678", value["runs"][6:9], {"9": "lost"})):
        Store(tmp_path).keep({**key, "code": code}, {**value, "runs": runs, "failed": wrong}, 6.0)
    result = results(read_records(Store(tmp_path)))[PLAIN]
    assert result.missing == 1 and result.failures == ["lost"]


def test_a_setting_that_did_not_exist_had_its_default(tmp_path: Path) -> None:
    keep(tmp_path / "all", PLAIN, TEN)
    (record,) = read_records(Store(tmp_path / "all"))
    key, value, _ = record.cell
    later = ("class_weights", "neighbours")
    older = {name: each for name, each in key.items() if name not in later} | {"code": "abcdef01"}
    Store(tmp_path / "two").keep(older, {**value, "runs": value["runs"][:6]}, 6.0)
    Store(tmp_path / "two").keep(key, {**value, "runs": value["runs"][6:]}, 4.0)
    assert found(tmp_path / "two")[PLAIN].complete
    Store(tmp_path / "two").keep({**key, "smooth": 0.5}, {**value, "runs": value["runs"][6:]}, 4.0)
    assert len(found(tmp_path / "two")[PLAIN].records) == 1 and found(tmp_path / "two")[PLAIN].complete


def test_a_metric_that_is_better_when_lower(tmp_path: Path) -> None:
    entry = replace(PLAIN, data="Texas")
    keep(tmp_path, entry, TEN, metric="mae")
    keep(tmp_path, MDNN, [each - 0.1 for each in TEN], metric="mae")
    both = results(read_records(Store(tmp_path)))
    assert both[entry].lower_is_better and both[entry].mean == pytest.approx(0.6)
    comparison = compare(both[MDNN], both[entry])
    assert comparison is not None and comparison.difference == pytest.approx(0.1)


def test_a_lower_validation_error_is_better(tmp_path: Path) -> None:
    zinc = replace(PLAIN, data="ZINC")
    other = replace(zinc, backbone="gcn")
    for entry, error in ((zinc, 0.1), (other, 0.2)):
        keep(tmp_path, entry, [error], metric="mae")
    both = found(tmp_path)
    assert (both[zinc].validation, both[other].validation) == pytest.approx((-0.1, -0.2))


def test_paired_tests(tmp_path: Path) -> None:
    from scipy.stats import binomtest, wilcoxon

    keep(tmp_path, PLAIN, TEN)
    better = [each + 0.01 * fold for fold, each in enumerate(TEN)]
    keep(tmp_path, MDNN, better)
    (comparison,) = against_baselines(results(read_records(Store(tmp_path))))
    assert comparison.entry == MDNN and comparison.baseline == PLAIN and comparison.folds == 10
    assert comparison.difference == pytest.approx(4.5)
    assert comparison.p == pytest.approx(wilcoxon(np.subtract(better, TEN).round(6)).pvalue)
    worse = replace(comparison, difference=-1.0)
    better = [replace(comparison, by_fold=(number,)) for number in (1.0, 2.0, 3.0)]
    signs = sign_test([*better, worse, replace(worse, difference=0.0, by_fold=(0.0,))])
    assert (signs.better, signs.equal, signs.worse) == (3, 1, 1) and signs.p == binomtest(3, 4).pvalue


def test_one_network_under_the_names_of_several_backbones_counts_once(tmp_path: Path) -> None:
    for backbone in ("gcn", "gat"):
        keep(tmp_path, replace(MDNN, backbone=backbone), TEN)
        keep(tmp_path, replace(MDNN, backbone=backbone, model="plain"), TEN[::-1])
    keep(tmp_path, replace(MDNN, backbone="gin"), TEN[1:])
    keep(tmp_path, replace(MDNN, backbone="gin", model="plain"), TEN[:-1])
    comparisons = against_baselines(results(read_records(Store(tmp_path))))
    assert sorted(each.entry.backbone for each in comparisons) == ["gat", "gcn", "gin"]
    assert sorted(each.entry.backbone for each in distinct(comparisons))[1:] == ["gin"]


def test_folds_that_differ_only_by_rounding_are_equal(tmp_path: Path) -> None:
    plain = replace(MDNN, model="plain")
    keep(tmp_path, plain, [0.3] * 10)
    keep(tmp_path, MDNN, [0.1 + 0.2] * 10)
    both = results(read_records(Store(tmp_path)))
    comparison = compare(both[MDNN], both[plain])
    assert comparison is not None and comparison.p is None and f"{comparison.difference:+.2f}" == "+0.00"


def test_scores_are_kept_as_they_are_so_that_equal_numbers_of_correct_predictions_are_ties(tmp_path: Path) -> None:
    plain, better = ([fold + extra for fold in (7, 11, 13, 16)] for extra in (0, 1))
    keep(tmp_path, PLAIN, [right / 19 for right in plain])
    keep(tmp_path, MDNN, [right / 19 for right in better])
    (comparison,) = against_baselines(found(tmp_path))
    assert len(set(comparison.by_fold)) == 1 and comparison.difference == pytest.approx(100 / 19)


def test_networks_are_compared_with_baselines_that_were_evaluated_like_them(tmp_path: Path) -> None:
    plain = replace(PLAIN, preset="paper")
    keep(tmp_path, replace(MDNN, preset="paper"), TEN, evaluation="whole")
    keep(tmp_path, plain, [each + 0.1 for each in TEN], evaluation="sampled")
    (comparison,) = against_baselines(found(tmp_path))
    assert comparison.difference == pytest.approx(-10) and not comparison.alike
    signs = {line[0]: line[1:4] for section in report_sections(tmp_path) for t in section.tables for line in t.rows}
    assert "MDNN, paper" not in signs
    keep(tmp_path, plain, [each - 0.1 for each in TEN], evaluation="whole")
    keep(tmp_path, plain, TEN[:5], evaluation="sampled", seed=1)  # a second seed: the newest, but not all folds
    (comparison,) = against_baselines(found(tmp_path))
    assert comparison.difference == pytest.approx(10) and comparison.alike and comparison.baseline == plain
    signs = {line[0]: line[1:4] for section in report_sections(tmp_path) for t in section.tables for line in t.rows}
    assert signs["MDNN, paper"] == [1, 0, 0]


def test_a_plain_network_that_sees_detours_is_no_baseline_of_sign_tests(tmp_path: Path) -> None:
    for entry in (PLAIN, MDNN):
        keep(tmp_path, replace(entry, data="ZINC"), [0.1, 0.2], metric="mae")
    (comparison,) = against_baselines(found(tmp_path))
    assert not comparison.alike


def test_equal_results_have_no_p(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN)
    keep(tmp_path, MDNN, TEN)
    (comparison,) = against_baselines(results(read_records(Store(tmp_path))))
    assert comparison.difference == 0 and comparison.p is None


def test_curves_are_means_at_up_to_a_hundred_points(tmp_path: Path) -> None:
    logs = []
    for name, epochs in (("a", 500), ("b", 250)):
        log = tmp_path / f"{name}.csv"
        log.write_text("epoch,val_score,seconds\n" + "".join(f"{e},{e},0.1\n" for e in range(1, epochs + 1)))
        logs.append(log)
    (tmp_path / "gap.csv").write_text("epoch,val_score,seconds\n1,9,0.1\n31,9,0.1\n")
    curve = mean_curve([*logs, tmp_path / "missing.csv", tmp_path / "gap.csv"], 500)
    assert curve["runs"] == 2 and curve["epoch"].startswith("5 10 ") and len(curve["epoch"].split()) == 100
    values = [float(each) for each in curve["val_score"].split()]
    assert values[0] == 5 and values[-1] == 375  # the second run stays at 250
    assert mean_curve([], 500) == {"runs": 0, "epoch": ""}


def test_joined_curves_weigh_every_run_the_same(tmp_path: Path) -> None:
    logs = []
    for run, epochs in enumerate((3, 2, 1)):
        logs.append(tmp_path / f"{run}.csv")
        rows = "".join(f"{epoch},{run + epoch},0.1\n" for epoch in range(1, epochs + 1))
        logs[-1].write_text(f"epoch,val_score,seconds\n{rows}")
    parts = mean_curve(logs[:1], 3), mean_curve(logs[1:], 3)
    assert joined_curve(*parts) == joined_curve(*reversed(parts)) == mean_curve(logs, 3)
    short = {"runs": 2, "epoch": "", "val_score": ""}  # their patience ended them before the first point
    assert joined_curve(short, parts[0]) == joined_curve(parts[0], short) == parts[0]


def test_the_papers_results() -> None:
    assert published(Entry("MUTAG", "paper", "mdnn", "gin")) == {"mean": 86.24, "std": 9.01}
    assert published(Entry("Texas", "paper", "mdnn", "gat", use_den=False)) == {"mean": 54.05, "std": 9.52}
    assert published(Entry("Minesweeper", "paper", "mdnn", "gat")) is None
    best = {"MUTAG": 86.24, "NCI1": 82.81, "ENZYMES": 64.33, "DD": 75.5, "PTC_FM": 63.93, "IMDB-BINARY": 75.63}
    best |= {"Chameleon": 54.52, "Squirrel": 40.19, "Actor": 32.72, "Cornell": 52.7, "Wisconsin": 67.65, "Texas": 60.27}
    assert {data: best_published(data) for data in best} == best


def test_k_is_shown_where_detours_are_used(tmp_path: Path) -> None:
    zinc = replace(PLAIN, data="ZINC")
    for entry in (PLAIN, MDNN, zinc):
        keep(tmp_path, entry, [0.5], metric="mae" if entry == zinc else "accuracy")
    found = results(read_records(Store(tmp_path)))
    lines = [line for name in ("nodes", "zinc") for line in detail_table(name, found).plain()["rows"]]
    assert {(line["data"], line["network"]): line["k"] for line in lines} == {
        ("Texas", "plain GIN"): None,
        ("Texas", "MDNN GIN"): MDNN.recipe().k,
        ("ZINC", "plain GIN"): zinc.recipe().k,
    }


def test_the_distance_from_the_paper_is_ours_minus_theirs(tmp_path: Path) -> None:
    keep(tmp_path, replace(MDNN, preset="paper", backbone="gat"), TEN)
    (line,) = detail_table("nodes", found(tmp_path)).plain()["rows"]
    assert line["published"] == 56.76 and line["distance"] == pytest.approx(60 - 56.76)


def test_the_ablation_is_with_detours_minus_without(tmp_path: Path) -> None:
    gat = replace(MDNN, preset="paper", backbone="gat")
    keep(tmp_path, gat, [each + 0.05 for each in TEN])
    keep(tmp_path, replace(gat, use_den=False), TEN)
    (line,) = ablation_table(found(tmp_path)).plain()["rows"]
    assert (line["with φD"], line["without"]) == ("65.00 ± 8.16", "60.00 ± 8.16")
    assert line["difference"] == pytest.approx(5) and line["published difference"] == pytest.approx(56.76 - 54.05)


def test_tables_show_presets_and_published_numbers(tmp_path: Path) -> None:
    keep(tmp_path, PLAIN, TEN)
    keep(tmp_path, replace(MDNN, backbone="gat", preset="paper"), TEN)
    keep(tmp_path, replace(MDNN, backbone="gat", preset="paper", use_den=False), TEN)
    both = results(read_records(Store(tmp_path)))
    lines = {line[0]: line for line in accuracy_table("nodes", both).written()}
    assert lines["plain GIN, ours"][-1] == "60.00 ± 8.16" and lines["plain GIN, ours"][1] == "–"
    assert lines["plain GIN, published"][-1] == "40.81 ± 14.53" and "plain GIN, paper" not in lines
    titles = [table.title for table in tables(["nodes", "graphs", "ablation"], both)]
    assert titles[0] == "Node classification" and "Ablation, paired over folds" in titles and len(titles) == 5
