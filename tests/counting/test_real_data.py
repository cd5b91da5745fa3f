"""Published counts of real graphs, and both engines against each other on every small one."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

import detours
from tests import oracles
from tests.real_data import EdgeIndex, molecule_graphs, node_graph, pair_graphs

pytestmark = pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")

# Cycles of length 3, 4, 5 of the arcs as stored; the paper's table of cycle components shows them rounded.
DIRECTED_CYCLES = {
    "Chameleon": (124687, 5016955, 220750980),
    "Squirrel": (1204046, 111324739, 11332570484),
    "Actor": (1455, 3990, 20832),
    "Cornell": (6, 4, 2),
    "Wisconsin": (10, 11, 2),
    "Texas": (6, 1, 0),
}
UNDIRECTED_CYCLES = {
    "Chameleon": (343066, 28584895, 1957833611),
    "Squirrel": (9595609, 3744194041, 930505943726),
    "Actor": (7121, 69397, 1074830),
    "Cornell": (59, 140, 174),
    "Wisconsin": (118, 555, 907),
    "Texas": (67, 223, 528),
}
SLOW = [pytest.mark.slow]


@pytest.mark.parametrize("name", DIRECTED_CYCLES)
def test_directed_cycles(name: str) -> None:
    cycles = detours.count(node_graph(name), 4, directed=True).cycles
    assert cycles == dict(zip((3, 4, 5), DIRECTED_CYCLES[name], strict=True))


@pytest.mark.parametrize("name", UNDIRECTED_CYCLES)
def test_undirected_cycles(name: str) -> None:
    result = detours.count(node_graph(name), 4)
    assert result.cycles == dict(zip((3, 4, 5), UNDIRECTED_CYCLES[name], strict=True))
    assert int(result.node.sum()) == 2 * sum(length * count for length, count in result.cycles.items())


@pytest.mark.parametrize("name", ["Cornell", "Wisconsin", "Texas"])
@pytest.mark.parametrize("directed", [False, True])
def test_small_node_graphs_edge_by_edge(name: str, directed: bool) -> None:
    graph = detours.Graph.from_edge_index(node_graph(name), directed=directed)
    k = 6
    tails = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr)).tolist()
    arcs = list(zip(tails, graph.indices.tolist(), strict=True))
    expected = oracles.with_rustworkx(graph.num_nodes, arcs, k)
    for engine in ("rows", "search"):
        result = detours.count(graph, k, engine=engine)
        np.testing.assert_array_equal(result.arc_by_length, [expected[arc] for arc in arcs], err_msg=engine)


@pytest.mark.parametrize("name", ["Chameleon", "Actor", "Squirrel"])
def test_large_node_graphs_edge_by_edge(name: str) -> None:
    """With dense matrices, so only the 1,500 nodes of highest degree are kept."""
    arcs = node_graph(name)
    hubs = np.argsort(-np.bincount(arcs.ravel()), kind="stable")[:1500]
    adjacency = np.zeros((arcs.max() + 1,) * 2)
    adjacency[arcs[0], arcs[1]] = adjacency[arcs[1], arcs[0]] = 1
    np.fill_diagonal(adjacency, 0)
    adjacency = adjacency[np.ix_(hubs, hubs)]
    tails, heads = np.nonzero(adjacency)
    result = detours.count(np.stack([tails, heads]), 4, engine="rows")
    np.testing.assert_array_equal(result.by_length, oracles.detours_by_matrices(adjacency)[:, tails, heads].T)
    assert result.cycles == oracles.cycles_by_traces(adjacency, directed=False)


Graphs = list[tuple[int, EdgeIndex]]


def small_graphs(name: str) -> Graphs:
    return pair_graphs(name) if "EXP" in name else molecule_graphs(name)


def built(graphs: Graphs) -> list[detours.Graph]:
    return [detours.Graph.from_edge_index(arcs, num_nodes=num_nodes) for num_nodes, arcs in graphs]


@pytest.mark.parametrize(
    ("name", "step", "k"),
    [
        ("MUTAG", 1, 6),
        ("PTC_FM", 1, 6),
        ("ENZYMES", 1, 6),
        ("EXP", 1, 6),
        ("CEXP", 1, 6),
        ("NCI1", 1, 6),
        ("IMDB-BINARY", 10, 4),
        ("DD", 40, 5),
        pytest.param("IMDB-BINARY", 1, 4, marks=SLOW),
        pytest.param("DD", 1, 6, marks=SLOW),
    ],
)
def test_both_engines_agree(name: str, step: int, k: int) -> None:
    graphs = built(small_graphs(name)[::step])
    rows = detours.count_many(graphs, k, engine="rows")
    search = detours.count_many(graphs, k, engine="search")
    np.testing.assert_array_equal(rows.by_length, search.by_length)
    np.testing.assert_array_equal(rows.node, search.node)
    assert rows.cycles == search.cycles
    for one, other in zip(rows, search, strict=True):
        assert one.cycles == other.cycles


@pytest.mark.parametrize(
    ("name", "step", "k"),
    [("MUTAG", 1, 9), ("PTC_FM", 1, 9), ("ENZYMES", 3, 5), ("EXP", 5, 8), ("NCI1", 20, 8)],
)
def test_cycles_of_each_graph_equal_networkx(name: str, step: int, k: int) -> None:
    graphs = small_graphs(name)[::step]
    for (num_nodes, arcs), result in zip(graphs, detours.count_many(built(graphs), k), strict=True):
        expected = oracles.cycles_by_networkx(num_nodes, arcs.T.tolist(), k, directed=False)
        assert result.cycles == expected


@pytest.mark.parametrize(("name", "step"), [("MUTAG", 1), ("PTC_FM", 1), ("ENZYMES", 10), ("NCI1", 40)])
def test_each_graph_alone_equals_brute_force(name: str, step: int) -> None:
    k = 6
    for num_nodes, arcs in small_graphs(name)[::step]:
        graph = detours.Graph.from_edge_index(arcs, num_nodes=num_nodes)
        pairs = [tuple(pair) for pair in arcs.T.tolist()]
        expected = oracles.with_rustworkx(num_nodes, pairs, k)
        result = detours.count(graph, k)
        np.testing.assert_array_equal(result.by_length, np.reshape([expected[pair] for pair in pairs], (-1, k - 1)))


# The number of graphs with each set of cycle lengths up to 6. CEXP as in the paper; EXP as NetworkX and igraph find it.
CYCLE_LENGTHS = {
    "EXP": {(4, 5, 6): 873, (4, 6): 35, (5, 6): 283, (6,): 9},
    "CEXP": {(4, 5, 6): 932, (4, 6): 8, (5, 6): 255, (6,): 5},
}


@pytest.mark.parametrize("name", CYCLE_LENGTHS)
def test_cycle_lengths_of_the_pairs(name: str) -> None:
    results = detours.count_many(built(pair_graphs(name)), 5)
    found = Counter(tuple(length for length, count in result.cycles.items() if count) for result in results)
    assert found == CYCLE_LENGTHS[name]


def test_the_number_of_listed_paths_is_the_count() -> None:
    graph = nx.Graph(node_graph("Cornell").T.tolist())
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    result = detours.count(graph, 7)
    for (i, j), count in zip(graph.edges, result.edge, strict=True):
        found = list(detours.paths(graph, i, j, 7))
        assert len(found) == len(set(found)) == count
