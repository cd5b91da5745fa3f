import copy
import pickle

import networkx as nx
import numpy as np
import pytest

from detours.errors import InputError
from detours.graph import Graph
from tests.graph.cases import TRIANGLE


def test_the_callers_array_may_change_afterwards():
    edges = TRIANGLE.copy()
    graph = Graph.from_edge_index(edges)
    edges[:] = 0
    assert np.array_equal(graph.edge_index, TRIANGLE)


def test_names_are_looked_up():
    graph = Graph.from_networkx(nx.Graph([("a", "b"), ("b", 3)]))
    assert [graph.node(name) for name in ("a", "b", 3, "3")] == [0, 1, 2, 2]
    assert graph.name_list() == ["a", "b", 3]
    for missing in ("c", 0, ["a"], 1.5, "-3"):
        with pytest.raises(InputError, match="no node"):
            graph.node(missing)
    plain = Graph.from_edge_index(TRIANGLE)
    assert (plain.node(2), plain.node(np.int64(1)), plain.node("0"), plain.name(np.int32(1))) == (2, 1, 0, 1)
    for missing in (3, -1, True, "x", 0.0, "9" * 99):
        with pytest.raises(InputError, match="0 to 2"):
            plain.node(missing)


def test_nothing_can_be_changed():
    graph = Graph.from_networkx(nx.Graph([(5, 6), (6, 7)]))
    for array in (graph.indptr, graph.indices, graph.edge_index, graph.edge_arc):
        with pytest.raises(ValueError):
            array[0] = 1
    with pytest.raises(AttributeError):
        graph.names = None
    with pytest.raises(AttributeError):
        del graph.indptr
    with pytest.raises(InputError, match="from_any"):
        Graph()
    graph.to_scipy().indices[0] = 0
    graph.to_edge_index()[0] = 0
    assert graph == Graph.from_networkx(nx.Graph([(5, 6), (6, 7)]))


def test_equality_hash_and_copies():
    graph = Graph.from_networkx(nx.Graph([("a", "b"), ("b", "c")]))
    for same in (pickle.loads(pickle.dumps(graph)), copy.copy(graph), copy.deepcopy(graph)):
        assert same == graph and hash(same) == hash(graph)
        assert np.array_equal(same.edge_index, graph.edge_index) and not same.indices.flags.writeable
    other = Graph.from_networkx(nx.Graph([("a", "b"), ("b", "d")]))
    assert graph != other and graph != graph.to_directed() and graph != "graph"
    assert graph != Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_repr():
    assert repr(Graph.from_edge_index(TRIANGLE)) == "Graph(3 nodes, 3 edges)"
    assert repr(Graph.from_edge_index(TRIANGLE, directed=True)) == "Graph(3 nodes, 6 arcs, directed)"
    named = Graph.from_networkx(nx.path_graph(list("abcd")))
    assert repr(named) == "Graph(4 nodes, 3 edges, names 'a', 'b', 'c', ...)"
