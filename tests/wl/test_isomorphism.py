"""Exact isomorphism, isomorphism classes and k-factors, against brute force and other libraries."""

from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.errors import InputError
from detours.experiments.cycles.factors import has_factor
from detours.experiments.expressiveness.distinct import remove_isolated_nodes
from detours.graph import Graph
from detours.wl.isomorphism import isomorphic, isomorphism_classes, solver


def graph_of(nodes: int, edges: list[tuple[int, int]]) -> Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(edges)
    return Graph.from_networkx(graph)


@st.composite
def small_graphs(draw: st.DrawFn, most: int = 6) -> Graph:
    nodes = draw(st.integers(1, most))
    possible = list(combinations(range(nodes), 2))
    chosen = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    return graph_of(nodes, chosen)


def brute_isomorphic(first: Graph, second: Graph) -> bool:
    if first.num_nodes != second.num_nodes:
        return False
    edges = {frozenset(edge) for edge in second.to_edge_index().T.tolist()}
    return any(
        {frozenset((order[a], order[b])) for a, b in first.to_edge_index().T.tolist()} == edges
        for order in permutations(range(first.num_nodes))
    )


@pytest.fixture(params=["igraph", "networkx"])
def with_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    library: str = request.param
    monkeypatch.setattr("detours.wl.isomorphism.find_spec", lambda name: name == library or None)
    return library


@given(small_graphs(5), small_graphs(5))
def test_isomorphic_equals_brute_force(first: Graph, second: Graph) -> None:
    assert isomorphic(first, second) == brute_isomorphic(first, second)


def test_both_libraries_agree(with_library: str) -> None:
    assert with_library in solver().lower()
    hexagon, triangles = (
        graph_of(6, [(i, (i + 1) % 6) for i in range(6)]),
        graph_of(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]),
    )
    relabelled = graph_of(6, [(2 * i % 6 + (i > 2), 2 * (i + 1) % 6 + (i + 1 > 2)) for i in range(5)] + [(5, 0)])
    assert isomorphic(hexagon, relabelled) and not isomorphic(hexagon, triangles)


def test_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detours.wl.isomorphism.find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs igraph or networkx"):
        solver()


def test_directed_graphs() -> None:
    first, second = (Graph.from_edge_index(arcs, directed=True) for arcs in ([[0, 1], [1, 2]], [[1, 1], [0, 2]]))
    assert isomorphic(first, first) and not isomorphic(first, second)
    with pytest.raises(InputError, match="directed"):
        isomorphic(first, graph_of(3, [(0, 1), (1, 2)]))


@given(st.lists(small_graphs(4), min_size=1, max_size=8))
def test_classes_are_those_of_brute_force(graphs: list[Graph]) -> None:
    classes = isomorphism_classes(graphs, [list(range(len(graphs)))])
    assert sorted(index for members in classes for index in members) == list(range(len(graphs)))
    for members in classes:
        assert members == sorted(members)
    class_of = {index: c for c, members in enumerate(classes) for index in members}
    for i, j in combinations(range(len(graphs)), 2):
        assert (class_of[i] == class_of[j]) == brute_isomorphic(graphs[i], graphs[j])


@given(small_graphs(), st.integers(1, 4))
def test_factors_equal_brute_force(graph: Graph, k: int) -> None:
    ends = graph.to_edge_index()
    edges = [(a, b) for a, b in ends.T.tolist() if a < b]
    num_edges = graph.num_nodes * k / 2
    expected = num_edges.is_integer() and any(
        (np.bincount(np.ravel(chosen), minlength=graph.num_nodes) == k).all()
        for chosen in combinations(edges, int(num_edges))
    )
    assert has_factor(graph, k) == expected


@pytest.mark.parametrize(
    ("graph", "k", "expected"), [("petersen", 1, True), ("petersen", 2, True), ("petersen", 3, True)]
)
def test_known_factors(graph: str, k: int, expected: bool) -> None:
    assert has_factor(Graph.from_networkx(getattr(nx, f"{graph}_graph")()), k) == expected


@given(small_graphs())
def test_isolated_nodes_are_removed(graph: Graph) -> None:
    expected = graph.to_networkx()
    expected.remove_nodes_from(list(nx.isolates(expected)))
    expected = nx.convert_node_labels_to_integers(expected, ordering="sorted")
    assert nx.utils.graphs_equal(expected, remove_isolated_nodes(graph).to_networkx())
