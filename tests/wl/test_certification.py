"""Certificates: canonical, sound, and equal exactly when the colours do not tell graphs apart."""

import hashlib
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours import wl
from detours.wl import digests
from tests.oracles import refinement as oracle
from tests.strategies import SmallGraph, small_graphs
from tests.wl.cases import METHODS, batches, name_of, relabelled

every_method = pytest.mark.parametrize("method", METHODS, ids=name_of)


@every_method
@given(graph=small_graphs(max_nodes=8), data=st.data())
def test_relabelled_graphs_have_equal_certificates(
    method: dict[str, Any], graph: SmallGraph, data: st.DataObject
) -> None:
    other = data.draw(relabelled(graph))
    assert wl.certificate(graph.graph(), **method) == wl.certificate(other.graph(), **method)
    assert wl.same(graph.graph(), other.graph(), **method)


@every_method
@given(graphs=batches(), rounds=st.sampled_from([None, None, 0, 1, 2]))
def test_certificates_do_not_depend_on_the_batch_and_agree_with_the_definition(
    method: dict[str, Any], graphs: list[SmallGraph], rounds: int | None
) -> None:
    own = [graph.graph() for graph in graphs]
    together = wl.certificates(own, **method, rounds=rounds)
    assert together == [wl.certificate(graph, **method, rounds=rounds) for graph in own]
    reference = oracle.refined(graphs, **method, rounds=rounds)
    for g, h in combinations(range(len(graphs)), 2):
        assert (together[g] == together[h]) == oracle.same(reference, g, h)
    members = [{together[g] for g in group} for group in wl.groups(own, **method)]
    if rounds is None:
        assert all(len(certificates) == 1 for certificates in members) and len(members) == len(set(together))


@given(graphs=batches(min_size=1), data=st.data())
def test_labels_are_part_of_the_certificate(graphs: list[SmallGraph], data: st.DataObject) -> None:
    own = [graph.graph() for graph in graphs]
    letter = st.sampled_from(["C", "N", "Cl", "ℓ"])
    labels = [data.draw(st.lists(letter, min_size=graph.num_nodes, max_size=graph.num_nodes)) for graph in own]
    together = wl.certificates(own, init="labels", labels=labels)
    alone = [wl.certificate(graph, init="labels", labels=row) for graph, row in zip(own, labels, strict=True)]
    assert together == alone
    reference = oracle.refined(graphs, init="labels", labels=labels)
    for g, h in combinations(range(len(graphs)), 2):
        assert (together[g] == together[h]) == oracle.same(reference, g, h)


def test_integer_labels_enter_by_value_not_by_rank() -> None:
    graph = nx.path_graph(2)
    low, high, text = (wl.certificate(graph, init="labels", labels=labels) for labels in ([0, 0], [7, 7], ["7", "7"]))
    assert len({low, high, text}) == 3
    assert wl.certificate(graph, init="labels", labels=np.array([7, 7], np.int8)) == high


def test_arc_values_enter_not_only_their_order() -> None:
    """In C5 + C5 and in C10 all edges look alike; only the number of their detours of length 4, 1 or 0, differs."""
    two, one = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5)), nx.cycle_graph(10)
    for method in ({"init": "uniform", "edges": "den"}, {"init": "den"}, {"init": "phi"}):
        assert wl.certificate(two, k=3, **method) == wl.certificate(one, k=3, **method)
        assert wl.certificate(two, k=4, **method) != wl.certificate(one, k=4, **method)


def test_the_bytes_of_a_certificate() -> None:
    """A triangle by hand: form, method; classes, their sizes, their degrees; then the table of the stable colours."""
    words = [1, 3, 2, *[1, 3, 0, 2, 0, 0]]
    text = b"detours.wl certificate, form 3\nundirected init=degree\n"
    expected = hashlib.sha256(text + np.array(words, "<i8").tobytes()).hexdigest()
    assert wl.certificate(nx.cycle_graph(3), init="degree") == expected
    assert wl.certificate(nx.cycle_graph(3), init="degree", rounds=5) == expected


def test_more_rounds_than_needed_change_nothing() -> None:
    graph = nx.gnp_random_graph(20, 0.15, seed=1)
    needed = wl.refine([graph], init="degree").rounds
    certificates = [wl.certificate(graph, init="degree", rounds=n) for n in (needed, needed + 1, needed + 2, None)]
    assert certificates[0] != certificates[1] == certificates[2] == certificates[3]


@given(graphs=batches(min_size=2), labelled=st.booleans(), rounds=st.sampled_from([None, 1, 2, 3]), data=st.data())
def test_with_labels_of_edges_certificates_agree_with_same(
    graphs: list[SmallGraph], labelled: bool, rounds: int | None, data: st.DataObject
) -> None:
    own = [graph.graph() for graph in graphs]

    def draw(sizes: list[int]) -> list[list[int]]:
        return [data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)) for size in sizes]

    salt = data.draw(st.lists(st.integers(0, 3), min_size=36, max_size=36))  # the label of an edge, by its ends
    edge_labels = []
    for graph in own:
        ends = graph.edge_index if graph.directed else np.sort(graph.edge_index, axis=0)
        edge_labels.append([salt[6 * i + j] // 3 for i, j in ends.T.tolist()])
    labels = draw([graph.num_nodes for graph in graphs])

    def options(*of: int) -> dict[str, Any]:
        named: dict[str, Any] = {"labels": [labels[g] for g in of]} if labelled else {}
        return {"init": "degree", "edge_labels": [edge_labels[g] for g in of], "rounds": rounds, **named}

    together = wl.certificates(own, **options(*range(len(own))))
    for g, h in combinations(range(len(own)), 2):
        assert (together[g] == together[h]) == wl.same(own[g], own[h], **options(g, h))
    assert [wl.certificates([graph], **options(g)) for g, graph in enumerate(own)] == [[text] for text in together]


def test_only_the_stable_colours_are_hashed_not_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[Any] = []

    def record(*arguments: Any) -> Any:
        tables.append(arguments)
        return tables_of(*arguments)

    tables_of = digests.tables_of
    monkeypatch.setattr(digests, "tables_of", record)
    wl.certificate(nx.path_graph(60), init="degree")
    assert len(tables) == 1


def test_a_graph_that_is_stable_early_has_one_certificate_in_every_batch() -> None:
    ring, path = nx.cycle_graph(5), nx.path_graph(40)
    alone = wl.certificate(ring, init="degree")
    for rounds in (1, 2, 30, None):
        assert wl.certificates([path, ring, path], init="degree", rounds=rounds)[1] == alone


def test_certificates_do_not_depend_on_threads() -> None:
    graphs = [detours.Graph.from_networkx(nx.gnp_random_graph(60, 0.1, seed=seed)) for seed in range(5)]
    one, two = (wl.certificates(graphs, edges="den", k=5, n_jobs=n) for n in (1, 2))
    assert one == two and len(set(one)) == 5
