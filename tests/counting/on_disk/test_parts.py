"""Counting a graph in parts: exact, within the memory limit, and refused where a part cannot be counted."""

import json
import os
import re
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import detours
from detours.checks import parse_bytes
from detours.counting.engines.dense.count import DenseCount
from detours.counting.on_disk.job import Job
from detours.counting.on_disk.part_engine import count_roots
from detours.counting.on_disk.parts import (
    RESERVE,
    Parts,
    bytes_per_arc,
    describe_parts,
    fitting_halos,
    max_halo_arcs,
    needs_parts,
)
from detours.counting.shrink.halo import TooLarge, cut_halo
from detours.errors import EngineError, FileFormatError
from detours.graph.disk_rows import CHUNK, Rows
from tests.counting.on_disk.cases import Stopped, assert_same, ring, saved, sparse, started, strip


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 6, 7])
def test_parts_whose_halos_are_not_the_whole_graph(tmp_path: Path, directed: bool, k: int) -> None:
    graph = nx.circulant_graph(600, [1, 2, 5])
    graph.remove_edges_from(list(graph.edges)[::7])
    given = saved(detours.Graph.from_networkx(graph, directed=directed), tmp_path / "graph")
    result = detours.count(given, k, out=tmp_path / "out", memory_limit=600_000 if directed else 200_000)
    assert result.run is not None and result.run.blocks > 3
    assert_same(result, detours.count(given, k))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The first roots of all pieces counted during the test."""
    first = []

    def remember(halo: Any, *args: Any) -> Any:
        first.append(int(halo.node[halo.first]))
        return count_roots(halo, *args)

    monkeypatch.setattr("detours.counting.on_disk.parts.count_roots", remember)
    return first


def test_a_part_in_pieces_reports_progress(tmp_path: Path) -> None:
    seen: list[float] = []
    graph = saved(sparse(), tmp_path / "graph")
    detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000, progress=lambda done, total: seen.append(done))
    assert seen == sorted(seen) and any(0 < done < 1 for done in seen)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("damage", [None, b"", b"PK nothing"])
def test_the_counts_of_an_unfinished_part_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[int], directed: bool, damage: bytes | None
) -> None:
    monkeypatch.setattr("detours.counting.on_disk.parts.SAVE_AFTER", -1)
    graph, limit = saved(sparse(directed), tmp_path / "graph"), 600_000 if directed else 200_000

    def stop_inside(done: float, total: float) -> None:
        if done < 1 and len(counted) > 1:
            raise Stopped

    with pytest.raises(Stopped):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=limit, progress=stop_inside)
    before = counted.copy()
    (file,) = (tmp_path / "out" / "blocks").iterdir()
    if damage is not None:
        file.write_bytes(damage)
    counted.clear()
    result = detours.count(graph, 4, out=tmp_path / "out", memory_limit=limit)
    assert counted[0] == (before[1] if damage is None else before[0])
    assert_same(result, detours.count(graph, 4))
    assert sorted(os.listdir(tmp_path / "out"))[0] == "by_length.npy"


def test_a_stopped_part_ends_early(tmp_path: Path, counted: list[int]) -> None:
    graph = saved(sparse(nodes=3000), tmp_path / "graph")
    about = {"stages": [1], "cuts": [0, graph.num_nodes], "most_arcs": 3000, "runs": "rows", "engine": "auto"}
    parts, job = Parts(Rows.open(tmp_path / "graph"), None, 4, {**about, "layout": None}), Job(tmp_path, {})
    assert parts.run(job, 0, lambda share: False) is None and len(counted) == 1
    assert parts.run(job, 0, lambda share: True) is not None and counted.count(0) == 1


def test_no_halo_is_larger_than_allowed(tmp_path: Path) -> None:
    graph = saved(sparse(nodes=1000), tmp_path / "graph")
    halos = list(fitting_halos(Rows.open(tmp_path / "graph"), None, 0, 1000, 3, max_arcs=800))
    assert max(len(halo.indices) for halo in halos) <= 800
    roots = np.concatenate([halo.node[halo.first : halo.last] for halo in halos])
    np.testing.assert_array_equal(roots, np.arange(graph.num_nodes))


def test_nodes_without_arcs_are_cut_into_ranges_too(tmp_path: Path) -> None:
    nodes = 5 * CHUNK
    rows = Rows(np.zeros(nodes + 1, np.int64), np.empty(0, np.int32))
    for most in (1000, CHUNK, 2 * CHUNK + 1):
        ranges = list(rows.ranges(most))
        assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])] and ranges[-1][1] == nodes
        assert max(last - first for first, last in ranges) == most
    with pytest.raises(TooLarge):
        cut_halo(rows, None, 0, 801, 3, 800)
    halos = list(fitting_halos(rows, None, 0, 10_000, 3, max_arcs=800))
    assert len(halos) == 16 and halos[-1].node[-1] == 9999
    graph = detours.Graph.from_edge_index([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]], num_nodes=nodes)
    result = detours.count(graph, 3, out=tmp_path / "out", memory_limit="4MB")
    assert result.run is not None and result.run.blocks > 4
    assert result.cycles == {3: 1, 4: 0}


def test_arcs_are_reversed_in_few_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, arcs, passes = sparse(directed=True, nodes=3000), Rows.arcs, []

    def watched(rows: Rows) -> Iterator[Any]:
        passes.append(rows)
        return arcs(rows)

    monkeypatch.setattr(Rows, "arcs", watched)
    rows, most = Rows(graph.indptr, graph.indices), max_halo_arcs(4, True, 1, 1 << 20)
    describe_parts(rows, tmp_path / "reverse", 4, True, "search", most)
    assert len(passes) <= 4 < -(-graph.num_arcs // most)


def test_a_node_whose_halo_is_too_large_is_named(tmp_path: Path) -> None:
    graph = saved(detours.Graph.from_networkx(nx.wheel_graph(5000)), tmp_path / "graph")
    with pytest.raises(EngineError, match=r"node \d+ has more than [\d,]+ arcs within 2 steps.*give a memory_limit of"):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=100_000)
    assert_same(detours.count(graph, 4, out=tmp_path / "out"), detours.count(graph, 4))


@pytest.mark.parametrize("nodes", [1_000, 30_000])
def test_the_memory_that_the_message_calls_enough_is_enough(tmp_path: Path, nodes: int) -> None:
    graph = saved(detours.Graph.from_networkx(nx.wheel_graph(nodes)), tmp_path / "graph")
    with pytest.raises(EngineError) as refused:
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=100_000)
    least, enough = re.fullmatch(
        r".* give a memory_limit of (?:more than ([\d.]+ .B) \()?([\d.]+ .B)(?: is enough\))?, .*", str(refused.value)
    ).groups()  # type: ignore[union-attr]
    assert least is None or parse_bytes(least) < parse_bytes(enough)
    assert not needs_parts(graph.num_nodes, graph.num_arcs, 4, False, parse_bytes(enough))
    assert_same(detours.count(graph, 4, out=tmp_path / "again", memory_limit=enough), detours.count(graph, 4))


def test_dense_matrices_may_need_more_than_is_enough(tmp_path: Path) -> None:
    graph = saved(detours.Graph.from_networkx(nx.barabasi_albert_graph(2000, 3, seed=1)), tmp_path / "graph")
    for limit in ("300 KB", "2.66 MB"):
        with pytest.raises(EngineError, match="engine='dense' may need more: leave it out"):
            detours.count(graph, 6, engine="dense", out=tmp_path / "out", memory_limit=limit)
    detours.count(graph, 6, out=tmp_path / "auto", memory_limit="2.66 MB")


def test_a_limit_too_small_for_the_hubs_is_a_warning(tmp_path: Path) -> None:
    nodes = np.arange(6400)

    def stop_at_once(done: float, total: float) -> None:
        raise Stopped

    pairs = np.concatenate([np.stack([nodes, 6400 + nodes % 64]), np.stack([nodes[:-64], nodes[64:]])], axis=1)
    graph = saved(detours.Graph.from_edges(pairs.T), tmp_path / "graph")
    message = r"may take hours; with [\d.]+ MB the whole graph is counted at once"
    with pytest.warns(UserWarning, match=message) as warned, pytest.raises(Stopped):
        detours.count(graph, 4, out=tmp_path / "out", memory_limit=200_000, progress=stop_at_once)
    enough = str(warned[0].message).split("with ")[-1].split(" the")[0]
    with warnings.catch_warnings(action="error"):
        assert_same(detours.count(graph, 4, out=tmp_path / "again", memory_limit=enough), detours.count(graph, 4))
        detours.count(saved(ring(), tmp_path / "ring"), 4, out=tmp_path / "few", memory_limit=200_000)
    assert Job.open(tmp_path / "again").manifest["way"] == "whole"


def test_parts_that_go_on_with_memory_for_the_whole_graph_warn(tmp_path: Path) -> None:
    job = started(tmp_path)
    with pytest.warns(UserWarning, match="goes on in parts, as it was begun; in an empty folder") as warned:
        result = detours.count(tmp_path / "graph", 3, out=job.folder, memory_limit="1GB")
    assert len(warned) == 1
    with warnings.catch_warnings(action="error"):
        assert_same(result, detours.count(tmp_path / "graph", 3, out=job.folder, memory_limit="1GB"))


def test_fewer_threads_are_used_where_that_makes_it_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = saved(detours.Graph.from_networkx(nx.wheel_graph(5000)), tmp_path / "graph")
    n_jobs_used: list[int] = []

    def watched(k: int, directed: bool, n_jobs: int, limit: int | None) -> int:
        n_jobs_used.append(n_jobs)
        return max_halo_arcs(k, directed, n_jobs, limit)

    monkeypatch.setattr("detours.counting.on_disk.count_in_blocks.max_halo_arcs", watched)
    monkeypatch.setattr("detours.counting.on_disk.count_in_blocks.needs_parts", lambda *_: True)
    limit = 2 * RESERVE + 2 * graph.num_arcs * bytes_per_arc(4, False)  # room for about two halos of the hub
    result = detours.count(graph, 4, out=tmp_path / "out", n_jobs=8, memory_limit=limit)
    assert n_jobs_used[0] == 8 and n_jobs_used[-1] < 8
    assert_same(result, detours.count(graph, 4))


@pytest.mark.parametrize("damage", ["far", "descending", "loop", "short"])
def test_a_damaged_graph_is_refused(tmp_path: Path, damage: str) -> None:
    graph = sparse()
    graph.save(tmp_path / "graph")
    indices = graph.indices.copy()
    row = int(np.argmax(np.diff(graph.indptr)))
    at = int(graph.indptr[row])
    if damage == "far":
        indices[at + 1] = graph.num_nodes + 5
    elif damage == "descending":
        indices[[at, at + 1]] = indices[[at + 1, at]]
    elif damage == "loop":
        indices[at] = row
    np.save(tmp_path / "graph" / "indices.npy", indices)
    if damage == "short":
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


@pytest.mark.parametrize("directed", [False, True])
def test_dense_matrices_that_are_too_large_for_a_part_are_not_built(
    monkeypatch: pytest.MonkeyPatch, directed: bool
) -> None:
    graph = ring(directed)
    rows = Rows(graph.indptr, graph.indices)
    halo = cut_halo(rows, rows if directed else None, 100, 110, 7, 10**6)
    expected = count_roots(halo, 7, directed, "dense", None, budget=1 << 30)

    def refuse(*args: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(DenseCount, "run", refuse)
    result = count_roots(halo, 7, directed, "dense", None, budget=1 << 16)
    for counts, expected_counts in zip(result, expected, strict=True):
        np.testing.assert_array_equal(counts, expected_counts)


def test_an_engine_that_cannot_count_in_parts_is_not_replaced_by_another() -> None:
    graph = ring(False)
    halo = cut_halo(Rows(graph.indptr, graph.indices), None, 100, 110, 4, 10**6)
    with pytest.raises(EngineError, match="engine='zero' cannot count in parts"):
        count_roots(halo, 4, False, "zero", None)


def test_requested_dense_matrices_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"^engine='dense' takes about .* around node \d+, more than memory_limit al"):
        detours.count(ring(), 7, engine="dense", out=tmp_path / "out", memory_limit=400_000)
    assert_same(detours.count(ring(), 7, engine="dense", out=tmp_path / "out"), detours.count(ring(), 7))


MEASURED = """
    import sys, detours
    def kilobytes(name):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name))
    folder, k, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for engine in ("auto", "rows"):  # compile what will run; the planner uses rows only for large graphs
        detours.count(f"{folder}/small", k, engine=engine, out=f"{folder}/{engine}", memory_limit=200_000)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak is counted from here
    before, mapped = kilobytes("VmRSS"), kilobytes("RssFile")
    detours.count(f"{folder}/large", k, out=f"{folder}/out", memory_limit=limit)
    # Pages of files that are mapped, code and arrays, belong to the system, which drops them where memory is short.
    print(1024 * (kilobytes("VmHWM") - before - max(0, kilobytes("RssFile") - mapped)))
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
