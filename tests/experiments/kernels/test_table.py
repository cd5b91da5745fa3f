"""`detours reproduce kernels`: selection inside the training part, cells that are kept, tables beside the paper."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import wilcoxon

pytest.importorskip("sklearn")

from detours import cli
from detours.data import GraphSet, load
from detours.errors import InputError
from detours.experiments.kernels import selection
from detours.experiments.kernels import table as kernels
from detours.experiments.kernels.selection import COSTS, cross_validate, one_fold
from detours.experiments.kernels.svm import Gram, fit, fit_by_sklearn
from detours.graph import Graph
from detours.store import Store
from tests.real_data import data_folder


def ring_set(n: int = 40) -> GraphSet:
    """A cycle of six against two of three, each beside a path of some length: 1-WL is blind to the difference."""
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
    """The same as raw files under the name of MUTAG."""
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


def ladder(data: GraphSet, row: str) -> list[Any]:
    return [candidate.ladder(data) for candidate in kernels.ROWS[row].candidates]


# ---------------------------------------------------------------- selection


def test_detours_see_what_subtrees_cannot() -> None:
    data = ring_set()
    right = {
        row: sum(fold.right for fold in cross_validate(data.y, ladder(data, row), seed=0))
        for row in ("WL-subtree", "WL-DeN")
    }
    assert right["WL-DeN"] >= 36 and right["WL-subtree"] < 30


def test_labels_of_the_test_part_change_nothing_but_the_count() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 4))
    y = (points[:, 0] + rng.normal(size=60) > 0).astype(np.int64)
    train, test = np.arange(48), np.arange(48, 60)
    grams = [[Gram.of(points[:, :d] @ points[:, :d].T) for d in (1, 2, 4)]]
    honest = one_fold(y, grams, train, test, seed=3)
    turned = y.copy()
    turned[test] = 1 - y[test]
    other = one_fold(turned, grams, train, test, seed=3)
    assert other._replace(right=honest.right) == honest and other.right == len(test) - honest.right


def test_of_equals_the_fewest_rounds_then_the_smallest_cost_then_the_first() -> None:
    y = np.repeat([0, 1], 20)
    perfect = Gram.of(np.where(y[:, None] == y, 4.0, 1.0) + np.eye(40))
    useless = Gram.of(np.eye(40))
    fold = one_fold(y, [[useless, perfect, perfect], [useless, perfect]], np.arange(0, 40, 2), np.arange(1, 40, 2), 0)
    smallest = next(
        cost
        for at, cost in enumerate(COSTS)
        if (fit(perfect, y, np.arange(0, 40, 2), [c / 20 for c in COSTS]).predicted[at] == y).all()
    )
    assert (fold.candidate, fold.rounds, fold.right) == (0, 1, 20) and fold.cost == smallest


def test_the_same_seed_the_same_folds_for_any_number_of_threads() -> None:
    data = ring_set()
    grams = ladder(data, "WL-SP")
    assert cross_validate(data.y, grams, 1) == cross_validate(data.y, grams, 1, n_jobs=2)
    assert cross_validate(data.y, grams, 1) != cross_validate(data.y, grams, 2)


def test_too_few_graphs_of_a_class() -> None:
    with pytest.raises(InputError, match="10 graphs of each class"):
        cross_validate(np.array([0] * 20 + [1] * 9), [[Gram.of(np.eye(29))]], 0)


def test_both_solvers_give_the_same_accuracies_on_mutag() -> None:
    if not (data_folder() / "TUDataset" / "MUTAG").is_dir():
        pytest.skip("real data not found: MUTAG (set DETOURS_DATA to the folder that holds the data sets)")
    data = load("MUTAG", data_folder())
    grams = [list(ladder(data, "WL-SP")[0][:4])]
    ours = cross_validate(data.y, grams, 0)
    theirs = cross_validate(data.y, grams, 0, fitter=fit_by_sklearn)
    # Both stop within a tolerance; a graph on the boundary may fall on either side.
    differ = [a.right != b.right for a, b in zip(ours, theirs, strict=True)]
    assert sum(differ) <= 1
    assert abs(sum(fold.right for fold in ours) - sum(fold.right for fold in theirs)) <= 2


# ---------------------------------------------------------------- cells and tables


def test_cells_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, store = ring_set(), Store(tmp_path)
    cells = []
    for name in ("WL-SP", "WL-DeN"):
        cells += store.run(kernels.tasks(data, kernels.ROWS[name], 2))
    monkeypatch.setattr("detours.experiments.kernels.table.cross_validate", lambda *a, **b: pytest.fail("made again"))
    assert store.run(kernels.tasks(data, kernels.ROWS["WL-DeN"], 2)) == cells[2:]
    overview, details = kernels.tables(cells)
    assert [row[0] for row in overview.rows] == ["WL-SP", "WL-SP, paper", "WL-DeN", "WL-DeN, paper"]
    found = {row["kernel"]: row for row in details.plain()["rows"]}
    by_hand = [sum(cell.value["right"]) / 40 * 100 for cell in cells[2:]]  # folds of equal size
    assert found["WL-DeN"]["accuracy"] == pytest.approx(np.mean(by_hand)) and np.mean(by_hand) > 85
    assert found["WL-DeN"]["± repeats"] == pytest.approx(np.std(by_hand, ddof=1))
    right = [np.ravel([cell.value["right"] for cell in both]) for both in (cells[:2], cells[2:])]
    assert found["WL-DeN"]["p against WL-SP"] == pytest.approx(wilcoxon(*right).pvalue)
    assert found["WL-SP"]["p against WL-SP"] is None
    assert found["WL-SP"]["repeats"] == 2 and found["WL-SP"]["fits"] > 2 * 10 * 77


def test_the_paper_stands_beside_ours(tmp_path: Path) -> None:
    data = GraphSet("MUTAG", ring_set().graphs, ring_set().y)
    (_, details) = kernels.tables(Store(tmp_path).run(kernels.tasks(data, kernels.ROWS["SP"], 1)))
    row = details.plain()["rows"][0]
    assert row["paper"] == 77.62 and row["distance"] == pytest.approx(row["accuracy"] - 77.62)
    assert row["± repeats"] is None


def test_mean_and_spread_by_hand() -> None:
    accuracy = kernels.Accuracy(np.array([[50.0, 100.0], [70.0, 100.0]]), 1.0, 1, 0)
    assert accuracy.mean == 80 and accuracy.over_repeats == pytest.approx(50**0.5)  # of 75 and 85
    assert accuracy.over_folds == pytest.approx(np.std([50, 100, 70, 100], ddof=1))
    assert kernels.signed_rank(accuracy, accuracy) is None


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="no kernel 'GIN' in the table; take one of SP"):
        kernels.rows_named(["wl-sp", "GIN"])
    with pytest.raises(InputError, match="no solver 'fast'"):
        kernels.tasks(ring_set(), kernels.ROWS["SP"], solver="fast")


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
    arguments = ["--data", str(rings), "--only", "MUTAG", "--kernel", "wl-den", "--repeats", "1", "--jobs", "1"]
    code, out, err = run(*arguments)
    assert code == 0 and "WL-DeN, paper" in out and "85.10 ± 2.28" in out
    assert "Wrote results/kernels.md, results/kernels.json" in err
    written = json.loads(Path("results/kernels.json").read_text())
    assert written["tables"][1]["rows"][0]["accuracy"] > 85


def test_command_needs_data(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, err = run("--data", str(tmp_path / "empty"))
    assert code == 1 and out == "" and "give --data DIR or set DETOURS_DATA" in err


def test_hold_outs_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = ring_set()
    grams = ladder(data, "WL-subtree")
    once, thrice = (one_fold(data.y, grams, np.arange(36), np.arange(36, 40), 0, hold_outs=number) for number in (1, 3))
    assert selection.FOLDS == 10 and thrice.fits > 2.5 * once.fits
