"""Listing the detours: all of them, in order, lazily, and within a budget."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detours
from detours.counting import paths as module
from detours.counting.paths import path_batches
from detours.errors import BudgetExceeded, InputError
from tests.interrupts import interrupted


def csr(graph: nx.Graph) -> tuple[np.ndarray, np.ndarray]:
    rows = [sorted(graph[v]) for v in range(len(graph))]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    return indptr.astype(np.int64), np.array([w for row in rows for w in row], dtype=np.int32)


def paths(indptr: np.ndarray, indices: np.ndarray, i: int, j: int, k: int, **options: Any) -> Iterator[tuple[int, ...]]:
    directed = not options.get("chordless", False)
    return detours.paths(detours.Graph.from_csr(indptr, indices, directed=directed), i, j, k, **options)


def brute_force(graph: nx.Graph, i: int, j: int, k: int) -> list[tuple[int, ...]]:
    """Every choice of inner nodes in every order, shorter ones first."""
    others = [v for v in range(len(graph)) if v not in (i, j)]
    candidates = ((i, *inner, j) for size in range(1, k) for inner in itertools.permutations(others, size))
    return [path for path in candidates if all(graph.has_edge(u, v) for u, v in itertools.pairwise(path))]


@st.composite
def queries(draw: st.DrawFn) -> tuple[nx.Graph, int, int, int]:
    n = draw(st.integers(2, 7))
    graph = nx.DiGraph() if draw(st.booleans()) else nx.Graph()
    graph.add_nodes_from(range(n))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    graph.add_edges_from((u, v) for u, v in draw(st.lists(ends, max_size=3 * n)) if u != v)
    i, j = draw(ends.filter(lambda pair: pair[0] != pair[1]))
    return graph, i, j, draw(st.integers(2, 8))


@settings(deadline=None, max_examples=300)
@given(queries())
def test_equals_brute_force_in_order(query: tuple[nx.Graph, int, int, int]) -> None:
    graph, i, j, k = query
    assert list(paths(*csr(graph), i, j, k)) == brute_force(graph, i, j, k)


@pytest.mark.parametrize("chordless", [False, True])
def test_lengths_without_paths_are_skipped(chordless: bool) -> None:
    batches = list(path_batches(*csr(nx.cycle_graph(1000)), 0, 300, 1000, chordless=chordless))
    assert [batch.shape[1] - 1 for batch in batches if len(batch)] == [300, 700] and len(batches) < 8


@pytest.mark.parametrize("seed", range(20))
def test_equals_networkx_by_length(seed: int) -> None:
    graph = nx.gnp_random_graph(14, 0.2, seed=seed, directed=seed % 2 == 1)
    for u, v in list(graph.edges)[::3]:  # some edges become long chains
        graph.remove_edge(u, v)
        nx.add_path(graph, [u, *range(len(graph), len(graph) + 5), v])
    found = list(paths(*csr(graph), 0, 1, len(graph)))
    expected = [tuple(path) for path in nx.all_simple_paths(graph, 0, 1) if len(path) > 2]
    assert found == sorted(expected, key=lambda path: (len(path), path))


@settings(deadline=None, max_examples=200)
@given(queries())
def test_chordless_by_definition(query: tuple[nx.Graph, int, int, int]) -> None:
    """No edge between two nodes of a path but its own, and the one between its ends."""
    graph, i, j, k = query
    graph = graph.to_undirected()
    between = graph.has_edge(i, j)
    expected = [path for path in brute_force(graph, i, j, k) if graph.subgraph(path).size() == len(path) - 1 + between]
    assert list(paths(*csr(graph), i, j, k, chordless=True)) == expected
    assert list(detours.paths(graph, i, j, k, chordless=True)) == expected


def test_any_batch_size_and_step_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 5))
    whole = list(paths(*csr(graph), 0, 12, 12))
    expected = [tuple(p) for p in nx.all_simple_paths(graph, 0, 12, cutoff=12)]
    assert whole == sorted(expected, key=lambda path: (len(path), path))
    for steps, batch in [(1, 1), (1, 10**6), (13, 40), (10**6, 1)]:
        monkeypatch.setattr(module, "STEPS", steps)
        monkeypatch.setattr(module, "BATCH", batch)
        assert list(paths(*csr(graph), 0, 12, 12)) == whole
        chordless = [path for path in whole if graph.subgraph(path).size() == len(path) - 1]
        assert list(paths(*csr(graph), 0, 12, 12, chordless=True)) == chordless


def test_the_edge_itself_is_no_detour() -> None:
    assert list(paths(*csr(nx.path_graph(2)), 0, 1, 5)) == []
    assert list(paths(*csr(nx.path_graph(3)), 0, 2, 5)) == [(0, 1, 2)]
    assert list(paths(*csr(nx.cycle_graph(4)), 0, 1, 3)) == [(0, 3, 2, 1)]
    assert list(paths(*csr(nx.cycle_graph(4)), 0, 1, 2)) == []


def test_unreachable_ends() -> None:
    assert list(paths(*csr(nx.empty_graph(5)), 1, 3, 4)) == []
    assert list(paths(*csr(nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))), 0, 4, 9)) == []
    one_way = nx.DiGraph([(0, 1), (1, 2)])
    assert list(paths(*csr(one_way), 0, 2, 4)) == [(0, 1, 2)]
    assert list(paths(*csr(one_way), 2, 0, 4)) == []


def test_dead_ends_cost_nothing() -> None:
    """A complete graph is attached to the path at one node: no path comes back from it."""
    graph = nx.path_graph(4)
    graph.add_edges_from(itertools.combinations([1, *range(4, 24)], 2))
    assert list(paths(*csr(graph), 0, 3, 30)) == [(0, 1, 2, 3)]


def test_k_without_bound() -> None:
    assert len(list(paths(*csr(nx.complete_graph(5)), 0, 1, 10**12))) == 3 + 6 + 6


def test_lazy() -> None:
    """Paths of a complete graph with a hundred nodes, far too many to list them all."""
    found = paths(*csr(nx.complete_graph(100)), 0, 1, 60)
    assert list(itertools.islice(found, 3)) == [(0, 2, 1), (0, 3, 1), (0, 4, 1)]
    assert all(type(v) is int for v in next(found))


def test_max_paths() -> None:
    graph = csr(nx.complete_graph(5))
    assert len(list(paths(*graph, 0, 1, 4, max_paths=15))) == 15
    with pytest.raises(BudgetExceeded, match="max_paths = 14") as caught:
        list(paths(*graph, 0, 1, 4, max_paths=14))
    assert caught.value.found == list(itertools.islice(paths(*graph, 0, 1, 4), 14))
    assert caught.value.reason == "max_paths"


def test_time_limit() -> None:
    started = time.process_time()
    with pytest.raises(BudgetExceeded, match=r"time_limit = 0\.2 s") as caught:
        list(paths(*csr(nx.complete_bipartite_graph(14, 14)), 0, 1, 26, time_limit=0.2))
    assert time.process_time() - started < 60
    assert caught.value.reason == "time_limit"
    assert caught.value.found[:2] == [(0, 14, 1), (0, 15, 1)]


def test_empty_batches_keep_coming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two nodes on one side of a bipartite graph no path has odd length, and it takes long to find that out:
    empty batches keep coming meanwhile, so that Ctrl-C and time limits work."""
    monkeypatch.setattr(module, "STEPS", 1000)
    batches = itertools.islice(path_batches(*csr(nx.complete_bipartite_graph(12, 12)), 0, 1, 23), 3000)
    runs = [len(list(run)) for empty, run in itertools.groupby(batches, lambda batch: len(batch) == 0) if empty]
    assert max(runs) > 100


def test_interrupt() -> None:
    """Ctrl-C ends a search that would take years."""
    found = path_batches(*csr(nx.complete_bipartite_graph(40, 40)), 0, 1, 79)
    next(found)
    with interrupted():
        for _ in found:
            pass


def test_bad_arguments() -> None:
    graph = csr(nx.cycle_graph(4))
    for i, j in [(-1, 2), (0, 4), (1, 1)]:
        with pytest.raises(InputError):
            paths(*graph, i, j, 3)
    for k in (1, 0, -3, 2.5, "4", True):
        with pytest.raises(InputError):
            paths(*graph, 0, 1, k)  # type: ignore[arg-type]
    for budget in ({"max_paths": 0}, {"time_limit": 0.0}, {"time_limit": float("nan")}):
        with pytest.raises(InputError):
            paths(*graph, 0, 1, 3, **budget)  # type: ignore[arg-type]


def test_paths_in_a_budget_error_have_the_names_of_the_graph() -> None:
    graph = nx.relabel_nodes(nx.complete_graph(5), dict(enumerate("abcde")))
    with pytest.raises(BudgetExceeded) as caught:
        list(detours.paths(graph, "a", "b", 4, max_paths=3))
    assert caught.value.found == [("a", "c", "b"), ("a", "d", "b"), ("a", "e", "b")]


def test_bad_budgets_are_refused_before_anything_is_listed() -> None:
    with pytest.raises(InputError, match="max_paths"):
        detours.paths(nx.complete_graph(4), 0, 1, 3, max_paths=0)
