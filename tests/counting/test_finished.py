"""Opening a folder of counts, with its edges and names."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import detours
from detours.errors import InputError


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("opened", [False, True])
def test_open_gives_the_same_result(tmp_path: Path, directed: bool, opened: bool) -> None:
    source = nx.relabel_nodes(nx.gnp_random_graph(300, 0.02, seed=1), lambda node: f"v{node}")
    graph = detours.Graph.from_networkx(source)
    if opened:
        graph.save(tmp_path / "saved")
        graph = detours.Graph.open(tmp_path / "saved")
    result = detours.count(graph, 4, directed=directed, out=tmp_path / "counts")
    found = detours.Detours.open(tmp_path / "counts")
    assert found.graph == result.graph and (found.k, found.directed, found.run) == (4, directed, result.run)
    assert isinstance(found.arc_by_length.base, np.memmap)
    assert found.to_pandas().equals(result.to_pandas())
    assert found.nodes_to_pandas().equals(detours.count(graph, 4, directed=directed).nodes_to_pandas())


def test_other_folders_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="not a folder of counts"):
            detours.Detours.open(path)
    detours.count(nx.karate_club_graph(), 3, out=tmp_path / "counts")
    manifest = tmp_path / "counts" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"run"', '"ran"'))
    with pytest.raises(InputError, match="not finished; run the same count again"):
        detours.Detours.open(tmp_path / "counts")


def test_folders_and_files_are_strings_or_paths() -> None:
    triangle = [(0, 1), (1, 2), (2, 0)]
    for name, use in (
        ("out", lambda path: detours.count(triangle, 2, out=path)),
        ("folder", detours.Detours.open),
        ("path", detours.count(triangle, 2).to_parquet),
    ):
        for path in (5, b"counts", ""):
            with pytest.raises(InputError, match=rf"{name} must be a path, as a string or a pathlib\.Path, but it is"):
                use(path)


def test_names_that_cannot_be_stored_are_refused_before_the_work(tmp_path: Path) -> None:
    graph = nx.Graph([(object(), 1), (1, 2)])
    with pytest.raises(InputError, match="cannot be stored"):
        detours.count(graph, 3, out=tmp_path / "counts")
    assert not (tmp_path / "counts").exists()
