"""Files of other formats that are named like edge lists: they are refused, or read with a warning."""

import warnings

import networkx as nx
import pytest

from detours.errors import FileFormatError
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
def test_other_formats_are_refused_by_name(tmp_path, name, text, says):
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
def test_edge_lists_are_not_mistaken_for_other_formats(tmp_path, text):
    assert Graph.read(put(tmp_path, "g.txt", text)).num_nodes >= len(KARATE)


@pytest.mark.parametrize("text", ["3 3\n3 2\n2 1\n1 3\n", "2 1 2\n2 1 1\n1 2 2\n", "1 2\n2 3\n3 1\n#\n1 3\n"])
def test_short_edge_lists_are_not_mistaken_for_other_formats(tmp_path, text):
    """METIS has no loops, and its formats consist of 0 and 1; TGF labels are not nodes."""
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
def test_a_relation_between_two_nodes_causes_a_warning(tmp_path, form):
    """As in the simple interaction format of Cytoscape."""
    path = put(tmp_path, "g.txt", lines(form))
    with pytest.warns(UserWarning, match="the columns 1 and 2 were read as nodes; .* such as 1 and 3"):
        Graph.read(path)
    assert Graph.read(path, columns=(1, 3)).num_edges == 78


@pytest.mark.parametrize("sep", [" ", "\t", ","])
def test_a_first_line_of_counts_causes_a_warning(tmp_path, recwarn, sep):
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
def test_headers_above_numbers_and_sep_lines_of_excel(tmp_path, recwarn, text):
    graph = Graph.read(put(tmp_path, "g.txt", text), strict=True)
    assert edges(graph) == list(NAMED.edges) and not recwarn
    assert edges(Graph.read(tmp_path / "g.txt", columns=(1, 2))) == list(NAMED.edges)


@pytest.mark.parametrize("sep", [" ", ",", ";"])
def test_lines_of_more_nodes_cause_a_warning(tmp_path, recwarn, sep):
    sets = "1 2\n3 4 1\n2 5 4 1\n5 1 3\n1 2 3 4 5\n".replace(" ", sep)
    with pytest.warns(UserWarning, match="lines have 2 to 5 columns, .*; if a line is a list of nodes, write a line"):
        Graph.read(put(tmp_path, "g.txt", sets))
    recwarn.clear()
    assert Graph.read(put(tmp_path, "g.txt", sets), columns=(1, 2)).num_nodes == 5
    for text in ("0 1 50 60\n0 2 10\n2 1 70 80 90\n", "0 1\n1 2 1\n2 0 1\n"):
        Graph.read(put(tmp_path, "g.txt", text.replace(" ", sep)))
    assert not [each for each in recwarn if "list of nodes" in str(each.message)]


@pytest.mark.parametrize("sep", [" ", ",", ";"])
def test_missing_values_cause_a_warning(tmp_path, sep):
    text = "source target\nAda Grace\nGrace NaN\nNULL Ada\nNa Cl\n".replace(" ", sep)
    with pytest.warns(UserWarning, match="NULL, NaN was read as a node, but may denote a missing value"):
        assert Graph.read(put(tmp_path, "g.csv", text)).num_nodes == 6


def test_times_that_are_also_ids_cause_a_warning(tmp_path):
    text = "".join(f"{20 * at} {u} {v}\n" for at, (u, v) in enumerate(KARATE.edges))
    with pytest.warns(UserWarning, match="name these, such as 2 and 3"):
        Graph.read(put(tmp_path, "g.txt", text))


def test_konect_headers_say_whether_edges_are_directed(tmp_path):
    text = "% {} {}\n% 4 3 3\n1 2{}\n2 3{}\n3 1{}\n"
    for kind, weights, more in (
        ("sym", "unweighted", ""),
        ("asym", "positive", " 1 1082040961"),
        ("asym", "signed", " -1"),
    ):
        path = put(tmp_path, "out.friends", text.format(kind, weights, more, more, more))
        assert Graph.read(path, format="edgelist").directed == (kind == "asym")
        assert Graph.read(path, format="edgelist", columns=(1, 2)).directed == (kind == "asym")
        assert not Graph.read(path, format="edgelist", directed=False).directed
    path = put(tmp_path, "out.authors", text.format("bip", "unweighted", "", "", ""))
    refused(path, "each column numbers its own nodes", line=1, format="edgelist")
    refused(path, "each column numbers its own nodes", line=1, format="edgelist", columns=(1, 2))
    assert not Graph.read(put(tmp_path, "g.txt", "% asymmetric: no\n1 2\n")).directed
    refused(
        put(tmp_path, "out.names", "1 2\n"), 'With format="edgelist", a file with any ending is read as an edge list'
    )


@pytest.mark.parametrize("columns", [None, (2, 3)])
@pytest.mark.parametrize("text", ["p sp 3 2\na 1 2 803\na 2 3 10\n", "c roads\np edge 3 2\ne 1 2\ne 2 3\n"])
def test_dimacs_files_are_refused(tmp_path, text, columns):
    refused(put(tmp_path, "g.gr", text), "name the columns of nodes, 2 and 3", format="edgelist", columns=columns)
    rest = "".join(line + "\n" for line in text.splitlines() if line[0] not in "cp")
    graph = Graph.read(put(tmp_path, "g.gr", rest), format="edgelist", columns=(2, 3))
    assert edges(graph) == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    "line", ["({}, {})", "[{}, {}],", "('{}','{}')", "({}, {}, {{'weight': (1, 2)}})", "[{}, {}, 0]"]
)
def test_printed_pairs_are_refused(tmp_path, line):
    text = "".join(line.format(*pair) + "\n" for pair in ((0, 1), (0, 2), (1, 2)))
    refused(put(tmp_path, "g.txt", text), "pairs in brackets")
    graph = Graph.read(put(tmp_path, "g.csv", "(R)-limonene,(S)-limonene\nmenthol (-),(R)-limonene\n"))
    assert graph.num_nodes == 3


@pytest.mark.parametrize("arrow", ["->", "-->", "--", "=>", "→"])
def test_arrows_are_refused_with_advice(tmp_path, arrow):
    path = put(tmp_path, "g.txt", f"a {arrow} b\nb {arrow} c\nc {arrow} a\n")
    refused(path, "an arrow between their nodes; give columns=(1, 3)")
    graph = Graph.read(path, columns=(1, 3), directed=True)
    assert graph.num_nodes == 3 and graph.num_arcs == 3


def test_times_before_the_nodes_cause_a_warning(tmp_path):
    contacts = "31220\t1558\t1567\t3B\n31220\t1567\t1560\t3B\n31240\t1560\t1558\t3B\n"
    for name, text, columns in (
        ("g.txt", contacts, "such as 2 and 3"),
        ("g.csv", "time,a,b\n" + contacts.replace("\t", ","), "such as 'a' and 'b'"),
        ("h.csv", "2019;DE;FR\n2019;FR;IT\n2020;IT;DE\n", "such as 2 and 3"),
        ("h.txt", "2020-01-01 1 2\n2020-01-01 2 3\n2020-01-03 3 1\n", "such as 2 and 3"),
        ("e.txt", "e 1 2\ne 2 3\ne 3 1\n", "such as 2 and 3"),
        (
            "i.csv",
            "year,exporter,importer,value\n2019,DE,FR,1\n2019,FR,IT,2\n2020,IT,DE,5\n",
            "such as 'exporter' and 'importer'",
        ),
    ):
        with pytest.warns(UserWarning, match=columns):
            Graph.read(put(tmp_path, name, text))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert Graph.read(tmp_path / name, columns=(2, 3)).num_nodes == 3
            for weighted in ("0 5 3\n0 6 2\n0 7 1\n", "0 1 1\n0 2 1\n0 3 1\n", "a b 1\nb c 1\na c 2\n"):
                Graph.read(put(tmp_path, "w.txt", weighted))


def test_lists_of_named_neighbours_are_refused_with_their_format(tmp_path):
    refused(put(tmp_path, "g.txt", "A B C\nB C\nC A\n"), 'lists of neighbours are read with format="adjlist"', line=1)


@pytest.mark.parametrize("name", ["g.csv", "g.txt", "g.adj"])
@pytest.mark.parametrize(
    "rows",
    [["0 1 1", "1 0 1", "1 1 0"], ["0 0.5 2 0", "0.5 0 1 0", "2 1 0 3", "0 0 3 0"], ["1 0 1 0", "0 0 1 1"] * 2],
)
def test_adjacency_matrices_are_refused(tmp_path, name, rows):
    text = "\n".join(rows).replace(" ", "," if name == "g.csv" else " ")
    with pytest.raises(FileFormatError, match="this is an adjacency matrix"):
        Graph.read(put(tmp_path, name, text + "\n"))
    with pytest.raises(FileFormatError, match="this is an adjacency matrix"):
        Graph.read(put(tmp_path, name, text))


def test_three_weighted_edges_are_not_a_matrix(tmp_path):
    graph = Graph.read(put(tmp_path, "g.txt", "0 1 1\n1 2 1\n2 0 1\n"))
    assert edges(graph) == [(0, 1), (1, 2), (2, 0)]


def test_lists_of_neighbours_are_refused(tmp_path):
    for number, graph in enumerate((nx.karate_club_graph(), nx.complete_graph(6).to_directed())):
        nx.write_adjlist(graph, tmp_path / f"{number}.txt")
        refused(tmp_path / f"{number}.txt", 'give format="adjlist" (--format adjlist)')
        found = Graph.read(tmp_path / f"{number}.txt", format="adjlist")
        assert found == Graph.from_networkx(graph.to_undirected())
    nx.write_adjlist(nx.relabel_nodes(nx.complete_graph(3, nx.DiGraph), dict(enumerate("abc"))), tmp_path / "abc.txt")
    refused(tmp_path / "abc.txt", "the same names", line=4)
    nx.write_adjlist(nx.path_graph(4), tmp_path / "path.txt")
    refused(tmp_path / "path.txt", 'lists of neighbours are read with format="adjlist"', line=7)


@pytest.mark.parametrize(
    "text",
    [
        "0 1 1 1\n1 2 1 1\n2 0 1 1\n",  # weights and times
        "0 1 5 6\n0 2 1\n2 1 7 8 9\n",  # the times of contacts
        "0,1,2020,5\n1,2,,7\n2,0,3,4\n",
        "0\t1\t2020\t5\n1\t2\t\t7\n2\t0\t3\t4\n",
    ],
)
def test_more_columns_are_not_lists_of_neighbours(tmp_path, text):
    found = Graph.read(put(tmp_path, "g.txt", text), strict=True)
    assert (found.num_nodes, found.num_edges) == (3, 3)


@pytest.mark.parametrize("sep", [" ", ",", "\t"])
def test_row_names_of_r_are_refused(tmp_path, sep):
    for text in ('"from" "to"\n"1" "a" "b"\n"2" "b" "c"\n', '"a" "b"\n"1" 5 7\n"2" 7 9\n', "u v\n1 5 7\n2 7 9\n"):
        refused(put(tmp_path, "g.txt", text.replace(" ", sep)), "write it with row.names=FALSE")
    for text in ("from to\n1 2 0.5\n2 3 1.5\n", "from to\n1 2\n2 3\n", "from to x\n1 2 5\n2 4 5\n"):
        assert Graph.read(put(tmp_path, "g.txt", text.replace(" ", sep))).num_edges == 2
