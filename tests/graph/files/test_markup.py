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


def test_names_of_igraph_graphml(tmp_path):
    igraph = pytest.importorskip("igraph")
    source = igraph.Graph([(0, 1), (1, 2)])
    source.vs["name"] = ["Ada", "Grace", "Alan"]
    source.write_graphml(str(tmp_path / "g.graphml"))
    graph = Graph.read(tmp_path / "g.graphml")
    assert graph.name_list() == ["Ada", "Grace", "Alan"] and edges(graph) == [("Ada", "Grace"), ("Grace", "Alan")]
    source.vs["name"] = ["Ada", "Ada", "Alan"]
    source.write_graphml(str(tmp_path / "g.graphml"))
    assert Graph.read(tmp_path / "g.graphml").name_list() == ["n0", "n1", "n2"]


def test_labels_of_gexf(tmp_path):
    source = nx.Graph([(0, 1), (1, 2)])
    nx.set_node_attributes(source, {0: "Ada", 1: "Grace", 2: "Alan"}, "label")
    nx.write_gexf(source, tmp_path / "g.gexf")
    older = (tmp_path / "g.gexf").read_text("utf-8")
    newer = older.replace("http://www.gexf.net/1.2draft", "http://gexf.net/1.3").replace('"1.2"', '"1.3"')
    assert newer != older
    for text in (older, newer):
        (tmp_path / "g.gexf").write_text(text, "utf-8")
        assert edges(Graph.read(tmp_path / "g.gexf")) == [("Ada", "Grace"), ("Grace", "Alan")]
    nx.write_gexf(nx.DiGraph([("a", "b"), ("c", "b")]), tmp_path / "g.gexf")
    assert Graph.read(tmp_path / "g.gexf").directed


def test_pajek_has_edges_or_arcs(tmp_path):
    vertices = '*Vertices 3\n1 "Ada"\n2 "Grace"\n3 "Alan"\n'
    graph = Graph.read(put(tmp_path, "g.net", vertices + "*Edges\n1 2\n2 3 1.5\n"), strict=True)
    assert not graph.directed and edges(graph) == [("Ada", "Grace"), ("Grace", "Alan")]
    arcs = Graph.read(put(tmp_path, "h.net", vertices + "*Arcs\n1 2\n3 2\n"), strict=True)
    assert arcs.directed and arcs.num_arcs == 2


def test_adjacency_lists(tmp_path):
    path = put(tmp_path, "g.adjlist", "# from somewhere\nb a c\nc b\nd\n")
    graph = Graph.read(path, strict=True)
    assert graph.name_list() == ["a", "b", "c", "d"] and graph.num_edges == 2 and not graph.directed
    assert Graph.read(path, directed=True).num_arcs == 3


@pytest.mark.parametrize(
    ("name", "text"), [("g.gexf", "<gexf><graph>"), ("g.gexf", "0 1\n"), ("g.net", "0 1\n"), ("g.net", "*Vertices x\n")]
)
def test_broken_gexf_and_pajek(tmp_path, name, text):
    refused(put(tmp_path, name, text), "", 1 if text.startswith("<gexf") else None)
