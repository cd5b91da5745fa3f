"""Files of other kinds under the names of edge lists: none is misread without a word."""

import networkx as nx
import pytest

from detours.graph import Graph, files
from tests.graph.cases import edges, put, refused

KARATE = nx.karate_club_graph()
NAMED = nx.relabel_nodes(KARATE, "n{}".format)


def lines(form: str, graph: nx.Graph = KARATE) -> str:
    return "".join(form.format(u, v, at) + "\n" for at, (u, v) in enumerate(graph.edges))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 1\n", 'give format="mtx"'),
        ("*Vertices 3\n1 a\n2 b\n3 c\n*Edges\n1 2\n", 'give format="pajek"'),
        ("*network x\n*vertices 2\n1 a\n2 b\n*Edges\n1 2\n", 'give format="pajek"'),
        ("graph [\n node [ id 0 ]\n]\n", 'give format="gml"'),
        ('Creator "Gephi"\ngraph\n[\n', 'give format="gml"'),
        ("dl n=3 format=edgelist1\ndata:\n1 2 1\n", "a DL file of UCINET"),
        ("DL\nN=3\nDATA:\n0 1 1\n", "a DL file of UCINET"),
        ("graph G {\n" + lines("{} -- {};") + "}\n", "a DOT file"),
        ("strict digraph {\n a -> b\n}\n", "a DOT file"),
        ("nodedef>name VARCHAR,label VARCHAR\n0,a\n1,b\nedgedef>node1,node2\n0,1\n", "a GDF file"),
        ('{"nodes": [1, 2]}\n', "JSON"),
        ('[\n{"source": 1, "target": 2}\n]\n', "JSON"),
        ("0 zero\n1 one\n2 two\n#\n0 1\n1 2 label\n", "a TGF file"),
        ("0: 1 2\n1: 0\n2:\n3: 0\n", "a node, a colon and its neighbours"),
        ("0;1;2;3\n1;0\n2;0\n3;0;\n", "replace ; by blanks"),
        ("0,1,2,3\n1,0\n2,0\n3,0\n", "replace , by blanks"),
        ("a;b;c;d\nb;a\nc;a\nd;a\n", "adjacency list"),
        ("# nodes: 4, edges: 3;\ta tab\n0 1 2 3\n1 0\n2 0\n3 0\n", "adjacency list"),
        ("0,1,2,3\n1,0,,\n2,0,,\n3,0,,\n", "replace , by blanks"),
    ],
)
@pytest.mark.parametrize("name", ["g.txt", "g.csv.gz"])
def test_other_files_are_called_by_their_name(tmp_path, name, text, says):
    refused(put(tmp_path, name, text), says)


@pytest.mark.parametrize(
    "text",
    [
        lines("{},{},{{'weight': 0.5}}"),
        "#\n# a lone one above\n#\n" + lines("{} {}"),
        "7 0\n#\n" + lines("{} {}") + "0 7\n",
        lines("{};{};9;8"),
        "graph target\n" + lines("{} {}", NAMED),
        'creator "n0" 5\n' + lines("{} {} 1", NAMED),
        "".join(f"{node},{node + 1},{node % 5},{'' if node % 3 else 1}\n" for node in range(40)),
        "100000 5\n" + "".join(f"{node} {node + 200000}\n" for node in range(1, 9000)),
    ],
)
def test_edges_are_none_of_them(tmp_path, text):
    assert Graph.read(put(tmp_path, "g.txt", text)).num_nodes >= len(KARATE)


@pytest.mark.parametrize("text", ["3 3\n3 2\n2 1\n1 3\n", "2 1 2\n2 1 1\n1 2 2\n", "1 2\n2 3\n3 1\n#\n1 3\n"])
def test_few_edges_are_none_of_them(tmp_path, text):
    """METIS has no loops, and its formats are made of 0 and 1; the labels of TGF are no nodes."""
    assert len(files.read(put(tmp_path, "g.txt", text)).edge_index.T) == text.replace("#\n", "").count("\n")


@pytest.mark.parametrize("sep", [",", ";", " ", "\t"])
@pytest.mark.parametrize("corner", ["", "name", None])
def test_a_matrix_with_names_is_refused(tmp_path, sep, corner):
    table = nx.to_pandas_adjacency(NAMED, weight=None, dtype=int)
    header = [*([] if corner is None else [corner]), *table]
    rows = [[name, *map(str, row)] for name, row in zip(table, table.to_numpy(), strict=True)]
    text = "\n".join(sep.join(row) for row in ([header, *rows]))
    refused(put(tmp_path, "g.txt", "% c\n" + text), "from_pandas_adjacency", line=2)


@pytest.mark.parametrize("form", ["{} pp {}", "{}\tpp\t{}", "{};pp;{}"])
def test_what_joins_two_nodes_is_doubted(tmp_path, form):
    """As in the simple interaction format of Cytoscape."""
    path = put(tmp_path, "g.txt", lines(form))
    with pytest.warns(UserWarning, match="the columns 1 and 2 were read as nodes; .* such as 1 and 3"):
        Graph.read(path)
    assert Graph.read(path, columns=(1, 3)).num_edges == 78


@pytest.mark.parametrize("sep", [" ", "\t", ","])
def test_the_numbers_of_nodes_and_edges_are_doubted(tmp_path, recwarn, sep):
    text = lines("{} {}").replace(" ", sep)
    with pytest.warns(UserWarning, match="the first line, 34 78, was read as an edge, although it may be the number"):
        assert Graph.read(put(tmp_path, "g.txt", f"34{sep}78\n{text}")).num_edges == 79
    recwarn.clear()
    assert Graph.read(put(tmp_path, "g.txt", f"#34{sep}78\n{text}")).num_edges == 78
    for other in (f"33{sep}78", f"34{sep}77"):
        Graph.read(put(tmp_path, "g.txt", f"{other}\n{text}"))
    assert not [each for each in recwarn if "number of nodes" in str(each.message)]


@pytest.mark.parametrize(
    "text",
    [
        "protein1 protein2 combined_score\n" + lines("{} {} 49{}", NAMED),  # of STRING
        "\ufeffVon;Nach;Gewicht\r\n" + lines("{};{};{},5\r", NAMED),
        "Von\tNach\tGewicht\n" + lines("{}\t{}\t{},5", NAMED),
        lines("{}\t{}\t{},5", NAMED),
        lines("{} {} {},5", NAMED),
        "Von Nach Gewicht\n" + lines("{} {} {},5", NAMED),
        "sep=;\r\nsource;target\r\n" + lines("{};{}\r", NAMED),
        "\ufeffsep=,\nsource,target\n" + lines("{},{}", NAMED),
    ],
)
def test_headers_above_numbers_and_marks_of_excel(tmp_path, recwarn, text):
    graph = Graph.read(put(tmp_path, "g.txt", text), strict=True)
    assert edges(graph) == list(NAMED.edges) and not recwarn
    assert edges(Graph.read(tmp_path / "g.txt", columns=(1, 2))) == list(NAMED.edges)


@pytest.mark.parametrize("sep", [" ", ",", ";"])
def test_lines_of_more_nodes_are_doubted(tmp_path, recwarn, sep):
    sets = "1 2\n3 4 1\n2 5 4 1\n5 1 3\n1 2 3 4 5\n".replace(" ", sep)
    with pytest.warns(UserWarning, match="lines have 2 to 5 columns, .*; if a line is a list of nodes, write a line"):
        Graph.read(put(tmp_path, "g.txt", sets))
    recwarn.clear()
    assert Graph.read(put(tmp_path, "g.txt", sets), columns=(1, 2)).num_nodes == 5
    for text in ("0 1 50 60\n0 2 10\n2 1 70 80 90\n", "0 1\n1 2 1\n2 0 1\n"):
        Graph.read(put(tmp_path, "g.txt", text.replace(" ", sep)))
    assert not [each for each in recwarn if "list of nodes" in str(each.message)]


@pytest.mark.parametrize("sep", [" ", ",", ";"])
def test_missing_values_are_doubted(tmp_path, sep):
    text = "source target\nAda Grace\nGrace NaN\nNULL Ada\nNa Cl\n".replace(" ", sep)
    with pytest.warns(UserWarning, match="NULL, NaN was read as a node, but may denote a missing value"):
        assert Graph.read(put(tmp_path, "g.csv", text)).num_nodes == 6


def test_times_that_are_also_ids_are_doubted(tmp_path):
    text = "".join(f"{20 * at} {u} {v}\n" for at, (u, v) in enumerate(KARATE.edges))
    with pytest.warns(UserWarning, match="name these, such as 2 and 3"):
        Graph.read(put(tmp_path, "g.txt", text))
