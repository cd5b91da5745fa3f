"""Graphs whose detours are known from a formula, a published sequence, or the paper."""

from itertools import combinations
from math import comb, factorial, perm

import networkx as nx
import numpy as np
import pytest

import detours
from tests.oracles import paper
from tests.strategies import engines


def assert_every_edge(graph: nx.Graph, k: int, expected: dict[int, int], engine: str = "auto") -> None:
    """Every edge has `expected[L]` detours of length L, and none of the lengths not given."""
    result = detours.count(graph, k, engine=engine, directed=graph.is_directed())
    row = [expected.get(length, 0) for length in range(2, k + 1)]
    np.testing.assert_array_equal(result.by_length, np.tile(row, (graph.number_of_edges(), 1)))
    if not graph.is_directed():
        # Every cycle of length L + 1 is a detour of length L on each of its edges.
        totals = {length + 1: number * len(graph.edges) for length, number in zip(range(2, k + 1), row, strict=True)}
        assert result.cycles == {length: total // length for length, total in totals.items()}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("num_nodes", [2, 3, 4, 5, 8, 9])
def test_complete_graph(num_nodes: int, directed: bool) -> None:
    graph = nx.complete_graph(num_nodes, create_using=nx.DiGraph if directed else nx.Graph)
    for k in (2, 4, 6, 8):
        lengths = range(2, min(k, num_nodes - 1) + 1)
        expected = {length: factorial(num_nodes - 2) // factorial(num_nodes - 1 - length) for length in lengths}
        for engine in engines(k):
            assert_every_edge(graph, k, expected, engine)
        orientations = 1 if directed else 2
        cycles = {length: comb(num_nodes, length) * factorial(length - 1) // orientations for length in range(3, k + 2)}
        assert detours.count(graph, k, directed=directed).cycles == cycles


@pytest.mark.parametrize(
    ("num_nodes", "k"), [(33, 6), (77, 6), (78, 6), (88, 6), (89, 6), (130, 6), (219, 5), (260, 5)]
)
def test_larger_complete_graph(num_nodes: int, k: int) -> None:
    """Sizes on both sides of 2^31 and 2^32 detours of the greatest length."""
    expected = {length: perm(num_nodes - 2, length - 1) for length in range(2, k + 1)}
    assert_every_edge(nx.complete_graph(num_nodes), k, expected, "rows")
    assert_every_edge(nx.complete_graph(num_nodes, create_using=nx.DiGraph), k, expected, "rows")


@pytest.mark.parametrize("num_nodes", [3, 4, 5, 6, 7, 8, 12, 30])
def test_cycle_graph(num_nodes: int) -> None:
    for k in {2, 6, num_nodes - 2, num_nodes - 1, num_nodes} - {1}:
        expected = {num_nodes - 1: 1} if k >= num_nodes - 1 else {}
        for engine in engines(k):
            assert_every_edge(nx.cycle_graph(num_nodes), k, expected, engine)


@pytest.mark.parametrize("num_nodes", [3, 4, 7, 10])
def test_directed_cycle_has_a_cycle_but_no_detour(num_nodes: int) -> None:
    graph = nx.cycle_graph(num_nodes, create_using=nx.DiGraph)
    for engine in engines(num_nodes - 1):
        result = detours.count(graph, num_nodes - 1, directed=True, engine=engine)
        assert not result.by_length.any()
        assert result.cycles == {length: int(length == num_nodes) for length in range(3, num_nodes + 1)}


@pytest.mark.parametrize(("left", "right"), [(1, 5), (2, 2), (2, 9), (3, 3), (4, 5), (5, 40)])
def test_complete_bipartite_graph(left: int, right: int) -> None:
    # A detour of length 2m + 1 visits m more nodes of each side, in any order.
    expected = {2 * m + 1: perm(left - 1, m) * perm(right - 1, m) for m in (1, 2, 3)}
    graph = nx.complete_bipartite_graph(left, right)
    for k in (3, 6, 7) if right < 10 else (3, 6):
        lengths = {length: number for length, number in expected.items() if length <= k}
        for engine in engines(k) if right < 10 else ["rows"]:
            assert_every_edge(graph, k, lengths, engine)


def test_many_common_neighbours() -> None:
    """Two adjacent hubs with 3,000 common neighbours: far more walks than paths between the hubs."""
    leaves = 3000
    graph = nx.Graph([("left", "right")])
    graph.add_edges_from((hub, leaf) for leaf in range(leaves) for hub in ("left", "right"))
    result = detours.count(graph, 6, engine="rows")
    hubs = [{"left", "right"} == set(edge) for edge in graph.edges]
    assert sum(hubs) == 1
    expected = [[leaves, 0, 0, 0, 0] if is_hubs else [1, leaves - 1, 0, 0, 0] for is_hubs in hubs]
    np.testing.assert_array_equal(result.by_length, expected)
    assert result.cycles == {3: leaves, 4: comb(leaves, 2), 5: 0, 6: 0, 7: 0}


@pytest.mark.parametrize(("height", "width"), [(2, 2), (2, 9), (3, 3), (4, 7), (12, 15)])
def test_grid(height: int, width: int) -> None:
    # Self-avoiding polygons: unit squares, dominoes, straight and bent trominoes and the 2 x 2 square.
    def boxes(rows: int, columns: int) -> int:
        return max(height - rows, 0) * max(width - columns, 0)

    by_length = {
        4: boxes(1, 1),
        6: boxes(1, 2) + boxes(2, 1),
        8: boxes(1, 3) + boxes(3, 1) + (4 + 1) * boxes(2, 2),
    }
    cycles = {length: by_length.get(length, 0) for length in range(3, 9)}
    graph = nx.grid_2d_graph(height, width)
    result = detours.count(graph, 7)
    assert result.cycles == cycles
    assert int(result.edge.sum()) == sum(length * number for length, number in cycles.items())
    for engine in engines(6):
        assert detours.count(graph, 6, engine=engine).cycles == {length: cycles[length] for length in range(3, 8)}


def torus(sides: tuple[int, ...], steps: list[tuple[int, ...]]) -> nx.Graph:
    """The lattice with the given steps, wrapped round: every edge looks like every other."""
    graph = nx.Graph()
    for node in np.ndindex(sides):
        for step in steps:
            graph.add_edge(node, tuple((x + d) % side for x, d, side in zip(node, step, sides, strict=True)))
    return graph


# Sides (longer than k + 1), steps, self-avoiding polygons per site (OEIS A002931, A036418, A001409), k.
LATTICES = {
    "square": ((11, 12), [(1, 0), (0, 1)], {4: 1, 6: 2, 8: 7, 10: 28}, 9),
    "triangular": ((9, 10), [(1, 0), (0, 1), (1, 1)], {3: 2, 4: 3, 5: 6, 6: 15, 7: 42, 8: 123}, 7),
    "cubic": ((9, 9, 9), [(1, 0, 0), (0, 1, 0), (0, 0, 1)], {4: 3, 6: 22, 8: 207}, 7),
}


@pytest.mark.parametrize("name", LATTICES)
def test_lattice(name: str) -> None:
    sides, steps, polygons, k = LATTICES[name]
    graph = torus(sides, steps)
    expected = {length - 1: number * length // len(steps) for length, number in polygons.items()}
    assert_every_edge(graph, k, expected)
    for engine in engines(6):
        assert_every_edge(graph, 6, {length: number for length, number in expected.items() if length <= 6}, engine)


def test_honeycomb() -> None:
    # Inside the sheet an edge lies in two hexagons, and in ten outlines of two hexagons side by side.
    graph = nx.hexagonal_lattice_graph(9, 10, periodic=True)
    assert_every_edge(graph, 8, {5: 2})
    assert_every_edge(nx.hexagonal_lattice_graph(11, 12, periodic=True), 9, {5: 2, 9: 10})


# Number of cycles by length in edge-transitive graphs.
SYMMETRIC = {
    "Petersen": (nx.petersen_graph(), {5: 12, 6: 10, 8: 15, 9: 20}),
    "Heawood": (nx.heawood_graph(), {6: 28, 8: 21, 10: 84}),
    "cube": (nx.cubical_graph(), {4: 6, 6: 16, 8: 6}),
    "octahedron": (nx.octahedral_graph(), {3: 8, 4: 15, 5: 24, 6: 16}),
    "dodecahedron": (nx.dodecahedral_graph(), {5: 12, 8: 30, 9: 20, 10: 36}),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_graph(name: str) -> None:
    graph, cycles = SYMMETRIC[name]
    for k in (4, 6, 9):
        expected = {
            length - 1: length * number // len(graph.edges) for length, number in cycles.items() if length <= k + 1
        }
        for engine in engines(k):
            assert_every_edge(graph, k, expected, engine)


@pytest.mark.parametrize("dimension", [2, 3, 4, 7])
def test_hypercube(dimension: int) -> None:
    # A 4-cycle spans a square; a 6-cycle always spans a cube, and a cube has 16 of them, 8 through each edge.
    expected = {3: dimension - 1, 5: 8 * comb(dimension - 1, 2)}
    for engine in engines(6):
        assert_every_edge(nx.hypercube_graph(dimension), 6, expected, engine)


@pytest.mark.parametrize("rim", [3, 4, 5, 8, 40])
def test_wheel(rim: int) -> None:
    # Cycles through the hub close an arc of the rim; a spoke ends two such arcs of each length, a rim edge
    # lies in L - 1 of them.
    graph = nx.wheel_graph(rim + 1)
    for k in (3, 6, 9):
        lengths = range(2, k + 1)
        spoke = [2 * (length <= rim) for length in lengths]
        tyre = [(length - 1) * (length <= rim) + (length == rim - 1) for length in lengths]
        for engine in engines(k):
            result = detours.count(graph, k, engine=engine)
            np.testing.assert_array_equal(result.by_length, [spoke if 0 in edge else tyre for edge in graph.edges])


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(50),
        nx.star_graph(2000),
        nx.random_labeled_tree(300, seed=3),
        nx.balanced_tree(3, 5),
        nx.disjoint_union_all([nx.path_graph(4)] * 20),
        nx.empty_graph(7),
    ],
    ids=["path", "star", "random tree", "balanced tree", "forest", "no edges"],
)
def test_trees_have_no_detours(graph: nx.Graph) -> None:
    for k in (2, 6, 9):
        for engine in engines(k):
            result = detours.count(graph, k, engine=engine)
            assert result.by_length.shape == (graph.number_of_edges(), k - 1)
            assert not result.by_length.any()
            assert not result.node.any()
            assert set(result.cycles.values()) == {0}


@pytest.mark.parametrize("chains", [(2, 3), (1, 4, 4), (2, 2, 5), (3, 4, 5, 6), (1, 9), (8, 8)])
def test_theta_graph(chains: tuple[int, ...]) -> None:
    """Chains between two nodes: a detour of an edge follows the rest of its chain and one of the other chains."""
    graph = nx.Graph()
    chain_of = {}
    for number, edges in enumerate(chains):
        inner = [(number, step) for step in range(edges - 1)]
        for edge in zip(["start", *inner], [*inner, "end"], strict=True):
            graph.add_edge(*edge)
            chain_of[frozenset(edge)] = number
    k = 9
    expected = np.zeros((len(graph.edges), k - 1), dtype=np.int64)
    for row, edge in enumerate(graph.edges):
        own = chain_of[frozenset(edge)]
        for other, edges in enumerate(chains):
            length = edges + chains[own] - 1
            if other != own and length <= k:
                expected[row, length - 2] += 1
    np.testing.assert_array_equal(detours.count(graph, k).by_length, expected)
    np.testing.assert_array_equal(detours.count(graph, 6, engine="rows").by_length, expected[:, :5])


@pytest.mark.parametrize("num_nodes", [3, 8, 12, 60])
def test_transitive_tournament(num_nodes: int) -> None:
    # A directed detour of length L from i to j picks L - 1 of the nodes between them; there are no cycles.
    graph = nx.DiGraph(combinations(range(num_nodes), 2))
    for k in (4, 6, 9) if num_nodes <= 12 else (6,):
        expected = [[comb(j - i - 1, length - 1) for length in range(2, k + 1)] for i, j in graph.edges]
        for engine in engines(k) if num_nodes <= 12 else ["rows"]:
            result = detours.count(graph, k, directed=True, engine=engine)
            np.testing.assert_array_equal(result.by_length, expected)
            assert set(result.cycles.values()) == {0}


def paper_graph(name: str) -> nx.Graph:
    return nx.Graph((edge[0], edge[1]) for edge in paper.GRAPHS[name].split())


@pytest.mark.parametrize("name", paper.GRAPHS)
def test_paper_lists_of_detours(name: str) -> None:
    graph = paper_graph(name)
    for edge, listed in paper.DETOURS[name].items():
        found = ["".join(path) for path in detours.paths(graph, edge[0], edge[1], 3)]
        assert sorted(found) == sorted(listed.split())
    for engine in engines(3):
        result = detours.count(graph, 3, engine=engine)
        numbers = {"".join(sorted(edge)): int(number) for edge, number in zip(graph.edges, result.edge, strict=True)}
        assert numbers == {edge: len(listed.split()) for edge, listed in paper.DETOURS[name].items()}
        assert numbers["cd"] == paper.DETOURS_OF_CD[name]
    assert sum(detours.count(graph, 5).cycles.values()) == paper.ALL_CYCLES[name]
