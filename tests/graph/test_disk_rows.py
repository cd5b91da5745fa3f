"""Rows of a graph, in memory or read from its folder."""

from pathlib import Path

import numpy as np

from detours.graph.disk_rows import CHUNK, Rows, digest, save_reverse
from tests.counting.on_disk.cases import sparse, strip


def test_the_same_fingerprint_in_memory_and_on_disk(tmp_path: Path) -> None:
    graph = sparse()
    graph.save(tmp_path / "graph")
    here, there = Rows(graph.indptr, graph.indices), Rows.open(tmp_path / "graph")
    assert digest(here, False) == digest(there, False) != digest(there, True)


def test_reversed_arcs_equal_the_transposed_matrix(tmp_path: Path) -> None:
    graph = sparse(directed=True)
    graph.save(tmp_path / "graph")
    save_reverse(Rows.open(tmp_path / "graph"), tmp_path / "back", 37)
    expected = graph.to_scipy().T.tocsr().sorted_indices()
    np.testing.assert_array_equal(np.load(tmp_path / "back" / "indptr.npy"), expected.indptr)
    np.testing.assert_array_equal(np.load(tmp_path / "back" / "indices.npy"), expected.indices)


def test_ranges_have_as_many_arcs_as_they_may() -> None:
    graph = strip(8, 3000)
    rows = Rows(graph.indptr, graph.indices)
    for most in (1, 100, CHUNK):
        ranges = list(rows.ranges(most))
        assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
        for first, last in ranges:
            assert graph.indptr[last] - graph.indptr[first] <= most or last == first + 1
        for first, last in ranges[:-1]:
            assert graph.indptr[last + 1] - graph.indptr[first] > most
