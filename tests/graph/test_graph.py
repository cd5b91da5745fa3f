import copy
import pickle
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from detours.errors import DroppedEdgesWarning, FileFormatError, InputError
from detours.graph import Dropped, Graph
from detours.graph import arcs as lookup
from detours.graph.union import many

TRIANGLE = np.array([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
arc_lists = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=40)


def quiet(make, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedEdgesWarning)
        return make(*args, **kwargs)


def as_array(pairs):
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def rows(graph):
    return [graph.indices[a:b].tolist() for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]


# ------------------------------------------------------------------ building


@given(arc_lists, st.booleans())
def test_csr_agrees_with_sets(pairs, directed):
    graph = quiet(Graph.from_edge_index, as_array(pairs), 8, directed=directed)
    wanted = {(u, v) for u, v in pairs if u != v}
    distinct = len(wanted)
    one_way = sum((v, u) not in wanted for u, v in wanted)
    if not directed:
        wanted |= {(v, u) for u, v in wanted}
    assert rows(graph) == [sorted(v for u, v in wanted if u == node) for node in range(8)]
    loops = sum(u == v for u, v in pairs)
    assert graph.dropped == Dropped(loops, len(pairs) - loops - distinct, 0 if directed else one_way)
    assert graph.indptr.dtype == np.int64 and graph.indices.dtype == np.int32
    assert graph.num_edges == (len(wanted) if directed else len(wanted) // 2)
    assert graph.degree.tolist() == [len(row) for row in rows(graph)]


@given(arc_lists, st.booleans())
def test_callers_edges_are_kept_and_found_in_the_csr(pairs, directed):
    graph = quiet(Graph.from_edge_index, as_array(pairs), 8, directed=directed)
    assert graph.edge_index.T.tolist() == [list(pair) for pair in pairs]
    arcs = graph.to_edge_index().T.tolist()
    for (u, v), at in zip(pairs, graph.edge_arc.tolist(), strict=True):
        assert (at == -1) if u == v else (arcs[at] == [u, v])


def test_edges_of_a_large_graph_are_found_too(monkeypatch):
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 60, (2, 500))
    small = quiet(Graph.from_edge_index, edges)
    expected = small.edge_arc
    monkeypatch.setattr(lookup, "_FEW", 10)
    assert np.array_equal(quiet(Graph.from_edge_index, edges).edge_arc, expected)


def test_clean_sorted_input_needs_no_copy_of_its_edges():
    graph = Graph.from_edge_index(Graph.from_edge_index(TRIANGLE).to_edge_index())
    assert graph.edges_in_csr_order
    assert graph.edge_arc.tolist() == list(range(6))
    assert not Graph.from_edge_index(TRIANGLE[:, ::-1]).edges_in_csr_order


def test_the_callers_array_may_change_afterwards():
    edges = TRIANGLE.copy()
    graph = Graph.from_edge_index(edges)
    edges[:] = 0
    assert np.array_equal(graph.edge_index, TRIANGLE)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint64, np.float32, np.float64])
def test_any_type_of_whole_number(dtype):
    assert Graph.from_edge_index(TRIANGLE.astype(dtype)) == Graph.from_edge_index(TRIANGLE)


def test_isolated_nodes_and_empty_graphs():
    assert Graph.from_edge_index(TRIANGLE, 5).num_nodes == 5
    empty = Graph.from_edge_index([[], []])
    assert (empty.num_nodes, empty.num_arcs, empty.edge_index.shape) == (0, 0, (2, 0))
    assert len(empty.edge_arc) == 0
    assert Graph.from_edge_index(np.empty((2, 0), np.int64), 3).degree.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("edges", "num_nodes", "says"),
    [
        ([[0, -1], [1, 2]], None, "-1"),
        ([[0, 7], [1, 2]], 5, "7"),
        ([[0, 1], [1]], None, "same length"),
        ([0, 1, 2], None, "(3,)"),
        ([[0, 1, 2]] * 3, None, "(3, 3)"),
        ([[0, 1], [1, 2], [2, 0]], None, "transpose"),
        ([[0.5, 1], [1, 2]], None, "0.5"),
        ([[np.nan, 1], [1, 2]], None, "nan"),
        ([[np.inf, 1], [1, 2]], None, "inf"),
        ([["a", "b"], ["b", "c"]], None, "whole numbers"),
        ([[True, False], [False, True]], None, "bool"),
        ([[0, 10**30], [1, 2]], None, "2147483646"),
        ([[0, None], [1, 2]], None, "whole numbers"),
        (np.array([[0, 2**64 - 1], [1, 2]], dtype=np.uint64), None, str(2**64 - 1)),
        ([[0, 2**31], [1, 2]], None, str(2**31)),
        ([[0, 2**31 - 2], [1, 2]], None, "renumber"),
        ([[0, 1], [1, 0]], 2**31, "num_nodes"),
        ([[0, 1], [1, 0]], -1, "num_nodes"),
        ([[0, 1], [1, 0]], 2.5, "num_nodes"),
        ([[0, 1], [1, 0]], True, "num_nodes"),
    ],
)
def test_bad_edge_index_is_refused_in_one_sentence(edges, num_nodes, says):
    with pytest.raises(InputError) as caught:
        Graph.from_edge_index(edges, num_nodes)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_dropped_is_told_once_and_refused_when_strict():
    edges = [[0, 0, 0, 1], [0, 1, 1, 2]]
    with pytest.warns(DroppedEdgesWarning, match="1 loop, 1 repeated edge and 2 one-way arcs") as caught:
        graph = Graph.from_edge_index(edges)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert graph.dropped == (1, 1, 2)
    with pytest.raises(InputError, match="1 loop, 1 repeated edge and 2 one-way arcs"):
        Graph.from_edge_index(edges, strict=True)
    with pytest.raises(InputError, match="strict"):
        Graph.from_any(graph, strict=True)


def test_clean_input_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Graph.from_edge_index(TRIANGLE, strict=True)
        Graph.from_networkx(nx.karate_club_graph(), strict=True)


# ---------------------------------------------------------- other libraries


def test_networkx_keeps_any_names():
    source = nx.Graph([("b", "a"), ("a", (1, 2)), ((1, 2), "b"), ("b", 7.5)])
    graph = Graph.from_networkx(source)
    assert list(graph.names) == list(source)
    assert graph.edge_index.shape == (2, 4)
    assert [(graph.name(u), graph.name(v)) for u, v in graph.edge_index.T] == list(source.edges)
    back = graph.to_networkx()
    assert nx.utils.graphs_equal(back, source)
    assert graph.node((1, 2)) == list(source).index((1, 2))


def test_networkx_with_plain_nodes_needs_no_names():
    assert Graph.from_networkx(nx.path_graph(4)).names is None
    assert Graph.from_networkx(nx.path_graph([1, 0, 2])).names == (1, 0, 2)
    assert Graph.from_networkx(nx.Graph([(False, True)])).names == (False, True)


def test_networkx_multigraph_and_digraph():
    multi = nx.MultiGraph([(0, 1), (1, 0), (1, 2), (2, 2)])
    assert quiet(Graph.from_networkx, multi).dropped == (1, 1, 0)
    arcs = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    graph = quiet(Graph.from_networkx, arcs)
    assert graph.dropped == (0, 0, 1) and graph.num_edges == 2
    directed = Graph.from_networkx(arcs, directed=True)
    assert directed.num_edges == 3 and directed.to_networkx().edges == arcs.edges
    multi_arcs = nx.MultiDiGraph([(0, 1), (0, 1), (1, 2)])
    assert quiet(Graph.from_networkx, multi_arcs, directed=True).dropped == (0, 1, 0)


def test_an_undirected_source_asked_to_be_directed_has_both_arcs():
    graph = Graph.from_networkx(nx.cycle_graph(4), directed=True, strict=True)
    assert graph.directed and graph.num_arcs == 8
    assert graph.edge_index.shape == (2, 4)


def test_networkx_with_nan_weight_is_refused():
    with pytest.raises(InputError, match=r"\(0, 1\).*NaN"):
        Graph.from_networkx(nx.Graph([(0, 1, {"weight": float("nan")})]))
    Graph.from_networkx(nx.Graph([(0, 1, {"weight": "heavy"}), (1, 2, {"weight": 2.5})]))


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array])
def test_scipy_any_format(form):
    matrix = nx.to_scipy_sparse_array(nx.karate_club_graph())
    graph = Graph.from_scipy(form(matrix), strict=True)
    assert graph == Graph.from_networkx(nx.karate_club_graph())
    back = graph.to_scipy()
    assert back.dtype == np.int64 and (back != (matrix != 0)).nnz == 0


def test_scipy_zeros_are_no_edges_and_one_way_entries_are_counted():
    matrix = sp.coo_array(([1.0, 0.0, 2.0], ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
    graph = quiet(Graph.from_scipy, matrix)
    assert (graph.num_nodes, graph.num_edges, graph.dropped.one_way) == (4, 2, 2)


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (sp.coo_array(([np.nan], ([0], [1])), shape=(2, 2)), "NaN"),
        (sp.coo_array(([1], ([0], [1])), shape=(2, 3)), "square"),
        (np.eye(3), "SciPy sparse"),
        (sp.coo_array(([1], ([0], [1])), shape=(2**31, 2**31)), "2147483647"),
    ],
)
def test_bad_matrices_are_refused(matrix, says):
    with pytest.raises(InputError, match=says):
        Graph.from_scipy(matrix)


def test_csr_arrays():
    graph = Graph.from_networkx(nx.petersen_graph())
    assert Graph.from_csr(graph.indptr, graph.indices, strict=True) == graph
    for indptr, indices in [([0, 1], [0, 1]), ([], []), ([0, 2, 1, 2], [1, 0]), ([0, 1, 2], [1, 5])]:
        with pytest.raises(InputError):
            Graph.from_csr(indptr, indices)


def test_igraph_both_ways():
    igraph = pytest.importorskip("igraph")
    source = igraph.Graph.Famous("Zachary")
    graph = Graph.from_igraph(source, strict=True)
    assert graph == Graph.from_any(source)
    assert graph.to_igraph().get_edgelist() == sorted(source.get_edgelist())
    source.vs["name"] = [f"v{i}" for i in range(source.vcount())]
    named = Graph.from_igraph(source)
    assert named.node("v33") == 33 and named.to_igraph().vs["name"] == source.vs["name"]
    source.vs["name"] = ["same"] * source.vcount()
    assert Graph.from_igraph(source).names is None
    arcs = igraph.Graph([(0, 1), (1, 2)], directed=True)
    assert Graph.from_igraph(arcs, directed=True).to_igraph().is_directed()
    assert quiet(Graph.from_igraph, arcs).dropped.one_way == 2
    source.es["weight"] = [float("nan")] + [None] * (source.ecount() - 1)
    with pytest.raises(InputError, match="NaN"):
        Graph.from_igraph(source)


def test_torch_and_pyg():
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    tensor = torch.from_numpy(TRIANGLE)
    graph = Graph.from_edge_index(tensor, strict=True)
    assert graph == Graph.from_any(tensor)
    one = data.Data(edge_index=tensor, num_nodes=4)
    assert Graph.from_pyg(one).num_nodes == 4
    batch = data.Batch.from_data_list([one, one])
    both = Graph.from_any(batch)
    assert both == Graph.disjoint_union([one, one])[0]
    assert both.to_pyg().edge_index.tolist() == both.to_edge_index().tolist()
    assert both.to_pyg().num_nodes == 8


def test_bad_pyg_is_refused():
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    with pytest.raises(InputError, match="edge_index"):
        Graph.from_pyg(data.Data(x=torch.zeros(3, 1)))
    with pytest.raises(InputError, match="to_homogeneous"):
        Graph.from_any(data.HeteroData())
    bad = data.Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.tensor([1.0, float("nan")]))
    bad.num_nodes = 2
    with pytest.raises(InputError, match="NaN"):
        Graph.from_pyg(bad)
    with pytest.raises(InputError, match="node id 5"):
        Graph.from_pyg(data.Data(edge_index=torch.tensor([[0, 5], [5, 0]]), num_nodes=2))
    with pytest.raises(InputError, match="edge_index"):
        Graph.from_any(torch.eye(3).to_sparse())


def test_from_any_takes_what_it_says_and_tells_what_it_takes(tmp_path):
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


def test_turning_directed_and_back():
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


# ------------------------------------------------------------------- unions


@given(st.lists(arc_lists, max_size=6), st.booleans())
def test_union_is_the_graphs_side_by_side(lists, directed):
    arrays = [as_array(pairs) for pairs in lists]
    parts = [quiet(Graph.from_edge_index, array, directed=directed) for array in arrays]
    union, offsets = Graph.disjoint_union(parts)
    assert offsets.tolist() == np.cumsum([0, *(part.num_nodes for part in parts)]).tolist()
    assert rows(union) == [
        [v + start for v in row] for part, start in zip(parts, offsets.tolist(), strict=False) for row in rows(part)
    ]
    edges = [part.edge_index + start for part, start in zip(parts, offsets.tolist(), strict=False)]
    assert pickle.loads(pickle.dumps(union)) == union
    assert np.array_equal(union.edge_index, np.concatenate([np.empty((2, 0)), *edges], axis=1))
    total = Counter()
    for part in parts:
        total.update(part.dropped._asdict())
    assert union.dropped == Dropped(**total)
    unprepared, same_offsets = quiet(Graph.disjoint_union, arrays, directed=directed)
    assert unprepared.dropped == union.dropped and np.array_equal(same_offsets, offsets)
    if parts:  # of no graphs at all, none is directed
        assert unprepared == union and np.array_equal(unprepared.edge_arc, union.edge_arc)


def test_union_of_mixed_sources(tmp_path):
    (tmp_path / "t.txt").write_text("0 1\n")
    union, offsets = Graph.disjoint_union([nx.path_graph(3), TRIANGLE, nx.path_graph(2).to_directed()])
    assert (union.num_nodes, union.num_edges, offsets.tolist()) == (8, 6, [0, 3, 6, 8])
    union, _ = Graph.disjoint_union([Graph.from_edge_index(TRIANGLE), tmp_path / "t.txt", nx.path_graph(3)])
    assert union.num_nodes == 8


def test_union_warns_once_names_the_bad_graph_and_refuses_a_mix():
    with pytest.warns(DroppedEdgesWarning, match="30 loops") as caught:
        Graph.disjoint_union([np.array([[0, 0], [0, 0]])[:, :1]] * 30)
    assert len(caught) == 1
    for prepare in (Graph.disjoint_union, many):
        with pytest.warns(DroppedEdgesWarning, match="1 loop, 1 repeated edge and 2 one-way") as caught:
            prepare([nx.Graph([(0, 0)]), nx.MultiGraph([(0, 1), (0, 1)]), [[0, 1], [1, 2]]])
        assert len(caught) == 1
        with pytest.raises(InputError, match="Graph number 1"):
            prepare([TRIANGLE, [[0, -1], [1, 0]]])
    with pytest.raises(InputError, match="directed"):
        Graph.disjoint_union([Graph.from_edge_index(TRIANGLE), Graph.from_edge_index(TRIANGLE, directed=True)])


def test_many_gives_each_graph_as_from_any_does(tmp_path):
    Graph.from_edge_index(TRIANGLE).save(tmp_path / "g")
    sources = [nx.path_graph(list("abc")), TRIANGLE, Graph.from_edge_index(TRIANGLE), tmp_path / "g"]
    for directed in (None, False, True):
        assert many(sources, directed) == [Graph.from_any(source, directed=directed) for source in sources]
    with pytest.raises(FileFormatError, match="no such file"):
        many([tmp_path / "absent.txt"])


# ---------------------------------------------------------------- behaviour


def test_names_are_looked_up():
    graph = Graph.from_networkx(nx.Graph([("a", "b"), ("b", 3)]))
    assert [graph.node(name) for name in ("a", "b", 3, "3")] == [0, 1, 2, 2]
    assert graph.name_list() == ["a", "b", 3]
    for missing in ("c", 0, ["a"], 1.5, "-3"):
        with pytest.raises(InputError, match="no node"):
            graph.node(missing)
    plain = Graph.from_edge_index(TRIANGLE)
    assert (plain.node(2), plain.node(np.int64(1)), plain.node("0"), plain.name(np.int32(1))) == (2, 1, 0, 1)
    for missing in (3, -1, True, "x", 0.0, "9" * 99):
        with pytest.raises(InputError, match="0 to 2"):
            plain.node(missing)


def test_nothing_can_be_changed():
    graph = Graph.from_networkx(nx.Graph([(5, 6), (6, 7)]))
    for array in (graph.indptr, graph.indices, graph.edge_index, graph.edge_arc):
        with pytest.raises(ValueError):
            array[0] = 1
    with pytest.raises(AttributeError):
        graph.names = None
    with pytest.raises(AttributeError):
        del graph.indptr
    with pytest.raises(InputError, match="from_any"):
        Graph()
    graph.to_scipy().indices[0] = 0
    graph.to_edge_index()[0] = 0
    assert graph == Graph.from_networkx(nx.Graph([(5, 6), (6, 7)]))


def test_equality_hash_and_copies():
    graph = Graph.from_networkx(nx.Graph([("a", "b"), ("b", "c")]))
    for same in (pickle.loads(pickle.dumps(graph)), copy.copy(graph), copy.deepcopy(graph)):
        assert same == graph and hash(same) == hash(graph)
        assert np.array_equal(same.edge_index, graph.edge_index) and not same.indices.flags.writeable
    other = Graph.from_networkx(nx.Graph([("a", "b"), ("b", "d")]))
    assert graph != other and graph != graph.to_directed() and graph != "graph"
    assert graph != Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])


def test_repr():
    assert repr(Graph.from_edge_index(TRIANGLE)) == "Graph(3 nodes, 3 edges)"
    assert repr(Graph.from_edge_index(TRIANGLE, directed=True)) == "Graph(3 nodes, 6 arcs, directed)"
    named = Graph.from_networkx(nx.path_graph(list("abcd")))
    assert repr(named) == "Graph(4 nodes, 3 edges, names 'a', 'b', 'c', ...)"


# ------------------------------------------------------------- save and open


@pytest.mark.parametrize(
    "source",
    [
        nx.karate_club_graph(),
        nx.grid_2d_graph(3, 4),
        nx.Graph([("ä", "b\n"), ("b\n", "")]),
        nx.path_graph([5, 3, 9]),
        nx.empty_graph(0),
        nx.empty_graph(3),
        nx.gnm_random_graph(500, 3000, seed=1),
    ],
)
def test_save_and_open(tmp_path, source):
    graph = Graph.from_networkx(source)
    graph.save(tmp_path / "g")
    again = Graph.open(tmp_path / "g")
    assert again == graph and again.path == tmp_path / "g"
    assert again.name_list() == graph.name_list()
    assert np.array_equal(again.edge_index, graph.edge_index)
    assert type(again.indices) is np.ndarray and not again.indices.flags.writeable
    assert Graph.read(tmp_path / "g") == graph == Graph.from_any(str(tmp_path / "g"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["g"]


def test_a_large_opened_graph_is_mapped_and_can_be_pickled(tmp_path):
    graph = Graph.from_networkx(nx.gnm_random_graph(2000, 8000, seed=1))
    graph.save(tmp_path / "g")
    again = Graph.open(tmp_path / "g")
    assert isinstance(again.indices.base, np.memmap)
    data = pickle.dumps(again)
    del again
    assert pickle.loads(data) == graph


def test_saving_keeps_flags_and_replaces_only_saved_graphs(tmp_path):
    graph = quiet(Graph.from_edge_index, [[0, 0, 1], [0, 1, 2]], directed=True)
    graph.save(tmp_path / "g")
    assert Graph.open(tmp_path / "g") == graph and Graph.open(tmp_path / "g").dropped == (1, 0, 0)
    Graph.from_edge_index(TRIANGLE).save(tmp_path / "g")
    assert Graph.open(tmp_path / "g").num_edges == 3
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("words")
    with pytest.raises(InputError, match="no saved graph"):
        graph.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter").exists()


def test_a_failed_save_leaves_what_was_there(tmp_path, monkeypatch):
    graph = Graph.from_edge_index(TRIANGLE)
    graph.save(tmp_path / "g")
    bad = Graph.from_networkx(nx.Graph([(frozenset([1]), object())]))
    with pytest.raises(InputError, match="cannot be stored"):
        bad.save(tmp_path / "g")

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graph.save(tmp_path / "g")
    monkeypatch.undo()
    assert Graph.open(tmp_path / "g") == graph
    assert [entry.name for entry in tmp_path.iterdir()] == ["g"]


def test_damaged_saved_graphs_are_refused(tmp_path):
    graph = Graph.from_networkx(nx.gnm_random_graph(2000, 8000, seed=1))

    def fresh(name: str) -> Path:
        graph.save(tmp_path / name)
        return tmp_path / name

    cut = fresh("cut") / "indices.npy"
    cut.write_bytes(cut.read_bytes()[:9000])
    (fresh("missing") / "indptr.npy").unlink()
    (fresh("json") / "graph.json").write_text("{")
    other = fresh("version") / "graph.json"
    other.write_text(other.read_text().replace('"version": 1', '"version": 99'))
    np.save(fresh("swapped") / "indptr.npy", np.arange(5))
    for name in ("cut", "missing", "json", "version", "swapped", "absent"):
        with pytest.raises(FileFormatError) as caught:
            Graph.open(tmp_path / name)
        assert "\n" not in str(caught.value)


# -------------------------------------------------------------------- speed


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
