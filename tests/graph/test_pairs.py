"""Edges as pairs and as tables."""

import warnings
from collections import deque

import networkx as nx
import numpy as np
import pytest

import detours
from detours.errors import InputError
from detours.graph import Graph
from tests.graph.cases import edges


def test_pairs_of_any_names():
    named = Graph.from_edges([("b", "a"), ("a", "c")], strict=True)
    assert named.name_list() == ["a", "b", "c"] and edges(named) == [("b", "a"), ("a", "c")]
    assert not named.directed and Graph.from_edges([("b", "a")], directed=True).directed
    integers = Graph.from_edges(iter([(7, -2), (7, 9)]))
    assert integers.name_list() == [-2, 7, 9]
    assert Graph.from_edges(np.array([[0, 1], [2, 3]])).names is None
    assert Graph.from_edges([("a", 1), (1, (2, 3))]).name_list() == ["a", 1, (2, 3)]
    assert Graph.from_edges([]).num_nodes == 0


@pytest.mark.parametrize("pairs", [[(0, 1, 2)], ["ab"], [0, 1], [("a", None)], [(0.5, float("nan"))], 5, [([], 1)]])
def test_items_that_are_not_pairs_are_refused(pairs):
    with pytest.raises(InputError):
        Graph.from_edges(pairs)


@pytest.mark.parametrize(
    "pair",
    ["ab", b"ab", bytearray(2), memoryview(b"ab"), {"u": 1, "v": 2}, 5, (1,), np.ma.array([1, 2], mask=[0, 1])],
)
def test_edges_that_are_not_pairs_are_named(pair):
    with pytest.raises(InputError, match=r"every edge must be a pair of nodes, such as \('a', 'b'\), but one is"):
        Graph.from_edges([pair])


@pytest.mark.parametrize("pair", [{0, 1}, frozenset((0, 1)), {0: 1, 1: 3}.keys()])
def test_sets_are_undirected_edges(pair):
    assert Graph.from_edges([pair, (1, 2)]) == Graph.from_edges([(0, 1), (1, 2)])
    with pytest.raises(InputError, match="every edge must be a pair of nodes"):
        Graph.from_edges([pair, (1, 2)], directed=True)


@pytest.mark.parametrize("given", [[(0, 1), (2, 3)], [[0, 1], [0, 2]], ((0, 1), (0, 1)), [(1, 2), (2, 3)]])
def test_a_list_that_is_edges_or_an_edge_index_is_refused(given):
    with pytest.raises(InputError, match=r"from_edges.*from_edge_index"):
        detours.count(given, k=2)
    assert Graph.from_edges(given).edge_index.shape == (2, 2)


def test_lists_with_one_reading_are_read():
    assert detours.count([(0, 1), (1, 2), (2, 0)], k=2).cycles == {3: 1}
    assert detours.count([(0, 1, 2), (1, 2, 0)], k=2).cycles == {3: 1}
    assert Graph.from_any([[0, 1, 5], [1, 2, 3]]).num_nodes == 6
    assert Graph.from_any([(0, 1)]).num_edges == 1
    assert Graph.from_any([("a", "b"), ("c", "d")]).num_edges == 2
    # Both readings are the path 0 - 1 - 2.
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # pairs in tuples are edges, not one-way arcs
        assert Graph.from_any([(0, 1), (1, 2)]) == Graph.from_edges([(0, 1), (1, 2)])
    with pytest.raises(InputError, match="from_edges"):
        Graph.from_any(np.array([[0, 1], [1, 2], [2, 0]]))


def test_tables_of_pandas_and_arrow():
    pandas = pytest.importorskip("pandas")
    karate = nx.karate_club_graph()
    table = nx.to_pandas_edgelist(karate)
    assert detours.count(table, k=3).cycles == detours.count(karate, k=3).cycles
    people = pandas.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "weight": [1.0, 2.0]})
    graph = Graph.from_pandas(people, source="a", target="b", directed=True)
    assert edges(graph) == [("x", "y"), ("y", "z")] and graph.directed
    with pytest.raises(InputError, match=r"no column 'source', only a, b, weight"):
        Graph.from_any(people)
    with pytest.raises(InputError, match="lacks a node"):
        Graph.from_any(pandas.DataFrame({"source": [0, None], "target": [1, 2]}))
    pyarrow = pytest.importorskip("pyarrow")
    assert Graph.from_any(pyarrow.Table.from_pandas(table)) == Graph.from_any(table)
    with pytest.raises(InputError, match="one"):
        detours.count_many(table, k=2)


def test_a_table_of_counts_is_a_table_of_edges():
    pytest.importorskip("pandas")
    result = detours.count(nx.petersen_graph(), k=4)
    assert detours.count(result.to_pandas(), k=4).edge.tolist() == result.edge.tolist()


KARATE = nx.karate_club_graph()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([KARATE, nx.cycle_graph(34)], "a list of graphs, but a single graph is expected; count_many takes a list"),
        (["a.txt", "b.txt"], "this is a list of graphs"),
        (list(KARATE.edges(data=True)), "these are triples, such as (0, 1, {'weight': 4})"),
        ([(0, 1, {}), (1, 2, {})], "these are triples"),
        (list(KARATE.edges.data("weight")), "give [(u, v) for u, v, _ in edges]"),
        ([(0, 1, 5), (1, 2, 3)], "two weighted edges and as an edge_index; write Graph.from_edges("),
        (((0, 1, 1), (1, 2, 1)), "or give lists for an edge_index"),
        ([(0, 1, 1.0), (1, 2, 1.0)], "these are triples, such as (0, 1, 1.0)"),
        ([("a", "b", 7), ("b", "c", 7)], "these are triples, such as ('a', 'b', 7)"),
        (KARATE.edges(data=True), "these are triples, such as (0, 1, {'weight': 4})"),
        (nx.MultiGraph(KARATE).edges, "these are triples, such as (0, 1, 0)"),
        (set(KARATE.edges), "a set of edges has no order, but counts follow the order of the edges; give a list"),
        (nx.grid_2d_graph(2, 2).nodes, "is not a graph"),
        (nx.grid_2d_graph(2, 2).nodes(data="label"), "is not a graph"),
        (dict.fromkeys(KARATE.edges), "is not a graph"),
        ([{0, 1}, {1, 2}, {2, 0}], "but one is {0, 1}; give [tuple(e) for e in edges]"),
        ([], "an empty list has no nodes"),
    ],
)
def test_common_mistakes_are_refused_with_advice(given, says):
    with pytest.raises(InputError) as caught:
        detours.count(given, k=3)
    assert says in str(caught.value)


def test_names_that_differ_only_in_type_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="the nodes 1 and '1' differ only in type"):
        detours.count(pd.DataFrame({"source": [1, 2, 3], "target": ["2", "3", "1"]}), k=2)
    assert Graph.from_edges([(1, "a"), ("a", 2), (2, 1)]).num_nodes == 3


def test_scalar_tensors_are_read_as_numbers():
    torch = pytest.importorskip("torch")
    ends = torch.tensor(list(KARATE.edges)).T
    expected = Graph.from_edges(list(KARATE.edges))
    for pairs in ([tuple(edge) for edge in ends.T], list(zip(ends[0], ends[1], strict=True)), [*ends.T]):
        graph = Graph.from_edges(pairs)
        assert graph == expected and graph.edge_index.tolist() == expected.edge_index.tolist() and graph.names is None
    pairs = [tuple(edge) for edge in ends.T]
    assert detours.count(pairs, k=2).cycles == {3: sum(nx.triangles(KARATE).values()) // 3}
    assert Graph.from_edges([(torch.tensor(0), 1), (1, torch.tensor(0.5))]).name_list() == [0, 1, 0.5]
    with pytest.raises(InputError, match=r"from_edges.*from_edge_index"):
        detours.count([[ends[0, 0], ends[1, 0]], [ends[0, 1], ends[1, 1]]], k=2)
    with pytest.raises(InputError, match="a node is a tensor with several values; name each node by a single number"):
        Graph.from_edges([(ends[0], ends[1])])


def test_tensors_in_tables_are_read_as_numbers():
    torch = pytest.importorskip("torch")
    pandas = pytest.importorskip("pandas")
    source, target = (pandas.Series(list(nodes), dtype=object) for nodes in (torch.arange(3), torch.arange(3).roll(1)))
    assert Graph.from_any(pandas.DataFrame({"source": source, "target": target})).num_nodes == 3


def test_the_edges_of_networkx_are_pairs():
    triangle = nx.DiGraph([(0, 1), (1, 2), (2, 0)])
    assert detours.count(KARATE.edges, k=3).cycles == detours.count(KARATE, k=3).cycles
    assert Graph.from_any(nx.Graph([(0, 1), (2, 3)]).edges).num_edges == 2  # not an edge_index
    assert Graph.from_any(triangle.edges).directed and Graph.from_any(triangle.in_edges) == Graph.from_any(triangle)
    assert not Graph.from_any(triangle.edges, directed=False).directed
    inner = KARATE.edges([0, 1])
    assert edges(Graph.from_any(inner)) == list(inner)
    with pytest.raises(InputError, match="has no nodes"):
        Graph.from_any(nx.empty_graph(3).edges)


def test_sequences_are_read_as_lists():
    assert detours.count(deque(KARATE.edges), k=2).cycles == {3: 45}
    with pytest.raises(InputError, match=r"from_edges.*from_edge_index"):
        Graph.from_any(deque([(0, 1), (2, 3)]))


def test_masked_entries_are_refused():
    rows = np.ma.array([[0, 1, 2, 0], [1, 2, 0, 3]], mask=[[0, 0, 0, 1], [0, 0, 0, 1]])
    for read, given in ((Graph.from_any, rows), (Graph.from_any, list(rows)), (Graph.from_edges, rows.T)):
        with pytest.raises(InputError, match=r"must be complete, but it is an array with masked entries; remove"):
            read(given)
    assert Graph.from_any(np.ma.array([[0, 1], [1, 0]])).num_edges == 1


@pytest.mark.parametrize("unit", ["D", "h", "s", "us", "ns"])
def test_dates_stay_dates(unit):
    days = np.array([["2020-01-01", "2020-01-03"], ["2020-01-03", "2020-01-02"]], f"M8[{unit}]")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"source": days[:, 0], "target": days[:, 1]})
    for graph in (Graph.from_edges(days), Graph.from_any(table)):
        assert [str(name)[:10] for name in graph.name_list()] == ["2020-01-01", "2020-01-03", "2020-01-02"]
    assert Graph.from_edges(days - days[0, 0]).num_nodes == 3
    assert [type(name).__name__ for name in Graph.from_edges(days - days[0, 0]).name_list()] == ["timedelta"] * 3


@pytest.mark.parametrize("time", ["2020-01-01T00:00:00.000000001", "12020-01-01", "NaT"])
def test_times_that_python_does_not_have_are_refused(time):
    kind = "M8[ns]" if "." in time else "M8[s]"
    with pytest.raises(InputError, match=r"is no time of Python|lacks a node"):
        Graph.from_edges(np.array([["2020-01-01", time]], kind))


def test_floats_that_are_no_ids_are_different_names():
    assert Graph.from_edges(np.array([[1.0, 2.0], [2.0, 3.0]])).name_list() == [1, 2, 3]
    assert Graph.from_edges(np.array([[1.0, 2.0], [2.0, np.inf], [np.inf, 1.0]])).name_list() == [1, 2, np.inf]
    half = np.array([[1, 2], [2, 3]], np.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Graph.from_edges(half).name_list() == [1, 2, 3]
    large = Graph.from_edges(np.array([[1e19, 2e19], [2e19, 3e19], [3e19, 1e19]]))
    assert large.name_list() == [1e19, 2e19, 3e19] and large.num_edges == 3
