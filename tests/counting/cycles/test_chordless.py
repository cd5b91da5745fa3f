"""Chordless cycles: counts against NetworkX, the definition, and the cycles that are listed."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours.counting.cycles import chordless
from detours.errors import EngineError, InputError
from tests.interrupts import interrupted
from tests.oracles.cycles import chordless_cycles, edges_of
from tests.real_data import molecule_graphs
from tests.strategies import SmallGraph, small_graphs


def by_edge(graph: nx.Graph, cycles: list[tuple[int, ...]], k: int) -> dict[frozenset[int], list[int]]:
    counts = {frozenset(edge): [0] * (k - 1) for edge in graph.edges}
    for cycle in cycles:
        for edge in edges_of(cycle):
            counts[frozenset(edge)][len(cycle) - 3] += 1
    return counts


def check(graph: nx.Graph, k: int, result: detours.Detours) -> None:
    """Edges, nodes and lengths are those of NetworkX's cycles."""
    cycles = chordless_cycles(graph, k + 1)
    expected = by_edge(graph, cycles, k)
    ends = result.graph.edge_index.T.tolist()
    assert result.by_length.tolist() == [expected[frozenset(edge)] for edge in ends]
    through = Counter(node for cycle in cycles for node in cycle)
    assert result.node.tolist() == [2 * through[node] for node in range(len(graph))]
    lengths = Counter(map(len, cycles))
    assert result.cycles == {length: lengths[length] for length in range(3, k + 2)}


@given(small_graphs(directed=False), st.integers(2, 9), st.integers(1, 2))
def test_equals_networkx(small: SmallGraph, k: int, n_jobs: int) -> None:
    check(small.to_networkx(), k, detours.count(small.graph(), k, chordless=True, n_jobs=n_jobs))


@pytest.mark.parametrize(("nodes", "edges"), [(200, 400), (130, 520)])
def test_larger_graphs_on_threads_and_in_many_steps(nodes: int, edges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chordless, "STEPS", 50)
    graph = nx.gnm_random_graph(nodes, edges, seed=1)
    check(graph, 4, detours.count(graph, 4, chordless=True, n_jobs=2))


@pytest.mark.parametrize("name", ["MUTAG", pytest.param("ENZYMES", marks=pytest.mark.slow)])
def test_equals_networkx_on_a_data_set(name: str) -> None:
    graphs = [(nodes, arcs) for nodes, arcs in molecule_graphs(name) if arcs.size]
    given = [detours.Graph.from_edge_index(arcs, num_nodes=nodes) for nodes, arcs in graphs]
    for (nodes, arcs), result in zip(graphs, detours.count_many(given, 7, chordless=True), strict=True):
        graph = nx.empty_graph(nodes)
        graph.add_edges_from(arcs.T.tolist())
        check(graph, 7, result)


def test_counts_are_those_of_the_listed_cycles() -> None:
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6))
    graph.add_edges_from([(0, 35), (3, 20)])
    result = detours.count(graph, 9, chordless=True)
    listed = list(detours.cycles(graph, 9, chordless=True))
    expected = by_edge(graph, listed, 9)
    assert result.by_length.tolist() == [expected[frozenset(edge)] for edge in graph.edges]
    assert result.node.tolist() == [2 * sum(node in cycle for cycle in listed) for node in graph]


def test_closed_forms() -> None:
    """A complete graph has only triangles, a complete bipartite one only squares, a ring only itself."""
    assert detours.count(nx.complete_graph(40), 30, chordless=True).cycles[3] == 9880
    assert sum(detours.count(nx.complete_graph(40), 30, chordless=True).cycles.values()) == 9880
    assert detours.count(nx.complete_bipartite_graph(7, 9), 20, chordless=True).cycles[4] == 21 * 36
    assert detours.count(nx.cycle_graph(500), 600, chordless=True).cycles[500] == 1
    assert detours.count(nx.wheel_graph(9), 8, chordless=True).cycles == {3: 8, 4: 0, 5: 0, 6: 0, 7: 0, 8: 1, 9: 0}


def test_results_are_marked_as_chordless() -> None:
    result = detours.count(nx.cycle_graph(4), 3, chordless=True)
    assert result.chordless and "chordless cycles" in repr(result)
    assert detours.count_many([nx.cycle_graph(4)], 3, chordless=True)[0].chordless
    assert not detours.count(nx.cycle_graph(4), 3).chordless
    assert detours.explain(nx.cycle_graph(4), 3, chordless=True).engine == "search"
    assert detours.explain(nx.path_graph(4), 3, chordless=True).engine == "none"


def test_no_cycles() -> None:
    for graph in (nx.path_graph(5), nx.empty_graph(3)):
        result = detours.count(graph, 4, chordless=True)
        assert result.cycles == {3: 0, 4: 0, 5: 0} and not result.by_length.any()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_reaches_the_end(n_jobs: int) -> None:
    graph = nx.gnm_random_graph(300, 900, seed=0)
    seen: list[tuple[float, float]] = []
    detours.count(graph, 5, chordless=True, n_jobs=n_jobs, progress=lambda *at: seen.append(at))
    assert seen[-1][0] == seen[-1][1] > 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt(n_jobs: int) -> None:
    """Ctrl-C ends a search that would take years."""
    graph = nx.random_regular_graph(3, 2000, seed=0)
    detours.count(nx.cycle_graph(5), 4, chordless=True)
    with interrupted():
        detours.count(graph, 100, chordless=True, n_jobs=n_jobs)


def test_directed_graphs_and_other_options_are_refused() -> None:
    directed = detours.Graph.from_edge_index([[0, 1, 2], [1, 2, 0]], directed=True)
    for refused in (
        lambda: detours.count(directed, 3, chordless=True),
        lambda: detours.count_many([directed], 3, chordless=True),
        lambda: detours.explain(directed, 3, chordless=True),
        lambda: detours.paths(directed, 0, 1, 3, chordless=True),
        lambda: detours.cycles(directed, 3, chordless=True),
    ):
        with pytest.raises(InputError, match="directed"):
            refused()
    ring = nx.cycle_graph(6)
    for option in ({"out": "folder"}, {"cluster": "local:2"}, {"device": "cpu"}, {"engine": "rows"}):
        with pytest.raises(InputError, match=r"chordless"):
            detours.count(ring, 5, chordless=True, **option)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="memory_limit"):
        detours.count(nx.gnm_random_graph(200, 900, seed=0), 5, chordless=True, memory_limit=1000)


def test_the_expected_memory_is_enough() -> None:
    graph = nx.gnm_random_graph(500, 1500, seed=3)
    expected = detours.explain(graph, 5, chordless=True)
    assert detours.count(graph, 5, chordless=True, memory_limit=expected.bytes).cycles[3] > 0
    assert np.isfinite(expected.seconds)
