"""Figures of results: they draw what was counted, on the axes that they are given."""

import networkx as nx
import numpy as np
import pytest

import detours
from detours.errors import InputError
from detours.viz import draw_accuracies, draw_against, draw_graph, draw_learning, draw_lengths, new_figure

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def result() -> detours.Detours:
    return detours.count(nx.karate_club_graph(), 4)


@pytest.mark.parametrize("log", [False, True])
def test_the_graph_has_every_edge_once_and_the_busiest_above(result: detours.Detours, log: bool) -> None:
    ax = new_figure(4, 4).add_subplot()
    assert draw_graph(result, ax, log=log) is ax
    lines, dots = ax.collections
    drawn = lines.get_array()
    assert len(drawn) == 78 and drawn.max() == result.edge.max() and (np.diff(drawn) >= 0).all()
    assert (np.diff(lines.get_linewidths()) >= 0).all()
    assert dots.get_array().tolist() == result.node.tolist()
    assert sum(text.get_text() != "" for text in ax.texts) == 34


def test_the_scale_of_counts_has_whole_numbers() -> None:
    ax = detours.count([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)], 2).draw()  # at most two detours
    ax.figure.canvas.draw()
    (scale,) = [other for other in ax.figure.axes if other is not ax]
    assert scale.get_yticks().tolist() == [0, 1, 2]


def test_directed_graphs_and_names_with_dollars() -> None:
    graph = nx.relabel_nodes(nx.cycle_graph(3, create_using=nx.DiGraph), {0: "$x$", 1: "a very long name"})
    ax = detours.count(graph, 2).draw()
    ax.figure.canvas.draw()  # text is laid out only then
    assert [text.get_text() for text in ax.texts][:2] == [r"\$x\$", "a very long…"]
    assert len(ax.collections[0].get_array()) == 3


@pytest.mark.parametrize("measure", ["degree", "clustering", "betweenness"])
def test_measures_are_those_of_networkx(result: detours.Detours, measure: str) -> None:
    graph = nx.karate_club_graph()
    found = {
        "degree": dict(graph.degree),
        "clustering": nx.clustering(graph),
        "betweenness": nx.betweenness_centrality(graph),
    }
    points = np.asarray(draw_against(result, measure).collections[0].get_offsets())
    assert points[:, 0] == pytest.approx(list(found[measure].values()))
    assert points[:, 1].tolist() == result.node.tolist()


def test_the_degree_of_a_directed_graph_is_the_out_degree() -> None:
    star = nx.DiGraph([("hub", "a"), ("hub", "b"), ("a", "b")])
    for graph, label, degrees in ((star, "out-degree", [2, 1, 0]), (star.to_undirected(), "degree", [2, 2, 2])):
        ax = draw_against(detours.count(graph, 2))
        assert (ax.get_xlabel(), np.asarray(ax.collections[0].get_offsets())[:, 0].tolist()) == (label, degrees)


def test_a_measure_that_is_not_known(result: detours.Detours) -> None:
    with pytest.raises(InputError, match="measure"):
        draw_against(result, "fame")


def test_boxes_by_length_and_class(result: detours.Detours) -> None:
    many = detours.count_many([nx.cycle_graph(4), nx.complete_graph(4)], 4)
    ax = draw_lengths({"club": result, "small": many})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["club", "small"]
    assert len(ax.patches) == 6


def test_curves_and_accuracies_on_given_axes() -> None:
    left, right = new_figure(6, 3).subplots(1, 2)
    assert draw_learning({"a": [0.5, 0.75]}, left) is left and left.get_lines()[0].get_ydata().tolist() == [50, 75]
    assert draw_accuracies({"GIN": {"MUTAG": (80.0, 5.0)}}, right) is right
