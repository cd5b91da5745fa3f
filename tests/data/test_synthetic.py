"""Tasks made in code: their classes differ in cycles, and in nothing that message passing sees."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import detours
from detours.data import rings
from detours.errors import InputError


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


def test_only_cycles_tell_a_pair_apart() -> None:
    task = rings(60, seed=1)
    for first, second in zip(task.graphs[::2], task.graphs[1::2], strict=True):
        assert sorted(first.degree) == sorted(second.degree)
        assert detours.wl.same(first, second, init="degree")
        assert not detours.wl.same(first, second, init="den-by-length", k=5)


def test_the_same_seed_gives_the_same_task() -> None:
    assert rings(10, seed=4).digest == rings(10, seed=4).digest != rings(10, seed=5).digest
    assert np.array_equal(rings(10).y, [0, 1] * 5)


@pytest.mark.parametrize("wrong", [{"graphs": 3}, {"graphs": 0}, {"sizes": ()}, {"sizes": (2, 5)}])
def test_bad_requests(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="give"):
        rings(**wrong)  # type: ignore[arg-type]
