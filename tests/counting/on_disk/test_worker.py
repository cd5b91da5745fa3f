"""Running blocks as a worker of a cluster does, and what it refuses."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import detours
from detours.counting.on_disk import worker
from detours.counting.on_disk.job import Job
from detours.counting.on_disk.whole_graph import RowBlocks
from detours.errors import InputError
from tests.counting.on_disk.cases import Stopped, assert_same, saved, sparse, started, stop


def test_workers_refuse_another_version_and_another_graph(tmp_path: Path) -> None:
    job = started(tmp_path)
    for change, words in (({"version": "0.0.1"}, "version .* 0.0.1"), ({"form": 0}, "another build of detours")):
        Job(job.folder, job.manifest).update(**change)
        with pytest.raises(InputError, match=f"a worker has {words}.*; install the same one on all machines"):
            worker.run_block(str(job.folder), 0, 1)
    sparse(nodes=200).save(tmp_path / "graph")
    job.write_manifest()
    with pytest.raises(InputError, match=r"a worker finds another graph at .*graph; remove .*out and count again"):
        worker.run_block(str(job.folder), 0, 1)
    sparse().save(tmp_path / "graph")
    worker.run_block(str(job.folder), 0, 1)
    assert job.has(0, 1)


def test_a_new_memory_limit_reaches_running_workers(tmp_path: Path) -> None:
    job = started(tmp_path)
    worker.run_block(str(job.folder), 0, 1)
    job.update(most_arcs=1 << 20)
    worker.run_block(str(job.folder), 0, 2)
    (runner,) = worker._runners.values()
    assert runner.job.manifest["most_arcs"] == 1 << 20


@pytest.mark.usefixtures("many_blocks")
def test_two_threads_that_get_the_same_block_count_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a client was lost and its task goes on beside that of the next client: both add to the same sums."""
    graph = saved(sparse(), tmp_path / "graph")
    with pytest.raises(Stopped):
        detours.count(graph, 5, engine="rows", out=tmp_path / "out", progress=stop)
    job = Job.open(tmp_path / "out")
    job.update(source=str(tmp_path / "graph"), nodes=graph.num_nodes, arcs=graph.num_arcs)
    run, times = RowBlocks.run, []

    def slowly(self: RowBlocks, stage: int, block: int, *given: object) -> object:
        times.append((stage, block))
        first, last = self.roots(stage, block)
        assert last > first
        time.sleep(0.01)  # the other thread arrives meanwhile
        return run(self, stage, block, *given)

    monkeypatch.setattr(RowBlocks, "run", slowly)
    with ThreadPoolExecutor(2) as threads:
        for stage in range(len(job.stages)):
            for block in job.missing(stage):
                list(threads.map(worker.run_block, [str(job.folder)] * 2, [stage] * 2, [block] * 2))
    assert len(times) == len(set(times)) > 10
    assert_same(detours.count(graph, 5, engine="rows", out=tmp_path / "out"), detours.count(graph, 5))


def test_a_part_that_was_finished_is_kept_even_if_the_count_was_stopped_meanwhile(tmp_path: Path) -> None:
    job = started(tmp_path)
    runner = worker.BlockRunner(job, detours.Graph.open(tmp_path / "graph"))
    block = job.missing(0)[0]
    runner.run(0, block, stop=np.ones(1, np.int64))  # a part that sees the stop returns nothing
    assert job.has(0, block)


@pytest.mark.parametrize("engine", ["rows", "search"])
@pytest.mark.usefixtures("many_blocks")
def test_a_block_that_was_stopped_is_not_kept(tmp_path: Path, engine: str) -> None:
    graph = saved(sparse(), tmp_path / "graph")
    with pytest.raises(Stopped):
        detours.count(graph, 4, engine=engine, out=tmp_path / "out", progress=stop)
    job = Job.open(tmp_path / "out")
    runner = worker.BlockRunner(job, graph)
    block = job.missing(0)[0]
    runner.run(0, block, stop=np.ones(1, np.int64))
    assert not job.has(0, block)
    runner.run(0, block)
    assert job.has(0, block)
