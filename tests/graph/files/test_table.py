"""Tables of edges: headers, columns, separators, quotes."""

import os
import threading

import pytest

from detours.errors import InputError
from detours.graph import Graph
from tests.graph.cases import edges, put, refused

PEOPLE = "id;person;friend;since\n1;Ada;Grace;1952\n2;Grace;Alan;1947\n3;Alan;Ada;?\n"


def test_columns_by_name_and_by_number(tmp_path):
    path = put(tmp_path, "people.csv", PEOPLE)
    expected = [("Ada", "Grace"), ("Grace", "Alan"), ("Alan", "Ada")]
    assert edges(Graph.read(path, columns=("person", "friend"))) == expected
    assert edges(Graph.read(path, columns=("person", "friend"), sep=";", directed=True)) == expected
    numbered = Graph.read(path, columns=("friend", "since"))
    assert edges(numbered)[0] == ("Grace", "1952")
    plain = put(tmp_path, "plain.tsv", "x\t0\t1\ny\t1\t2\n")
    assert edges(Graph.read(plain, columns=(2, 3))) == [(0, 1), (1, 2)]
    headed = put(tmp_path, "headed.txt", "what a b\nx 0 1\ny 1 2\n")
    assert edges(Graph.read(headed, columns=("2", "3"))) == [(0, 1), (1, 2)]
    assert edges(Graph.read(put(tmp_path, "p.csv.gz", PEOPLE), columns=["person", "friend"])) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Source,Target,Type,Id,Label,Weight\na,b,Undirected,0,,1.0\nb,c,Undirected,1,,2.0\n",  # as Gephi writes it
        "Id,Source,Target\n0,a,b\n1,b,c\n",
        "from;to;kind\na;b;road\nb;c;rail\n",
        "a;b\nb;c\n",
        "\ufeffsource,target,kind\r\na,b,road\r\nb,c,rail\r\n",
        '# made by hand\nsource,target,kind\n"a","b","x, y"\nb,c,rail\n',
        "source\ttarget\tkind\na\tb\troad\nb\tc\trail\n",
    ],
)
def test_usual_headers_need_no_options(tmp_path, text):
    graph = Graph.read(put(tmp_path, "g.csv", text), strict=True)
    assert edges(graph) == [("a", "b"), ("b", "c")] and not graph.directed


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_words_above_a_column_of_numbers_are_a_header(tmp_path, sep):
    text = "Sender,Receiver,letters,since\nAda,Grace,7,1952\nGrace,Alan,2,?\n".replace(",", sep)
    path = put(tmp_path, "letters.csv", text)
    for options in ({}, {"columns": (1, 2)}, {"columns": ("Sender", "Receiver")}):
        assert edges(Graph.read(path, **options)) == [("Ada", "Grace"), ("Grace", "Alan")]
    plain = put(tmp_path, "plain.csv", text.replace("letters", "9", 1))  # a number is no name of a column
    assert edges(Graph.read(plain, columns=(1, 2)))[0] == ("Sender", "Receiver")


@pytest.mark.parametrize("size", [3, 12])
def test_a_first_line_that_may_be_a_header_causes_a_warning(tmp_path, recwarn, size):
    ring = "".join(f"n{i},n{(i + 1) % size}\n" for i in range(size))
    for text in ("who,whom\n" + ring, ("who,whom\n" + ring).replace(",", ";")):
        with pytest.warns(UserWarning, match="if it is a header, name the columns of nodes, 'who' and 'whom'"):
            assert Graph.read(put(tmp_path, "g.csv", text)).num_nodes == size + 2
        recwarn.clear()
        assert Graph.read(put(tmp_path, "g.csv", text), columns=("who", "whom")).num_nodes == size
    assert Graph.read(put(tmp_path, "ring.csv", ring)).num_nodes == size
    assert not recwarn


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("id,atom1,atom2\n10,1,2\n11,2,3\n12,3,1\n", True),
        (",a,b\n0,1,2\n1,2,3\n2,3,1\n", True),
        ("Edge;a;b;size\n9;x;y;1\n4;y;z;1\n", True),
        ("nr,a,b\n101,1,2\n102,2,3\n103,3,1\n", True),
        ("year;a;b\n1990;Chile;Peru\n1990;Peru;Cuba\n1991;Haiti;Chile\n", True),
        ("Date;a;b\n1990;1;2\n1990;2;3\n", True),
        ("year;a;b;goods\n1990;Chile;Peru;tin\n1991;Cuba;Haiti;tin\n", True),
        ("a,b,length\n1,2,0.5\n2,3,0.5\n3,1,1\n", False),  # a chain, each with its length
        ("sender;receiver;letters\n5;7;1\n7;9;4\n9;5;2\n", False),
        ("source,target,id\n1,2,1\n2,3,2\n", False),
    ],
)
def test_a_first_column_without_nodes_causes_a_warning(tmp_path, recwarn, text, warned):
    Graph.read(put(tmp_path, "g.csv", text))
    assert [str(each.message).endswith(("'atom1' and 'atom2'.", "'a' and 'b'.")) for each in recwarn] == [True] * warned


@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_names_that_begin_like_a_comment_are_quoted_or_cause_a_warning(tmp_path, recwarn, sep):
    text = "source,target\nN1,#2\n#2,C3\n#,\nC3,N1\n# a note\n".replace(",", sep)
    with pytest.warns(UserWarning, match="are comments, and (one|2) that may be (an edge was|edges were) skipped"):
        assert Graph.read(put(tmp_path, "g.csv", text)).num_edges == 2
    recwarn.clear()
    assert Graph.read(put(tmp_path, "g.csv", text.replace("#2", '"#2"').replace(f"#{sep}\n", ""))).num_edges == 3
    assert not recwarn


@pytest.mark.parametrize("sep", [",", ";", " "])
def test_ids_that_differ_in_leading_zeros_cause_a_warning(tmp_path, recwarn, sep):
    with pytest.warns(UserWarning, match="007 is the node 7"):
        assert Graph.read(put(tmp_path, "g.txt", "007 8\n8 9\n9 7\n".replace(" ", sep))).num_nodes == 3
    recwarn.clear()
    assert Graph.read(put(tmp_path, "g.txt", "0 10 0.5\n10 0 00\n".replace(" ", sep))).num_nodes == 2
    assert not [each for each in recwarn if "zeros" in str(each.message)]


def test_tabs_of_a_tsv_come_before_commas(tmp_path):
    path = put(tmp_path, "g.tsv", "1,2-xylene\t1,3-xylene\n1,5\t2,5\n")
    assert edges(Graph.read(path)) == [("1,2-xylene", "1,3-xylene"), ("1,5", "2,5")]


def test_a_name_may_hold_the_separator(tmp_path):
    path = put(tmp_path, "g.csv", 'who,whom\n"Hopper, Grace","Turing; Alan"\n')
    assert edges(Graph.read(path, columns=("who", "whom"))) == [("Hopper, Grace", "Turing; Alan")]


@pytest.mark.parametrize(
    ("text", "options", "says", "line"),
    [
        (
            PEOPLE,
            {"columns": ("person", "enemy")},
            "no column 'enemy'; the first line has id, person, friend, since",
            1,
        ),
        (PEOPLE, {"columns": (1, 9)}, "no column '9'", 1),
        ("a;b\nc;\n", {"sep": ";"}, "a node is missing in 'c,'", 2),
        ("source,target,weight\na,b,nan\n", {"columns": ("source", "target")}, "finite number", 2),
        ("source,target,x\n", {"columns": ("source", "target")}, "no edges", None),
        ("# nothing\n", {"sep": ","}, "no edges", None),
        (b"a;\xff\n", {"sep": ";"}, "UTF-8", 1),
        ("a b road\n", {}, "columns=(1, 2)", 1),
    ],
)
def test_broken_tables(tmp_path, text, options, says, line):
    refused(put(tmp_path, "g.csv", text), says, line, **options)


def test_wrong_options(tmp_path):
    path = put(tmp_path, "g.csv", "a,b\n")
    for columns in ("ab", ("a",), (1, 2, 3)):
        with pytest.raises(InputError, match="columns must be two"):
            Graph.read(path, columns=columns)
    with pytest.raises(InputError, match="sep must be one of"):
        Graph.read(path, sep="::")
    with pytest.raises(InputError, match="for edge lists"):
        Graph.read(put(tmp_path, "g.gml", "graph [ ]"), columns=(1, 2))


def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("id;from;to\n0;a;b\n",))
    writer.start()
    assert edges(Graph.read(pipe)) == [("a", "b")]
    writer.join()


@pytest.mark.parametrize("header", ["Source,Target,Type", "Source,Target,Id,Type", "Id,Source,Target,Type"])
@pytest.mark.parametrize("names", ["123", "abc"])
def test_the_type_of_edges_of_gephi(tmp_path, header, names):
    def read(*kinds):
        rows = [header]
        for at, kind in enumerate(kinds):
            row = {"Source": names[at], "Target": names[(at + 1) % 3], "Id": str(at), "Type": kind}
            rows.append(",".join(row[name] for name in header.split(",")))
        return Graph.read(put(tmp_path, "g.csv", "\n".join(rows) + "\n"))

    assert read("Directed", "Directed", "directed").directed
    assert not read("Undirected", "Undirected", "Undirected").directed
    assert not read("road", "rail", "road").directed
    with pytest.raises(InputError, match="some edges are of type Directed and some Undirected"):
        read("Directed", "Undirected", "Directed")


@pytest.mark.parametrize("column", ["9" * 5000, "²"])
def test_columns_that_are_not_decimal_numbers(tmp_path, column):
    refused(put(tmp_path, "g.csv", "a,b\n1,2\n"), "there is no column", line=1, columns=(1, column))
