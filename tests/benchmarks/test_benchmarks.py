"""The benchmarks must compare like with like: same graphs, same counts, sound extrapolation."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("networkx")

from benchmarks import cases, contest, listers, measure, rivals, run, suite
from benchmarks.cases import Csr

EVERYONE = [*rivals.RIVALS, *rivals.LISTERS, rivals.NX_CYCLES, rivals.IGRAPH_CYCLES]


def assert_simple(graph: Csr) -> None:
    rows = np.repeat(np.arange(graph.num_nodes), graph.degree)
    keys = rows * graph.num_nodes + graph.indices
    assert np.all(np.diff(keys) > 0)
    assert not np.any(rows == graph.indices)
    assert np.array_equal(np.sort(graph.indices * np.int64(graph.num_nodes) + rows), keys)


@pytest.mark.parametrize(
    ("graph", "nodes", "edges"),
    [
        (cases.barabasi_albert(500, 4, seed=1), 500, 4 * 496),
        (cases.random_geometric(800, 3200, seed=1), 800, 3200),
        (cases.grid(7), 49, 2 * 7 * 6),
        (Csr.from_pairs(np.array([[0, 1], [1, 0], [2, 2], [0, 1], [1, 3]]), 5), 5, 2),
    ],
)
def test_graphs_are_simple_and_have_the_requested_size(graph: Csr, nodes: int, edges: int) -> None:
    assert (graph.num_nodes, graph.num_edges) == (nodes, edges)
    assert_simple(graph)


def test_graphs_are_the_same_each_time() -> None:
    first, again = (cases.random_geometric(300, 900, seed=2) for _ in range(2))
    assert np.array_equal(first.indices, again.indices)
    assert not np.array_equal(first.indices, cases.random_geometric(300, 900, seed=3).indices)


def test_edge_of_arc_finds_both_directions() -> None:
    graph = cases.erdos_renyi(30, 80, seed=1)
    i, j = graph.upper
    rows = np.repeat(np.arange(30), graph.degree)
    assert np.array_equal(np.minimum(rows, graph.indices), i[graph.edge_of_arc])
    assert np.array_equal(np.maximum(rows, graph.indices), j[graph.edge_of_arc])


@pytest.mark.parametrize("name", [rivals.OURS, *EVERYONE])
def test_all_contenders_return_the_same_counts(name: str) -> None:
    if rivals.not_installed([name]):
        pytest.skip(f"{rivals.required_module(name)!r} is not installed")
    rivals.check_same_counts([name], k=4)


@pytest.mark.parametrize("name", [rivals.OURS, *rivals.LISTERS, rivals.IGRAPH_CYCLES])
def test_listers_support_other_lengths(name: str) -> None:
    if rivals.not_installed([name]):
        pytest.skip(f"{rivals.required_module(name)!r} is not installed")
    for k in (2, 6):
        rivals.check_same_counts([name], k)


def test_wrong_counts_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_of = rivals.counts_of

    def wrong(name: str, graph: Csr, k: int) -> np.ndarray | None:
        counts = counts_of(name, graph, k)
        assert counts is not None
        counts[0, 0] += 1
        return counts

    monkeypatch.setattr(rivals, "counts_of", wrong)
    with pytest.raises(AssertionError, match="differ from those of NetworkX at k = 4"):
        rivals.check_same_counts(["NumPy formulas"], k=4)


def test_both_arcs_must_agree() -> None:
    graph = cases.grid(3)
    by_arc = np.arange(len(graph.indices)).reshape(-1, 1)
    with pytest.raises(AssertionError, match="two arcs"):
        rivals.at_upper(graph, by_arc)


class Sleeper(listers.Roots):
    """A lister that uses a known CPU time per root and finds one triangle at each."""

    name = "sleeper"
    seconds = 0.004

    def build(self) -> None:
        return None

    def paths(self, root: int, k: int) -> list[tuple[int, int, int]]:
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return [(0, 1, 2)]


def test_a_sample_is_extrapolated_to_all_roots() -> None:
    lister = Sleeper(cases.grid(80))
    timing, answer = measure.sampled(lister, k=3, budget=0.8)
    assert answer is None
    assert timing.how == "extrapolated"
    assert timing.seconds == pytest.approx(lister.num_roots() * Sleeper.seconds, rel=0.3)
    assert timing.text().startswith("~ ")


def test_a_complete_sample_returns_counts() -> None:
    lister = Sleeper(cases.grid(3))
    timing, answer = measure.sampled(lister, k=3, budget=30)
    assert timing.how == "measured"
    assert answer is not None
    assert answer.tolist() == [[1, 0]] * lister.num_roots()


def test_a_root_that_never_ends_gives_a_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sleeper, "seconds", 60.0)
    timing, answer = measure.sampled(Sleeper(cases.grid(3)), k=3, budget=0.3)
    assert (timing.how, answer) == ("at least", None)
    assert timing.text().startswith("> ")


def test_guarded_work_returns_or_is_stopped() -> None:
    timing, answer = measure.guarded(lambda: 42, budget=30)
    assert (timing.how, answer) == ("measured", 42)
    start = time.monotonic()
    timing, answer = measure.guarded(lambda: time.sleep(60), budget=0.3)
    assert (timing.how, answer) == ("at least", None)
    assert time.monotonic() - start < 20


def test_cycles_are_extrapolated_by_their_share() -> None:
    def slow() -> object:
        for number in range(100_000):
            end = time.process_time() + 0.0005
            while time.process_time() < end:
                pass
            yield number

    timing = measure.cycles_by_rate(slow, expected=100_000, budget=1.0)
    assert timing.how == "extrapolated"
    assert timing.seconds == pytest.approx(50, rel=0.3)


@pytest.mark.slow
def test_an_all_or_nothing_lister_is_extrapolated_by_its_rate() -> None:
    graph = cases.grid(16)

    def count(part: Csr) -> object:
        squares = part.num_edges if part.num_nodes < 200 else 10**6

        def work() -> np.ndarray:
            end = time.process_time() + squares * 0.001
            while time.process_time() < end:
                pass
            return np.array([[0, 4 * squares]])

        return work

    timing, answer = measure.cycles_by_subgraph(graph, count, expected=50_000, budget=6.0)
    assert (timing.how, answer) == ("extrapolated", None)
    assert timing.seconds == pytest.approx(50, rel=0.3)


def test_an_all_or_nothing_lister_that_finishes_returns_counts() -> None:
    graph = cases.grid(6)
    timing, answer = measure.cycles_by_subgraph(
        graph, lambda part: lambda: rivals.our_counts(part, 3), expected=25, budget=60
    )
    assert timing.how == "measured"
    assert answer is not None
    assert np.array_equal(answer, rivals.our_counts(graph, 3))


def test_an_induced_subgraph_keeps_the_edges_inside() -> None:
    graph = cases.erdos_renyi(30, 120, seed=4)
    nodes = np.array([7, 3, 20, 11, 29, 0])
    part = graph.induced(nodes)
    assert_simple(part)
    whole = set(zip(*(end.tolist() for end in graph.upper), strict=True))
    expected = {(a, b) for a in range(6) for b in range(6) if a < b and tuple(sorted(nodes[[a, b]].tolist())) in whole}
    assert set(zip(*(end.tolist() for end in part.upper), strict=True)) == expected


def test_goals_are_checked_against_the_fastest_rival_with_a_known_time() -> None:
    case = suite.Case("x", "x", lambda: cases.grid(3), 4, goals=(suite.Goal("listers", 100),))
    listed = {
        "igraph simple_cycles": measure.Timing(15.0, 15.0, "at least"),
        "NetworkX all_simple_paths": measure.Timing(900.0, 900.0, "extrapolated"),
        "rustworkx all_simple_paths, by edge": measure.Timing(200.0, 200.0, "extrapolated"),
    }
    result = contest.Result(case, 9, 12, measure.Timing(1.0, 1.0), {3: 0}, listed)
    assert result.fastest("listers") == "rustworkx all_simple_paths, by edge"
    assert result.fastest("orca") is None
    ((_, goal, reached, met),) = result.goals()
    assert (goal, reached, met) == (100, 200.0, True)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0000042, "4.2 µs"),
        (0.0123, "12.3 ms"),
        (4.561, "4.56 s"),
        (150, "2.5 min"),
        (7200, "2 h"),
        (864000, "10 days"),
    ],
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert measure.duration(seconds) == text


def test_missing_data_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DETOURS_DATA", str(tmp_path))
    with pytest.raises(cases.MissingData, match="set DETOURS_DATA"):
        cases.wikipedia("squirrel")


def test_cases_name_known_contenders() -> None:
    for case in suite.FULL + suite.QUICK:
        assert set(case.rivals) <= {*EVERYONE, rivals.IGRAPH_LISTING}
        groups = {rivals.group_of(name) for name in case.rivals}
        assert {goal.group for goal in case.goals} <= groups


def test_an_unknown_case_is_refused(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run.main(["--quick", "--case", "moon", "--out", str(tmp_path)]) == 2
    assert "no case 'moon'" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_run_writes_what_it_prints(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("igraph")
    pytest.importorskip("rustworkx")
    assert run.main(["--quick", "--case", "molecules", "--out", str(tmp_path)]) == 0
    assert "times ours" in capfd.readouterr().out
    data = json.loads((tmp_path / "benchmarks.json").read_text())
    (case,) = data["cases"]
    assert all(case["same answer"].values())
    assert case["ours"]["seconds"] > 0
    assert "igraph simple_cycles" in (tmp_path / "benchmarks.md").read_text()
