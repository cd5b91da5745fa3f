"""The oracles agree with each other, so an engine that disagrees with them is the one that is wrong."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.oracles import paper
from tests.strategies import SmallGraph, small_graphs


@given(small_graphs(max_nodes=7), st.integers(2, 7))
def test_all_ways_to_count_detours_agree(graph: SmallGraph, k: int) -> None:
    expected = oracles.by_permutations(graph.num_nodes, graph.arcs, k)
    for count in (oracles.by_recursion, oracles.by_subsets, oracles.with_networkx, oracles.with_rustworkx):
        assert count(graph.num_nodes, graph.arcs, k) == expected, count.__name__


@given(small_graphs(max_nodes=7), st.integers(2, 7))
def test_both_ways_to_count_cycles_agree(graph: SmallGraph, k: int) -> None:
    expected = oracles.cycles_by_networkx(graph.num_nodes, graph.arcs, k, graph.directed)
    assert oracles.cycles_by_rotation(graph.num_nodes, graph.arcs, k, graph.directed) == expected
    through = oracles.cycles_through_nodes(graph.num_nodes, graph.arcs, k, graph.directed)
    for length, number in expected.items():
        assert sum(node[length] for node in through) == length * number


@given(small_graphs(max_nodes=8))
def test_traces_count_cycles(graph: SmallGraph) -> None:
    adjacency = nx.to_numpy_array(graph.to_networkx())
    expected = oracles.cycles_by_rotation(graph.num_nodes, graph.arcs, 4, graph.directed)
    assert oracles.cycles_by_traces(adjacency, graph.directed) == expected


@given(small_graphs(directed=False, max_nodes=8))
def test_matrices_count_detours(graph: SmallGraph) -> None:
    counts = oracles.detours_by_matrices(nx.to_numpy_array(graph.to_networkx()))
    expected = oracles.by_subsets(graph.num_nodes, graph.arcs, 4)
    assert {arc: counts[:, *arc].tolist() for arc in graph.arcs} == expected
    assert np.count_nonzero(counts.sum(0)) <= len(graph.arcs)


@given(small_graphs(max_nodes=7), st.integers(2, 6))
def test_deleting_the_first_node_counts_detours(graph: SmallGraph, k: int) -> None:
    counts = oracles.detours_by_deletion(nx.to_numpy_array(graph.to_networkx()), k)
    assert {arc: counts[:, *arc].tolist() for arc in graph.arcs} == oracles.by_subsets(graph.num_nodes, graph.arcs, k)


@pytest.mark.parametrize("name", paper.GRAPHS)
def test_the_paper_lists_the_detours_it_defines(name: str) -> None:
    letters = "abcdef"
    edges = [(letters.index(edge[0]), letters.index(edge[1])) for edge in paper.GRAPHS[name].split()]
    arcs = edges + [(head, tail) for tail, head in edges]
    assert set(paper.DETOURS[name]) == set(paper.GRAPHS[name].split())
    for edge, listed in paper.DETOURS[name].items():
        found = oracles.simple_paths(6, arcs, *map(letters.index, edge), 3)
        assert sorted("".join(letters[node] for node in path) for path in found) == sorted(listed.split())
    assert sum(oracles.cycles_by_rotation(6, arcs, 5, directed=False).values()) == paper.ALL_CYCLES[name]
