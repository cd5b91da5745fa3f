import random
import sys
from pathlib import Path

import networkx as nx
import pytest

import detours
from detours.errors import DroppedEdgesWarning, FileFormatError, InputError
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
        ("g.graphml", "<html></html>", None, "not GraphML"),
        ("g.graphml", "0 1\n", None, "not GraphML"),
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


@pytest.mark.parametrize(
    ("text", "directed", "expected"),
    [
        ('1 "a"\n2 "b"\n3 "c"\n*Edgeslist\n1 2 3\n2 3\n', False, [("a", "b"), ("a", "c"), ("b", "c")]),
        ('1 "a"\n2 "b"\n3 "c"\n*Arcslist\n1 2 3\n', True, [("a", "b"), ("a", "c")]),
        ("*Arcs\n1 2\n*Edges\n2 3 0.5\n", True, [(1, 2), (2, 3), (3, 2)]),
        ("*Edges\n2 3\n*Arcs :2 'later'\n1 2\n", True, [(1, 2), (2, 3), (3, 2)]),
        ('*Edges :1 "one"\n1 2\n*Edges :2 "other"\n2 3\n', False, [(1, 2), (2, 3)]),
        ('1 "a"\n2 "a"\n3 "c"\n*Edges\n1 2\n2 3\n3 1\n', False, [(1, 2), (1, 3), (2, 3)]),
        ('% no labels\n1\n2 0.5 0.5\n3 ""\n*edges\n1 3\n', False, [("1", "3")]),
    ],
)
def test_sections_of_pajek(tmp_path, text, directed, expected):
    graph = Graph.read(put(tmp_path, "g.net", f"*Vertices 3\n{text}"), strict=True)
    assert graph.directed is directed and graph.num_nodes == 3
    found = edges(graph)
    assert sorted(found if directed else map(tuple, map(sorted, found))) == expected


def test_weights_of_pajek_are_kept(tmp_path):
    found = detours.count(put(tmp_path, "g.net", "*Vertices 3\n*Edges\n1 2 0.5\n2 3 p Dots\n"), k=2).to_networkx()
    assert [data.get("weight") for *_, data in found.edges(data=True)] == [0.5, None]


def test_pajek_as_igraph_writes_it(tmp_path):
    igraph = pytest.importorskip("igraph")
    igraph.Graph(4, [(0, 1), (1, 2), (2, 0)]).write_pajek(str(tmp_path / "g.net"))
    graph = Graph.read(tmp_path / "g.net")
    assert graph.num_nodes == 4 and graph.num_edges == 3 and not graph.directed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("*Edges\n1 4\n", r"line 3: an edge joins vertices 1 .. 3, but this is '1 4'"),
        ("*Edges\n1\n", "line 3: an edge joins vertices"),
        ("*Matrix\n0 1 1\n", r"the section \*matrix is unknown"),
        ("*Edges\n1 2\n*Vertices 2\n", "several networks"),
        ('4 "d"\n*Edges\n1 2\n', "vertices are numbered 1 .. 3, but there is a vertex 4"),
        ("*Edges\n1 2 nan\n", "NaN"),
        ('1 "a"\n2 "b"\n', "it ends after 2 of 3 vertices, without"),
    ],
)
def test_damaged_pajek(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=message):
        Graph.read(put(tmp_path, "g.net", f"*Vertices 3\n{text}"))


@pytest.mark.parametrize("number", [2**64, 10**7])
def test_an_impossible_number_of_vertices_is_refused(tmp_path, number):
    with pytest.raises(FileFormatError, match=f"line 1: it declares {number} vertices, but the file has 3 lines"):
        Graph.read(put(tmp_path, "g.net", f"*Vertices {number}\n*Edges\n1 2\n"))


@pytest.mark.parametrize(
    ("ending", "kind", "names"),
    [
        ("net", "a Pajek network", ["", " ", "a\nb", 'a"b', "a\tb", "a\xa0b", "a\u2028b", "\ud800", "\0"]),
        ("adjlist", "an adjacency list", ["", "C#1", "a b", " a", "a ", "%a", "{a", "<a", "\ud800", "\x1f", "\0"]),
        ("graphml", "GraphML", ["\ud800", "\x07", "\uffff"]),
        ("gexf.gz", "GEXF", ["\ud800", "\x07", "\uffff"]),
    ],
)
def test_names_that_a_format_cannot_hold(tmp_path, ending, kind, names):
    for name in names:
        with pytest.raises(InputError, match=f"cannot be written to {kind}; write "):
            Graph.from_networkx(nx.Graph([(name, "c")])).write(tmp_path / f"g.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["net", "adjlist", "graphml", "gml", "gexf"])
def test_odd_names_are_read_back_or_refused(tmp_path, ending):
    generator, path = random.Random(ending), tmp_path / f"g.{ending}"
    letters = "ab1#%\"'&<>,; \t\n\r\x0b\x1c\x1f\x85\xa0\u2028\ud800\0*{}[]\\/|:=é\ufffe"
    written = 0
    for _ in range(200):
        names = sorted({"".join(generator.choices("ab", k=2)) + generator.choice(letters) for _ in range(3)})
        graph = Graph.from_networkx(nx.path_graph(names))
        try:
            graph.write(path)
        except InputError:
            continue
        assert {frozenset(edge) for edge in edges(Graph.read(path))} == {frozenset(edge) for edge in edges(graph)}
        written += 1
    assert written > 20


def test_gml_with_non_ascii_letters_and_repeated_edges(tmp_path):
    nodes = 'node [ id 0 label "Müller" ] node [ id 1 label "中文" ]'
    text = f"graph [ {nodes} edge [ source 0 target 1 ] edge [ source 1 target 0 ] ]"
    with pytest.warns(DroppedEdgesWarning, match="1 repeated edge"):
        graph = Graph.read(put(tmp_path, "g.gml", text))
    assert graph.name_list() == ["Müller", "中文"] and graph.num_edges == 1 and not graph.directed
    igraph = pytest.importorskip("igraph")
    source = igraph.Graph(3, [(0, 1), (1, 2), (2, 0)], directed=True)
    source.vs["name"] = ["ä", "b", "c"]
    source.write_gml(str(tmp_path / "h.gml"))
    assert Graph.read(tmp_path / "h.gml", strict=True).directed


def test_graphs_within_graphs_are_refused(tmp_path):
    inner = '<graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"/></graph>'
    for content in (f'<graph edgedefault="undirected"><node id="g">{inner}</node></graph>', 2 * inner):
        text = f'<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">{content}</graphml>'
        with pytest.raises(FileFormatError, match="several graphs"):
            Graph.read(put(tmp_path, "g.graphml", text))


def test_adjacency_lists_with_commas_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="separated by blanks"):
        Graph.read(put(tmp_path, "g.adjlist", "a,b,c\nb,c\n"))


def test_pajek_has_edges_or_arcs(tmp_path):
    vertices = '*Vertices 3\n1 "Ada"\n2 "Grace"\n3 "Alan"\n'
    graph = Graph.read(put(tmp_path, "g.net", vertices + "*Edges\n1 2\n2 3 1.5\n"), strict=True)
    assert not graph.directed and edges(graph) == [("Ada", "Grace"), ("Grace", "Alan")]
    arcs = Graph.read(put(tmp_path, "h.net", vertices + "*Arcs\n1 2\n3 2\n"), strict=True)
    assert arcs.directed and arcs.num_arcs == 2


def test_names_with_a_number_sign_in_adjacency_lists(tmp_path):
    lines = "#b x y\n#\nC#1 C#2 # a comment\nC#2 C#3\t#another\nC#3 C#4# one\nC#4 C#5#\nC#5 C#6\n"
    path = put(tmp_path, "g.adjlist", lines)
    assert edges(Graph.read(path)) == [(f"C#{number}", f"C#{number + 1}") for number in range(1, 6)]


@pytest.mark.parametrize("nodes", [2, 3, 6])
def test_nodes_that_are_all_joined_to_each_other_are_not_a_matrix(tmp_path, nodes):
    graph = nx.relabel_nodes(nx.complete_graph(nodes, nx.DiGraph), dict(enumerate("abcdef")))
    Graph.from_networkx(graph).write(tmp_path / "own.adjlist")
    nx.write_adjlist(graph, tmp_path / "g.adjlist")
    for name in ("own.adjlist", "g.adjlist"):
        assert Graph.read(tmp_path / name, directed=True).to_networkx().edges == graph.edges


def test_a_matrix_is_not_an_adjacency_list(tmp_path):
    refused(put(tmp_path, "g.adjlist", "0 1 0\n1 0 1\n0 1 0\n"), "adjacency matrix")
    refused(put(tmp_path, "g.adjlist", "a b c\na 0 1 1\nb 1 0 1\nc 1 1 0\n"), "as in a matrix", line=1)


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


def test_multiline_adjacency_lists_are_refused(tmp_path):
    nx.write_multiline_adjlist(nx.karate_club_graph(), tmp_path / "g.adjlist")
    refused(tmp_path / "g.adjlist", "networkx.read_multiline_adjlist")


def test_gml_keeps_names_as_they_are_printed(tmp_path: Path) -> None:
    names = [(0, 1), (2,), float("nan"), float("inf"), "plain"]
    graph = Graph.from_networkx(nx.relabel_nodes(nx.path_graph(5), dict(enumerate(names))))
    graph.write(tmp_path / "g.gml")
    assert Graph.read(tmp_path / "g.gml").name_list() == [str(name) for name in names]


@pytest.mark.parametrize("name", ["g.gml", "g.net", "g.adjlist"])
def test_text_that_is_not_utf8(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b'*Vertices 2\n1 "B\xe4r"\n2 "b"\n*Edges\n1 2\n')
    with pytest.raises(FileFormatError, match="UTF-8"):
        Graph.read(tmp_path / name)
