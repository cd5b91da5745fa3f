"""`same`, `compare` and `groups`."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import detours
from detours import wl
from detours.errors import InputError
from tests.strategies import SmallGraph, small_graphs
from tests.wl.cases import batches

PRISM = nx.circular_ladder_graph(3)
UTILITIES = nx.complete_bipartite_graph(3, 3)


def test_witness_by_hand() -> None:
    """Every node of the prism is on a triangle, none of K3,3 is."""
    found = wl.compare(PRISM, UTILITIES, init="den", k=2)
    assert not found.same and found.verdict == "not isomorphic"
    assert (found.round, found.witness, found.counts) == (0, 0, (0, 6))
    assert found.nodes == ((), tuple(range(6)))
    assert repr(found) == (
        "Comparison(not isomorphic: in round 0, colour 0 (three edges on no cycle of up to 3 edges) "
        "is on 0 nodes of the first graph and 6 of the second)"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"init": "den-sum", "k": 3}, "3-DeN of the edges: 1, 1"),
        ({"init": "den", "k": 3}, "two edges on one 3-cycle"),
        ({"init": "phi", "k": 3}, "Φ 0"),
        ({"init": "degree"}, "degree 1"),
        ({"init": "labels", "labels": [["end", "mid", "end"], ["mid"] * 3]}, "label 'end'"),
        ({"init": "uniform"}, None),
    ],
    ids=str,
)
def test_what_the_witness_of_round_0_means(options: dict[str, Any], words: str | None) -> None:
    found = wl.compare(nx.path_graph(3), nx.complete_graph(3), **options)
    if words is None:
        assert found.round == 1 and found.meaning is None
    else:
        assert found.round == 0 and found.meaning == words


def test_what_the_witness_means_if_directed_or_of_another_size() -> None:
    arrow, triangle = ([[0, 1], [1, 2]], [[0, 1, 2], [1, 2, 0]])
    directed = [detours.Graph.from_edge_index(arcs, 3, directed=True) for arcs in (arrow, triangle)]
    assert wl.compare(*directed, k=2).meaning == (
        "leaving one arc without a detour of up to 2 edges; arriving one arc without a detour of up to 2 edges"
    )
    assert wl.compare(directed[0], directed[0].to_undirected().to_directed(), init="degree").meaning == "degree 0, 1"
    assert wl.compare(nx.path_graph(3), nx.path_graph(4), init="uniform").meaning == "any node"


def test_never_says_isomorphic() -> None:
    found = wl.compare(PRISM, UTILITIES, init="degree")
    assert found.same and found.verdict == "not told apart"
    assert found.round is found.witness is None and found.counts == (0, 0) and found.nodes == ((), ())
    assert repr(found) == "Comparison(not told apart in 0 rounds, and no more rounds will)"
    stopped = wl.compare(nx.path_graph(5), nx.path_graph(5), init="uniform", rounds=1)
    assert repr(stopped) == "Comparison(not told apart in 1 round)"


def test_witness_has_the_names_of_the_caller() -> None:
    star, path = nx.Graph([("hub", "a"), ("hub", "b"), ("hub", "c")]), nx.path_graph(4)
    found = wl.compare(star, path, init="uniform")
    assert found.round == 1 and found.counts == (0, 2) and found.nodes == ((), (1, 2))
    found = wl.compare(path, star, init="labels", labels=([0, 0, 0, 0], [0, 0, 1, 1]))
    assert found.round == 0 and found.nodes == ((0, 1, 2, 3), ("hub", "a"))


def test_nothing_is_refined_after_the_first_difference() -> None:
    """The long path by itself would take 100,000 rounds."""
    end = np.arange(199_999)
    long = detours.Graph.from_edge_index([[*end, *end + 1], [*end + 1, *end]])
    assert not wl.same(long, nx.path_graph(3), init="uniform")
    found = wl.compare(long, nx.path_graph(3), init="degree")
    assert (found.round, found.rounds, found.stable, found.counts) == (0, 0, False, (199_998, 1))
    found = wl.compare(nx.path_graph(500), nx.cycle_graph(500), init="uniform")
    assert (found.round, found.rounds, found.counts) == (1, 1, (2, 0))


@pytest.mark.parametrize("function", [wl.same, wl.compare, wl.certificate], ids=lambda function: function.__name__)
def test_unknown_options_name_the_function_called(function: Callable[..., Any]) -> None:
    graphs = [PRISM] * (1 if function is wl.certificate else 2)
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword argument 'breadth'"):
        function(*graphs, breadth=3)


@pytest.mark.parametrize("function", [wl.groups, wl.certificates], ids=lambda function: function.__name__)
def test_functions_of_many_graphs_are_named_in_errors(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) got an unexpected keyword argument 'caller'"):
        function([PRISM], caller="me")
    with pytest.raises(InputError, match=f"^{function.__name__} takes a list of graphs"):
        function(PRISM)


@given(small_graphs(directed=False), small_graphs(directed=False))
def test_witness_is_true(first: SmallGraph, second: SmallGraph) -> None:
    graphs = [first.graph(), second.graph()]
    found = wl.compare(*graphs, k=4)
    assert found.same == wl.same(*graphs, k=4)
    colors = wl.refine(graphs, k=4)
    if found.same:
        assert colors.groups() == [[0, 1]]
        return
    assert found.round is not None and found.witness is not None
    for g, count, nodes in zip((0, 1), found.counts, found.nodes, strict=True):
        assert np.flatnonzero(colors.of(g, found.round) == found.witness).tolist() == list(nodes)
        assert len(nodes) == count
    assert found.counts[0] != found.counts[1]
    assert all(colors.histogram(0, earlier) == colors.histogram(1, earlier) for earlier in range(found.round))


@given(batches())
def test_groups_are_those_not_told_apart_two_by_two(graphs: list[SmallGraph]) -> None:
    own = [graph.graph() for graph in graphs]
    groups = wl.groups(own, init="den", k=3)
    assert sorted(g for group in groups for g in group) == list(range(len(own)))
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    group_of = {g: index for index, group in enumerate(groups) for g in group}
    for g in range(len(own)):
        for h in range(g):
            assert wl.same(own[g], own[h], init="den", k=3) == (group_of[g] == group_of[h])


def test_groups_are_the_isomorphism_classes_of_networkx() -> None:
    graphs = [nx.random_regular_graph(3, 8, seed=seed) for seed in range(12)]
    groups = wl.groups(graphs, pairs="den", k=7)
    group_of = {g: index for index, group in enumerate(groups) for g in group}
    for g, first in enumerate(graphs):
        for h, second in enumerate(graphs[:g]):
            assert nx.is_isomorphic(first, second) == (group_of[g] == group_of[h])


def test_labels_are_required_for_both_graphs() -> None:
    with pytest.raises(InputError, match="one array for each of the 2 graphs"):
        wl.compare(PRISM, PRISM, init="labels", labels=[[0] * 6])


def test_labels_by_node_name() -> None:
    ring = nx.relabel_nodes(nx.cycle_graph(6), dict(enumerate("fedcba")))
    carbon = dict.fromkeys("abcdef", "C")
    nitrogen = [carbon | {node: "N"} for node in "af"]
    assert wl.same(ring, ring, labels=nitrogen) and not wl.same(ring, ring, labels=[carbon, nitrogen[0]])
    listed = [[known[node] for node in ring] for known in nitrogen]
    for known, in_order in zip(nitrogen, listed, strict=True):
        assert wl.certificate(ring, labels=known) == wl.certificate(ring, labels=in_order)
    found = wl.compare(ring, ring, init="labels", labels=[carbon, nitrogen[0]])
    assert found.nodes == (tuple(ring), tuple(node for node in ring if node != "a"))


def test_label_attributes_are_not_read() -> None:
    carbon, nitrogen = nx.cycle_graph(6), nx.cycle_graph(6)
    nx.set_node_attributes(carbon, "C", "label")
    nx.set_node_attributes(nitrogen, "N", "label")
    assert wl.same(carbon, nitrogen)
    assert not wl.same(carbon, nitrogen, labels=[nx.get_node_attributes(each, "label") for each in (carbon, nitrogen)])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None, [0] * 6], "The labels of graph number 0 are None; give a list with one label for each node"),
        ([[0] * 6, 5], "The labels of graph number 1 are 5; give a list"),
        ([[0] * 6, dict.fromkeys(range(5), 0)], "The labels of graph number 1 have none for the node 5; give it one"),
        (5, "labels must be a list with the labels of each graph, but it is 5"),
        ({0: [0] * 6, 1: [0] * 6}, "labels must be a list with the labels of each graph, but it is {0:"),
    ],
)
def test_labels_of_other_types_are_refused(labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        wl.same(PRISM, PRISM, labels=labels)


def test_edge_labels_cannot_be_a_dict() -> None:
    with pytest.raises(InputError, match=r"edge_labels of graph number 0 are .*; give a list with one label for each"):
        wl.same(PRISM, PRISM, edge_labels=[dict.fromkeys(PRISM.edges, 0)] * 2)


def test_graphs_in_a_subset_of_pytorch() -> None:
    utils = pytest.importorskip("torch.utils.data")
    assert wl.groups(utils.Subset([PRISM, UTILITIES, PRISM], [2, 1]), k=2) == [[0], [1]]
    with pytest.raises(InputError, match="a list of graphs is expected, but 3 was given"):
        wl.groups(3)


def test_graphs_whose_last_round_reads_everything() -> None:
    """Few nodes change in the last rounds but one, and many in the last: all public functions read the colours then."""
    graph = nx.complete_bipartite_graph(2, 20)
    nx.add_path(graph, [0, *range(22, 26)])
    nx.add_path(graph, [1, *range(26, 31)])
    other = nx.relabel_nodes(graph, dict(zip(graph, reversed(list(graph)), strict=True)))
    assert wl.same(graph, other) and wl.certificate(graph) == wl.certificate(other)
    assert wl.compare(graph, other).same
    assert wl.groups([graph, other, nx.path_graph(3)]) == [[0, 1], [2]]
