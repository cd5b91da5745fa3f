import subprocess
import sys

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
def test_large_ids_are_read(tmp_path, monkeypatch, high, fast):
    monkeypatch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
    graph = Graph.read(put(tmp_path, "g.txt", f"{high} 7\n7 {high - 1} 0.5\n{high - 1} 000{high}\n"))
    assert graph.name_list() == [7, high - 1, high] and graph.num_edges == 3


def test_ids_beyond_64_bits_are_read_as_names_of_explicit_columns(tmp_path):
    path = put(tmp_path, "g.txt", f"{2**63} 1\n1 {2**63 + 1}\n")
    refused(path, "is too large", line=1)
    assert Graph.read(path, columns=(1, 2)).name_list() == ["1", str(2**63), str(2**63 + 1)]


def test_edges_below_many_comments(tmp_path):
    comments = "# a line\n" * 10_000
    assert Graph.read(put(tmp_path, "g.txt", f"{comments}0 1 5\n1 2 6\n")).num_edges == 2
    assert Graph.read(put(tmp_path, "g.txt", f"{comments}u v w\n0 1 5\n1 2 6\n")).num_edges == 2


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


@pytest.mark.parametrize(
    "text",
    [
        "source,target,note\nann,bob,\nbob,cy,met in Rome\ncy,ann,\n",
        "source,target,year\n0,1,2020\n1,2,\n2,0,unknown\n",
        "source\ttarget\tsince\n0\t1\t2020\n1\t2\tearlier\n2\t0\t1\n",
    ],
)
def test_columns_below_a_header_may_hold_any_text(tmp_path, text):
    assert Graph.read(put(tmp_path, "g.csv", text), strict=True).num_edges == 3
    refused(put(tmp_path, "w.csv", "source,target,weight\n0,1,2\n1,2,NA\n"), 'must be a number, not "NA"', line=3)
    refused(put(tmp_path, "n.csv", "source,target,year\n0,1,2\n-1,2,3\n"), "the node id -1 is negative", line=3)


def test_explicit_columns_turn_all_nodes_into_names(tmp_path):
    for text in ("1.0,b\nb,c\n", "1,2\nb,1.0\n"):
        path = put(tmp_path, "g.csv", text)
        with pytest.raises(FileFormatError, match=r"is not a node id; .* columns=\(1, 2\)"):
            Graph.read(path)
        assert "1.0" in Graph.read(path, columns=(1, 2)).name_list()
