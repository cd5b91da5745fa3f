"""Synthetic tasks: their classes differ in cycles, but in nothing that message passing sees."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import detours
from detours.data import GraphSet, fused_rings, ring_lattice, rings
from detours.errors import InputError

PAIRED = [rings, fused_rings]


def test_the_classes_differ_in_the_rings() -> None:
    task = rings(40, seed=3)
    for graph, number in zip(task.graphs, task.y, strict=True):
        drawn = graph.to_networkx()
        assert nx.is_connected(drawn)
        assert len(nx.cycle_basis(drawn)) == 2
        hub = graph.num_nodes - 1
        drawn.remove_node(hub)
        # Without the common node: two rings apart, or one twice as long.
        assert nx.number_connected_components(drawn) == 2 - number
        assert len(nx.cycle_basis(drawn)) == 2 - number


@pytest.mark.parametrize("make", PAIRED)
def test_only_cycles_tell_a_pair_apart(make: Callable[..., GraphSet]) -> None:
    task = make(60, seed=1)
    assert task.pairs == [(i, i + 1) for i in range(0, 60, 2)]
    for first, second in zip(task.graphs[::2], task.graphs[1::2], strict=True):
        assert sorted(first.degree) == sorted(second.degree)
        assert detours.wl.same(first, second, init="degree")
        assert not detours.wl.same(first, second, k=5)


@pytest.mark.parametrize("make", PAIRED)
def test_stable_colours_do_not_depend_on_the_class(make: Callable[..., GraphSet]) -> None:
    """Over the whole task: of the graphs with any given colours as many are of class 0 as of class 1."""
    task = make(60, seed=2)
    for group in detours.wl.refine(task.graphs, init="uniform").groups():
        assert 2 * task.y[group].sum() == len(group)


@pytest.mark.parametrize("sizes", [(3,), (3, 4), (4, 5), (5, 6), (6,), (3, 6)])
def test_both_classes_have_the_same_number_of_rings(sizes: tuple[int, ...]) -> None:
    task = fused_rings(8, sizes=sizes, seed=5)
    for pair in zip(task.graphs[::2], task.graphs[1::2], strict=True):
        drawn = [graph.to_networkx() for graph in pair]
        assert all(map(nx.is_connected, drawn))
        one, other = _ring_sizes(drawn[0])
        assert {one, other} <= set(sizes)
        found = [[_edges(cycle) for cycle in nx.simple_cycles(graph, length_bound=max(one, other))] for graph in drawn]
        for size in (one, other):
            assert len({sum(len(cycle) == size for cycle in cycles) for cycles in found}) == 1
        shared = [
            sum(len(a & b) == 1 for a, b in combinations(cycles, 2) if sorted(map(len, (a, b))) == [one, other])
            for cycles in found
        ]
        assert shared == [2, 0]


def _ring_sizes(graph: nx.Graph) -> list[int]:
    """The two rings of sheet 0 in a graph of class 0, where that sheet is whole."""
    sheet = graph.copy()
    sheet.remove_node(len(graph) - 1)
    return sorted(map(len, nx.minimum_cycle_basis(sheet.subgraph(nx.node_connected_component(sheet, 0)))))


def _edges(cycle: list[int]) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in zip(cycle, cycle[1:] + cycle[:1], strict=True)}


# ---------------------------------------------------------------- the ring lattice


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("options", [{"nodes": 600}, {"nodes": 300, "sizes": (3, 4, 5)}, {"nodes": 40, "sizes": (3,)}])
def test_the_class_is_membership_in_a_short_ring(options: dict[str, object], seed: int) -> None:
    task = ring_lattice(**options, seed=seed)  # type: ignore[arg-type]
    (graph,) = task.graphs
    sizes = options.get("sizes", (4, 5, 6))
    assert isinstance(sizes, tuple)
    drawn = graph.to_networkx()
    assert task.level == "node" and nx.is_connected(drawn) and set(graph.degree.tolist()) == {2, 3}
    on_short = {node for cycle in nx.simple_cycles(drawn, length_bound=2 * min(sizes) - 1) for node in cycle}
    assert on_short == set(np.flatnonzero(task.y).tolist())
    counts = detours.count(graph, max(sizes) - 1)
    assert np.array_equal(counts.node > 0, task.y == 1)
    assert {length for length, number in counts.cycles.items() if number} <= set(sizes)


def test_every_colour_has_as_many_nodes_of_either_class() -> None:
    task = ring_lattice(seed=3)
    assert 2000 <= task.graphs[0].num_nodes <= 2000 + 4 * 6
    colours = detours.wl.refine(task.graphs, init="uniform")
    assert colours.stable and colours.num_colors[-1] > 100
    colour = colours.of(0)
    assert np.array_equal(2 * np.bincount(colour, weights=task.y), np.bincount(colour))


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("make", [*PAIRED, ring_lattice])
def test_the_same_seed_gives_the_same_task(make: Callable[..., GraphSet]) -> None:
    assert make(40, seed=4).digest == make(40, seed=4).digest != make(40, seed=5).digest


def test_classes_take_turns() -> None:
    assert np.array_equal(rings(10).y, [0, 1] * 5) and np.array_equal(fused_rings(10).y, [0, 1] * 5)


@pytest.mark.parametrize("make", PAIRED)
@pytest.mark.parametrize("wrong", [{"graphs": 3}, {"graphs": 0}, {"sizes": ()}, {"sizes": (2, 5)}])
def test_invalid_arguments(make: Callable[..., GraphSet], wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="give"):
        make(**wrong)


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"sizes": ()}, {"sizes": (2, 3)}, {"sizes": (3, 6)}])
def test_invalid_lattices(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"give|nodes, .* must be an integer of at least 1, but it is 0"):
        ring_lattice(**wrong)  # type: ignore[arg-type]
