"""Where nodes are drawn: distances on paper follow those in the graph, and nothing overlaps."""

import sys

import networkx as nx
import numpy as np
import pytest

from detours.errors import InputError
from detours.graph import Graph
from detours.viz.layout import stress_layout


@pytest.mark.parametrize(
    "graph", [nx.path_graph(6), nx.cycle_graph(8), nx.petersen_graph(), nx.complete_graph(4), nx.star_graph(5)]
)
def test_edges_are_about_as_long_as_each_other_and_no_two_nodes_meet(graph: nx.Graph) -> None:
    points = stress_layout(Graph.from_networkx(graph))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.isfinite(points).all() and points.shape == (len(graph), 2)
    assert apart[~np.eye(len(graph), dtype=bool)].min() > 0.2
    lengths = [apart[a, b] for a, b in graph.edges]
    assert max(lengths) < 2.5 * min(lengths)


def test_a_path_is_drawn_straight() -> None:
    points = stress_layout(Graph.from_networkx(nx.path_graph(6)))
    assert np.ptp(points[:, 0]) == pytest.approx(5, rel=0.05) and np.ptp(points[:, 1]) < 0.2


def test_components_lie_apart() -> None:
    graph = Graph.from_networkx(
        nx.disjoint_union_all([nx.cycle_graph(5), nx.path_graph(1), nx.cycle_graph(3), nx.path_graph(1)])
    )
    points = stress_layout(graph)
    assert np.array_equal(points, stress_layout(graph))
    parts = [points[:5], points[5:6], points[6:9], points[9:]]
    for at, part in enumerate(parts):
        for other in parts[:at]:
            assert np.linalg.norm(part[:, None] - other[None], axis=2).min() > 0.9


def test_nothing_to_draw() -> None:
    assert stress_layout(Graph.from_edge_index(np.empty((2, 0), int), num_nodes=0)).shape == (0, 2)


def test_without_networkx_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_edge_index([[0, 1], [1, 0]])
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match="This needs networkx, which is not installed; run: pip install networkx"):
        stress_layout(graph)
