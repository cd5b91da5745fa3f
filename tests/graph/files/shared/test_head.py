"""What kind of edge list a file is: two integers a line, two names, or a table."""

import warnings
from pathlib import Path

import pytest

from detours.graph import Graph
from detours.graph.files.shared.head import read_head
from tests.graph.cases import edges, put, refused


@pytest.mark.parametrize(
    ("text", "kind", "header"),
    [
        ("0 1\n1 2\n", "integers", False),
        ("0,1,x\n", "integers", False),
        ("who whom\n0 1\n", "integers", True),
        ("1 x\n1 2\n", "integers", False),  # refused later
        ("a b\nb c\n", "names", False),
        ("a b\n", "names", False),
        ("Source,Target\na,b\n", "names", True),
        ("source\ttarget\tweight\na\tb\t2\n", "names", True),
        ("a;b\nb;c\n", "table", False),
        ("1|2\n", "table", False),
        ("id,source,target\n1,a,b\n", "table", False),
        ("Source,Target,Type\na,b,Directed\n", "table", False),
        ("source,target,note\na,b,met in Rome\n", "table", False),
        ("sender,receiver,letters\nAda,Grace,7\n", "table", False),
        ("sender,receiver,letters\n1,2,7\n", "integers", True),
    ],
)
def test_the_first_lines_determine_the_kind(text, kind, header):
    above, raw = b"# a comment\n\n", text.encode()
    for pieces in ([above + raw], (above + raw).splitlines(keepends=True)):
        head = read_head(iter(pieces), Path("g.txt"))
        assert (head.kind, head.header, head.lines[0].number) == (kind, header, 3)
        assert b"".join(head.text) == above + b"#" * header + raw


def test_the_ending_determines_the_separator():
    text = b"1,2-xylene\t1,3-xylene\n"
    for name, sep in (("g.tsv", "\t"), ("g.tsv.gz", "\t"), ("g.txt", None)):
        head = read_head(iter([text]), Path(name))
        assert (head.kind == "table", head.sep) == (sep is not None, sep)


def test_a_byte_order_mark_hides_nothing(tmp_path):
    refused(put(tmp_path, "g.txt", "\ufeff0 1 1\n1 0 1\n1 1 0\n"), "this is an adjacency matrix")
    refused(put(tmp_path, "g.txt", "\ufeff0 1 2 3\n1 0\n2 0\n3 0\n"), "adjacency list")


def test_a_header_may_begin_with_a_tab(tmp_path):
    graph = Graph.read(put(tmp_path, "g.txt", "\tsource target\nAda Grace\nGrace Alan\n"))
    assert edges(graph) == [("Ada", "Grace"), ("Grace", "Alan")]


def test_long_comments_may_precede_a_header(tmp_path):
    comments = "# a licence, say\n" * 5000
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = Graph.read(put(tmp_path, "g.txt", comments + "source target year\n0 1 1952\n1 2 1947\n"))
        table = Graph.read(put(tmp_path, "g.csv", comments + "source,target,note\n0,1,x\n1,2,y\n"))
    assert edges(graph) == edges(table) == [(0, 1), (1, 2)]
