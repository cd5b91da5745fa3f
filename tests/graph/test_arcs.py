import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from detours.graph import Graph, arcs, arcs_numba
from tests.graph.cases import TRIANGLE, arc_lists, as_array, quiet


@given(arc_lists, st.booleans())
def test_callers_edges_are_kept_and_found_in_the_csr(pairs, directed):
    graph = quiet(Graph.from_edge_index, as_array(pairs), 8, directed=directed)
    assert graph.edge_index.T.tolist() == [list(pair) for pair in pairs]
    all_arcs = graph.to_edge_index().T.tolist()
    for (u, v), at in zip(pairs, graph.edge_arc.tolist(), strict=True):
        assert (at == -1) if u == v else (all_arcs[at] == [u, v])


def test_edges_of_a_large_graph_are_found_too(monkeypatch):
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 60, (2, 500))
    small = quiet(Graph.from_edge_index, edges)
    expected = small.edge_arc
    monkeypatch.setattr(arcs, "_FEW", 10)
    assert np.array_equal(quiet(Graph.from_edge_index, edges).edge_arc, expected)


def test_clean_sorted_input_needs_no_copy_of_its_edges():
    graph = Graph.from_edge_index(Graph.from_edge_index(TRIANGLE).to_edge_index())
    assert graph.edges_in_csr_order
    assert graph.edge_arc.tolist() == list(range(6))
    assert not Graph.from_edge_index(TRIANGLE[:, ::-1]).edges_in_csr_order


def test_few_edges_of_a_large_graph_are_found_without_scanning_all_arcs(monkeypatch):
    graph = Graph.from_networkx(nx.circulant_graph(20_000, [1, 2, 5]))
    search, called = arcs_numba.locate_rows, []

    def watched(*arrays):
        called.append(True)
        return search(*arrays)

    monkeypatch.setattr(arcs_numba, "locate_rows", watched)
    edges = np.ascontiguousarray(graph.to_edge_index()[:, -5:])
    found = arcs.locate(graph.indptr, graph.indices, edges)
    assert called
    np.testing.assert_array_equal(found, np.arange(graph.num_arcs - 5, graph.num_arcs))
