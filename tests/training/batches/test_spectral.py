"""Laplacian eigenvectors: those of PyG up to what is not determined, whatever the solver, and kept by content."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from detours.graph import Graph
from detours.training.batches import spectral
from detours.training.batches.spectral import eigenvectors, laplacian, smallest
from tests.real_data import molecule_graphs

GRAPHS = {
    "path": nx.path_graph(9),
    "cycle": nx.cycle_graph(8),  # every eigenvalue but two is double
    "two parts and a node alone": nx.disjoint_union_all([nx.path_graph(4), nx.star_graph(5), nx.empty_graph(1)]),
    "karate": nx.karate_club_graph(),
    "larger than PyG's dense limit": nx.random_regular_graph(3, 140, seed=1),
}


def projectors(values: np.ndarray, vectors: np.ndarray) -> list[tuple[float, np.ndarray]]:
    """The projector on each eigenspace: the part of an eigenbasis that does not depend on choices."""
    groups = np.split(np.arange(len(values)), np.flatnonzero(np.diff(values) > 1e-6) + 1)
    return [(float(values[group].mean()), vectors[:, group] @ vectors[:, group].T) for group in groups]


@pytest.mark.parametrize("name", GRAPHS)
def test_equal_to_pyg(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch_geometric.data import Data
    from torch_geometric.transforms import AddLaplacianEigenvectorPE

    graph, width = Graph.from_networkx(GRAPHS[name]), 5
    data = Data(edge_index=torch.from_numpy(graph.to_edge_index()), num_nodes=graph.num_nodes)
    theirs = AddLaplacianEigenvectorPE(width, is_undirected=True)(data).laplacian_eigenvector_pe.double().numpy()
    ours = eigenvectors([graph], width, tmp_path).astype(float)
    matrix = laplacian(graph).toarray()
    rayleigh = np.diag(ours.T @ matrix @ ours)
    np.testing.assert_allclose(rayleigh, np.diag(theirs.T @ matrix @ theirs), atol=1e-5)
    np.testing.assert_allclose(matrix @ ours, ours * rayleigh, atol=1e-5)
    np.testing.assert_allclose(ours.T @ ours, np.eye(width), atol=1e-5)
    # Eigenspaces that are whole in both: the first vector and the last may belong to a larger space that was cut.
    for (value, mine), (_, other) in list(zip(projectors(rayleigh, ours), projectors(rayleigh, theirs), strict=True)):
        all_values = np.linalg.eigvalsh(matrix)
        if np.sum(np.abs(all_values - value) < 1e-5) == round(np.trace(mine)):
            np.testing.assert_allclose(mine, other, atol=1e-4)


def test_the_two_solvers_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = laplacian(Graph.from_networkx(nx.connected_watts_strogatz_graph(300, 4, 0.3, seed=2)))
    dense_values, dense = smallest(matrix, 6)
    monkeypatch.setattr(spectral, "DENSE_NODES", 10)
    values, vectors = smallest(matrix, 6)
    np.testing.assert_allclose(values, dense_values, atol=1e-10)
    np.testing.assert_allclose(vectors, dense, atol=1e-7)  # signs included


def test_small_graphs_are_padded_with_zeros(tmp_path: Path) -> None:
    graphs = [Graph.from_edge_index(np.empty((2, 0), int), num_nodes=1), Graph.from_networkx(nx.path_graph(2))]
    found = eigenvectors(graphs, 4, tmp_path)
    assert found.shape == (3, 4) and found.dtype == np.float32
    np.testing.assert_allclose(np.abs(found), [[0, 0, 0, 0], [0.5**0.5, 0, 0, 0], [0.5**0.5, 0, 0, 0]], atol=1e-7)
    assert eigenvectors(graphs, 0, tmp_path).shape == (3, 0)


def test_arcs_of_a_directed_graph_are_taken_both_ways(tmp_path: Path) -> None:
    both = Graph.from_networkx(nx.cycle_graph(5))
    around = Graph.from_edge_index([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]], directed=True)
    np.testing.assert_array_equal(laplacian(around).toarray(), laplacian(both).toarray())


def test_kept_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [Graph.from_networkx(nx.path_graph(6)), Graph.from_networkx(nx.star_graph(4))]
    first = eigenvectors(graphs, 3, tmp_path)
    (file,) = tmp_path.iterdir()
    monkeypatch.setattr(spectral, "smallest", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(eigenvectors(graphs, 3, tmp_path), first)
    monkeypatch.undo()
    file.write_bytes(file.read_bytes()[:50])  # a disk that was full
    np.testing.assert_array_equal(eigenvectors(graphs, 3, tmp_path), first)
    assert not np.array_equal(eigenvectors(graphs[::-1], 3, tmp_path), first)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert eigenvectors([Graph.from_networkx(nx.path_graph(6))], 2, tmp_path / "file" / "below").any()


def test_real_molecules(tmp_path: Path) -> None:
    graphs = [Graph.from_edge_index(arcs, num_nodes=n) for n, arcs in molecule_graphs("MUTAG")[:20]]
    found, start = eigenvectors(graphs, 8, tmp_path).astype(float), 0
    for graph in graphs:
        vectors = found[start : start + graph.num_nodes]
        start += graph.num_nodes
        matrix = laplacian(graph).toarray()
        np.testing.assert_allclose(np.diag(vectors.T @ matrix @ vectors), np.linalg.eigvalsh(matrix)[1:9], atol=1e-5)
