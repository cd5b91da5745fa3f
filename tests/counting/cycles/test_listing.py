"""Listing cycles: each once, in canonical form, lazily, through given nodes and edges, within a budget."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours.counting.cycles import listing
from detours.errors import BudgetExceeded, InputError
from detours.graph import Graph
from tests.interrupts import interrupted
from tests.oracles.cycles import Cycle, chordless_cycles, edges_of, is_chordless, simple_cycles
from tests.real_data import molecule_graphs
from tests.strategies import SmallGraph, small_graphs


@given(small_graphs(), st.integers(2, 9))
def test_equals_networkx(small: SmallGraph, k: int) -> None:
    graph = small.to_networkx()
    found = list(detours.cycles(small.graph(), k))
    assert sorted(found) == simple_cycles(graph, k + 1)
    assert [cycle[0] for cycle in found] == sorted(cycle[0] for cycle in found)
    if not small.directed:
        chordless = sorted(detours.cycles(small.graph(), k, chordless=True))
        assert chordless == chordless_cycles(graph, k + 1)
        assert chordless == [cycle for cycle in sorted(found) if is_chordless(graph, cycle)]


@pytest.mark.parametrize("chordless", [False, True])
def test_equals_networkx_on_molecules(chordless: bool) -> None:
    oracle = chordless_cycles if chordless else simple_cycles
    for nodes, arcs in molecule_graphs("MUTAG"):
        graph = nx.empty_graph(nodes)
        graph.add_edges_from(arcs.T.tolist())
        assert sorted(detours.cycles(graph, 11, chordless=chordless)) == oracle(graph, 12)


@given(small_graphs(), st.integers(2, 7), st.data())
def test_through_nodes_and_edges(small: SmallGraph, k: int, data: st.DataObject) -> None:
    graph, all_cycles = small.to_networkx(), list(detours.cycles(small.graph(), k))
    nodes = data.draw(st.lists(st.integers(0, small.num_nodes - 1), max_size=2))
    edges = data.draw(st.lists(st.sampled_from(small.arcs), max_size=2)) if small.arcs else []

    def matches(cycle: Cycle) -> bool:
        own = set(edges_of(cycle))
        own |= set() if small.directed else {(j, i) for i, j in own}
        return set(nodes) <= set(cycle) and set(edges) <= own

    found = sorted(detours.cycles(small.graph(), k, nodes=nodes, edges=edges))
    assert found == sorted(filter(matches, all_cycles))
    if not small.directed:
        chordless = sorted(detours.cycles(small.graph(), k, chordless=True, nodes=nodes, edges=edges))
        assert chordless == [cycle for cycle in found if is_chordless(graph, cycle)]


def test_any_batch_size_and_step_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    for chordless in (False, True):
        whole = list(detours.cycles(graph, 11, chordless=chordless))
        for steps, batch in [(1, 1), (1, 10**6), (13, 40), (10**6, 1)]:
            monkeypatch.setattr(listing, "STEPS", steps)
            monkeypatch.setattr(listing, "BATCH", batch)
            assert list(detours.cycles(graph, 11, chordless=chordless)) == whole
        monkeypatch.undo()


def test_names_are_the_callers() -> None:
    house = nx.Graph(["ab", "bc", "cd", "da", "ce", "ed", "ex"])
    assert set(detours.cycles(house, 4)) == {("c", "d", "e"), ("a", "b", "c", "d"), ("a", "b", "c", "e", "d")}
    assert list(detours.cycles(house, 4, nodes=["e"], chordless=True)) == [("c", "d", "e")]
    assert list(detours.cycles(house, 4, edges=[("e", "x")])) == []


def test_lazy() -> None:
    """Cycles of a complete graph with a hundred nodes, far too many to list them all."""
    found = detours.cycles(nx.complete_graph(100), 60)
    assert next(found) == (0, 1, 2)
    assert len(list(itertools.islice(found, 1000))) == 1000
    assert all(type(node) is int for node in next(found))


def test_budget() -> None:
    graph = nx.complete_graph(5)
    assert len(list(detours.cycles(graph, 4, limit=37))) == 37
    with pytest.raises(BudgetExceeded, match="limit = 36 cycles") as caught:
        list(detours.cycles(graph, 4, limit=36))
    assert caught.value.reason == "limit" and len(caught.value.found) == 36
    with pytest.raises(BudgetExceeded, match=r"time_limit = 0\.2 s") as caught:
        list(detours.cycles(nx.complete_bipartite_graph(14, 14), 26, time_limit=0.2))
    assert caught.value.reason == "time_limit"
    for budget in ({"limit": 0}, {"time_limit": 0.0}, {"time_limit": float("nan")}):
        with pytest.raises(InputError):
            detours.cycles(graph, 3, **budget)  # type: ignore[arg-type]


def test_interrupt() -> None:
    """Ctrl-C ends a search that finds nothing for years: chordless cycles through a node of a large random graph."""
    found = detours.cycles(nx.random_regular_graph(4, 400, seed=0), 300, chordless=True, nodes=[0, 399, 200, 100, 300])
    list(detours.cycles(nx.cycle_graph(3), 2, chordless=True))
    with interrupted():
        for _ in found:
            pass


def test_bad_arguments() -> None:
    square = nx.cycle_graph(4)
    for k in (1, 0, 2.5, "4", True, 2**31):
        with pytest.raises(InputError):
            detours.cycles(square, k)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no node 7"):
        detours.cycles(square, 3, nodes=[7])
    with pytest.raises(InputError, match="no edge from 0 to 2"):
        detours.cycles(square, 3, edges=[(0, 2)])
    for wrong in (3, "01", np.int64(3), [0, 1, 2]):
        with pytest.raises(InputError, match="pairs of nodes"):
            detours.cycles(square, 3, edges=[wrong])  # type: ignore[list-item]


def test_nodes_and_edges_may_be_arrays() -> None:
    graph = Graph.from_networkx(nx.karate_club_graph())
    rows = graph.edge_index.T[:2]
    through = list(detours.cycles(graph, 3, edges=[tuple(row) for row in rows.tolist()]))
    assert through and list(detours.cycles(graph, 3, edges=rows)) == list(detours.cycles(graph, 3, edges=list(rows)))
    assert list(detours.cycles(graph, 3, edges=rows)) == through
    assert list(detours.cycles(graph, 3, nodes=rows[0])) == list(detours.cycles(graph, 3, nodes=rows[0].tolist()))
    torch = pytest.importorskip("torch")
    assert list(detours.cycles(graph, 3, edges=torch.tensor(rows.tolist()))) == through
    assert list(detours.cycles(graph, 3, nodes=torch.tensor([0]))) == list(detours.cycles(graph, 3, nodes=[0]))


@pytest.mark.parametrize("node", [0, 5, "a"])
def test_nodes_and_edges_are_lists(node: object) -> None:
    for name in ("nodes", "edges"):
        with pytest.raises(InputError, match=f"{name} must be a list of {name}, such as \\[{node!r}\\]"):
            detours.cycles(nx.karate_club_graph(), 3, **{name: node})
    assert len(list(detours.cycles(nx.karate_club_graph(), 3, nodes=[0]))) == 81
