"""Running blocks as a worker of a cluster does, and what it refuses."""

from pathlib import Path

import pytest

from detours.counting.on_disk import worker
from detours.counting.on_disk.job import Job
from detours.errors import InputError
from tests.counting.on_disk.cases import sparse, started


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
