import subprocess
import sys

import networkx as nx
import pytest

import detours
from detours.errors import DroppedEdgesWarning, FileFormatError, InputError
from detours.graph import Graph
from detours.graph.graph import as_graphs
from tests.graph.cases import TRIANGLE


def test_from_any_takes_all_it_lists_and_refuses_the_rest(tmp_path):
    graph = Graph.from_edge_index(TRIANGLE)
    assert Graph.from_any(graph) is graph
    (tmp_path / "t.txt").write_text("0 1\n1 2\n2 0\n")
    for source in (TRIANGLE, TRIANGLE.tolist(), tuple(TRIANGLE), nx.complete_graph(3), graph.to_scipy()):
        assert Graph.from_any(source) == graph
    for source in (tmp_path / "t.txt", str(tmp_path / "t.txt")):
        assert Graph.from_any(source) == graph
    for nonsense in (None, 7, {"a": 1}, object(), b"abc"):
        with pytest.raises(InputError, match="NetworkX"):
            Graph.from_any(nonsense)


def test_to_directed_and_back():
    arcs = Graph.from_edge_index([[0, 1, 2, 0], [1, 2, 0, 2]], directed=True)
    assert Graph.from_any(arcs).directed
    with pytest.warns(DroppedEdgesWarning, match="2 one-way"):
        undirected = Graph.from_any(arcs, directed=False)
    assert undirected.num_edges == 3 and undirected.edge_index.tolist() == arcs.edge_index.tolist()
    again = undirected.to_directed()
    assert again.directed and again.num_edges == 6
    assert Graph.from_any(undirected, directed=True) == again
    twice = Graph.from_networkx(nx.cycle_graph(4), directed=True).to_undirected(strict=True)
    assert twice == Graph.from_networkx(nx.cycle_graph(4)) and twice.edge_index.shape == (2, 4)


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 2)], [("a", "b"), ("b", "c")]], ids=["ids", "names"])
def test_names_of_nodes_that_do_not_exist(pairs):
    graph = Graph.from_edges([*pairs, *((v, u) for u, v in pairs)])
    assert [graph.name(index) for index in range(3)] == [pairs[0][0], *pairs[1]]
    for index in (-1, 3, "x", 1.5):
        with pytest.raises(InputError, match="index must be"):
            graph.name(index)


def test_as_graphs_equals_from_any_for_each_graph(tmp_path):
    Graph.from_edge_index(TRIANGLE).save(tmp_path / "g")
    sources = [nx.path_graph(list("abc")), TRIANGLE, Graph.from_edge_index(TRIANGLE), tmp_path / "g"]
    for directed in (None, False, True):
        assert as_graphs(sources, directed) == [Graph.from_any(source, directed=directed) for source in sources]
    with pytest.raises(FileFormatError, match="no such file"):
        as_graphs([tmp_path / "absent.txt"])


def test_small_graphs_load_neither_numba_nor_scipy_nor_torch(tmp_path):
    (tmp_path / "t.txt").write_text("0 1\n1 2\n2 0\n")
    code = f"""
import sys
from detours.graph import Graph
graph = Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])
graph.edge_arc
Graph.read({str(tmp_path / "t.txt")!r})
graph.save({str(tmp_path / "g")!r})
Graph.open({str(tmp_path / "g")!r})
heavy = {{"numba", "scipy", "torch", "networkx", "pandas", "igraph"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_paths_are_strings_or_paths():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 0)])
    for use in (Graph.read, Graph.open, graph.save, graph.write):
        for path in (5, b"graph", ""):
            with pytest.raises(InputError, match=r"(path|folder) must be a path, as a string or a pathlib\.Path, but"):
                use(path)


def test_an_opened_graph_stays_usable_in_another_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = nx.karate_club_graph()
    Graph.from_edges(source.edges).save("graph")
    opened, copied, counted, in_parts = (Graph.open("graph") for _ in range(4))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    copied.save("copy")
    assert opened == Graph.open("copy")
    expected = detours.count(source, 3).cycles
    assert detours.count(counted, 3, out="counts").cycles == expected
    assert detours.count(in_parts, 3, out="parts", memory_limit="200KB").cycles == expected


@pytest.mark.parametrize(("name", "value"), [("directed", "no"), ("directed", 2), ("strict", "no"), ("strict", None)])
def test_flags_are_true_or_false(name, value):
    for make in (Graph.from_any, Graph.from_edges, lambda pairs, **flags: detours.count_many([pairs], 2, **flags)):
        with pytest.raises(InputError, match=f"{name} must be True or False"):
            make([(0, 1), (1, 2), (2, 0)], **{name: value})
