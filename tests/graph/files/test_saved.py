import json
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import detours
from detours.errors import FileFormatError, InputError
from detours.graph import Graph
from tests.graph.cases import TRIANGLE, quiet


@pytest.mark.parametrize("damage", [10**9, -1, 3])
def test_a_damaged_saved_graph_is_refused_before_counting(tmp_path: Path, damage: int) -> None:
    Graph.from_edge_index([[0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1]], num_nodes=9).save(tmp_path / "saved")
    indices = np.load(tmp_path / "saved" / "indices.npy")
    indices[1] = damage
    np.save(tmp_path / "saved" / "indices.npy", indices)
    with pytest.raises(FileFormatError, match="damaged"):
        detours.count(Graph.open(tmp_path / "saved"), 3)


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
    with pytest.raises(InputError, match="not a saved graph"):
        graph.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter").exists()


def test_a_failed_save_keeps_the_old_folder(tmp_path, monkeypatch):
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


def spoil(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize(
    "file, use", [("indices.npy", "degree"), ("indptr.npy", "degree"), ("edge_index.npy", "edge_index")]
)
def test_a_changed_byte_is_found_when_the_graph_is_first_used(tmp_path: Path, file: str, use: str) -> None:
    graph = quiet(Graph.from_edge_index, [[3, 0, 1, 2, 2], [0, 1, 2, 0, 3]])
    graph.save(tmp_path / "g")
    spoil(tmp_path / "g" / file, -16)
    opened = Graph.open(tmp_path / "g")  # reads nothing of it
    assert opened.num_nodes == graph.num_nodes and opened.num_arcs == graph.num_arcs
    with pytest.raises(FileFormatError, match="has another checksum than what was written"):
        getattr(opened, use)


@pytest.mark.parametrize("column", [(9, 0), (-1, 0), (1, 3), (2**40, 0)])
def test_edges_that_are_not_in_the_rows_are_refused(tmp_path: Path, column: tuple[int, int]) -> None:
    """They were an IndexError at `r.edge`. An early version wrote no checksums, so the content itself is checked."""
    graph = quiet(Graph.from_edge_index, [[3, 0, 1, 2, 2], [0, 1, 2, 0, 3]])
    graph.save(tmp_path / "g")
    edges = np.load(tmp_path / "g" / "edge_index.npy")
    edges[:, 1] = column
    np.save(tmp_path / "g" / "edge_index.npy", edges)
    about = json.loads((tmp_path / "g" / "graph.json").read_text())
    del about["files"]
    (tmp_path / "g" / "graph.json").write_text(json.dumps(about))
    result = detours.count(Graph.open(tmp_path / "g"), 3)
    with pytest.raises(FileFormatError, match="the saved graph is damaged"):
        _ = result.edge


@pytest.mark.parametrize("use", [repr, hash, lambda graph: graph.to_directed().num_edges])
def test_what_needs_no_arcs_does_not_read_them(tmp_path: Path, use: Callable[[Graph], object]) -> None:
    graph = Graph.from_networkx(nx.gnm_random_graph(2000, 8000, seed=1))
    graph.save(tmp_path / "g")
    spoil(tmp_path / "g" / "indices.npy", 5000)
    use(Graph.open(tmp_path / "g"))


def test_damaged_headers_and_manifests_are_refused_in_one_sentence(tmp_path: Path) -> None:
    graph = Graph.from_networkx(nx.Graph([("ä", "b"), ("b", "c")]))
    for number, (file, text) in enumerate(
        [
            ("indices.npy", b"{'descr': '<i4', 'fortran_order': False, 'shape': (4,"),
            ("graph.json", b"[" * 100_000),
            ("graph.json", b'{"format": "detours graph", "version": 1, "arrays": 7}'),
            ("graph.json", b'{"format": "detours graph", "version": 1, "arrays": [], "files": {"../x": 1}}'),
            ("names_ends.npy", b""),
        ]
    ):
        graph.save(folder := tmp_path / str(number))
        content = (folder / file).read_bytes()
        (folder / file).write_bytes(content[:10] + text if file == "indices.npy" else text)
        with pytest.raises(FileFormatError) as caught:
            Graph.open(folder)
        assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


@pytest.mark.parametrize(
    "pairs", [[[0, 1], [1, 2], [2, 0]], [[5, 6], [6, 9], [9, 5]], [["a", "b"], ["b", "c"], ["c", "a"]]]
)
def test_numpy_names_are_stored_as_plain_ones(tmp_path, pairs):
    """A NetworkX graph of the rows of an array has such nodes."""
    graph = nx.Graph()
    graph.add_edges_from(np.array(pairs))
    counted = [detours.count(graph, k=2, out=tmp_path / "counts") for _ in range(2)]
    assert counted[0].cycles == {3: 1} and counted[1].run.resumed == counted[1].run.blocks
    Graph.from_networkx(graph).write(tmp_path / "g.npz")
    for found in (detours.Detours.open(tmp_path / "counts").graph, Graph.read(tmp_path / "g.npz")):
        assert found.name_list() == list(graph) and not any(isinstance(name, np.generic) for name in found.name_list())


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits")
def test_the_reason_why_a_graph_cannot_be_saved_is_given(tmp_path: Path) -> None:
    script = """
        import resource, sys, numpy as np, detours
        graph = detours.Graph.from_edge_index(np.stack([np.arange(50_000), np.arange(50_000) + 1]), directed=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            graph.save(sys.argv[1])
        except detours.errors.InputError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "saved")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told == f"{tmp_path / 'saved'} cannot be written (File too large).\n"
    assert not list(tmp_path.iterdir())
