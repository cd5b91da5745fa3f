"""Invariants of the counts of any graph, and the same bits for any threads, memory and order of nodes."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours.errors import DroppedEdgesWarning, InputError
from tests import oracles
from tests.strategies import SmallGraph, engines, small_graphs


@given(small_graphs(directed=False), st.integers(2, 7))
def test_phi_is_twice_the_number_of_cycles_through_the_node(graph: SmallGraph, k: int) -> None:
    through = [0] * graph.num_nodes
    for cycle in nx.simple_cycles(graph.to_networkx(), length_bound=k + 1):
        for node in cycle:
            through[node] += 1
    assert detours.count(graph.graph(), k).node.tolist() == [2 * count for count in through]


@given(small_graphs(directed=False), st.integers(2, 8))
def test_both_arcs_of_an_edge_have_the_same_counts(graph: SmallGraph, k: int) -> None:
    by_length = detours.count(graph.graph(), k).by_length
    counts = {arc: row.tolist() for arc, row in zip(graph.arcs, by_length, strict=True)}
    assert all(counts[head, tail] == row for (tail, head), row in counts.items())


@given(small_graphs(), st.integers(2, 8), st.data())
def test_renaming_nodes_changes_nothing(graph: SmallGraph, k: int, data: st.DataObject) -> None:
    new_name = data.draw(st.permutations(range(graph.num_nodes)))
    renamed = SmallGraph(
        graph.num_nodes, tuple((new_name[tail], new_name[head]) for tail, head in graph.arcs), graph.directed
    )
    for engine in engines(k):
        before = detours.count(graph.graph(), k, engine=engine)
        after = detours.count(renamed.graph(), k, engine=engine)
        np.testing.assert_array_equal(after.by_length, before.by_length)
        np.testing.assert_array_equal(after.node[np.array(new_name)], before.node)
        assert after.cycles == before.cycles


@given(small_graphs(), st.integers(2, 8), st.data())
def test_edges_come_back_in_the_order_of_the_caller(graph: SmallGraph, k: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(graph.arcs))))
    shuffled = SmallGraph(graph.num_nodes, tuple(graph.arcs[index] for index in order), graph.directed)
    before = detours.count(graph.graph(), k)
    after = detours.count(shuffled.graph(), k)
    np.testing.assert_array_equal(after.by_length, before.by_length[np.array(order, dtype=int)])
    np.testing.assert_array_equal(after.edge, before.edge[np.array(order, dtype=int)])
    np.testing.assert_array_equal(after.arc_by_length, before.arc_by_length)


@given(small_graphs(directed=False, max_nodes=6), small_graphs(directed=False, max_nodes=6), st.integers(2, 7))
def test_a_disjoint_union_adds_up(left: SmallGraph, right: SmallGraph, k: int) -> None:
    shifted = tuple((tail + left.num_nodes, head + left.num_nodes) for tail, head in right.arcs)
    union = SmallGraph(left.num_nodes + right.num_nodes, left.arcs + shifted, directed=False)
    for engine in engines(k):
        parts = [detours.count(part.graph(), k, engine=engine) for part in (left, right)]
        whole = detours.count(union.graph(), k, engine=engine)
        np.testing.assert_array_equal(whole.by_length, np.concatenate([part.by_length for part in parts]))
        np.testing.assert_array_equal(whole.node, np.concatenate([part.node for part in parts]))
        assert whole.cycles == {length: sum(part.cycles[length] for part in parts) for length in whole.cycles}


@given(small_graphs(), st.integers(2, 8))
def test_a_larger_k_only_adds_columns(graph: SmallGraph, k: int) -> None:
    fewer = detours.count(graph.graph(), k)
    more = detours.count(graph.graph(), k + 1)
    np.testing.assert_array_equal(more.by_length[:, :-1], fewer.by_length)
    assert (more.edge >= fewer.edge).all()
    assert (more.node >= fewer.node).all()
    assert fewer.cycles.items() <= more.cycles.items()


@given(small_graphs(), st.integers(2, 6), st.data())
@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_loops_duplicates_and_one_way_arcs(graph: SmallGraph, k: int, data: st.DataObject) -> None:
    """Loops have 0 and change nothing, repeats have the counts of their edge, one arc stands for both."""
    counts = dict(zip(graph.arcs, graph.table(k).tolist(), strict=True))
    given_arcs = list(graph.arcs)
    if not graph.directed:
        given_arcs = [arc for arc in given_arcs if arc[0] < arc[1] or data.draw(st.booleans())]
    loops = data.draw(st.lists(st.integers(0, graph.num_nodes - 1).map(lambda node: (node, node)), max_size=3))
    repeats = data.draw(st.lists(st.sampled_from(given_arcs), max_size=3)) if given_arcs else []
    messy = data.draw(st.permutations(given_arcs + loops + repeats))
    edge_index = np.array(messy, dtype=np.int64).reshape(-1, 2).T
    built = detours.Graph.from_edge_index(edge_index, num_nodes=graph.num_nodes, directed=graph.directed)
    expected = [counts.get(arc, [0] * (k - 1)) for arc in messy]
    clean = detours.count(graph.graph(), k)
    for engine in engines(k):
        result = detours.count(built, k, engine=engine)
        np.testing.assert_array_equal(result.by_length, np.reshape(expected, (-1, k - 1)))
        np.testing.assert_array_equal(result.node, clean.node)
        assert result.cycles == clean.cycles
    assert built.dropped.loops == len(loops)
    assert built.dropped.duplicates == len(repeats)
    assert built.dropped.one_way == len(set(graph.arcs) - set(given_arcs))


@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
@pytest.mark.parametrize("directed", [False, True])
def test_nothing_but_loops(directed: bool) -> None:
    result = detours.count(np.array([[0, 1], [0, 1]]), 3, directed=directed)
    assert result.by_length.tolist() == [[0, 0], [0, 0]]
    assert result.edge.tolist() == result.node.tolist() == [0, 0]


def test_dropped_edges_are_a_warning_and_an_error_with_strict() -> None:
    messy = np.array([[0, 1, 2, 2, 0], [1, 2, 0, 2, 1]])
    with pytest.warns(DroppedEdgesWarning, match=r"1 loop.*1 (repeat|duplicate).*3 one-way"):
        result = detours.count(messy, 3)
    assert result.edge.tolist() == [1, 1, 1, 0, 1]
    with pytest.raises(InputError, match="1 loop"):
        detours.count(messy, 3, strict=True)


def test_node_names_and_their_order_are_kept() -> None:
    graph = nx.Graph()
    graph.add_nodes_from(["z", 7, ("tuple",), "alone"])
    graph.add_edges_from([("z", 7), (("tuple",), "z"), (7, ("tuple",)), ("z", "tail")])
    result = detours.count(graph, 2)
    assert result.node.tolist() == [2, 2, 2, 0, 0]
    assert result.edge.tolist() == [int("tail" not in edge) for edge in graph.edges]
    assert list(detours.paths(graph, "z", 7, 4)) == [("z", ("tuple",), 7)]
    with pytest.raises(InputError, match="nobody"):
        list(detours.paths(graph, "z", "nobody", 4))


def middling_graphs() -> dict[str, detours.Graph]:
    """Graphs large enough that every engine cuts the work into blocks."""
    graphs = {
        "hubs": nx.barabasi_albert_graph(700, 5, seed=31),
        "dense": nx.gnp_random_graph(150, 0.3, seed=32),
        "geometric": nx.random_geometric_graph(900, 0.055, seed=33),
        "many blocks": nx.disjoint_union_all([nx.gnp_random_graph(12, 0.4, seed=seed) for seed in range(60)]),
        "directed": nx.gnp_random_graph(300, 0.03, seed=34, directed=True),
    }
    return {name: detours.Graph.from_networkx(graph, directed=graph.is_directed()) for name, graph in graphs.items()}


MIDDLING = ["hubs", "dense", "geometric", "many blocks", "directed"]


@pytest.mark.parametrize("engine", ["rows", "search"])
@pytest.mark.parametrize("name", MIDDLING)
def test_same_bits_for_any_threads_and_memory(name: str, engine: str) -> None:
    graph = middling_graphs()[name]
    # The dense graphs have too many cycles to list them for a larger k.
    k = 4 if engine == "search" and name in ("hubs", "dense") else 5
    plain = detours.count(graph, k, engine=engine)
    for options in ({"n_jobs": 2}, {"memory_limit": "8MB"}, {"n_jobs": 2, "memory_limit": 4_000_000}):
        other = detours.count(graph, k, engine=engine, **options)
        np.testing.assert_array_equal(other.by_length, plain.by_length, err_msg=str(options))
        np.testing.assert_array_equal(other.node, plain.node)
        assert other.cycles == plain.cycles


@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
@pytest.mark.parametrize("name", MIDDLING)
def test_same_bits_for_any_node_order(name: str) -> None:
    graph = middling_graphs()[name]
    new_name = np.random.default_rng(41).permutation(graph.num_nodes)
    renamed = detours.Graph.from_edge_index(
        new_name[graph.edge_index], num_nodes=graph.num_nodes, directed=graph.directed
    )
    before = detours.count(graph, 4)
    after = detours.count(renamed, 4)
    np.testing.assert_array_equal(after.by_length, before.by_length)
    np.testing.assert_array_equal(after.node[new_name], before.node)
    assert after.cycles == before.cycles


@pytest.mark.parametrize("engine", ["rows", "search"])
def test_progress_goes_from_nothing_to_all(engine: str) -> None:
    calls: list[tuple[float, float]] = []
    report: Callable[[float, float], None] = lambda done, total: calls.append((done, total))  # noqa: E731
    detours.count(middling_graphs()["geometric"], 4, engine=engine, progress=report)
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1] > 0
    assert len({call[1] for call in calls}) == 1


@given(small_graphs(max_nodes=6), st.integers(2, 6))
def test_cycles_through_a_node_by_definition(graph: SmallGraph, k: int) -> None:
    """Directed too: the cycles that `count` totals are those of the definition, each once."""
    through = oracles.cycles_through_nodes(graph.num_nodes, graph.arcs, k, graph.directed)
    cycles = detours.count(graph.graph(), k).cycles
    assert {length: sum(node[length] for node in through) for length in cycles} == {
        length: length * count for length, count in cycles.items()
    }
