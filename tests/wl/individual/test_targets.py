"""Target cells that leave treewidth 2."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.approximation import treewidth_min_degree

import detours
from detours import Graph, wl
from detours.data import hard
from detours.wl.individual.targets import choose, reduced

OTHERS = (3, 11, 21, 33, 39, 41, 43, 44, 63, 67, 86)
"""CFI pairs of the benchmark that two marks do not tell apart."""


def random_graph(seed: int) -> nx.Graph:
    random = np.random.default_rng(seed)
    return nx.gnm_random_graph(int(random.integers(3, 12)), int(random.integers(3, 22)), seed=seed)


def as_tied(graph: nx.Graph) -> dict[int, set[int]]:
    return {node: set(graph[node]) for node in graph}


@pytest.mark.parametrize("seed", range(60))
def test_what_is_reduced_to_nothing_has_treewidth_two(seed: int) -> None:
    graph = random_graph(seed)
    # The heuristic is exact up to 2: a node of least degree is then one that the reductions take away.
    assert (not reduced(as_tied(graph))) == (treewidth_min_degree(graph)[0] <= 2)


@pytest.mark.parametrize("seed", range(60))
def test_the_target_belongs_to_a_smallest_set(seed: int) -> None:
    graph = random_graph(seed)
    tied = as_tied(graph)
    found = choose(tied, dict.fromkeys(tied, 2), {cell: cell for cell in tied})
    smallest = next(
        sets
        for size in range(12)
        if (sets := [cells for cells in combinations(tied, size) if not reduced(tied, cells)])
    )
    if len(smallest[0]) == 0:
        assert found is None
    elif len(smallest[0]) <= 3:
        assert any(found in cells for cells in smallest)
    else:
        assert found in tied


def test_parts_of_a_cell_count_as_one_and_a_cell_tied_to_itself_as_two() -> None:
    four = {i: {0, 1, 2, 3} - {i} for i in range(4)}
    assert choose(four, dict.fromkeys(four, 2), {0: 0, 1: 0, 2: 2, 3: 3}) == 0  # tied parts: their cell counts twice
    apart = {0: {2, 3}, 1: {2, 3}, 2: {0, 1, 3}, 3: {0, 1, 2}}
    assert choose(apart, dict.fromkeys(apart, 2), {0: 0, 1: 0, 2: 2, 3: 3}) is None  # a triangle
    assert choose({0: {0, 1}, 1: {0, 1}}, {0: 4, 1: 2}, {0: 0, 1: 1}) == 1  # K4, of whose cells 1 is the smaller


def relabelled(graph: Graph, seed: int) -> Graph:
    order = np.random.default_rng(seed).permutation(graph.num_nodes)
    return detours.Graph.from_edge_index(order[graph.to_edge_index()], num_nodes=graph.num_nodes)


@pytest.mark.slow
@pytest.mark.parametrize("index", [38, *OTHERS])
def test_three_marks_tell_the_hardest_pairs_apart(index: int) -> None:
    first, second = hard.pair_benchmark()["cfi"][index]
    options = {"init": "den", "k": 7, "pairs": "fwl", "individualise": "mark"}
    assert wl.same(first, second, depth=2, **options)
    assert not wl.same(first, second, depth=3, **options)
    assert wl.same(first, relabelled(first, index), depth=3, **options)
