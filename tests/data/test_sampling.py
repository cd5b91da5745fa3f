"""Neighbour sampling: the structure of batches as in PyG, uniform draws, and reproducible batches."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
import torch_geometric
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import k_hop_subgraph

from detours.data import NeighborSampler, Sampled
from detours.errors import InputError
from detours.graph import Graph
from tests import real_data
from tests.oracles.sampling import check_sample, whole_neighbourhood

SIZES = st.lists(st.sampled_from([-1, 1, 2, 3, 5]), min_size=1, max_size=3)


@st.composite
def listed_arcs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """Arbitrary arcs, including loops and repeats."""
    n = draw(st.integers(1, 12))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node), max_size=60))


def sampler(n: int, arcs: list[tuple[int, int]], sizes: Any, **options: Any) -> NeighborSampler:
    return NeighborSampler(np.array(arcs, np.int64).reshape(-1, 2).T, sizes, num_nodes=n, **options)


def equal(first: Sampled, second: Sampled) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@given(listed_arcs(), SIZES, st.data())
def test_the_structure_of_a_sample(graph: tuple[int, list[tuple[int, int]]], sizes: list[int], data: Any) -> None:
    n, arcs = graph
    seeds = data.draw(st.lists(st.integers(0, n - 1), unique=True, max_size=n))
    sampled = sampler(n, arcs, sizes).sample(seeds, epoch=data.draw(st.integers(0, 3)))
    check_sample(arcs, seeds, sizes, sampled)


@given(listed_arcs(), st.integers(1, 3), st.data())
def test_size_minus_one_gives_the_full_neighbourhood(
    graph: tuple[int, list[tuple[int, int]]], hops: int, data: Any
) -> None:
    n, arcs = graph
    seeds = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1, max_size=n))
    sampled = sampler(n, arcs, [-1] * hops).sample(seeds)
    nodes, columns = whole_neighbourhood(arcs, seeds, hops)
    assert set(sampled.n_id.tolist()) == nodes and set(sampled.e_id.tolist()) == columns
    if arcs:
        edge_index = torch.tensor(arcs).T
        theirs, _, _, mask = k_hop_subgraph(torch.tensor(seeds), hops, edge_index, num_nodes=n, directed=True)
        assert set(theirs.tolist()) == nodes
        if not torch_geometric.__version__.startswith("2.6."):  # its mask covers only the last hop
            assert set(mask.nonzero().ravel().tolist()) == columns


def test_neighbours_are_drawn_uniformly() -> None:
    degree, size, draws = 40, 7, 4000
    star = sampler(degree + 1, [(leaf, 0) for leaf in range(1, degree + 1)], [size])
    times = np.zeros(degree + 1)
    together = 0
    for epoch in range(draws):
        drawn = star.sample([0], epoch=epoch).n_id[1:]
        times[drawn] += 1
        together += {1, 40} <= set(drawn.tolist())
    # Each leaf comes with probability 7/40, any two together with 7/40 · 6/39; four standard deviations are allowed.
    chance, pair = size / degree, size * (size - 1) / (degree * (degree - 1))
    statistic = ((times[1:] - draws * chance) ** 2 / (draws * chance * (1 - chance))).sum()
    assert abs(statistic - degree) < 4 * np.sqrt(2 * degree)
    assert abs(together - draws * pair) < 4 * np.sqrt(draws * pair * (1 - pair))


def test_draws_of_hops_and_nodes_are_independent() -> None:
    """Two nodes with the same list of neighbours do not draw the same ones, nor does one node in two hops."""
    arcs = [(leaf, hub) for hub in (0, 1) for leaf in range(2, 42)]
    both = sampler(42, arcs, [5])
    same = sum(len(set(e[:5] % 40) & set(e[5:] % 40)) for e in (both.sample([0, 1], epoch=t).e_id for t in range(400)))
    expected = 400 * 5 * 5 / 40
    assert abs(same - expected) < 4 * np.sqrt(expected)


@pytest.fixture(scope="module")
def random_graph() -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(300, size=(2, 4000))
    edges = np.unique(edges[:, edges[0] != edges[1]], axis=1)
    return Graph.from_edge_index(edges, 300, directed=True)


def test_an_epoch_has_every_seed_once_in_a_new_order(random_graph: Graph) -> None:
    some = NeighborSampler(random_graph, (4, 3), batch_size=64, seed=5)
    epochs = [list(some.epoch(number)) for number in (0, 1)]
    orders = [np.concatenate([batch.n_id[: batch.batch_size] for batch in epoch]) for epoch in epochs]
    assert len(epochs[0]) == len(some) == 5 and [batch.batch_size for batch in epochs[0]] == [64] * 4 + [44]
    assert all(sorted(order.tolist()) == list(range(300)) for order in orders)
    assert not np.array_equal(*orders)
    plain = np.concatenate([batch.n_id[: batch.batch_size] for batch in some.epoch(0, [7, 3, 9], shuffle=False)])
    assert plain.tolist() == [7, 3, 9]
    mask = np.zeros(300, bool)
    mask[[3, 9]] = True
    assert sorted(next(some.epoch(0, mask)).n_id[:2].tolist()) == [3, 9]


def test_batches_depend_only_on_seed_epoch_and_index(random_graph: Graph) -> None:
    def epoch(seed: int, number: int) -> list[Sampled]:
        return list(NeighborSampler(random_graph, (4, 3), batch_size=64, seed=seed).epoch(number))

    alone = epoch(5, 2)
    with ThreadPoolExecutor(4) as threads:
        parallel = list(threads.map(lambda _: epoch(5, 2), range(4)))
    assert all(equal(a, b) for other in parallel for a, b in zip(alone, other, strict=True))
    assert not any(equal(a, b) for a, b in zip(alone, epoch(6, 2), strict=True))
    one = NeighborSampler(random_graph, (4, 3), batch_size=64, seed=5)
    first, second = one.epoch(2), one.epoch(2)  # interleaved iterators do not affect each other
    assert all(equal(next(first), next(second)) for _ in alone)
    assert equal(alone[3], one.sample(alone[3].n_id[:64], epoch=2, batch=3))
    assert not equal(alone[3], one.sample(alone[3].n_id[:64], epoch=2, batch=4))
    assert [equal(next(iter(one)), next(one.epoch(number))) for number in (0, 1)] == [True, True]


def test_e_id_of_an_undirected_graph() -> None:
    graph = Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])
    sampled = NeighborSampler(graph, (-1,)).sample([1])
    ends = graph.to_edge_index()[:, sampled.e_id]
    assert (ends == sampled.n_id[sampled.edge_index]).all() and ends.tolist() == [[0, 2], [1, 1]]


def test_a_real_graph() -> None:
    real_data.node_graph("Texas")  # skips where there are no data
    from detours.data import load

    graph = load("Texas", real_data.data_folder()).graphs[0]
    arcs = list(zip(*graph.to_edge_index().tolist(), strict=True))
    for sampled in NeighborSampler(graph, (15, 10), batch_size=50).epoch(3):
        check_sample(arcs, sampled.n_id[: sampled.batch_size].tolist(), (15, 10), sampled)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": ()}, "sizes must be one number for each hop"),
        ({"sizes": (5, 0)}, "sizes must be one number for each hop, 1 or more or -1 for all"),
        ({"sizes": (5, -2)}, "must be an integer of at least -1, but it is -2"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, but it is 0"),
        ({"seed": 1.5}, "seed must be an integer of at least 0"),
    ],
)
def test_invalid_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        NeighborSampler([[0, 1], [1, 0]], **options)


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ([0, 2], r"seeds must be in 0 \.\. 1, but 2 is among them"),
        ([-1], "but -1 is among them"),
        ([1, 1], "some are repeated"),
        ([0.5], "must be a list of node indices"),
        ([[0]], "must be a list of node indices"),
    ],
)
def test_invalid_seeds(seeds: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        NeighborSampler([[0, 1], [1, 0]]).sample(seeds)
