import gzip
import subprocess
import sys
import warnings
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

import detours
from detours.errors import DroppedEdgesWarning, FileFormatError, InputError
from detours.graph import Graph
from detours.graph.files import lines, read_many

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))
HERE = Path("file.txt")


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def edges(graph: Graph) -> list[tuple]:
    return [(graph.name(u), graph.name(v)) for u, v in graph.edge_index.T]


def refused(path: Path, says: str, line: int | None = None, **options) -> None:
    with pytest.raises(FileFormatError) as caught:
        Graph.read(path, **options)
    message = str(caught.value)
    assert says in message, message
    assert str(path) in message and "\n" not in message
    assert caught.value.line == line and caught.value.path == path
    if line is not None:
        assert f"line {line}:" in message


# --------------------------------------------------------------- edge lists


@pytest.mark.parametrize(
    "text",
    [
        "0 1\n1 2\n2 0\n",
        "0 1\n1 2\n2 0",
        "0\t1\n1\t2\n2\t0\n",
        "0,1\n1,2\n2,0\n",
        "0, 1\r\n1 ,2\r\n2 , 0\r\n",
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
    monkeypatch.setattr(lines, "_SMALL", 0 if fast else 1 << 30)
    graph = Graph.read(put(tmp_path, name, text), strict=True)
    assert edges(graph) == [(0, 1), (1, 2), (2, 0)]
    assert graph.names is None and graph.num_edges == 3


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
        ("0 1\n1 2147483648\n", 2, "2147483648 is too large"),
        ("0 1\n1 99999999999999999999999999\n", 2, "too large"),
        ("0 1\n1 2.0\n", 2, "whole numbers"),
        ("1.5 2.5\n", 1, "whole numbers"),
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
    monkeypatch.setattr(lines, "_SMALL", 0 if fast else 1 << 30)
    refused(put(tmp_path, "g.txt", text), says, line)


def test_a_late_bad_line_is_numbered_across_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_PIECE", 1000)
    for fast in (0, 1 << 30):
        monkeypatch.setattr(lines, "_SMALL", fast)
        good = "\n".join(f"{i} {i + 1}" for i in range(5000))
        assert Graph.read(put(tmp_path, "g.txt", good), strict=True).num_edges == 5000
        refused(put(tmp_path, "g.txt", good + "\n# c\n\n7 oops\n8 9\n"), "oops", 5003)
        refused(put(tmp_path, "g.txt.gz", good + "\n# c\n\n7 oops\n8 9\n"), "oops", 5003)
    comments = "#" * 70 + "\n"
    assert Graph.read(put(tmp_path, "g.txt", comments * 100 + "0 1\n" + comments * 100 + "1 2")).num_edges == 2
    assert Graph.read(put(tmp_path, "g.txt", comments * 100 + "a b\n" + comments * 100 + "b c")).num_edges == 2


plain_line = st.text(alphabet="0123456789 \t,#%-.eE+{}nax\r", max_size=14)


@settings(max_examples=400)
@given(st.lists(plain_line, max_size=6))
@example(["1 2 1e400", "1 2 .", "1 2 5."])
@example(["1 2 +.5e-3", "1\t,\t2\t,\t3", "12345678901 2"])
def test_the_compiled_reader_agrees_with_the_slow_one(texts):
    piece = "".join(text + "\n" for text in texts).encode()
    answers = []
    for parse in (lines._parse_slowly, lines._parse_fast):
        try:
            answers.append([column.tolist() for column in parse(piece, 1, HERE)])
        except FileFormatError as error:
            answers.append(str(error))
    assert answers[0] == answers[1]


# -------------------------------------------------------- files of other kinds


@pytest.mark.parametrize("ending", ["txt", "csv", "mtx", "graphml", "gml", "g6", "s6", "npz"])
def test_files_of_another_kind_are_refused(tmp_path, ending):
    refused(put(tmp_path, f"image.{ending}", PNG), "")
    refused(put(tmp_path, f"empty.{ending}", b""), "empty")
    refused(put(tmp_path, f"blank.{ending}.gz", b""), "")
    refused(tmp_path / f"absent.{ending}", "no such file")
    (tmp_path / f"folder.{ending}").mkdir()
    refused(tmp_path / f"folder.{ending}", "folder")
    (tmp_path / f"fake.{ending}.gz").write_bytes(b"0 1\n")
    refused(tmp_path / f"fake.{ending}.gz", "not gzip")
    noise = np.random.default_rng(0).integers(0, 2**31 - 1, 4000).tolist()
    whole = gzip.compress("".join(f"{a} {b}\n" for a, b in pairwise(noise)).encode())
    (tmp_path / f"half.{ending}.gz").write_bytes(whole[: len(whole) // 2])
    refused(tmp_path / f"half.{ending}.gz", "cut off")


def test_compressed_but_not_named_so_and_utf16(tmp_path):
    refused(put(tmp_path, "g.txt", gzip.compress(b"0 1\n")), ".gz")
    refused(put(tmp_path, "g.txt", "0 1\n".encode("utf-16")), "UTF-16")
    refused(put(tmp_path, "g.txt", "ä b\n".encode("latin-1")), "UTF-8")


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no /dev/stdin here")
def test_a_pipe_can_be_read():
    code = "from detours import Graph; print(Graph.read('/dev/stdin').num_edges)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input="0 1\n1 2\n", capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"


@pytest.mark.parametrize("name", ["x" * 5000, "nul\0.txt", "absent/g.txt"])
def test_names_that_no_file_can_have(name):
    with pytest.raises(FileFormatError, match="no such file"):
        Graph.from_any(name)


def test_unknown_endings_and_formats(tmp_path):
    path = put(tmp_path, "g.docx", "0 1\n")
    refused(path, ".mtx")
    assert Graph.read(path, format="edgelist").num_edges == 1
    with pytest.raises(InputError, match="'edgelist', 'mtx'"):
        Graph.read(path, format="word")
    with pytest.raises(InputError, match=r"\.mtx"):
        Graph.read(put(tmp_path, "h.txt", "0 1\n")).write(tmp_path / "g.docx")


# ------------------------------------------------------------ Matrix Market

BANNER = "%%MatrixMarket matrix coordinate "


def test_matrix_market_symmetric(tmp_path):
    text = BANNER + "pattern symmetric\n% comment\n\n4 4 3\n2 1\n3 1\n% x\n3 2\n"
    graph = Graph.read(put(tmp_path, "g.mtx", text), strict=True)
    assert (graph.num_nodes, graph.num_edges, graph.name_list()) == (4, 3, [1, 2, 3, 4])
    assert edges(graph) == [(2, 1), (3, 1), (3, 2)]


def test_matrix_market_general_drops_zeros_and_counts_one_way(tmp_path):
    text = BANNER + "real general\n3 3 4\n1 2 1.5\n2 1 1\n2 3 2e0\n1 3 0.00\n"
    with pytest.warns(DroppedEdgesWarning, match="1 one-way"):
        graph = Graph.read(put(tmp_path, "g.mtx.gz", text))
    assert edges(graph) == [(1, 2), (2, 1), (2, 3)]
    assert Graph.read(tmp_path / "g.mtx.gz", directed=True).num_arcs == 3


@pytest.mark.parametrize("matrix", [nx.to_scipy_sparse_array(nx.karate_club_graph()), sp.eye_array(3) * 2.5])
def test_matrix_market_as_scipy_writes_it(tmp_path, matrix):
    scipy.io.mmwrite(tmp_path / "g.mtx", sp.coo_array(matrix))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedEdgesWarning)
        graph = Graph.read(tmp_path / "g.mtx")
        assert (graph.to_scipy() != Graph.from_scipy(matrix).to_scipy()).nnz == 0


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("3 3 1\n1 2\n", 1, "MatrixMarket"),
        (BANNER + "pattern general\n", None, "cut off"),
        (BANNER + "pattern general\n% c\n3 3\n", 3, "three integers"),
        (BANNER + "pattern general\n3 4 1\n1 2\n", 2, "square"),
        (BANNER + "pattern general\n9999999999 9999999999 1\n1 2\n", 2, "2147483647"),
        (BANNER + "pattern general\n3 3 2\n1 2\n", None, "promises 2 entries and holds 1"),
        (BANNER + "pattern general\n3 3 1\n1 2\n2 3\n", None, "promises 1 entries and holds 2"),
        (BANNER + "pattern general\n3 3 2\n1 2\n%\n1 4\n", 5, "(1, 4)"),
        (BANNER + "pattern general\n3 3 2\n0 2\n1 2\n", 3, "(0, 2)"),
        (BANNER + "pattern general\n3 3 2\n1 2\n1 x\n", 4, '"x"'),
        (BANNER + "real general\n3 3 2\n1 2 0.5\n1 3\n", 4, "value"),
        (BANNER + "real general\n3 3 2\n1 2 0.5\n1 3 nan\n", 4, "nan"),
        (BANNER + "complex hermitian\n3 3 1\n1 2 0.5 1\n", 1, "not supported"),
        ("%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n0\n", 1, "not supported"),
    ],
)
def test_broken_matrix_market(tmp_path, text, line, says):
    refused(put(tmp_path, "g.mtx", text), says, line)


# ----------------------------------------------------------- graph6, sparse6

some_graphs = st.integers(0, 70).flatmap(
    lambda n: st.tuples(st.just(n), st.floats(0, 1), st.integers(0, 99)).map(
        lambda of: nx.gnp_random_graph(of[0], of[1] ** 3, seed=of[2])
    )
)


@settings(max_examples=60)
@given(some_graphs)
@example(nx.path_graph(2))
@example(nx.path_graph(16))
@example(nx.star_graph(300))
def test_graph6_and_sparse6_agree_with_networkx(tmp_path_factory, source):
    folder = tmp_path_factory.mktemp("g6")
    graph = Graph.from_networkx(source)
    put(folder, "a.g6", nx.to_graph6_bytes(source))
    put(folder, "a.s6", nx.to_sparse6_bytes(source, header=False))
    assert Graph.read(folder / "a.g6", strict=True) == graph == Graph.read(folder / "a.s6", strict=True)
    graph.write(folder / "b.g6")
    graph.write(folder / "b.s6")
    assert (folder / "b.g6").read_bytes() == nx.to_graph6_bytes(source, header=False)
    assert nx.utils.graphs_equal(nx.read_sparse6(folder / "b.s6"), source)


def test_sparse6_powers_of_two_are_padded_right(tmp_path):
    for n in (2, 4, 8, 16, 32):
        for pairs in [], [(0, n - 1)], [(0, max(n - 2, 1))], [(i, i + 1) for i in range(n - 2)]:
            source = nx.empty_graph(n)
            source.add_edges_from(pairs)
            Graph.from_networkx(source).write(tmp_path / "a.s6")
            assert nx.utils.graphs_equal(nx.read_sparse6(tmp_path / "a.s6"), source)
            assert Graph.read(tmp_path / "a.s6") == Graph.from_networkx(source)


def test_several_graphs_in_a_file(tmp_path):
    sources = [nx.path_graph(3), nx.petersen_graph(), nx.complete_graph(4)]
    text = b">>graph6<<" + b"".join(nx.to_graph6_bytes(source, header=False) for source in sources)
    text += nx.to_sparse6_bytes(nx.cycle_graph(5), header=False)
    path = put(tmp_path, "many.g6.gz", text)
    graphs = list(read_many(path))
    assert graphs == [Graph.from_networkx(source) for source in [*sources, nx.cycle_graph(5)]]
    with pytest.warns(UserWarning, match=r"many.g6.gz holds several graphs; only the first"):
        assert Graph.read(path) == graphs[0]
    assert [g.num_edges for g in read_many(put(tmp_path, "one.txt", "0 1\n1 2\n"))] == [2]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("IsP@OkWHG\n\nIsP@O\n", 3, "cut off"),
        ("0 1\n", 1, "neither"),
        ("&AG\n", 1, "digraph6"),
        ("~?\n", 1, "cut off"),
        ("~~~~~~~~~\n", 1, "nodes"),
        (":\n", 1, "neither"),
        ("\n\n>>graph6<<\n", None, "no graph"),
    ],
)
def test_broken_graph6(tmp_path, text, line, says):
    path = put(tmp_path, "g.g6", text)
    with pytest.raises(FileFormatError) as caught:
        list(read_many(path))
    assert says in str(caught.value) and caught.value.line == line


# ----------------------------------------------------- GraphML, GML and npz


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
    with pytest.warns(DroppedEdgesWarning, match="2 one-way"):
        assert Graph.read(tmp_path / f"g.{ending}").names is None
    assert Graph.read(tmp_path / f"g.{ending}", directed=True).num_arcs == 2


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


def test_npz_of_scipy(tmp_path):
    matrix = nx.to_scipy_sparse_array(nx.karate_club_graph())
    for name, form in ("a", sp.csr_array), ("b", sp.coo_array), ("c", sp.csc_matrix):
        sp.save_npz(tmp_path / f"{name}.npz", form(matrix))
        assert Graph.read(tmp_path / f"{name}.npz", strict=True) == Graph.from_scipy(matrix)


def test_broken_npz(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    refused(tmp_path / "other.npz", "edge_index")
    np.savez(tmp_path / "bad.npz", edge_index=np.array([[0, -1], [1, 0]]))
    refused(tmp_path / "bad.npz", "-1")
    np.savez(tmp_path / "objects.npz", edge_index=np.array([[0, {}], [1, 0]]))
    refused(tmp_path / "objects.npz", "")
    np.save(tmp_path / "array.npy", np.zeros((2, 3)))
    refused((tmp_path / "array.npy").rename(tmp_path / "array.npz"), "")
    refused(put(tmp_path, "text.npz", "0 1\n"), "")
    Graph.from_networkx(nx.gnm_random_graph(300, 900)).write(tmp_path / "half.npz")
    (tmp_path / "half.npz").write_bytes((tmp_path / "half.npz").read_bytes()[:700])
    refused(tmp_path / "half.npz", "")
    sp.save_npz(tmp_path / "wide.npz", sp.coo_array(np.ones((2, 3))))
    refused(tmp_path / "wide.npz", "square")


# ------------------------------------------------------------------- writing

NAMED = nx.Graph([("anna", "bob"), ("bob", "carl"), ("dora", "anna")])
ENDINGS = ["txt", "csv", "tsv", "edgelist.gz", "mtx", "graphml", "gml", "npz", "mtx.gz"]


@pytest.mark.parametrize("ending", [*ENDINGS, "g6", "s6", "g6.gz"])
def test_written_graphs_read_back(tmp_path, ending):
    path = tmp_path / f"g.{ending}"
    source = nx.connected_watts_strogatz_graph(40, 4, 0.3, seed=1)
    graph = Graph.from_networkx(source)
    graph.write(path)
    again = Graph.read(path, strict=True)
    assert np.array_equal(again.indptr, graph.indptr) and np.array_equal(again.indices, graph.indices)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    before = path.read_bytes()
    graph.write(path)
    assert path.read_bytes() == before or ending == "npz"


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if "mtx" not in ending])
def test_names_are_written(tmp_path, ending):
    graph = Graph.from_networkx(NAMED)
    graph.write(tmp_path / f"g.{ending}")
    assert Graph.read(tmp_path / f"g.{ending}") == graph


@pytest.mark.parametrize("ending", ENDINGS)
def test_directed_graphs_are_written(tmp_path, ending):
    graph = Graph.from_edge_index([[0, 1, 2, 0], [1, 2, 0, 2]], directed=True)
    graph.write(tmp_path / f"g.{ending}")
    again = Graph.read(tmp_path / f"g.{ending}", directed=True)
    assert again.to_edge_index().tolist() == graph.to_edge_index().tolist()


def test_npz_remembers_the_direction_and_any_plain_name(tmp_path):
    graph = Graph.from_networkx(nx.DiGraph(nx.grid_2d_graph(2, 2)), directed=True)
    graph.write(tmp_path / "g.npz")
    assert Graph.read(tmp_path / "g.npz") == graph


def test_what_a_format_cannot_hold_is_said(tmp_path):
    directed = Graph.from_edge_index([[0], [1]], directed=True)
    for ending in ("g6", "s6"):
        with pytest.raises(InputError, match="undirected"):
            directed.write(tmp_path / f"g.{ending}")
    with pytest.raises(InputError, match=r"\.s6"):
        Graph.from_edge_index(np.empty((2, 0), int), 30_000).write(tmp_path / "g.g6")
    for name in ("a b", "#x", "", "a,b"):
        with pytest.raises(InputError, match="edge list"):
            Graph.from_networkx(nx.Graph([(name, "c")])).write(tmp_path / "g.txt")
    for ending in ("txt", "gml"):
        with pytest.raises(InputError, match="same name"):
            Graph.from_networkx(nx.Graph([("1", 1)])).write(tmp_path / f"g.{ending}")
    assert list(tmp_path.iterdir()) == []
    with pytest.warns(UserWarning, match="2 nodes without an edge"):
        Graph.from_edge_index([[0, 1], [1, 0]], 4).write(tmp_path / "g.txt")
    assert (tmp_path / "g.txt").read_text() == "0 1\n"


def test_an_interrupted_write_leaves_what_was_there(tmp_path, monkeypatch):
    graph = Graph.from_networkx(nx.path_graph(4))
    graph.write(tmp_path / "g.npz")
    before = (tmp_path / "g.npz").read_bytes()

    def interrupted(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graph.write(tmp_path / "g.npz")
    assert (tmp_path / "g.npz").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["g.npz"]
    for target in (tmp_path / "none" / "g.npz", tmp_path):
        with pytest.raises(InputError):
            graph.write(target, format="npz")


@pytest.mark.slow
def test_ten_million_lines_with_one_bad_line(tmp_path):
    ids = np.random.default_rng(0).integers(0, 10**6, (1_000_000, 2))
    block = b"".join(b"%d %d\n" % (u, v) for u, v in ids.tolist())
    path = tmp_path / "big.txt"
    path.write_bytes(block * 9 + b"17 oops\n" + block)
    refused(path, "oops", 9_000_001)


def test_reading_a_small_file_does_not_load_numba(tmp_path):
    path = put(tmp_path, "g.txt", "0 1\n1 2\n")
    code = f"import sys; from detours import Graph; Graph.read({str(path)!r}); assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("damage", [10**9, -1, 3])
def test_a_damaged_saved_graph_is_refused_before_counting(tmp_path: Path, damage: int) -> None:
    Graph.from_edge_index([[0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1]], num_nodes=9).save(tmp_path / "saved")
    indices = np.load(tmp_path / "saved" / "indices.npy")
    indices[1] = damage
    np.save(tmp_path / "saved" / "indices.npy", indices)
    with pytest.raises(FileFormatError, match="damaged"):
        detours.count(Graph.open(tmp_path / "saved"), 3)
