"""Running the blocks of a count: in this process, or in a worker of a cluster, which knows only the folder."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from detours import __version__
from detours.counting.engines.base import Tally
from detours.counting.engines.threads import Stop
from detours.counting.finished import MANIFEST
from detours.counting.on_disk.job import FORM, Job, reverse_folder
from detours.counting.on_disk.parts import Parts, Report
from detours.counting.on_disk.whole_graph import Blocks, create_blocks
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import FileFormatError, InputError
from detours.graph import Graph
from detours.graph.disk_rows import Rows


class BlockRunner:
    """Runs the blocks of one count; the engine is prepared for the first block."""

    def __init__(self, job: Job, graph: Graph, cyclic: Cyclic | None = None) -> None:
        self.job, self.graph, self._cyclic = job, graph, cyclic
        self._blocks: Blocks | Parts | None = None
        self._loaded = 0  # the number of stages whose results the engine has loaded
        self._lock = Lock()
        self._running: dict[tuple[int, int], Lock] = {}

    def run(self, stage: int, block: int, report: Report = lambda share: True, stop: Stop | None = None) -> None:
        """Run a block and save its result, unless it is saved already.

        Stop early, and save nothing, if the report says so or ``stop[0]`` is set. A block that another thread is
        running is waited for: after a client was lost, its tasks may go on beside those of the next one.
        """
        stop = np.zeros(1, np.int64) if stop is None else stop
        if self.job.has(stage, block):
            return
        blocks = self.prepare(stage)
        with self._alone(stage, block):
            if self.job.has(stage, block):
                return
            self.job.mark_started(stage, block)
            if isinstance(blocks, Parts):
                counts = blocks.run(self.job, block, report)  # None if it was stopped
            else:
                counts = blocks.run(stage, block, stop)
                counts = None if stop[0] else counts
            if counts is not None:
                self.job.save(stage, block, counts)

    def _alone(self, stage: int, block: int) -> Lock:
        """Return the lock of a block: engines accumulate its result in memory that all threads share."""
        return self._running.setdefault((stage, block), Lock())

    def prepare(self, stage: int) -> Blocks | Parts:
        """Return the blocks of an engine that has loaded the results of all earlier stages."""
        with self._lock:
            if self._blocks is None:
                self._blocks = self._create_blocks()
            while self._loaded < stage:
                assert not isinstance(self._blocks, Parts)
                for block in range(self.job.stages[self._loaded]):
                    result = self.job.load(self._loaded, block)
                    try:
                        with self._alone(self._loaded, block):
                            self._blocks.load(self._loaded, block, result)
                    except (ValueError, IndexError, TypeError):
                        raise self.job.damaged(self._loaded, block) from None
                self._loaded += 1
            return self._blocks

    def finish(self, tally: Tally, n_jobs: int) -> None:
        """Write the counts of a graph that was counted as a whole."""
        if self.job.stages:
            blocks = self.prepare(len(self.job.stages))
            assert not isinstance(blocks, Parts)
            blocks.finish(tally, n_jobs)

    def _create_blocks(self) -> Blocks | Parts:
        graph, about = self.graph, dict(self.job.manifest)
        try:
            if about["way"] == "whole":
                cyclic = self._cyclic or Cyclic(graph.indptr, graph.indices, graph.directed)
                return create_blocks(cyclic, about["k"], about)
            back = Rows.open(reverse_folder(self.job.folder, about["graph"])) if graph.directed else None
            return Parts(rows_of(graph), back, about["k"], about)
        except (LookupError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            manifest = self.job.folder / MANIFEST
            raise InputError(f"{manifest} is damaged ({error}); remove {self.job.folder} and count again.") from None


def rows_of(graph: Graph) -> Rows:
    """Return the rows of a graph; one that is on disk is read from there, which keeps no pages mapped."""
    return Rows(graph.indptr, graph.indices) if graph.path is None else Rows.open(graph.path)


_runners: dict[tuple[Any, ...], BlockRunner] = {}
"""The runner of the latest count of this process: a worker counts one graph at a time."""
_lock = Lock()


def run_block(folder: str, stage: int, block: int) -> None:
    """Run a block of the count in a folder: the task that a worker of a cluster gets."""
    job = Job.open(Path(folder))
    if job.manifest.get("version") != __version__:
        raise InputError(
            f"a worker has version {__version__} of detours, and the count was begun by version "
            f"{job.manifest.get('version')}; install the same one on all machines."
        )
    if job.manifest.get("form") != FORM:
        raise InputError(
            "a worker has another build of detours than the one that began the count; install the same one on all "
            "machines."
        )
    key = job.manifest["identity"], job.manifest.get("most_arcs")  # a memory limit may change from run to run
    with _lock:
        if key not in _runners:
            _runners.clear()
            _runners[key] = BlockRunner(job, _open_graph(job))
        runner = _runners[key]
    runner.run(stage, block)


def _open_graph(job: Job) -> Graph:
    source = job.manifest["source"]
    try:
        graph = Graph.open(source)
    except FileFormatError as error:
        raise InputError(
            f"a worker cannot open the graph: {error} Graphs must lie in a folder that all machines share."
        ) from None
    if (graph.num_nodes, graph.num_arcs) != (job.manifest["nodes"], job.manifest["arcs"]):
        raise InputError(f"a worker finds another graph at {source}; remove {job.folder} and count again.")
    return graph.to_directed() if job.manifest["directed"] else graph
