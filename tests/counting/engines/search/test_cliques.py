"""Counts that must pass 2^63 are told before the search."""

from itertools import permutations

import networkx as nx
import pytest

import detours
from detours.counting.engines.search.cliques import most_detours
from tests import oracles


@pytest.mark.parametrize("size", [3, 4, 5, 6])
def test_detours_in_a_clique(size: int) -> None:
    arcs = list(permutations(range(size), 2))
    for k in range(2, size + 2):
        assert most_detours(size, k) == max(oracles.by_subsets(size, arcs, k)[0, 1])


@pytest.mark.parametrize("directed", [False, True])
def test_a_clique_that_is_too_large(directed: bool) -> None:
    # 20! fits in 63 bits and 21! / 2 does not: 22 and 23 nodes.
    detours.explain(nx.complete_graph(22), 20, directed=directed)
    for k in (20, 50):
        with pytest.raises(OverflowError, match=f"k = {k} pass 2.63, as 23 nodes are all joined to each other"):
            detours.explain(nx.complete_graph(60), k, directed=directed)
    with pytest.raises(OverflowError, match="23 nodes"):
        detours.count(nx.complete_graph(23), 20, directed=directed, engine="search")


def test_a_clique_in_a_sparse_graph() -> None:
    graph = nx.disjoint_union(nx.random_regular_graph(4, 300, seed=1), nx.complete_graph(30))
    graph.add_edges_from((v, 300 + v % 30) for v in range(0, 300, 7))
    with pytest.raises(OverflowError, match="23 nodes"):
        detours.explain(graph, 20)


def test_arcs_in_one_direction_are_no_clique() -> None:
    tournament = nx.DiGraph([(i, j) for i in range(60) for j in range(i + 1, 60)])
    detours.explain(tournament, 20)
    detours.explain(nx.complete_multipartite_graph(30, 30), 20)
