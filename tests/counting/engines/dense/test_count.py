"""The dense engine against the definition and the search engine, with any stacking of blocks."""

from math import perm
from threading import Barrier, active_count
from time import process_time
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours.counting.engines.base import Tally
from detours.counting.engines.dense import bounds as bounds_module
from detours.counting.engines.dense import count as dense_module
from detours.counting.engines.dense import evaluate as evaluate_module
from detours.counting.engines.dense import loops_numba as loops
from detours.counting.engines.dense.count import DenseCount
from detours.counting.shrink.cyclic_part import reduce
from detours.data.hard import rook
from detours.data.hard import shrikhande as shrikhande_graph
from detours.errors import EngineError
from detours.graph import Graph
from tests import real_data
from tests.strategies import SmallGraph, small_graphs


def empty_tally(graph: Graph, k: int) -> Tally:
    shape = (graph.num_arcs, k - 1)
    return Tally(np.zeros(shape, np.int64), np.zeros(shape, np.int64) if graph.directed else None)


def count(graph: Graph, k: int, n_jobs: int = 1) -> Tally:
    tally = empty_tally(graph, k)
    DenseCount(reduce(graph.indptr, graph.indices, graph.directed), k).run(tally, n_jobs)
    return tally


def searched(graph: Graph, k: int) -> Tally:
    found = detours.count(graph, k, engine="search")
    return Tally(found.arc_by_length, found.arc_cycles if graph.directed else None)


def assert_same(left: Tally, right: Tally) -> None:
    for a, b in zip(left, right, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            np.testing.assert_array_equal(a, b)


def union_of_random_graphs(directed: bool, graphs: int = 40) -> Graph:
    """Blocks of many sizes and densities."""
    rng = np.random.default_rng(11)
    random_graphs = []
    for _ in range(graphs):
        n = int(rng.integers(3, 26))
        arcs = np.argwhere(rng.random((n, n)) < rng.uniform(1.5, 5) / n).T
        arcs = arcs[:, arcs[0] != arcs[1]]
        if not directed:
            arcs = np.unique(np.concatenate([arcs, arcs[::-1]], axis=1), axis=1)
        random_graphs.append(Graph.from_edge_index(arcs, num_nodes=n, directed=directed))
    return Graph.disjoint_union(random_graphs)[0]


@given(small=small_graphs(max_nodes=9), k=st.integers(2, 8))
def test_every_arc_of_small_graphs(small: SmallGraph, k: int) -> None:
    graph = small.graph()
    np.testing.assert_array_equal(count(graph, k).by_length[graph.edge_arc], small.table(k))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [2, 5, 7, 8])
def test_agrees_with_search(k: int, directed: bool) -> None:
    graph = union_of_random_graphs(directed)
    assert_same(count(graph, k), searched(graph, k))


@pytest.mark.parametrize("directed", [False, True])
def test_counts_do_not_depend_on_stacks_or_threads(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = union_of_random_graphs(directed)
    reduced = reduce(graph.indptr, graph.indices, directed)
    expected = count(graph, 7)
    bundles = []
    for stack, similar, n_jobs in [(1, 1.0, 1), (2000, 0.3, 2), (10**6, 0.0, 3)]:
        monkeypatch.setattr(dense_module, "STACK", stack)
        monkeypatch.setattr(dense_module, "SIMILAR", similar)
        engine = DenseCount(reduced, 7)
        assert sorted(int(b) for bundle in engine.bundles for b in bundle.blocks) == list(range(reduced.num_blocks))
        bundles.append(len(engine.bundles))
        assert_same(count(graph, 7, n_jobs), expected)
    assert bundles[0] == reduced.num_blocks > bundles[1] > bundles[2] == 1


@pytest.mark.parametrize(("num_nodes", "k"), [(9, 8), (64, 8), (150, 7)])
def test_complete_graph(num_nodes: int, k: int) -> None:
    graph = Graph.from_networkx(nx.complete_graph(num_nodes))
    expected = [perm(num_nodes - 2, length - 1) for length in range(2, k + 1)]
    np.testing.assert_array_equal(count(graph, k).by_length, np.tile(expected, (graph.num_arcs, 1)))


def test_strongly_regular_graphs_differ_at_seven() -> None:
    """Two graphs of 16 nodes with parameters (16, 6, 2, 2): all edges of both have equal counts up to k = 6."""
    rooks, shrikhande = (detours.count(graph, 7, engine="dense").by_length for graph in (rook(4), shrikhande_graph()))
    for table in (rooks, shrikhande):
        assert (table[:, :5] == table[0, :5]).all()
    np.testing.assert_array_equal(rooks[0, :5], shrikhande[0, :5])
    assert sorted(rooks[:, 5]) != sorted(shrikhande[:, 5])
    np.testing.assert_array_equal(detours.count(rook(4), 7, engine="search").by_length, rooks)


def test_a_dense_regular_graph_needs_no_search() -> None:
    """35 nodes of degree 18: a search would take 10^10 steps."""
    graph = Graph.from_networkx(nx.random_regular_graph(18, 35, seed=3))
    for k in (7, 8):
        started = process_time()
        found = count(graph, k).by_length
        assert process_time() - started < 120
        assert found.min() > 0


def test_molecules() -> None:
    graphs = [Graph.from_edge_index(arcs, num_nodes=n) for n, arcs in real_data.molecule_graphs("ENZYMES")[:300]]
    union = Graph.disjoint_union(graphs)[0]
    found = count(union, 7)
    assert found.by_length[:, 5].any()
    assert_same(found, searched(union, 7))


def test_progress_ends_at_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_module, "STACK", 1)
    graph = union_of_random_graphs(directed=False)
    seen: list[tuple[float, float]] = []
    engine = DenseCount(reduce(graph.indptr, graph.indices), 4)
    engine.run(empty_tally(graph, 4), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(engine.bundles), len(engine.bundles))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def random_graph(nodes: int, share: float, directed: bool = False) -> Graph:
    joined = np.random.default_rng(nodes).random((nodes, nodes)) < share
    joined = joined & ~np.eye(nodes, dtype=bool) if directed else np.triu(joined, 1) | np.triu(joined, 1).T
    return Graph.from_edge_index(np.argwhere(joined).T, num_nodes=nodes, directed=directed)


@pytest.mark.parametrize("exact", [2**53, 2**8])
@pytest.mark.parametrize(
    ("nodes", "share", "k", "directed"),
    [(150, 0.04, 8, False), (150, 0.1, 7, False), (130, 0.4, 8, False), (100, 0.04, 7, True), (90, 0.3, 7, True)],
)
def test_counts_do_not_depend_on_threads_within_a_component(
    nodes: int, share: float, k: int, directed: bool, exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With lists of arcs and with full matrices, in floats and in integers."""
    graph = random_graph(nodes, share, directed)
    expected = count(graph, k)
    monkeypatch.setattr(bounds_module, "EXACT", exact)
    monkeypatch.setattr(dense_module, "LONG", 0.0)
    try:
        for n_jobs in (1, 2, 5):
            assert_same(count(graph, k, n_jobs), expected)
    finally:
        bounds_module.step_dtypes.cache_clear()


@pytest.mark.parametrize("directed", [False, True])
def test_counts_do_not_depend_on_threads_within_a_stack(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = union_of_random_graphs(directed)
    expected = count(graph, 7)
    monkeypatch.setattr(dense_module, "LONG", 0.0)
    for n_jobs in (1, 3):
        assert_same(count(graph, 7, n_jobs), expected)


def test_several_threads_sum_over_cliques_of_one_component(monkeypatch: pytest.MonkeyPatch) -> None:
    together, ranges, matrices = Barrier(2, timeout=60), list[tuple[int, int]](), set[int]()

    def sum_cliques(*args: Any) -> None:
        if not ranges:
            together.wait()  # two threads are here at the same time
        ranges.append(args[-2:])
        matrices.add(id(args[2]))
        loops.sum_cliques(*args)

    monkeypatch.setattr(dense_module, "LONG", 0.0)
    monkeypatch.setattr(evaluate_module, "sum_cliques", sum_cliques)
    count(random_graph(130, 0.3), 7, n_jobs=2)
    assert len(ranges) > 2 and len(matrices) == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_reported_within_a_component(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_module, "LONG", 0.0)
    graph = random_graph(200, 0.3)
    seen: list[float] = []
    engine = DenseCount(reduce(graph.indptr, graph.indices), 7)
    engine.run(empty_tally(graph, 7), n_jobs, lambda done, total: seen.append(done / total))
    assert len(engine.bundles) == 1
    assert seen == sorted(seen) and len(set(seen)) > 20 and seen[-1] == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_stops_within_a_component(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_module, "LONG", 0.0)
    graph = random_graph(200, 0.3)

    def interrupt(done: float, total: float) -> None:
        if done > 0:
            assert done < total
            raise KeyboardInterrupt

    before = active_count()
    with pytest.raises(KeyboardInterrupt):
        DenseCount(reduce(graph.indptr, graph.indices), 7).run(empty_tally(graph, 7), n_jobs, interrupt)
    assert active_count() == before


def test_estimate_depends_on_threads_within_a_component() -> None:
    graph = random_graph(900, 0.2)
    count = DenseCount(reduce(graph.indptr, graph.indices), 7)
    assert len(count.bundles) == 1
    assert count.seconds(2) == pytest.approx(count.seconds(1) / 2)
    assert count.seconds(1) / 64 < count.seconds(64) < count.seconds(8)
    assert count.bytes(2) > count.bytes(1)


def test_estimates_grow_with_the_work() -> None:
    small, large = (nx.random_regular_graph(6, n, seed=1) for n in (50, 400))
    reduced = [reduce(g.indptr, g.indices) for g in map(Graph.from_networkx, (small, large))]
    seconds = [[DenseCount(r, k).seconds() for k in (4, 7, 8)] for r in reduced]
    held = [[DenseCount(r, k).bytes() for k in (4, 7, 8)] for r in reduced]
    for figures in (seconds, held):
        assert all(0 < a < b < c for a, b, c in figures)
        assert all(a < b for a, b in zip(*figures, strict=True))
    assert held[1][1] > 8 * 400 * 400


def test_unsupported_k_and_overflow_raise() -> None:
    graph = Graph.from_networkx(nx.complete_graph(700))
    reduced = reduce(graph.indptr, graph.indices)
    with pytest.raises(EngineError, match="up to k = 8, not for k = 9"):
        detours.count(graph, 9, engine="dense")
    with pytest.raises(OverflowError, match="k = 8"):
        DenseCount(reduced, 8)
