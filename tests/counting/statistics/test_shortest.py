"""The shortest cycle through every edge and node, the girth, and bridges."""

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from tests.oracles.cycles import shortest_cycle
from tests.strategies import SmallGraph, small_graphs


@given(small_graphs(), st.integers(2, 8))
def test_equals_breadth_first_search(small: SmallGraph, k: int) -> None:
    result = detours.count(small.graph(), k)
    expected = [shortest_cycle(small.num_nodes, small.arcs, arc, k + 1) for arc in small.arcs]
    assert result.shortest.tolist() == expected
    at_node = [
        min(
            (length for (tail, _), length in zip(small.arcs, expected, strict=True) if tail == node and length),
            default=0,
        )
        for node in range(small.num_nodes)
    ]
    assert result.node_shortest.tolist() == at_node
    assert result.girth == min(filter(None, expected), default=0)
    if not small.directed:
        chordless = detours.count(small.graph(), k, chordless=True)
        assert chordless.shortest.tolist() == expected
        assert chordless.node_shortest.tolist() == at_node


@given(small_graphs(directed=False))
def test_bridges_are_those_of_networkx_and_igraph(small: SmallGraph) -> None:
    expected = {frozenset(edge) for edge in nx.bridges(small.to_networkx())}
    bridges = detours.count(small.graph(), 2).bridges
    assert [frozenset(arc) in expected for arc in small.arcs] == bridges.tolist()
    other = igraph.Graph(small.num_nodes, sorted({(min(arc), max(arc)) for arc in small.arcs}))
    assert {frozenset(other.es[edge].tuple) for edge in other.bridges()} == expected


@given(small_graphs(directed=True))
def test_bridges_of_a_directed_graph_are_on_no_directed_cycle(small: SmallGraph) -> None:
    graph = small.to_networkx()
    bridges = detours.count(small.graph(), 2).bridges
    assert [not nx.has_path(graph, head, tail) for tail, head in small.arcs] == bridges.tolist()


def test_an_edge_on_a_longer_cycle_is_not_a_bridge_but_has_no_length() -> None:
    result = detours.count(nx.cycle_graph(8), 4)
    assert not result.shortest.any() and not result.bridges.any() and result.girth == 0
    assert detours.count(nx.petersen_graph(), 6).girth == 5


@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_loops_and_repeats_in_the_callers_order() -> None:
    result = detours.count(np.array([[0, 1, 2, 2, 0, 2], [1, 2, 0, 2, 1, 3]]), 2)
    assert result.shortest.tolist() == [3, 3, 3, 0, 3, 0]
    assert result.bridges.tolist() == [False, False, False, False, False, True]
    assert result.node_shortest.tolist() == [3, 3, 3, 0]


def test_types_and_empty_graphs() -> None:
    result = detours.count(nx.empty_graph(3), 3)
    assert result.shortest.shape == result.bridges.shape == (0,)
    assert result.node_shortest.tolist() == [0, 0, 0]
    assert (result.shortest.dtype, result.node_shortest.dtype, result.bridges.dtype) == (np.int64, np.int64, np.bool_)
    assert not detours.count(nx.cycle_graph(4), 3).shortest.flags.writeable
