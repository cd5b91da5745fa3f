"""The benchmark of refinement must detect different colours."""

import pytest

pytest.importorskip("networkx")

import detours
from benchmarks import wl as benchmark
from benchmarks.cases import small_graphs
from benchmarks.measure import Timing


@pytest.mark.filterwarnings("ignore:The hashes produced")
def test_rivals_are_compared_with_our_colours() -> None:
    graphs = [detours.Graph.from_csr(graph.indptr, graph.indices) for graph in small_graphs(40, seed=1)]
    results = {name: work() for name, work in benchmark.contenders(graphs, k=4, rounds=3).items()}
    same = benchmark.agree(results, rounds=3)
    assert same[benchmark.NETWORKX] and all(same.values())
    results[benchmark.NETWORKX][0][0][-1] = "another hash"
    assert not benchmark.agree(results, rounds=3)[benchmark.NETWORKX]


def test_the_goal_is_checked_against_the_faster_rival() -> None:
    best = {
        benchmark.OURS: Timing(1.0, 1.0),
        benchmark.NETWORKX: Timing(30.0, 30.0),
        benchmark.GRAKEL: Timing(15.0, 15.0),
    }
    same = {benchmark.NETWORKX: True, benchmark.GRAKEL: False}
    sheet = benchmark.sheet("some data", best, same, k=4, rounds=3)
    assert "(GraKeL)" in sheet.notes[0] and sheet.notes[0].endswith("it takes 15 times as long: MISSED")
    assert [row[-1] for row in sheet.rows] == ["", "yes", "DIFFERENT RESULT"]


def test_paths_are_compared_with_the_row_above() -> None:
    rows = benchmark.paths_sheet([20, 40], budget=0.0).rows
    assert [row[0] for row in rows] == ["20", "40"] and rows[0][2] == "" and float(rows[1][2]) > 0
