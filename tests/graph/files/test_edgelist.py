import subprocess
import sys
import warnings

import networkx as nx
import numpy as np
import pytest

from detours.counting.count import count
from detours.errors import DroppedEdgesWarning, FileFormatError, InputError
from detours.graph import Graph
from detours.graph.files.shared import lines
from tests.graph.cases import edges, put, refused


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n2 0\n",
        "0 1\n1 2\n2 0",
        "0\t1\n1\t2\n2\t0\n",
        "0,1\n1,2\n2,0\n",
        "0, 1\r\n1 ,2\r\n2 , 0\r\n",
        "# of an old Mac\r0 1\r1 2\r2 0\r",
        "source,target\r0,1\r1,2\r2,0",
        "# a comment\n% another\n\n0 1\n  1   2  \n\t2 0\n   \n# end",
        "0 1 0.5\n1 2 -3e-7\n2 0 7 more columns, whatever\n",
        "0,1,0.5,x\n1,2,,\n2,0,\n",
        "0 1 {}\n1 2 {'weight': 3, 'name': 'Fernanda'}\n2 0 # remark\n",
        "\ufeff0 1\n1 2\n2 0\n",
        "source target\n0 1\n1 2\n2 0\n",
        "node_id\tnode_id\n0\t1\n1\t2\n2\t0\n",
        "source,target,weight\n0,1,2\n1,2,2\n2,0,2\n",
        "00 01\n1 0000000000000002\n2 0\n",
    ],
)
@pytest.mark.parametrize("name", ["g.txt", "g.edgelist.gz", "g"])
@pytest.mark.parametrize("fast", [False, True])
def test_integer_edge_lists(tmp_path, monkeypatch, text, name, fast):
    monkeypatch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
    graph = Graph.read(put(tmp_path, name, text), strict=True)
    assert edges(graph) == [(0, 1), (1, 2), (2, 0)]
    assert graph.names is None and graph.num_edges == 3


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("high", [2**31, 12_345_678_901, 10**18, 2**63 - 1])
def test_ids_of_accounts_and_places_are_read(tmp_path, monkeypatch, high, fast):
    monkeypatch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
    graph = Graph.read(put(tmp_path, "g.txt", f"{high} 7\n7 {high - 1} 0.5\n{high - 1} 000{high}\n"))
    assert graph.name_list() == [7, high - 1, high] and graph.num_edges == 3


def test_ids_beyond_integers_are_names_of_named_columns(tmp_path):
    path = put(tmp_path, "g.txt", f"{2**63} 1\n1 {2**63 + 1}\n")
    refused(path, "is too large", line=1)
    assert Graph.read(path, columns=(1, 2)).name_list() == ["1", str(2**63), str(2**63 + 1)]


def test_a_list_of_konect_says_whether_it_has_arcs(tmp_path):
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
def test_files_of_dimacs_are_refused(tmp_path, text, columns):
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
def test_arrows_are_told_how_to_be_read(tmp_path, arrow):
    path = put(tmp_path, "g.txt", f"a {arrow} b\nb {arrow} c\nc {arrow} a\n")
    refused(path, "an arrow between their nodes; give columns=(1, 3)")
    graph = Graph.read(path, columns=(1, 3), directed=True)
    assert graph.num_nodes == 3 and graph.num_arcs == 3


def test_times_before_the_nodes_are_told(tmp_path):
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


def test_edges_below_many_comments(tmp_path):
    comments = "# a line\n" * 10_000
    assert Graph.read(put(tmp_path, "g.txt", f"{comments}0 1 5\n1 2 6\n")).num_edges == 2
    assert Graph.read(put(tmp_path, "g.txt", f"{comments}u v w\n0 1 5\n1 2 6\n")).num_edges == 2


def test_an_empty_first_column_is_told(tmp_path):
    refused(put(tmp_path, "g.csv", ",u,v,weight\n0,a,b,1.0\n1,b,c,2.0\n"), 'such as "u" and "v"', line=1)
    refused(put(tmp_path, "g.csv", ",a,b,c\na,0,1,1\nb,1,0,1\nc,1,1,0\n"), "an adjacency matrix is read", line=1)


def test_lists_of_neighbours_by_name_are_told_their_format(tmp_path):
    refused(put(tmp_path, "g.txt", "A B C\nB C\nC A\n"), 'lists of neighbours are read with format="adjlist"', line=1)


def test_ids_are_names_sorted_and_renumbered(tmp_path):
    graph = Graph.read(put(tmp_path, "g.txt", "2147483647 10\n10 7\n"))
    assert graph.name_list() == [7, 10, 2147483647]
    assert edges(graph) == [(2147483647, 10), (10, 7)]
    assert (graph.node(10), graph.node("7"), graph.node(np.int64(2147483647))) == (1, 0, 2)
    with pytest.raises(InputError, match="7, 10, 2147483647"):
        graph.node(8)
    dense = Graph.read(put(tmp_path, "d.txt", "1 2\n2 4\n"))
    assert dense.name_list() == [1, 2, 4] and type(dense.name(0)) is int


def test_lines_are_edges_and_only_exact_repeats_are_duplicates(tmp_path):
    path = put(tmp_path, "g.txt", "0 1\n1 0\n1 2\n1 2\n2 2\n")
    with pytest.warns(DroppedEdgesWarning, match="1 loop and 1 repeated edge"):
        graph = Graph.read(path)
    assert graph.dropped == (1, 1, 0) and graph.edge_index.shape == (2, 5)
    assert Graph.read(put(tmp_path, "c.txt", "0 1\n1 0\n"), strict=True).num_edges == 1
    assert Graph.read(put(tmp_path, "c.txt", "0 1\n1 2\n"), directed=True).num_edges == 2


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("anna bob\nbob 3\n", [("anna", "bob"), ("bob", "3")]),
        ("New York,Boston\nBoston,São Paulo,3\n", [("New York", "Boston"), ("Boston", "São Paulo")]),
        ('"A, B",C\nC,D\n', [("A, B", "C"), ("C", "D")]),
        ("a b\tc\nc\td\n", [("a b", "c"), ("c", "d")]),
        ("Source,Target\nx,y\n", [("x", "y")]),
        ("# c\nx y 2 {}\ny z # no\n", [("x", "y"), ("y", "z")]),
        ("A 7\n7 B\n", [("A", "7"), ("7", "B")]),
        ("nan inf\n", [("nan", "inf")]),
    ],
)
def test_named_edge_lists(tmp_path, text, wanted):
    graph = Graph.read(put(tmp_path, "g.csv", text))
    assert edges(graph) == wanted
    assert graph.name_list() == sorted({name for edge in wanted for name in edge})


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("0 1\n1 2\n2\n", 3, 'only "2"'),
        ("0 1\n# c\n\n1 x\n", 4, '"x" is not a node id'),
        ("0 1\n1 2x\n", 2, '"2x" is not a node id'),
        ("0 1\n1 -2\n", 2, "-2 is negative"),
        ("-1 2\n", 1, "-1 is negative"),
        (
            "0 1\n1 9223372036854775808\n",
            2,
            "9223372036854775808 is too large; ids must be at most 9223372036854775807",
        ),
        ("0 1\n1 18446744073709551617\n", 2, "but with columns=(1, 2) longer ones are read as names."),
        ("0 1\n1 99999999999999999999999999\n", 2, "too large"),
        (f"0 1\n1 {'9' * 5000}\n", 2, "too large"),
        ("0 1\n1 2.0\n", 2, "integers"),
        ("1.5 2.5\n", 1, "integers"),
        ("0 1\n1,,2\n", 2, "missing"),
        ("0 1 nan\n", 1, "nan"),
        ("0 1 0.5\n1 2 NaN\n", 2, "NaN"),
        ("0 1 inf\n", 1, "finite"),
        ("0 1 1e999\n", 1, "finite"),
        ("0 1 heavy\n", 1, '"heavy"'),
        ("0 1 1.2.3\n", 1, '"1.2.3"'),
        ("0 1 3x\n", 1, '"3x"'),
        ("0 1 {'weight': nan}\n", 1, "NaN"),
        ("1 x\n1 2\n2 3\n", 1, '"x" is not a node id'),
        ("5\n1 2\n", 1, 'only "5"'),
        ("a b\nb\n", 2, 'only "b"'),
        ("a b\nb c d\n", 2, '"d"'),
        ("a b nan\n", 1, "nan"),
        ("a,b\n,c\n", 2, "two nodes"),
        ("source target\n1 2\n3 y\n", 3, '"y" is not a node id'),
        ("0 1\r\n1 2\rx\r\n", 2, "not a node id"),
        ("0 1\n1 2\0\n", None, "binary"),
        ("# only\n% comments\n\n", None, "no edges"),
        ("source target\n", None, "no edges"),
        ("", None, "empty"),
        ("<!DOCTYPE html>\n<html>", None, "web page"),
        ("\n  \n", None, "no edges"),
    ],
)
@pytest.mark.parametrize("fast", [False, True])
def test_broken_edge_lists_give_file_and_line(tmp_path, monkeypatch, text, line, says, fast):
    monkeypatch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
    refused(put(tmp_path, "g.txt", text), says, line)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("options", [{}, {"columns": (1, 2)}])
def test_ids_of_64_bits_are_counted_and_named(tmp_path, monkeypatch, fast, options):
    monkeypatch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
    ids = [2**63 - 1, 2**31, 2**63 - 2, 2**32 + 5, 2**53 + 1, 7]
    ring = list(zip(ids, ids[1:] + ids[:1], strict=True))
    graph = Graph.read(put(tmp_path, "g.txt", "".join(f"{u} {v}\n" for u, v in ring)), **options)
    assert graph.name_list() == sorted(ids) and edges(graph) == ring
    table = count(graph, 5).to_pandas()
    assert list(zip(table["source"], table["target"], strict=True)) == ring and table["den"].tolist() == [1] * 6
    long = put(tmp_path, "long.txt", f"{2**63} {2**64}\n{2**64} 1\n")
    assert Graph.read(long, columns=(1, 2)).name_list() == ["1", str(2**64), str(2**63)]


def test_reading_a_small_file_does_not_load_numba(tmp_path):
    path = put(tmp_path, "g.txt", "0 1\n1 2\n")
    code = f"import sys; from detours import Graph; Graph.read({str(path)!r}); assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["g.csv", "g.txt", "g.adj"])
@pytest.mark.parametrize(
    "rows",
    [["0 1 1", "1 0 1", "1 1 0"], ["0 0.5 2 0", "0.5 0 1 0", "2 1 0 3", "0 0 3 0"], ["1 0 1 0", "0 0 1 1"] * 2],
)
def test_adjacency_matrices_are_no_edge_lists(tmp_path, name, rows):
    text = "\n".join(rows).replace(" ", "," if name == "g.csv" else " ")
    with pytest.raises(FileFormatError, match="this is an adjacency matrix"):
        Graph.read(put(tmp_path, name, text + "\n"))
    with pytest.raises(FileFormatError, match="this is an adjacency matrix"):
        Graph.read(put(tmp_path, name, text))


def test_three_weighted_edges_are_no_matrix(tmp_path):
    graph = Graph.read(put(tmp_path, "g.txt", "0 1 1\n1 2 1\n2 0 1\n"))
    assert edges(graph) == [(0, 1), (1, 2), (2, 0)]


def test_lists_of_neighbours_are_no_edge_lists(tmp_path):
    for number, graph in enumerate((nx.karate_club_graph(), nx.complete_graph(6).to_directed())):
        nx.write_adjlist(graph, tmp_path / f"{number}.txt")
        refused(tmp_path / f"{number}.txt", 'give format="adjlist" (--format adjlist)')
        found = Graph.read(tmp_path / f"{number}.txt", format="adjlist")
        assert found == Graph.from_networkx(graph.to_undirected())
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
def test_more_columns_are_no_lists_of_neighbours(tmp_path, text):
    found = Graph.read(put(tmp_path, "g.txt", text), strict=True)
    assert (found.num_nodes, found.num_edges) == (3, 3)


@pytest.mark.parametrize(
    "text",
    [
        "source,target,note\nann,bob,\nbob,cy,met in Rome\ncy,ann,\n",
        "source,target,year\n0,1,2020\n1,2,\n2,0,unknown\n",
        "source\ttarget\tsince\n0\t1\t2020\n1\t2\tearlier\n2\t0\t1\n",
    ],
)
def test_columns_under_a_header_hold_any_text_in_any_line(tmp_path, text):
    assert Graph.read(put(tmp_path, "g.csv", text), strict=True).num_edges == 3
    refused(put(tmp_path, "w.csv", "source,target,weight\n0,1,2\n1,2,NA\n"), 'must be a number, not "NA"', line=3)
    refused(put(tmp_path, "n.csv", "source,target,year\n0,1,2\n-1,2,3\n"), "the node id -1 is negative", line=3)


@pytest.mark.parametrize("sep", [" ", ",", "\t", ";"])
@pytest.mark.parametrize("fast", [False, True])
def test_quotes_do_not_change_a_node(tmp_path, monkeypatch, sep, fast):
    monkeypatch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
    for text in ('1 2\n"1" 3\n', '"1" 2\n1 3\n', '1 "2"\n1 3\n', '"1" "2"\n1 3 "4"\n'):
        assert edges(Graph.read(put(tmp_path, "g.txt", text.replace(" ", sep)))) == [(1, 2), (1, 3)]
    names = '"Ada" "1"\nAda "Grace"\n1 Grace\n'.replace(" ", sep)
    assert edges(Graph.read(put(tmp_path, "g.txt", names))) == [("Ada", "1"), ("Ada", "Grace"), ("1", "Grace")]


def test_quotes_hold_blanks_together(tmp_path):
    text = '"Ada L" 1\n1  "say ""hi"""\t2.5\n"say ""hi""" 5"\n'
    found = edges(Graph.read(put(tmp_path, "g.txt", text)))
    assert found == [("Ada L", "1"), ("1", 'say "hi"'), ('say "hi"', '5"')]
    table = put(tmp_path, "t.txt", '"from" "to" "note"\n"Ada L" b "met in Rome"\nb c ""\n')
    assert edges(Graph.read(table)) == [("Ada L", "b"), ("b", "c")]
    refused(put(tmp_path, "g.txt", '"" b\n'), "a line must hold two nodes", line=1)


def test_quotes_behind_a_comma_and_a_tab_are_no_part_of_a_name(tmp_path):
    for text in ('"Ada",\t"Grace"\n"Grace",\t"Hopper, G."\n', 'Ada,\tGrace\n\t"Grace", \t "Hopper, G."\t,\t2\n'):
        assert edges(Graph.read(put(tmp_path, "g.txt", text))) == [("Ada", "Grace"), ("Grace", "Hopper, G.")]
        table = put(tmp_path, "g.csv", "source,\ttarget, note\n" + text)
        assert edges(Graph.read(table)) == [("Ada", "Grace"), ("Grace", "Hopper, G.")]
    inside = '"say ""a"",\t""b""",Ada\n"""Ada""",\tx"y"\n'  # a name may hold both
    assert edges(Graph.read(put(tmp_path, "g.txt", inside))) == [('say "a",\t"b"', "Ada"), ('"Ada"', 'x"y"')]


@pytest.mark.parametrize(
    "text",
    [
        "Ada\t\tGrace\nChristopher\tAda\n",
        "# friends\n\nChristopher\tAda\r\nAda\t\t\tGrace\t\r\n",
        "Ada\t\tGrace\t\t1\nChristopher\tAda\t\t0.5\n",
        '"Ada"\t\t"Grace"\nChristopher\t"Ada"\n',
        "source\t\ttarget\nAda\t\tGrace\nChristopher\tAda\n",
        "source\t\ttarget\tweight\nAda\t\tGrace\t1\nChristopher\tAda\t2\n",
    ],
)
def test_tabs_may_align_names(tmp_path, text):
    assert set(edges(Graph.read(put(tmp_path, "g.txt", text)))) == {("Ada", "Grace"), ("Christopher", "Ada")}


def test_tabs_may_align_integers_below_words_and_stay_in_quotes(tmp_path):
    assert edges(Graph.read(put(tmp_path, "g.txt", "from\t\tto\n1\t2\n3\t\t4\n"))) == [(1, 2), (3, 4)]
    assert edges(Graph.read(put(tmp_path, "g.txt", '"a\t\tb"\t\tc\nc\td\n'))) == [("a\t\tb", "c"), ("c", "d")]


@pytest.mark.parametrize(
    ("text", "line", "other"),
    [
        ("Ada\tGrace\t1\nAda\t\t2\n", 2, "2"),  # no node, and a weight
        ("Ada\tGrace\nAda\t\t2\n", 2, "2"),
        ("Ada\t\t2\nGrace\t\t2\n", 1, "2"),
        ("Ada\t\tGrace\tfriend\nGrace\tHopper\tfriend\n", 1, "Grace"),  # or a column that is empty there
        ("Ada,,Grace\n", 1, "Grace"),
    ],
)
def test_an_empty_second_column_is_told_what_to_do(tmp_path, text, line, other):
    where = f'the second column is empty, between "Ada" and "{other}"'
    what = "write one tab or comma between two nodes, or name the columns of nodes, as in columns=(1, 3)."
    refused(put(tmp_path, "g.txt", text), f"{where}; {what}", line=line)


@pytest.mark.parametrize("end", ["Ada\t\t2", "Ada\t\t\t2"])
@pytest.mark.parametrize("weight", ["", "\t1"])
def test_a_node_may_also_be_missing_far_below_tabs_that_align(tmp_path, weight, end):
    rows = [f"a{number}\t\tb{number % 7}{weight}\n" for number in range(9000)]
    assert len(edges(Graph.read(put(tmp_path, "g.txt", "".join(rows))))) == 9000
    with pytest.raises(FileFormatError, match=r"the second column is empty|must hold two nodes") as caught:
        Graph.read(put(tmp_path, "g.txt", "".join([*rows, end, "\n"])))
    assert "line 9001" in str(caught.value)


def test_empty_columns_elsewhere_stay_what_they_are(tmp_path):
    kinds = put(tmp_path, "g.tsv", "source\tkind\ttarget\nAda\t\tGrace\t5\nGrace\t\tHopper\t6\n")
    assert edges(Graph.read(kinds)) == [("Ada", "Grace"), ("Grace", "Hopper")]
    assert edges(Graph.read(put(tmp_path, "g.txt", "Route\t\t66\n1\t\t2\n3\t\t4\n"))) == [(1, 2), (3, 4)]
    inside = put(tmp_path, "g.txt", "Ada;Grace;\tx\nAda;G.\t\tHopper\nGrace;\tAda\n")  # semicolons separate
    assert edges(Graph.read(inside)) == [("Ada", "Grace"), ("Ada", "G.\t\tHopper"), ("Grace", "Ada")]
    behind = put(tmp_path, "g.tsv", "Ada\tGrace\t\tfriend\nGrace\tHopper\t\t\n")
    assert edges(Graph.read(behind)) == [("Ada", "Grace"), ("Grace", "Hopper")]


@pytest.mark.parametrize("sep", [" ", ",", "\t"])
def test_names_of_rows_as_r_writes_them_are_no_nodes(tmp_path, sep):
    for text in ('"from" "to"\n"1" "a" "b"\n"2" "b" "c"\n', '"a" "b"\n"1" 5 7\n"2" 7 9\n', "u v\n1 5 7\n2 7 9\n"):
        refused(put(tmp_path, "g.txt", text.replace(" ", sep)), "write it with row.names=FALSE")
    for text in ("from to\n1 2 0.5\n2 3 1.5\n", "from to\n1 2\n2 3\n", "from to x\n1 2 5\n2 4 5\n"):
        assert Graph.read(put(tmp_path, "g.txt", text.replace(" ", sep))).num_edges == 2


def test_columns_make_names_of_all_nodes(tmp_path):
    for text in ("1.0,b\nb,c\n", "1,2\nb,1.0\n"):
        path = put(tmp_path, "g.csv", text)
        with pytest.raises(FileFormatError, match=r"is not a node id; .* columns=\(1, 2\)"):
            Graph.read(path)
        assert "1.0" in Graph.read(path, columns=(1, 2)).name_list()
