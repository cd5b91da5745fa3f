"""Counts that exceed 2^63 are detected before the search."""

from itertools import permutations

import networkx as nx
import pytest

import detours
from detours.counting.engines.search.cliques import check_cliques, most_detours
from detours.counting.engines.search.engine import SearchEngine
from detours.counting.shrink.cyclic_part import Cyclic
from tests import oracles


def check(graph: nx.Graph, k: int, directed: bool = False) -> None:
    given = detours.Graph.from_networkx(graph, directed=directed)
    check_cliques(Cyclic(given.indptr, given.indices, given.directed), k)


@pytest.mark.parametrize("size", [3, 4, 5, 6])
def test_detours_in_a_clique(size: int) -> None:
    arcs = list(permutations(range(size), 2))
    for k in range(2, size + 2):
        assert most_detours(size, k) == max(oracles.by_subsets(size, arcs, k)[0, 1])


@pytest.mark.parametrize("directed", [False, True])
def test_a_clique_that_is_too_large(directed: bool) -> None:
    # 20! fits in 63 bits and 21! / 2 does not: 22 and 23 nodes.
    check(nx.complete_graph(22), 20, directed)
    for size, k in ((23, 20), (60, 20), (60, 50), (200, 100_000)):
        with pytest.raises(OverflowError, match=f"k = {k} exceed 2.63, as 23 nodes are all joined to each other"):
            check(nx.complete_graph(size), k, directed)


def test_a_clique_in_a_sparse_graph() -> None:
    graph = nx.disjoint_union(nx.random_regular_graph(4, 300, seed=1), nx.complete_graph(30))
    graph.add_edges_from((v, 300 + v % 30) for v in range(0, 300, 7))
    with pytest.raises(OverflowError, match="23 nodes"):
        check(graph, 20)


def test_graphs_without_large_cliques() -> None:
    check(nx.DiGraph([(i, j) for i in range(60) for j in range(i + 1, 60)]), 20, directed=True)
    check(nx.complete_multipartite_graph(30, 30), 20)
    check(nx.star_graph(5000), 100_000)
    check(nx.empty_graph(3), 3)


def test_overflow_is_raised_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    class Started(Exception):
        pass

    def start(*_: object) -> None:
        raise Started

    monkeypatch.setattr(SearchEngine, "run", start)
    graph = nx.complete_graph(60)
    for count in (lambda: detours.count(graph, 20), lambda: detours.count_many([graph], 20)):
        with pytest.raises(OverflowError, match="23 nodes"):
            count()
    with pytest.raises(Started):
        detours.count(graph, 20, engine="search")
    assert not detours.explain(graph, 20).sure
