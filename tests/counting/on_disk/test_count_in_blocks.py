"""Counting block by block in a folder: exact, resumed after a kill, within its memory, refused where it must be."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detours
from detours.cli import run as command
from detours.counting.engines import blas
from detours.counting.engines.dense.engine import DenseEngine
from detours.counting.on_disk import count_in_blocks as in_blocks
from detours.counting.on_disk import whole_graph as whole
from detours.counting.on_disk import worker as site
from detours.counting.on_disk.count_in_blocks import count_in_blocks
from detours.counting.on_disk.job import Job, reverse_in
from detours.counting.on_disk.part_engine import count_roots
from detours.counting.on_disk.parts import describe_parts, fitting, most_arcs
from detours.counting.plan import make_plan
from detours.counting.shrink.halo import TooLarge, cut_halo, radius
from detours.errors import DroppedEdgesWarning, EngineError, FileFormatError, InputError
from detours.graph import arcs as lookup
from detours.graph.disk_rows import CHUNK, Rows, digest, save_reverse
from tests.oracles.halos import ball
from tests.strategies import SmallGraph, engines, small_graphs


def sparse(directed: bool = False, nodes: int = 300, seed: int = 1) -> detours.Graph:
    graph = nx.gnp_random_graph(nodes, 5 / nodes, seed=seed, directed=directed)
    return detours.Graph.from_networkx(graph, directed=directed)


def saved(graph: detours.Graph, folder: Path) -> detours.Graph:
    graph.save(folder)
    return detours.Graph.open(folder)


def assert_same(found: detours.Detours, expected: detours.Detours) -> None:
    np.testing.assert_array_equal(found.arc_by_length, expected.arc_by_length)
    np.testing.assert_array_equal(found.arc_cycles, expected.arc_cycles)
    assert found.cycles == expected.cycles


@pytest.fixture
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small graphs are cut into many blocks, as large ones are."""
    monkeypatch.setattr(whole, "SHORTEST", 1e-6)


# ---------------------------------------------------------------------------------------------- exact


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


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 6, 7])
def test_parts_whose_halos_are_not_the_whole_graph(tmp_path: Path, directed: bool, k: int) -> None:
    graph = nx.circulant_graph(600, [1, 2, 5])
    graph.remove_edges_from(list(graph.edges)[::7])
    given = saved(detours.Graph.from_networkx(graph, directed=directed), tmp_path / "graph")
    result = detours.count(given, k, out=tmp_path / "out", memory_limit=600_000 if directed else 200_000)
    assert result.run is not None and result.run.blocks > 3
    assert_same(result, detours.count(given, k))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_a_halo_is_what_networkx_finds(tmp_path: Path, directed: bool, k: int) -> None:
    graph = nx.gnp_random_graph(80, 0.03, seed=k, directed=directed)
    given = saved(detours.Graph.from_networkx(graph, directed=directed), tmp_path / "graph")
    rows = Rows.open(tmp_path / "graph")
    back = save_reverse(rows, tmp_path / "back", 13) if directed else None
    halo = cut_halo(rows, back, 20, 30, k, 10**6)
    expected = ball(graph, range(20, 30), radius(k))
    assert dict(zip(halo.node.tolist(), halo.distance.tolist(), strict=True)) == expected
    source = halo.node[np.repeat(np.arange(len(halo.node)), np.diff(halo.indptr))]
    arcs = set(zip(source.tolist(), halo.node[halo.indices].tolist(), strict=True))
    border = {node for node, steps in expected.items() if steps == radius(k) and k % 2}
    inside = [(u, v) for u, v in graph.subgraph(expected).edges if not {u, v} <= border]
    assert arcs == ({*inside} if directed else {*inside, *((v, u) for u, v in inside)})
    assert halo.node[halo.first : halo.last].tolist() == list(range(20, 30))
    assert given.num_nodes == rows.num_nodes


def test_reversed_arcs_equal_the_transposed_matrix(tmp_path: Path) -> None:
    graph = sparse(directed=True)
    graph.save(tmp_path / "graph")
    save_reverse(Rows.open(tmp_path / "graph"), tmp_path / "back", 37)
    expected = graph.to_scipy().T.tocsr().sorted_indices()
    np.testing.assert_array_equal(np.load(tmp_path / "back" / "indptr.npy"), expected.indptr)
    np.testing.assert_array_equal(np.load(tmp_path / "back" / "indices.npy"), expected.indices)


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


def test_a_table_of_a_graph_with_loops_alone(tmp_path: Path) -> None:
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


def test_few_edges_of_a_large_graph_are_found_without_a_look_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = detours.Graph.from_networkx(nx.circulant_graph(20_000, [1, 2, 5]))
    compiled, asked = lookup._compiled, []

    def watched() -> Any:
        asked.append(True)
        return compiled()

    monkeypatch.setattr(lookup, "_compiled", watched)
    edges = np.ascontiguousarray(graph.to_edge_index()[:, -5:])
    found = lookup.locate(graph.indptr, graph.indices, edges)
    assert asked
    np.testing.assert_array_equal(found, np.arange(graph.num_arcs - 5, graph.num_arcs))


# ---------------------------------------------------------------------------------------------- resumed


class Stopped(Exception):
    pass


@pytest.mark.parametrize("limit", [None, 200_000])
@pytest.mark.usefixtures("many_blocks")
def test_a_stopped_count_goes_on(tmp_path: Path, limit: int | None) -> None:
    graph = saved(sparse(), tmp_path / "graph")

    def stop(done: float, total: float) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=limit, progress=stop)
    result = detours.count(graph, 4, out=tmp_path / "out", memory_limit=limit)
    assert result.run is not None and result.run.resumed == 1 < result.run.blocks
    assert_same(result, detours.count(graph, 4))
    assert sorted(os.listdir(tmp_path / "out")) == ["by_length.npy", "manifest.json"]


def test_a_killed_process_is_resumed(tmp_path: Path) -> None:
    graph = saved(sparse(nodes=2000), tmp_path / "graph")
    script = """
        import sys, time, detours
        from detours.counting.on_disk import whole_graph as whole
        whole.SHORTEST = 1e-6
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


def wait_for(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_damaged_block_is_found_out_and_done_again(tmp_path: Path) -> None:
    graph = saved(sparse(), tmp_path / "graph")

    def spoil(done: float, total: float) -> None:
        for file in (tmp_path / "out" / "blocks").glob("*.npz"):
            file.write_bytes(file.read_bytes()[:-30])

    with pytest.raises(InputError, match=r"was damaged and is removed; run the same count again"):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000, progress=spoil)
    while True:
        try:
            result = detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000)
            break
        except InputError:
            pass
    assert_same(result, detours.count(graph, 4))


def test_the_command_line_counts_into_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sparse().save(tmp_path / "graph")
    line = ["count", str(tmp_path / "graph"), "-k", "4", "--out", str(tmp_path / "out"), "--memory", "200KB", "--json"]
    assert command([*line, "--jobs", "1"]) == 0
    said = json.loads(capsys.readouterr().out)
    expected = detours.count(sparse(), 4)
    assert said["cycles"] == {str(length): total for length, total in expected.cycles.items()}
    assert said["blocks"] > 1 and said["resumed"] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "by_length.npy"), expected.arc_by_length)
    assert command([*line[:-1], "--jobs", "1"]) == 0
    assert f"{said['blocks']} blocks, {said['blocks']} of an earlier run" in capsys.readouterr().err


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


# ---------------------------------------------------------------------------------------------- refused


def test_a_folder_of_another_count_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    detours.count(sparse(), 4, out=out)
    with pytest.raises(InputError, match=r"out holds a count of another graph; give an empty folder or remove"):
        detours.count(sparse(seed=2), 4, out=out)
    with pytest.raises(InputError, match=r"holds a count of k = 4;"):
        detours.count(sparse(), 3, out=out)
    with pytest.raises(InputError, match=r"holds a count of engine = 'auto';"):
        detours.count(sparse(), 4, engine="search", out=out)
    with pytest.raises(InputError, match=r"holds a count of another graph|another way to take the arcs"):
        detours.count(sparse().to_directed(), 4, out=out)
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "version": "0.0.1"}))
    with pytest.raises(InputError, match=r"holds a count of version 0.0.1 of detours;"):
        detours.count(sparse(), 4, out=out)
    (out / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"manifest.json does not describe a count"):
        detours.count(sparse(), 4, out=out)


def test_a_limit_that_a_begun_count_does_not_keep_is_refused(tmp_path: Path) -> None:
    def stop(done: float, total: float) -> None:
        raise Stopped

    graph, out = sparse(), tmp_path / "out"
    with pytest.raises(Stopped):
        detours.count(graph, 4, out=out, progress=stop)
    with pytest.raises(InputError, match=r"holds a count without that memory_limit; leave it out, or give"):
        detours.count(graph, 4, out=out, memory_limit=100_000)
    assert_same(detours.count(graph, 4, out=out), detours.count(graph, 4))


def test_another_limit_for_parts_is_kept_to(tmp_path: Path) -> None:
    def stop(done: float, total: float) -> None:
        raise Stopped

    graph, out = sparse(), tmp_path / "out"
    with pytest.raises(Stopped):
        detours.count(graph, 3, out=out, memory_limit=200_000, progress=stop)
    result = detours.count(graph, 3, out=out, memory_limit=180_000)
    assert result.run is not None and result.run.resumed == 1
    assert_same(result, detours.count(graph, 3))


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada,")
    with pytest.raises(InputError, match=r"exists and holds no count; give a new or empty folder"):
        detours.count(sparse(), 4, out=tmp_path)
    with pytest.raises(InputError, match=r"exists and holds no count; give a new or empty folder"):
        detours.count(sparse(), 4, out=tmp_path / "letter.txt")
    with pytest.raises(FileFormatError, match=r"this is a folder, not a file, and not one written by Graph.save"):
        detours.count(tmp_path, 4, out=tmp_path / "out")
    assert os.listdir(tmp_path) == ["letter.txt"]


def test_a_full_disk_is_one_sentence_and_what_was_done_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, save, blocks = saved(sparse(), tmp_path / "graph"), np.savez, 0

    def fill_up(*args: Any) -> None:
        nonlocal blocks
        blocks += 1
        if blocks > 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(*args)

    monkeypatch.setattr("detours.counting.on_disk.job.np.savez", fill_up)
    with pytest.raises(InputError, match=r"^the disk of .*out is full; finished blocks are kept: make room and run"):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000)
    monkeypatch.undo()
    result = detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000)
    assert result.run is not None and result.run.resumed == 3
    assert_same(result, detours.count(graph, 4))


def test_a_disk_that_is_full_when_the_whole_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_up(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("detours.graph.disk_rows.os.fsync", fill_up)
    with pytest.raises(InputError, match=r"the disk of .*out is full; finished blocks are kept"):
        detours.count(sparse(), 4, out=tmp_path / "out")
    monkeypatch.undo()
    result = detours.count(sparse(), 4, out=tmp_path / "out")
    assert result.run is not None and result.run.resumed == result.run.blocks
    assert_same(result, detours.count(sparse(), 4))


def test_a_node_that_sees_too_much_is_named(tmp_path: Path) -> None:
    graph = saved(detours.Graph.from_networkx(nx.wheel_graph(5000)), tmp_path / "graph")
    with pytest.raises(EngineError, match=r"node \d+ has more than [\d,]+ arcs within 2 steps.*raise memory_limit"):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=100_000)
    assert_same(detours.count(graph, 4, out=tmp_path / "out"), detours.count(graph, 4))


@pytest.mark.parametrize("spoil", ["far", "descending", "loop", "short"])
def test_a_damaged_graph_is_refused(tmp_path: Path, spoil: str) -> None:
    graph = sparse()
    graph.save(tmp_path / "graph")
    indices = graph.indices.copy()
    row = int(np.argmax(np.diff(graph.indptr)))
    at = int(graph.indptr[row])
    if spoil == "far":
        indices[at + 1] = graph.num_nodes + 5
    elif spoil == "descending":
        indices[[at, at + 1]] = indices[[at + 1, at]]
    elif spoil == "loop":
        indices[at] = row
    np.save(tmp_path / "graph" / "indices.npy", indices)
    if spoil == "short":
        file = tmp_path / "graph" / "indices.npy"
        file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(FileFormatError, match=r"damaged|cut short"):
        detours.count(tmp_path / "graph", 4, out=tmp_path / "out", memory_limit=100_000)


def test_an_arc_without_its_reverse_is_refused(tmp_path: Path) -> None:
    sparse(directed=True).save(tmp_path / "graph")
    about = json.loads((tmp_path / "graph" / "graph.json").read_text())
    (tmp_path / "graph" / "graph.json").write_text(json.dumps({**about, "directed": False}))
    with pytest.raises(FileFormatError, match=r"damaged"):
        detours.count(tmp_path / "graph", 2, out=tmp_path / "out", memory_limit=100_000)


def stop(done: float, total: float) -> None:
    raise Stopped


def test_a_graph_in_the_folder_that_is_counted_into_is_left_alone(tmp_path: Path) -> None:
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


def test_what_killed_runs_left_is_removed(tmp_path: Path) -> None:
    graph, out = sparse(directed=True), tmp_path / "out"
    fingerprint = digest(Rows.held(graph.indptr, graph.indices), True)
    reverse_in(out, fingerprint).mkdir(parents=True)
    (out / ".manifest.json.0a1b2c3d").write_text("{")
    limit = 300_000
    with pytest.raises(Stopped):
        detours.count(graph, 3, out=out, memory_limit=limit, progress=stop)
    (out / ".by_length.npy.123.part").write_bytes(b"half")
    (out / "..graph.123.part").mkdir()
    result = detours.count(graph, 3, out=out, memory_limit=limit)
    assert_same(result, detours.count(graph, 3))
    whole = ["by_length.npy", "cycles.npy", "manifest.json"]
    assert sorted(os.listdir(out)) == whole
    for name in ("blocks/0-000000.npz", "blocks/.0-1.0a1b2c3d", "begun/0-0.1-0a1b2c3d", ".cycles.npy.1.part"):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).touch()
    assert_same(detours.count(graph, 3, out=out, memory_limit=limit), result)
    assert sorted(os.listdir(out)) == whole


def test_of_two_runs_that_begin_at_once_one_lays_out_the_count(tmp_path: Path) -> None:
    key = {"graph": "0" * 64, "directed": False, "k": 4, "engine": "auto"}
    first: list[Job] = []

    def late() -> dict[str, Any]:
        first.append(Job.begin(tmp_path / "out", key, lambda: {"stages": [3]}))
        return {"stages": [5]}

    second = Job.begin(tmp_path / "out", key, late)
    assert second.manifest == first[0].manifest == Job.open(tmp_path / "out").manifest and second.stages == [3]
    assert os.listdir(tmp_path / "out") == ["manifest.json"]

    def other() -> dict[str, Any]:
        Job.begin(tmp_path / "other", {**key, "k": 5}, lambda: {"stages": [3]})
        return {"stages": [5]}

    with pytest.raises(InputError, match=r"other holds a count of k = 5; give an empty folder or remove this one"):
        Job.begin(tmp_path / "other", key, other)


def test_a_manifest_is_published_on_a_disk_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr("detours.counting.on_disk.job.os.link", refuse)
    test_of_two_runs_that_begin_at_once_one_lays_out_the_count(tmp_path)


def begun(folder: Path, k: int = 3) -> Job:
    """A count of a saved graph in parts, one of which is finished."""
    graph = saved(sparse(), folder / "graph")
    with pytest.raises(Stopped):
        detours.count(graph, k, out=folder / "out", memory_limit=200_000, progress=stop)
    job = Job.open(folder / "out")
    job.note(source=str(folder / "graph"), nodes=graph.num_nodes, arcs=graph.num_arcs)
    return job


def test_a_block_of_another_length_is_found_out(tmp_path: Path) -> None:
    job = begun(tmp_path)
    job.keep(0, 0, tuple(counts[:-1] for counts in job.load(0, 0)))
    with pytest.raises(InputError, match=r"0-000000.npz was damaged and is removed; run the same count again"):
        detours.count(tmp_path / "graph", 3, out=tmp_path / "out", memory_limit=200_000)
    result = detours.count(tmp_path / "graph", 3, out=tmp_path / "out", memory_limit=200_000)
    assert_same(result, detours.count(sparse(), 3))


@pytest.mark.parametrize("engine", ["rows", "search", "dense"])
@pytest.mark.parametrize("spoil", [lambda found: (), lambda found: (*found[:-1], found[-1][:2, :1])])
@pytest.mark.usefixtures("many_blocks")
def test_a_block_of_another_shape_is_found_out(engine: str, spoil: Any, tmp_path: Path) -> None:
    """Of a graph that is counted as a whole; a small array could pass for a large one otherwise."""
    keep, spoilt = Job.keep, []

    def kept(job: Job, stage: int, block: int, arrays: Any) -> None:
        keep(job, stage, block, arrays if spoilt else spoil(arrays))
        spoilt.append(block)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "keep", kept)
        with pytest.raises(InputError, match=r"was damaged and is removed; run the same count again"):
            detours.count(sparse(), 4, engine=engine, out=tmp_path / "out")
    assert_same(detours.count(sparse(), 4, engine=engine, out=tmp_path / "out"), detours.count(sparse(), 4))


def test_a_block_that_cannot_be_read_now_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = begun(tmp_path)

    def away(*args: Any, **options: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("detours.counting.on_disk.job.np.load", away)
    with pytest.raises(InputError, match=r"0-000000.npz cannot be read \(Input/output error\); run the same count"):
        job.load(0, 0)
    assert job.has(0, 0)


def test_workers_refuse_another_version_and_another_graph(tmp_path: Path) -> None:
    job = begun(tmp_path)
    for change, words in (({"version": "0.0.1"}, "version .* 0.0.1"), ({"form": 0}, "another build of detours")):
        Job(job.folder, job.manifest).note(**change)
        with pytest.raises(InputError, match=f"a worker has {words}.*; install the same one on all machines"):
            site.run_block(str(job.folder), 0, 1)
    sparse(nodes=200).save(tmp_path / "graph")
    job.write_manifest()
    with pytest.raises(InputError, match=r"a worker finds another graph at .*graph; remove .*out and count again"):
        site.run_block(str(job.folder), 0, 1)
    sparse().save(tmp_path / "graph")
    site.run_block(str(job.folder), 0, 1)
    assert job.has(0, 1)


def test_another_limit_reaches_workers_that_are_at_it(tmp_path: Path) -> None:
    job = begun(tmp_path)
    site.run_block(str(job.folder), 0, 1)
    job.note(most_arcs=1 << 20)
    site.run_block(str(job.folder), 0, 2)
    (held,) = site._here.values()
    assert held.job.manifest["most_arcs"] == 1 << 20


def test_a_scratch_folder_is_removed_by_its_own_count_alone() -> None:
    with in_blocks._folder(None) as outer:
        with in_blocks._folder(None) as inner:
            assert inner.exists()
        assert outer.exists() and not inner.exists()
    assert not outer.exists() and not in_blocks._scratch


@pytest.mark.parametrize("spoil", ["missing", "cut", "other", "empty"])
def test_finished_counts_that_were_spoilt_are_refused(tmp_path: Path, spoil: str) -> None:
    detours.count(sparse(), 4, out=tmp_path / "out")
    file = tmp_path / "out" / "by_length.npy"
    if spoil == "missing":
        file.unlink()
    elif spoil == "cut":
        file.write_bytes(file.read_bytes()[:-8])
    elif spoil == "other":
        np.save(file, np.zeros((7, 3), np.int64))
    else:
        file.write_bytes(b"")
    with pytest.raises(InputError, match=r"by_length.npy is missing or damaged; remove .*out and run the same count"):
        detours.count(sparse(), 4, out=tmp_path / "out")


def test_what_no_engine_can_do_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"engine='rows' has closed forms up to k = 6, not for k = 7"):
        detours.count(sparse(directed=True), 7, engine="rows", out=tmp_path / "out")
    with pytest.raises(InputError, match=r"engine must be one of .* but it is 'fast'"):
        detours.count(sparse(), 4, engine="fast", out=tmp_path / "out")
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------------------------------------- memory


def test_the_same_fingerprint_in_memory_and_on_disk(tmp_path: Path) -> None:
    graph = sparse()
    graph.save(tmp_path / "graph")
    here, there = Rows.held(graph.indptr, graph.indices), Rows.open(tmp_path / "graph")
    assert digest(here, False) == digest(there, False) != digest(there, True)


def test_no_halo_is_larger_than_allowed(tmp_path: Path) -> None:
    graph = saved(sparse(nodes=1000), tmp_path / "graph")
    halos = list(fitting(Rows.open(tmp_path / "graph"), None, 0, 1000, 3, most=800))
    assert max(len(halo.indices) for halo in halos) <= 800
    roots = np.concatenate([halo.node[halo.first : halo.last] for halo in halos])
    np.testing.assert_array_equal(roots, np.arange(graph.num_nodes))


def strip(width: int, length: int) -> detours.Graph:
    """A long strip of a lattice with diagonals, a tenth of its edges missing: large, irregular and quickly made."""
    column, row = np.divmod(np.arange(width * length), width)
    kept = np.random.default_rng(0)
    ends = []
    for right, up in ((0, 1), (1, -1), (1, 0), (1, 1)):
        inside = (row + up >= 0) & (row + up < width) & (column + right < length) & (kept.random(len(row)) < 0.9)
        from_node = np.flatnonzero(inside)
        ends.append(np.stack([from_node, from_node + right * width + up]))
    half = np.concatenate(ends, axis=1)
    return detours.Graph.from_edge_index(np.concatenate([half, half[::-1]], axis=1))


def ring(directed: bool = False) -> detours.Graph:
    return detours.Graph.from_networkx(nx.circulant_graph(600, [1, 2, 5]), directed=directed)


@pytest.mark.parametrize("directed", [False, True])
def test_dense_matrices_that_are_too_large_for_a_part_are_not_made(
    monkeypatch: pytest.MonkeyPatch, directed: bool
) -> None:
    graph = ring(directed)
    rows = Rows.held(graph.indptr, graph.indices)
    halo = cut_halo(rows, rows if directed else None, 100, 110, 7, 10**6)
    expected = count_roots(halo, 7, directed, "dense", None, budget=1 << 30)

    def refuse(*args: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(DenseEngine, "__init__", refuse)
    found = count_roots(halo, 7, directed, "dense", None, budget=1 << 16)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_dense_matrices_that_were_asked_for_and_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"^engine='dense' takes about .* around node \d+, more than memory_limit al"):
        detours.count(ring(), 7, engine="dense", out=tmp_path / "out", memory_limit=400_000)
    assert_same(detours.count(ring(), 7, engine="dense", out=tmp_path / "out"), detours.count(ring(), 7))


def test_the_limit_is_for_all_threads_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(cyclic: Any, *args: Any, **options: Any) -> Any:
        seen.append(options.get("n_jobs", 1))
        return make_plan(cyclic, *args, **options)

    monkeypatch.setattr(in_blocks, "make_plan", watched)
    detours.count(sparse(), 4, out=tmp_path / "out", n_jobs=3, memory_limit="1GB")
    assert seen[-1] == 3


def test_matrix_products_of_a_block_stay_on_its_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, count_bundle = [], DenseEngine.count_bundle

    def watched(*args: Any) -> None:
        inside.append(blas._inside)
        count_bundle(*args)

    monkeypatch.setattr(DenseEngine, "count_bundle", watched)
    detours.count(sparse(), 4, engine="dense", out=tmp_path / "out")
    assert inside and min(inside) > 0


def test_nodes_without_arcs_are_cut_into_ranges_too(tmp_path: Path) -> None:
    nodes = 5 * CHUNK
    rows = Rows.held(np.zeros(nodes + 1, np.int64), np.empty(0, np.int32))
    for most in (1000, CHUNK, 2 * CHUNK + 1):
        ranges = list(rows.ranges(most))
        assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])] and ranges[-1][1] == nodes
        assert max(last - first for first, last in ranges) == most
    with pytest.raises(TooLarge):
        cut_halo(rows, None, 0, 801, 3, 800)
    halos = list(fitting(rows, None, 0, 10_000, 3, most=800))
    assert len(halos) == 16 and halos[-1].node[-1] == 9999
    graph = detours.Graph.from_edge_index([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]], num_nodes=nodes)
    result = detours.count(graph, 3, out=tmp_path / "out", memory_limit="4MB")
    assert result.run is not None and result.run.blocks > 4
    assert result.cycles == {3: 1, 4: 0}


@given(
    weights=st.lists(st.integers(1, 1000), min_size=1, max_size=60),
    number=st.integers(1, 60),
    lanes=st.sampled_from([1, 16, 64]),
    missing=st.integers(0, 15),
)
def test_blocks_of_roots_cover_all_and_none_is_empty(weights: list[int], number: int, lanes: int, missing: int) -> None:
    work, number = np.array(weights) / sum(weights), min(number, len(weights))
    total = lanes * len(weights) - min(missing, lanes - 1)
    cuts = whole._cuts(work, number, lanes, total)
    assert (cuts[0], cuts[-1], len(cuts)) == (0, total, number + 1)
    assert (np.diff(cuts) > 0).all() and (cuts[:-1] % lanes == 0).all()


def test_blocks_of_roots_share_the_work() -> None:
    """Hubs come first and make up half of it; the last blocks are the shortest."""
    work = 1 / np.arange(10, 1010)
    work /= work.sum()
    shares = np.add.reduceat(work, whole._cuts(work, 10, 64, 64_000)[:-1] // 64)
    np.testing.assert_allclose(shares, np.diff(1 - (1 - np.arange(11) / 10) ** whole.TAPER), atol=0.03)
    assert shares.argmax() == 0 and shares.argmin() == 9


def test_ranges_have_as_many_arcs_as_they_may() -> None:
    graph = strip(8, 3000)
    rows = Rows.held(graph.indptr, graph.indices)
    for most in (1, 100, CHUNK):
        ranges = list(rows.ranges(most))
        assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
        for first, last in ranges:
            assert graph.indptr[last] - graph.indptr[first] <= most or last == first + 1
        for first, last in ranges[:-1]:
            assert graph.indptr[last + 1] - graph.indptr[first] > most


def test_arcs_are_reversed_in_few_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, arcs, passes = sparse(directed=True, nodes=3000), Rows.arcs, []

    def watched(rows: Rows) -> Iterator[Any]:
        passes.append(rows)
        return arcs(rows)

    monkeypatch.setattr(Rows, "arcs", watched)
    rows, most = Rows.held(graph.indptr, graph.indices), most_arcs(4, True, 1, 1 << 20)
    describe_parts(rows, tmp_path / "reverse", 4, True, "search", most)
    assert len(passes) <= 4 < -(-graph.num_arcs // most)


MEASURED = """
    import sys, detours
    def kilobytes(name):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name))
    folder, k, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    detours.count(f"{folder}/small", k, out=f"{folder}/warm", memory_limit=200_000)  # what the code itself takes
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is counted from here
    before = kilobytes("VmRSS")
    detours.count(f"{folder}/large", k, out=f"{folder}/out", memory_limit=limit)
    print(1024 * (kilobytes("VmHWM") - before))
"""


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    ("k", "width", "length"),
    [(2, 64, 8_000), pytest.param(4, 64, 16_000, marks=pytest.mark.slow)],
)
def test_a_graph_four_times_the_limit_stays_within_it(tmp_path: Path, k: int, width: int, length: int) -> None:
    graph = strip(width, length)
    graph.save(tmp_path / "large")
    strip(8, 40).save(tmp_path / "small")
    limit = (graph.indptr.nbytes + graph.indices.nbytes) // 4
    command = [sys.executable, "-c", textwrap.dedent(MEASURED), str(tmp_path), str(k), str(limit)]
    peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert peak <= limit
    assert Job.open(tmp_path / "out").manifest["way"] == "parts"
    found = np.load(tmp_path / "out" / "by_length.npy", mmap_mode="r")
    np.testing.assert_array_equal(found, detours.count(graph, k).arc_by_length)
