"""Counting block by block in a folder: exact, resumed after a kill, refused where it must be."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detours
from detours.cli import run as command
from detours.counting.on_disk import count_in_blocks as in_blocks
from detours.counting.on_disk import scratch
from detours.counting.on_disk.count_in_blocks import count_in_blocks
from detours.counting.on_disk.job import reverse_folder
from detours.counting.on_disk.whole_graph import plan_blocks
from detours.errors import DroppedEdgesWarning, EngineError, InputError
from detours.graph.disk_rows import Rows, digest
from tests.counting.on_disk.cases import Stopped, assert_same, saved, sparse, stop, wait_for
from tests.strategies import SmallGraph, engines, small_graphs


@settings(max_examples=20)
@given(graph=small_graphs(), k=st.integers(2, 8), data=st.data())
def test_whole_and_in_parts_equal_brute_force(
    tmp_path_factory: pytest.TempPathFactory, graph: SmallGraph, k: int, data: st.DataObject
) -> None:
    engine = data.draw(st.sampled_from(["auto", *engines(k)]))
    limit = data.draw(st.sampled_from([None, 1]))
    folder = tmp_path_factory.mktemp("count")
    given = saved(graph.graph(), folder / "graph")
    result = count_in_blocks(given, k, engine=engine, memory_limit=limit, out=folder / "out", n_jobs=2)
    np.testing.assert_array_equal(result.by_length, graph.table(k))
    again = detours.count(given, k, engine=engine, memory_limit=limit, out=folder / "out")
    assert again.run is not None and again.run.resumed == again.run.blocks
    assert_same(again, result)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("engine", ["rows", "search", "dense"])
@pytest.mark.parametrize("k", [3, 6])
@pytest.mark.usefixtures("many_blocks")
def test_many_blocks_of_every_engine(tmp_path: Path, directed: bool, engine: str, k: int) -> None:
    graph = sparse(directed, nodes=150)
    result = detours.count(graph, k, engine=engine, out=tmp_path / "out", n_jobs=2)
    assert result.run is not None and result.run.blocks > (5 if engine != "dense" else 0)
    assert_same(result, detours.count(graph, k))


def test_a_table_has_the_rows_of_to_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for graph in (
        sparse(),
        detours.Graph.from_edge_index([[2, 0, 0, 1, 1, 2], [0, 2, 1, 0, 2, 1]]),
        sparse(directed=True),
    ):
        result = detours.count(graph, 4, out=tmp_path / "counts.parquet")
        found = pandas.read_parquet(tmp_path / "counts.parquet")
        pandas.testing.assert_frame_equal(found, detours.count(graph, 4).to_pandas())
        assert os.listdir(tmp_path) == ["counts.parquet"]
        assert_same(result, detours.count(graph, 4))


def test_a_table_of_a_graph_with_only_loops(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with pytest.warns(DroppedEdgesWarning):
        graph = detours.Graph.from_edge_index([[0, 1], [0, 1]])
    detours.count(graph, 3, out=tmp_path / "counts.parquet")
    found = pandas.read_parquet(tmp_path / "counts.parquet")
    pandas.testing.assert_frame_equal(found, detours.count(graph, 3).to_pandas())


def test_a_table_without_pyarrow_is_refused_before_the_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"counts.parquet: parquet needs pyarrow; run: pip install pyarrow"):
        detours.count(sparse(), 4, out=tmp_path / "counts.parquet")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("limit", [None, 200_000])
@pytest.mark.usefixtures("many_blocks")
def test_a_stopped_count_is_resumed(tmp_path: Path, limit: int | None) -> None:
    graph = saved(sparse(), tmp_path / "graph")

    with pytest.raises(Stopped):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=limit, progress=stop)
    result = detours.count(graph, 4, out=tmp_path / "out", memory_limit=limit)
    assert result.run is not None and result.run.resumed == 1 < result.run.blocks
    assert_same(result, detours.count(graph, 4))
    assert sorted(os.listdir(tmp_path / "out")) == ["by_length.npy", "graph", "manifest.json"]
    assert_same(detours.Detours.open(tmp_path / "out"), result)


def test_a_killed_process_is_resumed(tmp_path: Path) -> None:
    graph = saved(sparse(nodes=2000), tmp_path / "graph")
    script = """
        import sys, time, detours
        from detours.counting.on_disk import whole_graph as whole
        whole.MIN_BLOCK_SECONDS = 1e-6
        slow = lambda done, total: time.sleep(0.2)
        detours.count(sys.argv[1], 4, out=sys.argv[2], progress=slow)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "graph"), str(tmp_path / "out")]
    with subprocess.Popen(command) as process:
        wait_for(lambda: len(list((tmp_path / "out" / "blocks").glob("*.npz"))) >= 3)
        process.send_signal(signal.SIGKILL)
    result = detours.count(graph, 4, out=tmp_path / "out")
    assert result.run is not None and 3 <= result.run.resumed < result.run.blocks
    assert_same(result, detours.count(graph, 4))


def test_the_command_line_counts_into_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse().save(tmp_path / "graph")
    line = ["count", str(tmp_path / "graph"), "-k", "4", "--out", str(tmp_path / "out"), "--memory", "200KB", "--json"]
    assert command([*line, "--jobs", "1"]) == 0
    summary = json.loads(capsys.readouterr().out)
    expected = detours.count(sparse(), 4)
    assert {row["cycle_length"]: row["cycles"] for row in summary["by_length"]} == expected.cycles
    assert summary["blocks"] > 1 and summary["resumed"] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "by_length.npy"), expected.arc_by_length)
    assert command([*line[:-1], "--jobs", "1"]) == 0
    assert f"{summary['blocks']} blocks, {summary['blocks']} of an earlier run" in capsys.readouterr().err


def test_the_command_line_writes_a_table_within_the_limit(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    sparse().save(tmp_path / "graph")
    line = ["count", str(tmp_path / "graph"), "-k", "4", "--jobs", "1", "--quiet"]
    assert command([*line, "--out", str(tmp_path / "parts.parquet"), "--memory", "200KB"]) == 0
    assert command([*line, "--out", str(tmp_path / "whole.parquet")]) == 0
    parts, whole = (
        pytest.importorskip("pandas").read_parquet(tmp_path / f"{name}.parquet") for name in ("parts", "whole")
    )
    assert parts.to_numpy().tolist() == whole.to_numpy().tolist() and list(parts) == list(whole)
    assert [file.name for file in tmp_path.iterdir() if "blocks" in file.name] == []


def test_a_new_limit_that_a_count_of_the_whole_graph_exceeds_is_refused(tmp_path: Path) -> None:
    graph, out = sparse(), tmp_path / "out"
    with pytest.raises(Stopped):
        detours.count(graph, 4, out=out, progress=stop)
    with pytest.raises(InputError, match=r"holds a count without that memory_limit; leave it out, or give"):
        detours.count(graph, 4, out=out, memory_limit=100_000)
    assert_same(detours.count(graph, 4, out=out), detours.count(graph, 4))


def test_parts_keep_a_new_limit(tmp_path: Path) -> None:
    graph, out = sparse(), tmp_path / "out"
    with pytest.raises(Stopped):
        detours.count(graph, 3, out=out, memory_limit=200_000, progress=stop)
    result = detours.count(graph, 3, out=out, memory_limit=180_000)
    assert result.run is not None and result.run.resumed == 1
    assert_same(result, detours.count(graph, 3))


def test_a_disk_that_is_full_when_the_counts_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_up(*args: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(in_blocks, "new_array", fill_up)
    with pytest.raises(InputError, match=r"the disk of .*out is full; make room .*: finished blocks are kept"):
        detours.count(sparse(), 4, out=tmp_path / "out")
    monkeypatch.undo()
    result = detours.count(sparse(), 4, out=tmp_path / "out")
    assert result.run is not None and result.run.resumed == result.run.blocks
    assert_same(result, detours.count(sparse(), 4))


def test_a_finished_folder_has_the_names_and_edges_of_the_last_graph(tmp_path: Path) -> None:
    for edges in ("ab bc ca", "xy yz zx", "xy zx yz", "xy zx yz"):
        graph = detours.Graph.from_edges([tuple(edge) for edge in edges.split()])
        result = detours.count(graph, 3, out=tmp_path / "out")
        opened = detours.Detours.open(tmp_path / "out")
        assert opened.graph.name_list() == graph.name_list()
        assert opened.to_pandas().equals(detours.count(graph, 3).to_pandas())
    assert result.run is not None and result.run.resumed == 1
    (tmp_path / "out" / "graph" / "indices.npy").unlink()  # damaged
    detours.count(graph, 3, out=tmp_path / "out")
    assert detours.Detours.open(tmp_path / "out").graph == graph


def test_a_graph_inside_the_output_folder_is_not_changed(tmp_path: Path) -> None:
    graph = sparse()
    for name in ("graph", "reverse", ".graph"):
        folder = tmp_path / f"of {name}" / "data"
        folder.mkdir(parents=True)
        graph.save(folder / name)
        with pytest.raises(InputError, match=r"data exists and holds no count; give a new or empty folder"):
            detours.count(folder / name, 4, out=folder)
        assert os.listdir(folder) == [name]
        np.testing.assert_array_equal(detours.Graph.open(folder / name).indices, graph.indices)
    out = tmp_path / "out"
    detours.count(graph, 4, out=out)
    for name in ("graph", "blocks"):
        graph.save(out / name)
    assert_same(detours.count(out / "graph", 4, out=out), detours.count(out / "blocks", 4))


def test_leftovers_of_killed_runs_are_removed(tmp_path: Path) -> None:
    graph, out = sparse(directed=True), tmp_path / "out"
    fingerprint = digest(Rows(graph.indptr, graph.indices), True)
    reverse_folder(out, fingerprint).mkdir(parents=True)
    (out / ".manifest.json.0a1b2c3d").write_text("{")
    limit = 300_000
    with pytest.raises(Stopped):
        detours.count(graph, 3, out=out, memory_limit=limit, progress=stop)
    (out / ".by_length.npy.123.part").write_bytes(b"half")
    (out / "..graph.123.part").mkdir()
    result = detours.count(graph, 3, out=out, memory_limit=limit)
    assert_same(result, detours.count(graph, 3))
    whole = ["by_length.npy", "cycles.npy", "graph", "manifest.json"]
    assert sorted(os.listdir(out)) == whole
    for name in ("blocks/0-000000.npz", "blocks/.0-1.0a1b2c3d", "begun/0-0.1-0a1b2c3d", ".cycles.npy.1.part"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).touch()
    assert_same(detours.count(graph, 3, out=out, memory_limit=limit), result)
    assert sorted(os.listdir(out)) == whole


def test_a_scratch_folder_is_removed_by_its_count_only() -> None:
    with scratch.shared_scratch() as outer:
        with scratch.shared_scratch() as inner:
            assert inner.exists()
        assert outer.exists() and not inner.exists()
    assert not outer.exists()


def test_scratch_folders_are_removed_by_a_process_that_must_end() -> None:
    with scratch.shared_scratch() as shared, scratch.local_scratch("detours-dask-") as local:
        (local / "worker").mkdir()
        scratch.discard_scratch()
        assert not shared.exists() and not local.exists()


@pytest.mark.parametrize("damage", ["missing", "cut", "other", "empty", "header", "changed"])
def test_damaged_finished_counts_are_refused(tmp_path: Path, damage: str) -> None:
    detours.count(sparse(), 4, out=tmp_path / "out")
    file = tmp_path / "out" / "by_length.npy"
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-8])
    elif damage == "other":
        np.save(file, np.zeros((7, 3), np.int64))
    elif damage == "header":
        file.write_bytes(file.read_bytes().replace(b"'shape'", b"'shape ", 1))
    elif damage == "changed":
        file.write_bytes(file.read_bytes()[:-1] + b"\1")
    else:
        file.write_bytes(b"")
    with pytest.raises(InputError, match=r"by_length.npy is missing or damaged; remove .*out and run the same count"):
        detours.count(sparse(), 4, out=tmp_path / "out")


def test_impossible_counts_are_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"engine='rows' has closed forms up to k = 6, not for k = 7"):
        detours.count(sparse(directed=True), 7, engine="rows", out=tmp_path / "out")
    with pytest.raises(InputError, match=r"engine must be one of .* but it is 'fast'"):
        detours.count(sparse(), 4, engine="fast", out=tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_all_threads_share_the_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(cyclic: Any, *args: Any, **options: Any) -> Any:
        seen.append(options.get("n_jobs", 1))
        return plan_blocks(cyclic, *args, **options)

    monkeypatch.setattr(in_blocks, "plan_blocks", watched)
    detours.count(sparse(), 4, out=tmp_path / "out", n_jobs=3, memory_limit="1GB")
    assert seen[-1] == 3


def test_a_table_that_cannot_be_written_is_refused_before_the_count(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "folder.parquet").mkdir()
    before = os.listdir(tmp_path)
    with pytest.raises(InputError, match=r"folder\.parquet is a folder; give the name of a file to write\."):
        detours.count(sparse(), 3, out=tmp_path / "folder.parquet")
    for name, message in (("a\udc80", "cannot be written as UTF-8; rename the node"), (1, "have the same name")):
        graph = nx.Graph([(name, "1"), ("1", "b"), ("b", name)])
        with pytest.raises(InputError, match=message):
            detours.count(graph, 3, out=tmp_path / "counts.parquet")
    assert os.listdir(tmp_path) == before


@pytest.mark.parametrize("name", ["x.csv", "x.npz", "x.csv.gz"])
def test_files_of_other_kinds_are_refused_as_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"out is a folder or a \.parquet file"):
        detours.count([(0, 1), (1, 2), (2, 0)], k=2, out=tmp_path / name)
    assert not list(tmp_path.iterdir())
