"""The figures: files that are what they claim to be, and drawings that say what the data say."""

import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from detours.data import GraphSet
from detours.errors import InputError
from detours.experiments.expressiveness.colouring import colour_pair, most_telling_pair
from detours.graph import Graph
from detours.viz import saved
from detours.viz.matrix import ratio_matrix
from detours.viz.pair import pair_figure

matplotlib = pytest.importorskip("matplotlib")


def texts(figure: object) -> list[str]:
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]  # type: ignore[attr-defined]


def test_the_matrix_says_every_percentage(tmp_path: Path) -> None:
    values = np.array([[0.0, 0.9996], [1.0, np.nan]])
    figure = ratio_matrix(["1-WL", "4-DeN"], ["EXP", "MUTAG"], values, title="Told apart").figure
    said = texts(figure)
    assert {"0", "99.9", "100", "–", "1-WL", "4-DeN", "EXP", "MUTAG", "Told apart"} <= set(said)


def test_files_are_complete_and_the_same_every_time(tmp_path: Path) -> None:
    def draw(stem: str) -> list[Path]:
        return saved(ratio_matrix(["1-WL"], ["EXP"], np.array([[0.5]])).figure, tmp_path / stem)

    first, second = draw("a"), draw("b")
    assert [file.name for file in first] == ["a.png", "a.svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG") and first[0].read_bytes().endswith(b"IEND\xaeB`\x82")
    assert "</svg>" in first[1].read_text() and ">50<" in first[1].read_text().replace(" ", "")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.png", "a.svg", "b.png", "b.svg"]


@pytest.fixture
def prism_and_bipartite() -> tuple[Graph, Graph]:
    """Both 3-regular with six nodes: the degrees never tell them apart, triangles do."""
    prism = nx.cartesian_product(nx.cycle_graph(3), nx.path_graph(2))
    return Graph.from_networkx(nx.convert_node_labels_to_integers(prism)), Graph.from_networkx(
        nx.complete_bipartite_graph(3, 3)
    )


def test_rings_mark_what_tells(prism_and_bipartite: tuple[Graph, Graph]) -> None:
    figure = pair_figure(*colour_pair(*prism_and_bipartite, k=2, title="A pair"))
    said = texts(figure)
    assert any(text.startswith("A pair\n") for text in said)
    assert said.count("1 colour") == 2  # from the degrees: alike, nothing ringed
    assert said.count("1 colour, 6 ringed") == 2  # from the detours: every node of both graphs


def test_the_pair_drawn_has_equal_degrees_and_different_classes(prism_and_bipartite: tuple[Graph, Graph]) -> None:
    path = Graph.from_networkx(nx.path_graph(6))
    data = GraphSet("ENZYMES", [path, *prism_and_bipartite, path], np.array([0, 1, 2, 3]))
    pair = most_telling_pair(data)
    assert (pair.first, pair.second) == prism_and_bipartite and re.search("ENZYMES", pair.title)
    with pytest.raises(InputError, match="no pair"):
        most_telling_pair(GraphSet("ENZYMES", [path, path], np.array([0, 1])))
