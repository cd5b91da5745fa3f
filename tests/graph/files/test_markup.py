import sys

import networkx as nx
import pytest

from detours.errors import DroppedEdgesWarning, InputError
from detours.graph import Graph
from tests.graph.cases import edges, put, refused


@pytest.mark.parametrize("ending", ["graphml", "gml", "graphml.gz"])
def test_markup_by_networkx(tmp_path, ending):
    source = nx.Graph([("anna", "bob"), ("bob", "carl"), ("dora", "anna")])
    write = nx.write_gml if ending == "gml" else nx.write_graphml
    write(source, tmp_path / f"g.{ending}")
    graph = Graph.read(tmp_path / f"g.{ending}", strict=True)
    assert graph == Graph.from_networkx(source) and edges(graph) == list(source.edges)
    write(nx.path_graph([7, 2, 9]), tmp_path / f"g.{ending}")
    assert Graph.read(tmp_path / f"g.{ending}").name_list() == [2, 7, 9]
    write(nx.DiGraph([(0, 1), (1, 2)]), tmp_path / f"g.{ending}")
    graph = Graph.read(tmp_path / f"g.{ending}", strict=True)
    assert graph.directed and graph.names is None and graph.num_arcs == 2  # as the file says
    with pytest.warns(DroppedEdgesWarning, match="2 one-way"):
        assert Graph.read(tmp_path / f"g.{ending}", directed=False).num_arcs == 4


def test_gml_without_labels(tmp_path):
    text = "graph [ node [ id 4 ] node [ id 2 ] edge [ source 4 target 2 ] ]"
    assert Graph.read(put(tmp_path, "g.gml", text)).name_list() == [2, 4]


@pytest.mark.parametrize(
    ("name", "text", "line", "says"),
    [
        ("g.graphml", "<graphml><graph><node id='a'/>\n<edge", 2, "cut off"),
        ("g.graphml", "<html></html>", None, "no GraphML"),
        ("g.graphml", "0 1\n", None, "no GraphML"),
        ("g.gml", "0 1\n", None, "GML"),
        ("g.gml", "graph [ node [ id 1 ]", None, "GML"),
    ],
)
def test_broken_markup(tmp_path, name, text, line, says):
    refused(put(tmp_path, name, text), says, line)


def test_markup_with_nan_weight(tmp_path):
    nx.write_graphml(nx.Graph([("a", "b", {"weight": float("nan")})]), tmp_path / "g.graphml")
    refused(tmp_path / "g.graphml", "NaN")


def test_markup_without_networkx_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    path = put(tmp_path, "g.gml", "graph [ node [ id 4 ] ]")
    with pytest.raises(InputError, match="pip install networkx"):
        Graph.read(path)
