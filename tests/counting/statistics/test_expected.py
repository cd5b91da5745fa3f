"""Expected detours against the enumeration of all pairings of half-edges."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, permutations
from math import factorial, prod

import networkx as nx
import numpy as np
import pytest

import detours
from detours.counting.statistics.expected import expected_by_length
from detours.errors import InputError
from detours.graph import Graph

Pairing = list[tuple[int, int]]


def pairings(ends: list[int]) -> Iterator[Pairing]:
    if not ends:
        yield []
        return
    first, *rest = ends
    for at, other in enumerate(rest):
        for more in pairings(rest[:at] + rest[at + 1 :]):
            yield [(first, other), *more]


def mean_paths(degrees: list[int], i: int, j: int, k: int) -> list[float]:
    """The mean number of simple paths by length over all pairings that join a half-edge of i with one of j."""
    left = [node for node, degree in enumerate(degrees) for _ in range(degree - (node in (i, j)))]
    totals, num_pairings = np.zeros(k - 1), 0
    for pairing in pairings(left):
        joined = np.zeros((len(degrees),) * 2)
        for a, b in pairing:
            joined[a, b] += 1
            joined[b, a] += a != b
        num_pairings += 1
        for length in range(2, k + 1):
            for inner in permutations(set(range(len(degrees))) - {i, j}, length - 1):
                path = [i, *inner, j]
                totals[length - 2] += np.prod([joined[a, b] for a, b in pairwise(path)])
    return list(totals / num_pairings)


@pytest.mark.parametrize(
    "graph",
    [nx.complete_graph(4), nx.cycle_graph(5), nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])],
    ids=["K4", "ring", "tailed triangle"],
)
def test_equals_the_mean_over_all_pairings(graph: nx.Graph) -> None:
    result = detours.count(graph, k=4)
    degrees = [graph.degree[node] for node in range(len(graph))]
    for (i, j), row in zip(graph.edges, result.expected.tolist(), strict=True):
        assert row == pytest.approx(mean_paths(degrees, i, j, 4))


def directed_mean(arcs: list[tuple[int, int]], i: int, j: int, k: int, nodes: int) -> list[float]:
    heads = [b for _, b in arcs]
    heads.remove(j)
    tails = [a for a, _ in arcs]
    tails.remove(i)
    totals, num_pairings = np.zeros(k - 1), 0
    for order in permutations(heads):
        joined = np.zeros((nodes, nodes))
        for a, b in zip(tails, order, strict=True):
            joined[a, b] += 1
        num_pairings += 1
        for length in range(2, k + 1):
            for inner in permutations(set(range(nodes)) - {i, j}, length - 1):
                path = [i, *inner, j]
                totals[length - 2] += np.prod([joined[a, b] for a, b in pairwise(path)])
    return list(totals / num_pairings)


def test_directed() -> None:
    arcs = [(0, 1), (1, 2), (0, 2), (2, 0), (2, 3), (3, 0), (1, 3)]
    result = detours.count(nx.DiGraph(arcs), k=3)
    for (i, j), row in zip(result.graph.edge_index.T.tolist(), result.expected.tolist(), strict=True):
        assert row == pytest.approx(directed_mean(arcs, i, j, 3, 4))


def test_random_graphs_have_the_expected_detours_and_lattices_more() -> None:
    random = detours.count(nx.random_regular_graph(4, 400, seed=1), k=6)
    assert random.by_length.sum() / random.expected.sum() == pytest.approx(1, abs=0.15)
    lattice = detours.count(nx.watts_strogatz_graph(400, 4, 0.0), k=4)
    assert lattice.relative.min() > 10


def test_relative_counts_do_not_grow_with_the_degrees() -> None:
    """DeN grows with the degrees of the ends; divided by its expected value it does not."""
    graph = nx.barabasi_albert_graph(600, 4, seed=0)
    result = detours.count(graph, k=4)
    hubs = np.array([graph.degree[a] * graph.degree[b] for a, b in graph.edges])
    assert np.corrcoef(hubs, result.edge)[0, 1] > 0.8
    assert np.corrcoef(hubs, result.relative)[0, 1] < 0.2


def exact(degrees: list[int], i: int, j: int, k: int) -> list[float]:
    """The formula of the module in fractions, with the polynomials summed node by node."""
    polynomials = [1] + [0] * (k - 1)
    for node, degree in enumerate(degrees):
        if node not in (i, j):
            for order in range(k - 1, 0, -1):
                polynomials[order] += polynomials[order - 1] * degree * (degree - 1)
    left = (degrees[i] - 1) * (degrees[j] - 1)
    ways = [sum(degrees) - 1 - 2 * length for length in range(1, k + 1)]
    return [
        float(Fraction(left * factorial(length - 1) * polynomials[length - 1], prod(ways[:length])))
        for length in range(2, k + 1)
    ]


def test_a_large_hub_leaves_the_others_exact() -> None:
    """In floating point only the fifth power of the hub's value is left of the sums."""
    graph = nx.gnm_random_graph(30_000, 40_000, seed=1)
    graph.add_edges_from((30_000, node) for node in range(30_000))
    converted = Graph.from_networkx(graph)
    ends, rows = converted.to_edge_index(), expected_by_length(converted, 6)
    for arc in (0, 70_000, converted.num_arcs - 1):  # from the first nodes, from others, and from the hub
        i, j = ends[:, arc].tolist()
        assert rows[arc].tolist() == pytest.approx(exact(converted.degree.tolist(), i, j, 6), rel=1e-12)


def test_expected_values_beyond_floats_are_infinite() -> None:
    rows = expected_by_length(Graph.from_networkx(nx.complete_graph(400)), 150)
    assert np.isfinite(rows[:, 0]).all() and np.isinf(rows[:, -1]).all()


def test_no_detours_expected() -> None:
    result = detours.count(nx.path_graph(4), k=5)
    assert result.relative.tolist() == [0, 0, 0] and not result.expected[[0, 2]].any()
    assert detours.count([(0, 1), (1, 2), (2, 2)], k=3).relative.tolist() == [0, 0, 0]


def test_chordless_detours_are_not_compared_with_all() -> None:
    result = detours.count(nx.complete_graph(5), k=3, chordless=True)
    with pytest.raises(InputError, match="about all detours"):
        _ = result.relative
