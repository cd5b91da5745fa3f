import networkx as nx
import numpy as np
import scipy.sparse as sp

from detours.graph import Graph
from tests.graph.cases import put, refused


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


def test_npz_remembers_the_direction_and_any_plain_name(tmp_path):
    graph = Graph.from_networkx(nx.DiGraph(nx.grid_2d_graph(2, 2)), directed=True)
    graph.write(tmp_path / "g.npz")
    assert Graph.read(tmp_path / "g.npz") == graph
