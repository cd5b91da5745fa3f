import warnings

import networkx as nx
import pytest
import scipy.io
import scipy.sparse as sp

from detours.errors import DroppedEdgesWarning
from detours.graph import Graph
from tests.graph.cases import edges, put, refused

BANNER = "%%MatrixMarket matrix coordinate "


def test_matrix_market_symmetric(tmp_path):
    text = BANNER + "pattern symmetric\n% comment\n\n4 4 3\n2 1\n3 1\n\n3 2\n"
    graph = Graph.read(put(tmp_path, "g.mtx", text), strict=True)
    assert (graph.num_nodes, graph.num_edges, graph.name_list()) == (4, 3, [1, 2, 3, 4])
    assert edges(graph) == [(2, 1), (3, 1), (3, 2)]


def test_matrix_market_general_drops_zeros_and_counts_one_way(tmp_path):
    text = BANNER + "real general\n3 3 4\n1 2 1.5\n2 1 1\n2 3 2e0\n1 3 0.00\n"
    with pytest.warns(DroppedEdgesWarning, match="1 one-way"):
        graph = Graph.read(put(tmp_path, "g.mtx.gz", text))
    assert edges(graph) == [(1, 2), (2, 1), (2, 3)]
    assert Graph.read(tmp_path / "g.mtx.gz", directed=True).num_arcs == 3


def test_a_last_line_without_an_end(tmp_path):
    """SciPy 1.17 ends the process for a blank after the last entry of a file that does not end with a newline."""
    for rest in ("", " ", "\t", "\r"):
        graph = Graph.read(put(tmp_path, "g.mtx", BANNER + "pattern symmetric\n3 3 2\n2 1\n3 1" + rest))
        assert edges(graph) == [(2, 1), (3, 1)]
    graph = Graph.read(put(tmp_path, "g.mtx", BANNER + "real symmetric\n3 3 1\n2 1 -1.5E-3 "))
    assert edges(graph) == [(2, 1)]


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
        (BANNER + "pattern general\n% c\n3 3\n", None, "three integers"),
        (BANNER + "pattern general\n3 4 1\n1 2\n", None, "square"),
        (BANNER + "pattern general\n9999999999 9999999999 1\n1 2\n", None, "2147483647"),
        (BANNER + "pattern general\n3 3 2\n1 2\n", None, "declares 2 entries but holds 1"),
        (BANNER + "pattern general\n3 3 1\n1 2\n2 3\n", None, "declares 1 entries but holds more"),
        (BANNER + "pattern general\n3 3 1000000000000\n1 2\n2 3\n", None, "cut off"),
        (BANNER + "pattern general\n3 3 2\n1 2\n\n1 4\n", 5, 'two integers from 1 to 3, but it is "1 4"'),
        (BANNER + "pattern general\n3 3 2\n0 2\n1 2\n", 3, 'but it is "0 2"'),
        (BANNER + "pattern general\n3 3 2\n1 2\n1 x\n", 4, '"1 x"'),
        (BANNER + "pattern general\n3 3 2\n1 2\n1 3 2\n", 4, '"1 3 2" (there is more in the line)'),
        (BANNER + "pattern general\n% c\n3 3 2\n1 2\n1 3J\n", 5, '"1 3J" (there is more in the line)'),
        (BANNER + "real general\n3 3 2\n1 2 1e0x\n1 3 1\n", 3, '"1 2 1e0x" (there is more in the line)'),
        (BANNER + "pattern general\n3 3 2\n1 2\n1 3\7", 4, "there is more in the line"),
        (BANNER + "real general\n3 3 2\n1 2 0.5\n1 3\n", 4, "and a number"),
        (BANNER + "real general\n3 3 2\n1 2 0.5\n1 3 nan\n", None, "(1, 3) is nan"),
        (BANNER + "complex hermitian\n3 3 1\n1 2 0.5 1\n", 1, "not supported"),
        ("%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n0\n", 1, "not supported"),
    ],
)
def test_broken_matrix_market(tmp_path, text, line, says):
    refused(put(tmp_path, "g.mtx", text), says, line)


def test_input_that_crashes_scipy_does_not_reach_it(tmp_path):
    """An unfinished last line, and zero bytes: SciPy 1.17 reads beyond the end of the text."""
    head = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 0.5\n2 3 1.5\n"
    for _ in range(50):
        refused(put(tmp_path, "a.mtx", head + "3 1 0\x7f"), "there is more in the line", 5)
        assert Graph.read(put(tmp_path, "e.mtx", head + "3 1 0 "), directed=True).num_edges == 2
    refused(put(tmp_path, "b.mtx", "%" * 5000 + "\n" + head + "3 1\0 0\n"), "binary data")
    assert Graph.read(put(tmp_path, "c.mtx", head + "3 1 1"), directed=True).num_edges == 3
    many = "\n".join("1 2 1" for _ in range(300_000))
    refused(put(tmp_path, "d.mtx", f"%%MatrixMarket matrix coordinate real general\n3 3 7\n{many}\n"), "holds more")
