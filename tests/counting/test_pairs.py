"""`count_pairs`: every pair against the definition, by closed forms and by search."""

from itertools import combinations, permutations
from math import perm

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import detours
from detours.counting import pairs as pairs_module
from detours.counting.pairs import count_pairs
from detours.errors import DroppedEdgesWarning, EngineError, InputError
from tests.oracles.pairs import pairs_by_subsets, pairs_with_networkx
from tests.strategies import SmallGraph, small_graphs

METHODS = {"search": 0.0, "closed forms": 1e9}
"""Seconds assumed for each path of a search, so that one of the methods is always chosen."""


@pytest.fixture(params=[*METHODS, "whichever is faster"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param in METHODS:
        monkeypatch.setattr(pairs_module, "SECONDS_PER_PATH", METHODS[request.param])
    return str(request.param)


@pytest.mark.parametrize("seconds", [*METHODS.values(), pairs_module.SECONDS_PER_PATH])
@given(small=small_graphs(max_nodes=9), k=st.integers(2, 9))
def test_every_pair_of_small_graphs(seconds: float, small: SmallGraph, k: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "SECONDS_PER_PATH", seconds)
        counts = count_pairs(small.graph(), k)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, pairs_by_subsets(small.num_nodes, small.arcs, k))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("num_nodes", "degree"), [(10, 4.0), (12, 3.0), (12, 1.2)])
def test_against_networkx(num_nodes: int, degree: float, directed: bool, method: str) -> None:
    graph = nx.gnp_random_graph(num_nodes, degree / num_nodes, seed=7, directed=directed)
    np.testing.assert_array_equal(count_pairs(graph, 8, directed=directed), pairs_with_networkx(graph, 8))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("num_nodes", "k"), [(2, 8), (3, 3), (5, 8), (40, 8), (70, 8), (120, 7), (300, 6)])
def test_complete_graph(num_nodes: int, k: int, directed: bool) -> None:
    """Intermediate values of the larger ones pass 2^53, so that some steps need integers."""
    graph = nx.complete_graph(num_nodes, create_using=nx.DiGraph if directed else nx.Graph)
    expected = [perm(num_nodes - 2, length - 1) for length in range(2, k + 1)]
    counts = count_pairs(graph, k, directed=directed)
    np.testing.assert_array_equal(
        counts[~np.eye(num_nodes, dtype=bool)], np.tile(expected, (num_nodes**2 - num_nodes, 1))
    )
    assert not counts[np.eye(num_nodes, dtype=bool)].any()


def test_complete_bipartite_graph(method: str) -> None:
    # from one side to the other m more nodes of each are visited; back to the same side one more of the other
    left, right = 4, 6
    counts = count_pairs(nx.complete_bipartite_graph(left, right), 8)
    across = [0, *(x for m in (1, 2, 3) for x in (perm(left - 1, m) * perm(right - 1, m), 0))]
    within = [x for m in (1, 2, 3, 4) for x in (perm(left - 2, m - 1) * perm(right, m), 0)][:-1]
    for i, j in permutations(range(left), 2):
        assert counts[i, j].tolist() == within
    for i in range(left):
        for j in range(left, left + right):
            assert counts[i, j].tolist() == counts[j, i].tolist() == across


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("degree", [4, 14, 45])
def test_arcs_have_the_counts_of_count(degree: int, directed: bool) -> None:
    graph = nx.gnp_random_graph(60, degree / 60, seed=degree, directed=directed)
    tail, head = np.array(graph.edges).T
    counts = count_pairs(graph, 6, directed=directed)
    np.testing.assert_array_equal(counts[tail, head], detours.count(graph, 6, directed=directed).by_length)
    if not directed:
        np.testing.assert_array_equal(counts, counts.swapaxes(0, 1))


def rook_graph() -> nx.Graph:
    squares = [(row, column) for row in range(4) for column in range(4)]
    return nx.Graph((a, b) for a, b in combinations(squares, 2) if (a[0] == b[0]) != (a[1] == b[1]))


def shrikhande_graph() -> nx.Graph:
    steps = [(1, 0), (0, 1), (1, 1)]
    squares = [(row, column) for row in range(4) for column in range(4)]
    return nx.Graph((a, ((a[0] + x) % 4, (a[1] + y) % 4)) for a in squares for x, y in steps)


def rows_by_kind(graph: nx.Graph, k: int) -> tuple[list[list[int]], list[list[int]]]:
    """The counts of all adjacent pairs and of all others, each sorted."""
    counts, adjacent = count_pairs(graph, k), nx.to_numpy_array(graph) > 0
    others = ~adjacent & ~np.eye(len(graph), dtype=bool)
    return sorted(counts[adjacent].tolist()), sorted(counts[others].tolist())


def test_rook_and_shrikhande_differ_from_length_seven_on(method: str) -> None:
    """Strongly regular with the same parameters: shorter detours cannot tell them apart."""
    rook, shrikhande = rook_graph(), shrikhande_graph()
    assert sorted(dict(rook.degree).values()) == sorted(dict(shrikhande.degree).values()) == [6] * 16
    assert rows_by_kind(rook, 6)[0] == rows_by_kind(shrikhande, 6)[0]
    assert rows_by_kind(rook, 7)[0] != rows_by_kind(shrikhande, 7)[0]


def test_components_are_independent(method: str) -> None:
    parts = [nx.cycle_graph(5), nx.empty_graph(3), nx.complete_graph(6), nx.path_graph(2), nx.path_graph(7)]
    union = nx.disjoint_union_all(parts)
    new_name = np.random.default_rng(3).permutation(len(union)).tolist()
    mixed = nx.Graph()
    mixed.add_nodes_from(range(len(union)))
    mixed.add_edges_from((new_name[a], new_name[b]) for a, b in union.edges)
    counts = count_pairs(mixed, 7)
    expected, first = np.zeros_like(counts), 0
    for part in parts:
        names = new_name[first : first + len(part)]
        expected[np.ix_(names, names)] = count_pairs(part, 7)
        first += len(part)
    np.testing.assert_array_equal(counts, expected)
    assert counts.any()


def test_long_paths() -> None:
    """Beyond the closed forms, and beyond the longest path there is."""
    counts = count_pairs(nx.cycle_graph(40), 45)
    for distance in range(1, 40):
        lengths = {distance, 40 - distance}
        assert np.flatnonzero(counts[0, distance]).tolist() == sorted(length - 2 for length in lengths if length > 1)
    tree = nx.random_labeled_tree(60, seed=2)
    counts = count_pairs(tree, 59)
    for i, distances in nx.all_pairs_shortest_path_length(tree):
        for j, distance in distances.items():
            assert counts[i, j].sum() == (distance > 1)
            assert distance < 2 or counts[i, j, distance - 2] == 1


@pytest.mark.parametrize("num_nodes", [0, 1, 2, 5])
def test_without_edges(num_nodes: int) -> None:
    graph = detours.Graph.from_edge_index(np.zeros((2, 0), np.int64), num_nodes=num_nodes)
    counts = count_pairs(graph, 5)
    assert counts.shape == (num_nodes, num_nodes, 4)
    assert not counts.any()


def test_an_interrupted_search_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.gnp_random_graph(14, 0.3, seed=1)
    whole = count_pairs(graph, 9)
    assert whole[:, :, 7].any()
    monkeypatch.setattr(pairs_module, "STEPS", 3)
    np.testing.assert_array_equal(count_pairs(graph, 9), whole)


def test_direction_and_strictness_are_those_of_count() -> None:
    one_way: NDArray[np.int64] = np.array([[0, 1, 0], [1, 2, 2]])
    with pytest.warns(DroppedEdgesWarning):
        assert count_pairs(one_way, 2)[0, 1, 0] == 1
    assert count_pairs(one_way, 2, directed=True)[:, :, 0].tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    with pytest.raises(InputError):
        count_pairs(one_way, 2, strict=True)
    with pytest.raises(InputError, match="k, the most edges"):
        count_pairs(one_way, 1, directed=True)


def test_memory_is_asked_for_first() -> None:
    many_nodes = detours.Graph.from_edge_index([[0, 1], [1, 0]], num_nodes=50_000)
    with pytest.raises(EngineError, match=r"50,000 nodes up to k = 4 need about 55.9 GB"):
        count_pairs(many_nodes, 4)
    graph = nx.complete_graph(50)
    results = 8 * 50 * 50 * 6
    with pytest.raises(EngineError, match="memory_limit"):
        count_pairs(graph, 7, memory_limit=results + 1)
    assert count_pairs(graph, 7, memory_limit="2MB")[0, 1, 0] == 48
    with pytest.raises(InputError, match="memory_limit"):
        count_pairs(graph, 7, memory_limit="much")


def test_counts_that_could_pass_the_largest_integer_are_refused() -> None:
    graph = nx.complete_graph(700)
    assert perm(698, 6) < 2**63 < perm(698, 7)
    with pytest.raises(OverflowError, match="k = 8"):
        count_pairs(graph, 8)
