"""`detours reproduce kernels`: selection inside the training part, stored cells, and tables next to the paper's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from scipy.stats import t, ttest_1samp

from detours import cli
from detours.data import GraphSet
from detours.errors import InputError
from detours.experiments.kernels import rows, table
from detours.experiments.kernels.selection import COSTS, Fold, _costs, run_fold, split
from detours.experiments.kernels.svm import fit_machine
from detours.graph import Graph
from detours.store import Cell, Store


def ring_set(n: int = 40) -> GraphSet:
    """A cycle of six against two of three, each with a path of some length: 1-WL does not see the difference."""
    graphs = []
    for index in range(n):
        rings = [[0, 1, 2, 3, 4, 5]] if index % 2 else [[0, 1, 2], [3, 4, 5]]
        edges = [(ring[i - 1], ring[i]) for ring in rings for i in range(len(ring))]
        edges += [(node, node + 1) for node in range(6, 7 + index // 4)]
        ends = np.array(edges).T
        graphs.append(Graph.from_edge_index(np.hstack([ends, ends[::-1]])))
    return GraphSet("rings", graphs, np.arange(n) % 2)


@pytest.fixture
def rings(tmp_path: Path) -> Path:
    """The same as raw files under the name MUTAG."""
    raw = tmp_path / "data" / "TUDataset" / "MUTAG" / "raw"
    raw.mkdir(parents=True)
    arcs, owner, offset = [], [], 1
    data = ring_set()
    for number, graph in enumerate(data.graphs):
        arcs += [f"{a + offset}, {b + offset}\n" for a, b in graph.edge_index.T]
        owner += [f"{number + 1}\n"] * graph.num_nodes
        offset += graph.num_nodes
    (raw / "MUTAG_A.txt").write_text("".join(arcs))
    (raw / "MUTAG_graph_indicator.txt").write_text("".join(owner))
    (raw / "MUTAG_graph_labels.txt").write_text("".join(f"{label}\n" for label in data.y))
    return tmp_path / "data"


def ladders(data: GraphSet, row: str) -> list[Any]:
    return [candidate.ladder(data) for candidate in rows.ROWS[row].candidates]


def cross_validate(data: GraphSet, row: str, seed: int = 0) -> list[Fold]:
    grams = ladders(data, row)
    return [run_fold(data.y, grams, *parts, seed=fold) for fold, parts in enumerate(split(data.y, seed))]


# ---------------------------------------------------------------- selection


def test_detours_see_what_subtrees_cannot() -> None:
    data = ring_set()
    right = {row: sum(fold.right for fold in cross_validate(data, row)) for row in ("WL-subtree", "WL-DeN")}
    assert right["WL-DeN"] >= 36 and right["WL-subtree"] < 30


def test_test_labels_change_only_the_number_of_hits() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 4))
    y = (points[:, 0] + rng.normal(size=60) > 0).astype(np.int64)
    train, test = np.arange(48), np.arange(48, 60)
    grams = [[points[:, :d] @ points[:, :d].T for d in (1, 2, 4)]]
    honest = run_fold(y, grams, train, test, seed=3)
    turned = y.copy()
    turned[test] = 1 - y[test]
    other = run_fold(turned, grams, train, test, seed=3)
    assert other._replace(right=honest.right) == honest and other.right == len(test) - honest.right


def test_ties_go_to_the_fewest_rounds_then_the_smallest_cost_then_the_first() -> None:
    y = np.repeat([0, 1], 20)
    perfect = np.where(y[:, None] == y, 4.0, 1.0) + np.eye(40)
    useless = np.eye(40)
    train, test = np.arange(0, 40, 2), np.arange(1, 40, 2)
    fold = run_fold(y, [[useless, perfect, perfect], [useless, perfect]], train, test, 0)
    smallest = next(
        cost
        for cost in COSTS
        if (fit_machine(perfect[np.ix_(train, train)], y[train], cost / 20 / 5).predict(perfect[:, train]) == y).all()
    )
    assert (fold.candidate, fold.rounds, fold.right) == (0, 1, 20) and fold.cost == smallest


def test_the_scale_of_a_kernel_changes_nothing() -> None:
    data = ring_set()
    (grams,) = ladders(data, "WL-SP")
    train, test = split(data.y, 0)[0]
    scaled = [1024.0 * gram for gram in grams]
    assert run_fold(data.y, [grams], train, test, 0) == run_fold(data.y, [scaled], train, test, 0)


def test_the_grid_of_costs_depends_on_the_training_part_only() -> None:
    gram = np.diag(np.arange(1.0, 7.0))
    train, mean = np.array([0, 2]), (1 + 3) / 2
    assert _costs(gram, train) == pytest.approx([cost / (2 * mean) for cost in COSTS])
    assert _costs(np.zeros((6, 6)), train) == pytest.approx([cost / 2 for cost in COSTS])  # graphs without features


def test_every_repeat_has_its_own_folds() -> None:
    y = np.arange(60) % 2
    first, again, second = ([test.tolist() for _, test in split(y, seed)] for seed in (0, 0, 1))
    assert first == again != second


def test_too_few_graphs_of_a_class() -> None:
    with pytest.raises(InputError, match="10 graphs of each class"):
        split(np.array([0] * 20 + [1] * 9), 0)


def test_hold_outs_are_summed() -> None:
    data = ring_set()
    grams = ladders(data, "WL-subtree")
    once, thrice = (run_fold(data.y, grams, np.arange(36), np.arange(36, 40), 0, hold_outs=number) for number in (1, 3))
    assert thrice.fits > 2.5 * once.fits
    assert once.fits + once.skipped == 11 * 7 + 1 and thrice.fits + thrice.skipped == 3 * 11 * 7 + 1


# ---------------------------------------------------------------- cells and tables


def test_cells_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, store = ring_set(), Store(tmp_path)
    tasks = rows.tasks(data, [rows.ROWS[name] for name in ("WL-SP", "WL-DeN")], 2)
    cells = store.run(tasks, n_jobs=3)
    monkeypatch.setattr("detours.experiments.kernels.rows.run_fold", lambda *a, **b: pytest.fail("made again"))
    assert store.run(tasks) == cells
    overview, details = table.tables(cells)
    assert [row[0] for row in overview.rows] == ["WL-SP", "WL-SP, paper", "WL-DeN", "WL-DeN, paper"]
    found = {row["kernel"]: row for row in details.plain()["rows"]}
    right = {
        name: np.array([cell.value["right"] for cell in cells if cell.key["method"] == name]).reshape(2, 10)
        for name in ("WL-SP", "WL-DeN")
    }
    by_hand = right["WL-DeN"].sum(axis=1) / 40 * 100  # folds of equal size
    assert found["WL-DeN"]["accuracy"] == pytest.approx(np.mean(by_hand)) and np.mean(by_hand) > 85
    assert found["WL-DeN"]["± repeats"] == pytest.approx(np.std(by_hand, ddof=1))
    test = ttest_1samp(25.0 * (right["WL-DeN"] - right["WL-SP"]).ravel(), 0)
    expected = 2 * t.sf(test.statistic / np.sqrt(1 + 20 / 9), 19)
    assert found["WL-DeN"]["p against plain"] == pytest.approx(expected) and test.pvalue < 0.05
    assert found["WL-SP"]["p against plain"] is None
    assert found["WL-SP"]["repeats"] == 2 and found["WL-SP"]["unconverged"] == 0
    assert found["WL-SP"]["fits"] + found["WL-SP"]["skipped"] == 2 * 10 * (77 + 1)


def test_threads_change_nothing(tmp_path: Path) -> None:
    tasks = rows.tasks(ring_set(), [rows.ROWS["WL-subtree"]], 1)
    values = [
        [{**cell.value, "cpu_seconds": 0} for cell in Store(tmp_path / str(jobs)).run(tasks, n_jobs=jobs)]
        for jobs in (1, 3)
    ]
    assert values[0] == values[1]


def test_incomplete_repeats_are_left_out(tmp_path: Path) -> None:
    cells = Store(tmp_path).run(rows.tasks(ring_set(), [rows.ROWS["SP"]], 2))
    assert table.accuracies(cells[:-1])["SP", "rings"].repeats == [0]
    assert table.accuracies(cells[1:])["SP", "rings"].repeats == [1]
    assert table.tables(cells[1:10]) == []


def test_the_papers_results_are_shown_next_to_ours(tmp_path: Path) -> None:
    data = GraphSet("MUTAG", ring_set().graphs, ring_set().y)
    (_, details) = table.tables(Store(tmp_path).run(rows.tasks(data, [rows.ROWS["SP"]], 1)))
    row = details.plain()["rows"][0]
    assert row["paper"] == 77.62 and row["distance"] == pytest.approx(row["accuracy"] - 77.62)
    assert row["± repeats"] is None


def test_mean_and_spread_by_hand() -> None:
    accuracy = table.Accuracy([0, 1], np.array([[50.0, 100.0], [70.0, 100.0]]), 1.0, 1, 0, 0)
    assert accuracy.mean == 80 and accuracy.over_repeats == pytest.approx(50**0.5)  # of 75 and 85
    assert accuracy.over_folds == pytest.approx(np.std([50, 100, 70, 100], ddof=1))


def test_only_the_same_repeats_are_compared_and_each_graph_counts_once() -> None:
    folds = np.random.default_rng(0).integers(0, 100, (4, 10)).astype(float)
    one = table.Accuracy([0, 1, 3], folds[[0, 1, 3]], 1.0, 1, 0, 0)
    other = table.Accuracy([1, 2, 3], folds[[2, 0, 1]] + 20, 1.0, 1, 0, 0)
    plain = ttest_1samp((folds[[1, 3]] - folds[[2, 1]] - 20).ravel(), 0)
    corrected = plain.statistic / np.sqrt(1 + 20 / 9)  # Nadeau and Bengio (2003), for 20 folds of a tenth each
    assert table.resampled_p(one, other) == pytest.approx(2 * t.sf(abs(corrected), 19))
    assert table.resampled_p(one, other) > plain.pvalue


def test_equal_kernels_have_no_p() -> None:
    zero = table.Accuracy([0], np.zeros((1, 4)), 1.0, 1, 0, 0)
    nearly = table.Accuracy([0], np.array([[0.3, 0.1 + 0.2, 0.3, 0.3]]), 1.0, 1, 0, 0)
    assert table.resampled_p(zero, zero) is table.resampled_p(nearly, zero) is None
    assert table.resampled_p(table.Accuracy([1], zero.folds, 1.0, 1, 0, 0), zero) is None


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="no kernel 'GIN' in the table; take one of SP"):
        rows.rows_named(["wl-sp", "GIN"])


# ---------------------------------------------------------------- the command


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DETOURS_DATA", raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = cli.run(["reproduce", "kernels", *arguments])
        return code, *capsys.readouterr()

    return run


def test_command(run: Callable[..., Any], rings: Path) -> None:
    arguments = ["--root", str(rings), "--data", "MUTAG", "--kernel", "wl-den", "--repeats", "1", "--jobs", "1"]
    code, out, err = run(*arguments)
    assert code == 0 and "WL-DeN, paper" in out and "85.10 ± 2.28" in out
    assert "Wrote results/kernels.md, results/kernels.json" in err
    written = json.loads(Path("results/kernels.json").read_text())
    assert written["tables"][1]["rows"][0]["accuracy"] > 85
    assert run(*arguments, "--finished")[:2] == (code, out)
    code, out, err = run("--root", str(rings), "--out", "empty", "--finished")
    assert code == 1 and "empty has no finished repeat" in err


def test_own_data(run: Callable[..., Any], rings: Path) -> None:
    own = rings / "TUDataset" / "MUTAG"
    for file in (own / "raw").iterdir():
        file.rename(own / "raw" / file.name.replace("MUTAG", "COX2"))
    quick = ["--kernel", "sp", "--repeats", "1", "--jobs", "1"]
    code, out, err = run("--data", str(own), *quick)
    assert code == 0 and "COX2" in out.splitlines()[1], err
    own.rename(own.parent / "COX2")
    again = run("--root", str(rings), "--data", "COX2", *quick)
    assert again[:2] == (0, out)


def test_command_needs_data(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, err = run("--root", str(tmp_path / "empty"))
    assert code == 1 and out == "" and "give --root DIR or set DETOURS_DATA" in err


def test_repeats_of_other_data_or_code_are_not_mixed() -> None:
    names = ("cpu_seconds", "fits", "skipped", "unconverged")

    def cells(repeat: int, right: int, folds: Any = range(10), **changed: Any) -> list[Cell]:
        key = {"experiment": "kernels", "method": "WL-DeN", "data": "MUTAG", "digest": "a", "parameters": {}, **changed}
        value = {"right": right, "tested": 10, **dict.fromkeys(names, 1)}
        return [Cell({**key, "repeat": repeat, "fold": fold}, value, 1.0) for fold in folds]

    halves = [*cells(0, 9, range(5)), *cells(0, 0, range(5, 10), digest="b")]
    assert table.accuracies(halves) == {}
    found = table.accuracies([*cells(1, 8), *cells(0, 9), *cells(0, 1, digest="b"), *cells(2, 0, range(9))])
    (accuracy,) = found.values()
    assert accuracy.repeats == [0, 1] and accuracy.mean == pytest.approx(85)
    assert set(table.accuracies([*cells(0, 9), *cells(0, 1, method="of a later version")])) == {
        ("WL-DeN", "MUTAG"), ("of a later version", "MUTAG")
    }  # fmt: skip
    twice = table.accuracies([*cells(0, 9, range(5)), *cells(0, 0, range(5), code="old")])
    assert twice == {}
