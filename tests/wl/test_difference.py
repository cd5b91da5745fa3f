"""Differences of graphs in words."""

import networkx as nx
import pytest

from detours import wl
from detours.counting.result import Detours
from detours.graph import Graph
from detours.wl.difference import describe_difference

HEXAGON, TRIANGLES = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))


@pytest.mark.parametrize(
    ("first", "second", "k", "words"),
    [
        (HEXAGON, TRIANGLES, None, ""),
        (HEXAGON, TRIANGLES, 2, "the first has no 3-cycle, the second two 3-cycles"),
        (HEXAGON, nx.path_graph(6), 2, "the first has six edges, the second five"),
        (HEXAGON, nx.cycle_graph(7), None, "the first has six nodes, the second seven"),
        (nx.path_graph(4), nx.star_graph(3), 2, "the first has two nodes of degree 2, the second none"),
        (nx.cycle_graph(40), nx.disjoint_union_all([nx.cycle_graph(4)] * 10), 3, "no 4-cycle, the second ten 4-cycles"),
        (nx.DiGraph([(0, 1), (1, 2), (2, 0)]), nx.DiGraph([(0, 1), (1, 2), (0, 2)]), 2, "of out-degree"),
    ],
)
def test_words(first: nx.Graph, second: nx.Graph, k: int | None, words: str) -> None:
    difference = describe_difference(Graph.from_any(first), Graph.from_any(second), k)
    assert words in difference if words else difference == ""


def test_the_same_number_of_cycles_through_other_nodes() -> None:
    apart = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 6), (6, 4), (6, 7)])
    close = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 4), (4, 5), (4, 6), (4, 7)])
    assert "node" in describe_difference(Graph.from_any(apart), Graph.from_any(close), 2)


def test_cycles_through_a_node_that_exceed_63_bits_are_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a clique of 1,000 nodes those of up to 8 edges do, although the detours of an edge do not."""

    def refuse(_: Detours) -> None:
        raise OverflowError

    ring = Graph.from_any(HEXAGON)
    monkeypatch.setattr(Detours, "node_cycles", property(refuse))
    assert describe_difference(ring, ring, 2) == ""


def test_separate_reports_the_difference() -> None:
    found = wl.separate(nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5)), nx.cycle_graph(10))
    assert found.witness == "the first has two 5-cycles, the second none" and found.rung == "4-DeN"
    again = wl.separate(nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5)), nx.cycle_graph(10))
    assert all(rung.seconds <= again.seconds for rung in again.rungs)
