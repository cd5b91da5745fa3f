"""Halos equal the balls found by NetworkX."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import detours
from detours.counting.shrink.halo import cut_halo, radius
from detours.graph.disk_rows import Rows, save_reverse
from tests.counting.on_disk.cases import saved
from tests.oracles.halos import ball


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_halo_equals_networkx_ball(tmp_path: Path, directed: bool, k: int) -> None:
    graph = nx.gnp_random_graph(80, 0.03, seed=k, directed=directed)
    given = saved(detours.Graph.from_networkx(graph, directed=directed), tmp_path / "graph")
    rows = Rows.open(tmp_path / "graph")
    back = save_reverse(rows, tmp_path / "back", 13) if directed else None
    halo = cut_halo(rows, back, 20, 30, k, 10**6)
    expected = ball(graph, range(20, 30), radius(k))
    assert dict(zip(halo.node.tolist(), halo.distance.tolist(), strict=True)) == expected
    source = halo.node[np.repeat(np.arange(len(halo.node)), np.diff(halo.indptr))]
    arcs = set(zip(source.tolist(), halo.node[halo.indices].tolist(), strict=True))
    border = {node for node, steps in expected.items() if steps == radius(k) and k % 2}
    inside = [(u, v) for u, v in graph.subgraph(expected).edges if not {u, v} <= border]
    assert arcs == ({*inside} if directed else {*inside, *((v, u) for u, v in inside)})
    assert halo.node[halo.first : halo.last].tolist() == list(range(20, 30))
    assert given.num_nodes == rows.num_nodes
