"""`count` is exact: equal to brute force, to other libraries, and to matrix formulas on larger graphs."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import detours
from detours.counting.engines.overflow import largest_count
from detours.counting.engines.registry import ENGINES
from detours.counting.shrink.cyclic_part import reduce
from detours.errors import DroppedEdgesWarning, EngineError, FileFormatError, InputError
from tests import oracles
from tests.strategies import SmallGraph, engines, small_graphs


def complete(num_nodes: int, directed: bool) -> SmallGraph:
    arcs = ((i, j) for i in range(num_nodes) for j in range(num_nodes) if i != j)
    return SmallGraph(num_nodes, tuple(arcs), directed)


@given(small_graphs(), st.integers(2, 9))
@example(complete(9, directed=False), 9)
@example(complete(9, directed=True), 6)
@example(SmallGraph(1, (), directed=False), 4)
@example(SmallGraph(2, ((0, 1), (1, 0)), directed=True), 4)
def test_every_engine_equals_brute_force(graph: SmallGraph, k: int) -> None:
    expected = graph.table(k)
    cycles = oracles.cycles_by_networkx(graph.num_nodes, graph.arcs, k, graph.directed)
    node = np.zeros(graph.num_nodes, dtype=np.int64)
    np.add.at(node, graph.edge_index[0], expected.sum(1))
    for engine in engines(k):
        result = detours.count(graph.graph(), k, engine=engine)
        np.testing.assert_array_equal(result.by_length, expected, err_msg=engine)
        np.testing.assert_array_equal(result.edge, expected.sum(1), err_msg=engine)
        np.testing.assert_array_equal(result.node, node, err_msg=engine)
        assert result.cycles == cycles, engine


@given(small_graphs(max_nodes=7), st.integers(2, 7), st.data())
def test_paths_are_all_simple_paths_in_order(graph: SmallGraph, k: int, data: st.DataObject) -> None:
    nodes = st.integers(0, graph.num_nodes - 1)
    i, j = data.draw(st.tuples(nodes, nodes))
    if i == j:
        with pytest.raises(InputError):
            list(detours.paths(graph.graph(), i, j, k))
    else:
        expected = oracles.simple_paths(graph.num_nodes, graph.arcs, i, j, k)
        assert [tuple(path) for path in detours.paths(graph.graph(), i, j, k)] == expected


def named_graphs() -> dict[str, tuple[nx.Graph, int]]:
    return {
        "karate": (nx.karate_club_graph(), 5),
        "florentine": (nx.florentine_families_graph(), 9),
        "women": (nx.davis_southern_women_graph(), 4),
        "sparse": (nx.gnp_random_graph(60, 0.06, seed=1), 8),
        "middling": (nx.gnp_random_graph(36, 0.13, seed=2), 5),
        "dense": (nx.gnp_random_graph(16, 0.5, seed=3), 4),
        "hubs": (nx.barabasi_albert_graph(50, 2, seed=4), 5),
        "geometric": (nx.random_geometric_graph(70, 0.15, seed=5), 5),
        "small world": (nx.watts_strogatz_graph(60, 4, 0.2, seed=6), 7),
        "blocks": (nx.connected_caveman_graph(6, 5), 9),
        "directed sparse": (nx.gnp_random_graph(60, 0.04, seed=7, directed=True), 9),
        "directed dense": (nx.gnp_random_graph(16, 0.35, seed=8, directed=True), 5),
        "directed hubs": (nx.DiGraph(nx.scale_free_graph(60, seed=9)), 7),
    }


@pytest.mark.parametrize("name", named_graphs())
def test_equals_networkx_and_rustworkx(name: str) -> None:
    graph, k = named_graphs()[name]
    graph = nx.convert_node_labels_to_integers(graph)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    arcs = list(graph.edges)
    both_ways = arcs if graph.is_directed() else arcs + [(j, i) for i, j in arcs]
    counts = oracles.with_rustworkx(len(graph), both_ways, k)
    cycles = oracles.cycles_by_networkx(len(graph), both_ways, k, graph.is_directed())
    if k <= 5:
        assert oracles.with_networkx(len(graph), both_ways, k) == counts
    assert sum(map(sum, counts.values())) > 0
    for engine in engines(k):
        result = detours.count(graph, k, engine=engine, directed=graph.is_directed())
        np.testing.assert_array_equal(result.by_length, [counts[arc] for arc in arcs], err_msg=engine)
        assert result.cycles == cycles, engine


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("num_nodes", "density", "k"), [(16, 0.7, 6), (22, 0.5, 5), (34, 0.25, 5)])
def test_dense_graphs_equal_deletion(num_nodes: int, density: float, k: int, directed: bool) -> None:
    graph = nx.gnp_random_graph(num_nodes, density, seed=num_nodes, directed=directed)
    expected = oracles.detours_by_deletion(nx.to_numpy_array(graph), k)
    for engine in engines(k):
        result = detours.count(graph, k, engine=engine, directed=directed)
        np.testing.assert_array_equal(result.by_length, [expected[:, *arc] for arc in graph.edges])


def larger_graphs() -> dict[str, nx.Graph]:
    wheel_of_hubs = nx.wheel_graph(400)
    wheel_of_hubs.add_edges_from((1 + 57 * hub, spoke) for hub in range(5) for spoke in range(1, 400, 3))
    wheel_of_hubs.remove_edges_from(list(nx.selfloop_edges(wheel_of_hubs)))
    return {
        "sparse": nx.gnp_random_graph(1500, 0.003, seed=11),
        "dense": nx.gnp_random_graph(300, 0.4, seed=12),
        "nearly complete": nx.gnp_random_graph(150, 0.97, seed=13),
        "hubs": nx.barabasi_albert_graph(1200, 6, seed=14),
        "geometric": nx.random_geometric_graph(1200, 0.06, seed=15),
        "cliques": nx.connected_caveman_graph(30, 12),
        "wheel of hubs": wheel_of_hubs,
        "grid": nx.grid_2d_graph(30, 40),
    }


@pytest.mark.parametrize("name", larger_graphs())
def test_larger_graphs_equal_matrix_formulas(name: str) -> None:
    graph = nx.convert_node_labels_to_integers(larger_graphs()[name])
    adjacency = nx.to_numpy_array(graph)
    expected = oracles.detours_by_matrices(adjacency)
    result = detours.count(graph, 4, engine="rows")
    tails, heads = np.array(graph.edges).T
    np.testing.assert_array_equal(result.by_length, expected[:, tails, heads].T)
    np.testing.assert_array_equal(result.node, expected.sum((0, 2)))
    assert result.cycles == oracles.cycles_by_traces(adjacency, directed=False)
    assert result.cycles[4] > 0


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [5, 6])
def test_engines_agree_on_larger_graphs(k: int, directed: bool) -> None:
    graphs = [
        nx.gnp_random_graph(400, 4 / 400, seed=21, directed=directed),
        _with_share_of_arcs(nx.barabasi_albert_graph(200, 3, seed=22), 0.8 if directed else 1.0),
        _with_share_of_arcs(nx.random_geometric_graph(400, 0.06, seed=23), 0.7 if directed else 1.0),
    ]
    for graph in graphs:
        rows = detours.count(graph, k, engine="rows", directed=directed)
        search = detours.count(graph, k, engine="search", directed=directed)
        np.testing.assert_array_equal(rows.by_length, search.by_length)
        assert rows.cycles == search.cycles
        assert rows.by_length.any(axis=0).all()


def _with_share_of_arcs(graph: nx.Graph, share: float) -> nx.Graph:
    """Return a directed graph with some of the arcs, so that some edges go both ways and others do not."""
    if share == 1:
        return graph
    directed = graph.to_directed()
    dropped: NDArray[np.bool_] = np.random.default_rng(0).random(directed.number_of_edges()) > share
    directed.remove_edges_from([arc for arc, drop in zip(list(directed.edges), dropped, strict=True) if drop])
    return directed


@pytest.mark.parametrize("directed", [False, True])
def test_k_beyond_the_longest_cycle_adds_nothing(directed: bool) -> None:
    triangle = detours.Graph.from_edge_index(np.array([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]]), directed=directed)
    result = detours.count(triangle, 60)
    assert result.by_length.shape == (6, 59)
    assert result.by_length[:, 0].tolist() == [1] * 6
    assert not result.by_length[:, 1:].any()
    assert result.cycles == {3: 2 if directed else 1} | dict.fromkeys(range(4, 62), 0)


def test_rows_refuses_lengths_without_a_closed_form() -> None:
    with pytest.raises(EngineError, match=r"rows.*9|9.*rows"):
        detours.count(nx.complete_graph(5), 9, engine="rows")


def test_unknown_engine_is_named() -> None:
    with pytest.raises(InputError, match=rf"one of {', '.join(map(repr, ('auto', *ENGINES)))}, but it is 'warp'"):
        detours.count(nx.complete_graph(5), 3, engine="warp")


def test_invalid_options_are_named() -> None:
    graph = nx.complete_graph(5)
    for jobs in (0, -2, 1.5, True, "2"):
        with pytest.raises(InputError, match="n_jobs"):
            detours.count(graph, 3, n_jobs=jobs)  # type: ignore[arg-type]
    for limit in (0, -1, "much", "GB", True, float("nan")):
        with pytest.raises(InputError, match="memory_limit"):
            detours.count(graph, 3, memory_limit=limit)  # type: ignore[arg-type]
    assert detours.count(graph, 3, n_jobs=-1, memory_limit="1 GiB").edge.tolist() == [9] * 10
    with pytest.raises(InputError, match="chordless must be True or False"):
        detours.count(graph, 3, chordless="no", out="counts")  # type: ignore[arg-type]


def test_the_memory_limit_holds_while_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "cycle.csv"
    file.write_text("".join(f"node{i},node{i + 1}\n" for i in range(100_000)))
    for function in (detours.count, detours.explain):
        with pytest.raises(FileFormatError, match="reading it takes"):
            function(file, 3, memory_limit="1MB")
    with pytest.raises(FileFormatError, match="reading it takes"):
        detours.count_many([file], 3, memory_limit="1MB")


@pytest.mark.parametrize("engine", ["auto", "rows", "search"])
def test_a_memory_limit_that_cannot_be_kept_is_refused(engine: str) -> None:
    with pytest.raises(EngineError, match="memory_limit"):
        detours.count(nx.gnp_random_graph(200, 0.1, seed=51), 4, engine=engine, memory_limit=1000)


def test_direction_is_taken_from_the_graph_unless_given() -> None:
    arcs = np.array([[0, 1, 0, 2], [1, 2, 2, 0]])  # 0 -> 1 -> 2, and 0 <-> 2
    directed = detours.Graph.from_edge_index(arcs, directed=True)
    assert detours.count(directed, 2).edge.tolist() == [0, 0, 1, 0]
    assert detours.count(arcs, 2, directed=True).edge.tolist() == [0, 0, 1, 0]
    with pytest.warns(DroppedEdgesWarning, match="2 one-way"):
        undirected = detours.count(arcs, 2)
    assert not undirected.directed
    assert undirected.edge.tolist() == [1, 1, 1, 1]


@given(small_graphs(), st.integers(2, 6))
@example(complete(9, directed=False), 3)
@example(complete(9, directed=True), 6)
def test_the_bound_that_rules_out_overflow_is_a_bound(graph: SmallGraph, k: int) -> None:
    """Word size and OverflowError depend on it: detours between any two nodes, not only neighbours."""
    built = graph.graph()
    bound = largest_count(reduce(built.indptr, built.indices, built.directed), k)
    nodes = range(graph.num_nodes)
    everywhere = oracles.by_subsets(graph.num_nodes, graph.arcs, k, between=[(i, j) for i in nodes for j in nodes])
    on_cycles = [everywhere[arc] for tail, head in graph.arcs for arc in ((tail, head), (head, tail))]
    assert bound >= max((max(row) for row in on_cycles), default=0)


def test_a_count_that_could_pass_64_bits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detours.counting.engines.overflow.largest_count", lambda *_: 2.0**63)
    with pytest.raises(OverflowError, match=r"k ?= ?5"):
        detours.count(nx.complete_graph(9), 5, engine="rows")


BAD_K = [1, 0, -3, 2.5, 4.0, "4", True, None, np.float64(3), [3]]


@pytest.mark.parametrize("k", BAD_K, ids=repr)
@pytest.mark.parametrize("call", ["count", "count_many", "explain", "paths"])
def test_bad_k_is_refused_in_one_line(call: str, k: object) -> None:
    graph = nx.complete_graph(4)
    with pytest.raises(InputError) as caught:
        if call == "paths":
            next(detours.paths(graph, 0, 1, k))  # type: ignore[arg-type]
        else:
            getattr(detours, call)([graph] if call == "count_many" else graph, k)
    message = str(caught.value)
    assert repr(k) in message
    assert "2" in message.replace(repr(k), "")
    assert "\n" not in message


@pytest.mark.parametrize("k", [np.int64(4), np.int32(4), np.uint8(4)])
def test_numpy_integers_are_good_k(k: int) -> None:
    result = detours.count(nx.complete_graph(5), k)
    assert type(result.k) is int
    assert result.edge.tolist() == [3 + 6 + 6] * 10
