import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import detours
from detours import count, count_many
from detours.errors import InputError
from detours.graph import Graph
from tests.graph.cases import TRIANGLE, quiet


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
    graph = quiet(Graph.from_networkx, arcs, directed=False)
    assert graph.dropped == (0, 0, 1) and graph.num_edges == 2
    directed = Graph.from_networkx(arcs)
    assert directed.directed and directed.num_edges == 3 and directed.to_networkx().edges == arcs.edges
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


def test_networkx_of_tensors_is_refused():
    torch = pytest.importorskip("torch")
    ends = torch.tensor([[0, 1, 2], [1, 2, 0]])
    with pytest.raises(
        InputError, match=r"The node tensor\(0\) is a tensor, .* plain numbers as nodes, such as int\(node\)"
    ):
        Graph.from_networkx(nx.Graph(list(zip(ends[0], ends[1], strict=True))))
    assert Graph.from_networkx(nx.Graph(list(zip(*ends.numpy(), strict=True)))).num_nodes == 3


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array])
def test_scipy_any_format(form):
    matrix = nx.to_scipy_sparse_array(nx.karate_club_graph())
    graph = Graph.from_scipy(form(matrix), strict=True)
    assert graph == Graph.from_networkx(nx.karate_club_graph())
    back = graph.to_scipy()
    assert back.dtype == np.int64 and (back != (matrix != 0)).nnz == 0


def test_scipy_zeros_are_not_edges_and_one_way_entries_are_counted():
    matrix = sp.coo_array(([1.0, 0.0, 2.0], ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
    graph = quiet(Graph.from_scipy, matrix)
    assert (graph.num_nodes, graph.num_edges, graph.dropped.one_way) == (4, 2, 2)


def test_repeated_entries_of_scipy_are_sums():
    matrix = sp.coo_array(([1, -1, 1, -2], ([0, 0, 1, 2], [1, 1, 2, 0])), shape=(3, 3))
    assert quiet(Graph.from_scipy, matrix).num_edges == quiet(Graph.from_scipy, matrix.tocsr()).num_edges == 2
    signed = sp.coo_array(([1, -1], ([2, 0], [1, 1])), shape=(3, 3))
    assert quiet(Graph.from_scipy, signed).edge_index.tolist() == [[2, 0], [1, 1]]  # in the order of the entries


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
    assert Graph.from_igraph(arcs).to_igraph().is_directed()
    assert quiet(Graph.from_igraph, arcs, directed=False).dropped.one_way == 2
    source.es["weight"] = [float("nan")] + [None] * (source.ecount() - 1)
    with pytest.raises(InputError, match="NaN"):
        Graph.from_igraph(source)


def test_igraph_names_that_cannot_be_names():
    igraph = pytest.importorskip("igraph")
    ring = igraph.Graph.Ring(3)
    for names in ([[1], [2], [3]], ["a", "a", "b"], ["a", "b", None], ["a", "b", float("nan")]):
        ring.vs["name"] = names
        assert Graph.from_any(ring).name_list() == [0, 1, 2]
        assert sorted(detours.count(ring, 2).to_networkx()) == [0, 1, 2]


def test_rustworkx():
    rustworkx = pytest.importorskip("rustworkx")
    karate = nx.karate_club_graph()
    source = rustworkx.networkx_converter(karate)  # its data are numbers
    graph = Graph.from_any(source, strict=True)
    assert graph == Graph.from_networkx(karate) and graph.names is None
    assert np.array_equal(graph.edge_index.T, list(source.edge_list()))
    assert count(source, 4).cycles == count(karate, 4).cycles
    assert [each.cycles for each in count_many([source, karate], 3)] == [count(karate, 3).cycles] * 2
    source.remove_node(5)
    rest = Graph.from_any(source)
    assert rest.names == tuple(node for node in range(34) if node != 5)
    assert count(source, 3).cycles == count(nx.restricted_view(karate, [5], []), 3).cycles
    arcs = rustworkx.PyDiGraph()
    arcs.add_nodes_from(["a", "b", "c"])
    arcs.add_edges_from([(0, 1, None), (1, 2, 0.5), (2, 0, "x")])
    assert count(arcs, 2).cycles == {3: 1} and Graph.from_any(arcs).directed and Graph.from_any(arcs).node("c") == 2
    assert not quiet(Graph.from_any, arcs, directed=False).directed
    arcs.add_node("c")  # not a name any more
    assert Graph.from_any(arcs).names is None
    assert Graph.from_any(rustworkx.PyGraph()).num_nodes == 0
    arcs.add_edge(0, 2, float("nan"))
    with pytest.raises(InputError, match=r"The weight of the edge \(0, 2\) is NaN"):
        Graph.from_any(arcs)


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


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_the_advice_for_sparse_tensors_works(layout):
    torch = pytest.importorskip("torch")
    karate = nx.karate_club_graph()
    matrix = getattr(torch.tensor(nx.to_numpy_array(karate)), layout)()
    with pytest.raises(InputError, match=r"give the edge_index A.to_sparse_coo\(\).coalesce\(\).indices\(\)"):
        Graph.from_any(matrix)
    assert Graph.from_any(matrix.to_sparse_coo().coalesce().indices()) == Graph.from_networkx(karate)
