"""The benchmark of chordless cycles must detect different cycles."""

import pytest

pytest.importorskip("networkx")

import detours
from benchmarks import chordless as benchmark
from benchmarks.cases import small_graphs
from benchmarks.measure import Timing


def test_results_are_compared() -> None:
    graphs = [detours.Graph.from_csr(graph.indptr, graph.indices) for graph in small_graphs(40, seed=1)]
    results = {name: work() for name, work in benchmark.contenders(graphs, k=5).items()}
    assert sum(map(len, results[benchmark.NETWORKX])) > 20
    assert benchmark.agree(graphs, results) == {benchmark.OURS: True, benchmark.LISTED: True}
    next(filter(None, results[benchmark.NETWORKX])).pop()
    assert benchmark.agree(graphs, results) == {benchmark.OURS: False, benchmark.LISTED: False}


def test_the_goal() -> None:
    best = {
        name: Timing(seconds, seconds) for name, seconds in zip(benchmark.contenders([], 3), (1, 2, 40), strict=True)
    }
    sheet = benchmark.sheet("some data", best, {benchmark.OURS: True, benchmark.LISTED: False}, k=3)
    assert sheet.notes[0].endswith("it takes 40 times as long: MISSED")
    assert [row[-1] for row in sheet.rows] == ["yes", "DIFFERENT RESULT", ""]
