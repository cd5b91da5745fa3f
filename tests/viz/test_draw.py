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


def test_low_accuracies_are_drawn_inside_the_axes() -> None:
    ax = draw_learning({"ENZYMES": [0.17, float("nan"), 0.35], "empty": []})
    assert ax.get_ylim() == (14, 103)
    assert draw_learning({"MUTAG": [0.7, 0.9]}).get_ylim() == draw_learning({}).get_ylim() == (40, 103)


def test_limits_of_given_axes_stay() -> None:
    ax = new_figure(3, 3).add_subplot()
    ax.set_ylim(0, 50)
    assert draw_learning({"a": [0.1, 0.2]}, ax).get_ylim() == (0, 50)
    assert draw_learning({"a": [0.0, 0.9]}, new_figure(3, 3).add_subplot()).get_ylim() == (0, 103)


@pytest.mark.parametrize("order", [(2, 4), (4, 2)])
def test_results_of_different_k_have_their_own_lengths(order: tuple[int, int]) -> None:
    ax = draw_lengths({f"k = {k}": detours.count(nx.complete_graph(5), k) for k in order})
    assert [label.get_text() for label in ax.get_xticklabels()] == ["2", "3", "4"]
    assert len(ax.patches) == 1 + 3


@pytest.mark.parametrize("given", [{}, {"none": []}, {"a number": [3]}, [3], 3])
def test_boxes_need_results(given: object) -> None:
    with pytest.raises(InputError, match="results must be a Detours"):
        draw_lengths(given)  # type: ignore[arg-type]


def test_boxes_of_a_class_need_one_k(result: detours.Detours) -> None:
    with pytest.raises(InputError, match=r"results\['a'\] must have a single k, but its graphs have k = 2, 4."):
        draw_lengths({"a": [result, detours.count(nx.complete_graph(5), 2)]})


def test_results_by_name_as_pairs() -> None:
    result = detours.count(nx.complete_graph(4), 3)
    pairs = draw_lengths([("a", result), ("b", result)])  # type: ignore[arg-type]
    assert len(pairs.patches) == len(draw_lengths({"a": result, "b": result}).patches) == 4


def test_boxes_of_a_graph_without_edges() -> None:
    assert len(draw_lengths(detours.count(nx.empty_graph(3), 3)).patches) == 2


def test_the_title_says_what_was_counted() -> None:
    chordless = detours.count(nx.complete_graph(4), 3, chordless=True)
    assert draw_graph(chordless).get_title() == "chordless 3-DeN"
    assert "chordless 3-DeN of" in chordless._repr_html_()


def test_positions_by_name_and_by_index() -> None:
    graph = nx.relabel_nodes(nx.cycle_graph(4), dict(enumerate("dcba")))
    counted, layout = detours.count(graph, 3), nx.spring_layout(graph, seed=1)
    points = np.array([layout[name] for name in graph])
    assert draw_graph(detours.count(nx.empty_graph(0), 2), positions={}).get_title() == "2-DeN"
    for positions in (layout, points, points.tolist()):
        assert draw_graph(counted, positions=positions).collections[1].get_offsets().tolist() == points.tolist()


@pytest.mark.parametrize(
    ("positions", "what"),
    [
        ({"a": (0, 0)}, "it has none for 'b'"),
        ({"a": (0, 0), "b": (1, 1, 1)}, "it is {'a'"),
        ([[0, 0]], r"an array of shape \(1, 2\)"),
        ([[0, 0, 0], [1, 1, 1]], r"an array of shape \(2, 3\)"),
        ([[0, float("nan")], [1, 1]], "numbers that are not finite"),
        ("circle", "'circle'"),
        (3, "an array of shape"),
    ],
)
def test_positions_that_do_not_fit_are_refused(positions: object, what: str) -> None:
    with pytest.raises(InputError, match=f"positions must be .*{what}"):
        draw_graph(detours.count(nx.Graph([("a", "b")]), 2), positions=positions)  # type: ignore[arg-type]
