from pathlib import Path

import networkx as nx
import numpy as np
import pytest
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


def test_npz_keeps_the_direction_and_plain_names(tmp_path):
    graph = Graph.from_networkx(nx.DiGraph(nx.grid_2d_graph(2, 2)), directed=True)
    graph.write(tmp_path / "g.npz")
    assert Graph.read(tmp_path / "g.npz") == graph


def matrix_file(path: Path, kind: str, **arrays: object) -> Path:
    np.savez(
        path, format=np.array(kind.encode()), shape=np.array([3, 3]), **{k: np.array(a) for k, a in arrays.items()}
    )
    return path


@pytest.mark.parametrize(
    "kind, indptr, indices, wrong",
    [
        ("csr", [0, 2**40, 2, 2], [1, 2], "decreases"),  # crashed the process
        ("csc", [0, 2, 1, 2], [1, 2], "decreases"),
        ("csr", [0, 1, 1, 2**40], [1, 2], "indptr must begin with 0 and end"),
        ("csr", [0, 1, 2, 2], [1.5, 2.0], "integers"),
        ("csr", [0, 1, 2, 2], [1, 3], "indices must be from 0 to 2"),
        ("csc", [0, 1, 2, 2], [-1, 2], "indices must be from 0 to 2"),
        ("csr", [0, 1, 2], [1, 2], "do not fit the shape"),
        ("abc", [0, 1, 2, 2], [1, 2], "format 'abc' is unknown"),
    ],
)
def test_rows_outside_of_the_matrix_are_refused(tmp_path, kind, indptr, indices, wrong):
    refused(matrix_file(tmp_path / "a.npz", kind, indptr=indptr, indices=indices, data=[1, 1]), wrong)


def test_other_scipy_formats_are_checked(tmp_path):
    refused(
        matrix_file(tmp_path / "a.npz", "coo", row=[0, 1], col=[0.5, 1], data=[1, 1]), "row and col must be integers"
    )
    refused(matrix_file(tmp_path / "a.npz", "coo", row=[0, 7], col=[0, 1], data=[1, 1]), "")
    refused(matrix_file(tmp_path / "a.npz", "dia", offsets=[0.5], data=[[1, 1, 1]]), "offsets must be integers")
    ring = nx.to_scipy_sparse_array(nx.cycle_graph(6))
    for form in (sp.bsr_array(ring, blocksize=(2, 3)), sp.dia_array(ring)):
        sp.save_npz(tmp_path / "good.npz", form)
        assert Graph.read(tmp_path / "good.npz", strict=True) == Graph.from_scipy(ring)
    bad = dict(np.load(tmp_path / "good.npz")) | {"format": np.array(b"bsr"), "data": np.ones((2, 2, 2))}
    np.savez(tmp_path / "bad.npz", **bad, indptr=np.array([0, 1, 9, 2]), indices=np.array([0, 2]))
    refused(tmp_path / "bad.npz", "decreases")


def test_names_that_do_not_fit_are_refused(tmp_path):
    edges = np.array([[0, 1], [1, 0]])
    text = np.frombuffer(b"ab", np.uint8)
    deep = np.frombuffer(b"(" * 99 + b")" * 99, np.uint8)
    for names in (
        {"names": np.array([0.5, 1.5])},
        {"names": np.zeros((2, 2), np.int64)},
        {"names_text": text, "names_ends": np.array([-1, 2]), "names_literal": False},
        {"names_text": text, "names_ends": np.array([1, 9]), "names_literal": False},
        {"names_text": text, "names_ends": np.array([2]), "names_literal": False},
        {"names_text": np.frombuffer(b"[]1", np.uint8), "names_ends": np.array([2, 3]), "names_literal": True},
        {"names_text": np.frombuffer(b"a+1", np.uint8), "names_ends": np.array([2, 3]), "names_literal": True},
        {"names_text": deep, "names_ends": np.array([198, 198]), "names_literal": True},
    ):
        np.savez(tmp_path / "a.npz", edge_index=edges, **names)
        refused(tmp_path / "a.npz", "")


def test_npz_can_be_gzipped(tmp_path):
    graph = Graph.from_networkx(nx.karate_club_graph())
    graph.write(tmp_path / "g.npz.gz")
    assert Graph.read(tmp_path / "g.npz.gz") == graph
