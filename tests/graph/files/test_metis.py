"""METIS files, compared with a simple reader: neither NetworkX nor igraph reads them."""

import gzip
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.errors import DroppedEdgesWarning, InputError
from detours.graph import Graph
from tests.graph.cases import edges, put, refused

# The graph of the manual of METIS (figure 2), in several ways to write it, / ends a line.
EDGES = {(1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (3, 5), (4, 6), (4, 7), (5, 6), (6, 7)}
LINES = {
    "plain": "7 11/5 3 2/1 3 4/5 4 2 1/2 3 6 7/1 3 6/5 4 7/6 4/",
    "edges": "7 11 001/5 1 3 2 2 1/1 1 3 2 4 1/5 3 4 2 2 2 1 2/2 1 3 2 6 2 7 5/1 1 3 3 6 2/5 2 4 2 7 6/6 6 4 5/",
    "both": "% weights/7 11 011/4 5 1 3 2 2 1/2 1 1 3 2 4 1/5 5 3 4 2 2 2 1 2/% half/3 2 1 3 2 6 2 7 5/1 1 1 3 3 6 2/"
    "6 5 2 4 2 7 6/2 6 6 4 5/",
    "three": "7 11 010 3/1 2 0 5 3 2/0 2 2 1 3 4/4 1 1 5 4 2 1/2 2 3 2 3 6 7/1 1 1 1 3 6/2 2 1 5 4 7/1 2 1 6 4/",
    "sizes": "7 11 100/1 5 3 2/1 1 3 4/1 5 4 2 1/1 2 3 6 7/1 1 3 6/1 5 4 7/1 6 4/",
}
MANUAL = {way: lines.replace("/", "\n") for way, lines in LINES.items()}


def plain_reader(text: str) -> nx.Graph:
    """A file without weights, line by line."""
    header, *lines = [line for line in text.split("\n") if not line.startswith("%")]
    n, m = map(int, header.split()[:2])
    graph = nx.Graph()
    graph.add_nodes_from(range(1, n + 1))
    for node, line in zip(graph, lines, strict=False):
        graph.add_edges_from((node, int(neighbour)) for neighbour in line.split())
    assert graph.number_of_edges() == m
    return graph


@pytest.mark.parametrize("way", MANUAL)
@pytest.mark.parametrize("ending", ["graph", "metis", "graph.gz"])
def test_the_graph_of_the_manual(tmp_path, way, ending):
    for text in (MANUAL[way], MANUAL[way].replace("\n", "\r\n"), MANUAL[way].rstrip(), MANUAL[way] + "\n \n"):
        graph = Graph.read(put(tmp_path, f"g.{ending}", text), strict=True)
        assert set(edges(graph)) == EDGES and len(edges(graph)) == 11 and not graph.directed
        assert graph.name_list() == [1, 2, 3, 4, 5, 6, 7]
    assert Graph.read(put(tmp_path, "g.dat", MANUAL[way]), format="metis").num_edges == 11


@given(st.integers(0, 9), st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8))))
def test_written_files_are_read_by_the_plain_reader(tmp_path_factory, n, pairs):
    path = tmp_path_factory.mktemp("metis") / "g.graph"
    given = nx.empty_graph(n)
    given.add_edges_from((u, v) for u, v in pairs if u < v < n)
    graph = Graph.from_networkx(given)
    graph.write(path)
    found = plain_reader(path.read_text())
    assert nx.utils.graphs_equal(found, nx.relabel_nodes(given, lambda node: node + 1))
    again = Graph.read(path, strict=True)
    assert np.array_equal(again.indptr, graph.indptr) and np.array_equal(again.indices, graph.indices)


def test_nodes_without_neighbours_have_empty_lines(tmp_path):
    graph = Graph.read(put(tmp_path, "g.graph", "% c\n\n4 1\n\n4\n% between\n\n2"))
    assert (graph.num_nodes, edges(graph)) == (4, [(2, 4)])
    Graph.from_edge_index([[0, 1], [1, 0]], 4).write(tmp_path / "h.graph.gz")
    assert gzip.decompress((tmp_path / "h.graph.gz").read_bytes()) == b"4 1\n2\n1\n\n\n"


def test_loops_are_dropped_whether_they_are_edges_or_not(tmp_path):
    for m in (1, 2):
        with pytest.warns(DroppedEdgesWarning, match="1 loop:"):
            assert Graph.read(put(tmp_path, "g.graph", f"2 {m}\n1 2\n1\n")).num_edges == 1
    refused(put(tmp_path, "g.graph", "2 3\n1 2\n1\n"), "declares 3 edges", 1)
    with pytest.warns(DroppedEdgesWarning, match="1 repeated edge:"):
        assert Graph.read(put(tmp_path, "g.graph", "2 2\n2 2\n1 1\n")).num_edges == 1


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("% alone\n", None, "every line is blank or a comment"),
        ("% c\n3 a\n", 2, 'may only hold numbers, but there is "a"'),
        ("3 2\n2\n1 3\n2 1-2\n", 4, '"1-2"'),
        ("3\n2\n1 3\n2\n", 1, "the number of nodes, the number of edges"),
        ("3 2 2\n2\n1 3\n2\n", 1, 'a list of edges is read with format="edgelist"'),
        ("3 2 0 1 1\n2\n1 3\n2\n", 1, "the number of nodes, the number of edges"),
        ("-3 2\n2\n1 3\n2\n", 1, "the number of nodes, the number of edges"),
        ("3.5 2\n2\n1 3\n2\n", 1, "the number of nodes, the number of edges"),
        ("9999999999 2\n2\n1\n", 1, "2147483647"),
        ("1e99 2\n2\n1\n", 1, "number of nodes"),
        ("5 1\n2\n1\n", None, "declares 5 nodes but has 3 lines"),
        ("2 1\n2\n1\n\n% c\n1\n", 6, "declares 2 nodes, but here is a line for another one"),
        ("% c\n3 3\n2\n1 3\n2\n", 2, "declares 3 edges, but the others list 4 neighbours"),
        ("3 4\n2\n1 3\n2\n", 1, "not two for each edge"),
        ("3 4000000000000000\n2\n1 3\n2\n", 1, "declares 4000000000000000 edges"),
        ("3 2\n2\n% c\n1 3\n\n", 4, "node 2 has the neighbour 3, but node 3 does not have 2"),
        ("3 2\n2\n1 4\n2\n", 3, "integers from 1 to 3"),
        ("3 2\n2\n1 0\n2\n", 3, "integers from 1 to 3"),
        ("3 2\n2\n1 2.5\n2\n", 3, "integers from 1 to 3"),
        ("3 2 1\n2 1\n1 1 3\n2 1\n", 3, "0 for the node and then 2 for each neighbour"),
        ("3 2 11\n1 2 1\n1 1 1 3 1\n\n", 4, "1 for the node and then 2 for each neighbour"),
        ("3 2 1\n2 1\n1 1 3 0\n2 0\n", 3, "a finite number above 0"),
        ("3 2 1\n2 1\n1 1 3 1e999\n2 1\n", 3, "a finite number above 0"),
    ],
)
def test_broken_files(tmp_path, text, line, says):
    refused(put(tmp_path, "g.graph", text), says, line)


def test_directed_graphs_are_not_written(tmp_path):
    with pytest.raises(InputError, match=r"to_undirected\(\)"):
        Graph.from_edge_index([[0], [1]], directed=True).write(tmp_path / "g.graph")
    assert not list(tmp_path.iterdir())


def metis_text(folder: Path, graph: nx.Graph) -> str:
    Graph.from_networkx(graph).write(folder / "g.graph")
    return (folder / "g.graph").read_text()


SEVERAL = [
    nx.karate_club_graph(),
    nx.path_graph(4),
    nx.cycle_graph(3),
    nx.star_graph(5),
    nx.gnm_random_graph(3000, 9000, 1),
]


@pytest.mark.parametrize("graph", SEVERAL, ids=str)
def test_a_list_of_edges_that_is_a_metis_file_is_refused(tmp_path, graph):
    text = metis_text(tmp_path, graph)
    for name in ("g.txt", "g.edges.gz"):
        refused(put(tmp_path, name, "% somewhere\n" + text), 'name it .graph or give format="metis" (--format metis)')
    assert Graph.read(put(tmp_path, "g.txt", text), format="metis").num_edges == graph.number_of_edges()


@pytest.mark.parametrize("way", MANUAL)
def test_weights_do_not_hide_a_metis_file(tmp_path, way):
    refused(put(tmp_path, "g.txt", MANUAL[way]), "this is a METIS file")


@pytest.mark.parametrize("graph", SEVERAL, ids=str)
def test_edge_lists_are_not_mistaken_for_metis(tmp_path, graph):
    for first in (0, 1):
        lines = [f"{u + first} {v + first}\n" for u, v in graph.to_directed().edges]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DroppedEdgesWarning)
            assert Graph.read(put(tmp_path, "g.txt", "".join(lines))).num_edges == graph.number_of_edges()


def test_files_that_the_metis_reader_refuses_are_not_called_metis(tmp_path):
    """Both ask the same function what the first line says."""
    text = "2 1 1000\n" + 10 * "7 " + "2\n" + 10 * "8 " + "1\n"
    refused(put(tmp_path, "g.graph", text), "the first line of a METIS file must hold", line=1)
    refused(put(tmp_path, "g.txt", text), "its lines look like an adjacency list")
