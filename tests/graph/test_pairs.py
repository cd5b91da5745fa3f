"""Edges as pairs and as tables."""

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
def test_what_is_no_pair_is_refused(pairs):
    with pytest.raises(InputError):
        Graph.from_edges(pairs)


@pytest.mark.parametrize("given", [[(0, 1), (2, 3)], [[0, 1], [0, 2]], ((0, 1), (0, 1)), [(1, 2), (2, 3)]])
def test_a_list_that_is_edges_or_an_edge_index_is_refused(given):
    with pytest.raises(InputError, match=r"from_edges.*from_edge_index"):
        detours.count(given, k=2)
    assert Graph.from_edges(given).edge_index.shape == (2, 2)


def test_lists_with_one_reading_are_read():
    assert detours.count([(0, 1), (1, 2), (2, 0)], k=2).cycles == {3: 1}
    assert detours.count([(0, 1, 2), (1, 2, 0)], k=2).cycles == {3: 1}
    assert Graph.from_any([(0, 1)]).num_edges == 1
    assert Graph.from_any([("a", "b"), ("c", "d")]).num_edges == 2
    # Both readings are the path 0 - 1 - 2.
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
    with pytest.raises(InputError, match=r"no column 'source', but a, b, weight"):
        Graph.from_any(people)
    with pytest.raises(InputError, match="no name"):
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
        ([KARATE, nx.cycle_graph(34)], "this is a list of graphs, and one is expected; count_many takes a list"),
        (["a.txt", "b.txt"], "this is a list of graphs"),
        (list(KARATE.edges(data=True)), "these are triples, such as (0, 1, {'weight': 4})"),
        ([(0, 1, {}), (1, 2, {})], "these are triples"),
        (list(KARATE.edges.data("weight")), "give [(u, v) for u, v, _ in edges]"),
        ([{0, 1}, {1, 2}, {2, 0}], "but one is {0, 1}; give [tuple(e) for e in edges]"),
        ([], "an empty list has no nodes"),
    ],
)
def test_lists_that_people_give_are_refused_with_a_way_out(given, says):
    with pytest.raises(InputError) as caught:
        detours.count(given, k=3)
    assert says in str(caught.value)


def test_names_that_differ_by_their_type_alone_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="the nodes 1 and '1' differ by their type alone"):
        detours.count(pd.DataFrame({"source": [1, 2, 3], "target": ["2", "3", "1"]}), k=2)
    assert Graph.from_edges([(1, "a"), ("a", 2), (2, 1)]).num_nodes == 3
