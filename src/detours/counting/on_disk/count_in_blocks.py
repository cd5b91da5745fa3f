"""Counting by blocks in a folder: on disk, to be resumed, on this machine or on a cluster."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from detours.arrays import Int64
from detours.checks import check_jobs, parse_bytes
from detours.counting.engines.base import Tally
from detours.counting.engines.threads import Progress, Stop, run_ranges
from detours.counting.export import check_pyarrow
from detours.counting.on_disk import cluster
from detours.counting.on_disk.job import GRAPH, Job, reverse_in, writing
from detours.counting.on_disk.parts import describe_parts, most_arcs, needs_parts, write_parts
from detours.counting.on_disk.whole_graph import describe
from detours.counting.on_disk.worker import Site, rows_of
from detours.counting.plan import make_plan
from detours.counting.result import Detours, Run
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import EngineError, InputError
from detours.graph import Graph
from detours.graph.disk_rows import digest, new_array
from detours.graph.edges import check_csr

_scratch: set[Path] = set()
ARRAYS = ("by_length", "cycles")


def count_in_blocks(
    graph: Graph,
    k: int,
    *,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Detours:
    """Count in the folder `out`, or in one that is removed in the end; on a cluster where joblib is set to use one.

    For a Parquet file the folder lies beside it, and is removed when the file is written.
    """
    table = Path(out) if out is not None and Path(out).suffix.lower() == ".parquet" else None
    jobs, limit, spread = check_jobs(n_jobs), parse_bytes(memory_limit), cluster.active()
    nothing = Cyclic(np.zeros(1, np.int64), np.empty(0, np.int32))
    make_plan(nothing, k, engine=engine)  # what no engine can do is refused at once
    if table is not None:
        check_pyarrow(table)
    with _folder(out if table is None else table.with_name(f"{table.name}.blocks")) as folder:
        site = _begin(folder, graph, k, engine, 1 if spread else jobs, limit)
        if site.job.finished:
            run = Run(sum(site.job.stages), sum(site.job.stages), 0)
            site.job.clear()
        else:
            if spread:
                _share(site.job, graph)
            run = _work_off(site, jobs, spread, progress)
            if out is None and site.job.manifest["way"] == "whole":
                return Detours(graph, k, *_frozen(_whole(site, jobs)), run=run)
            _finish(site, jobs)
            site.job.note(run=run)
            site.job.clear()
        result = Detours(graph, k, *_counts(folder, graph, k, keep=out is not None), run=run)
        if table is not None:
            result.to_parquet(table)
            shutil.rmtree(folder, ignore_errors=True)  # what is mapped stays readable
        return result


@contextmanager
def _folder(out: str | os.PathLike[str] | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    scratch = os.environ.get(cluster.SCRATCH)
    try:
        folder = Path(tempfile.mkdtemp(prefix="detours-", dir=scratch))
    except OSError as error:
        raise InputError(f"{cluster.SCRATCH}={scratch!r} is no folder to write to ({error.strerror}).") from None
    _scratch.add(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _scratch.discard(folder)


def discard_scratch() -> None:
    """Remove the folders of counts that are not kept."""
    while _scratch:
        shutil.rmtree(_scratch.pop(), ignore_errors=True)


def _begin(folder: Path, graph: Graph, k: int, engine: str, at_a_time: int, limit: int | None) -> Site:
    """The count as it stands in the folder."""
    rows, most = rows_of(graph), most_arcs(k, graph.directed, at_a_time, limit)
    too_large = needs_parts(graph.num_nodes, graph.num_arcs, k, graph.directed, limit)
    held: list[Cyclic] = []
    key: dict[str, Any] = {"graph": digest(rows, graph.directed), "directed": graph.directed, "k": k, "engine": engine}

    def layout() -> dict[str, Any]:
        if not too_large:
            if graph.path is not None:
                check_csr(graph)
            held.append(Cyclic(graph.indptr, graph.indices, graph.directed))
            with suppress(EngineError):  # for want of memory, all threads together
                plan = make_plan(
                    held[0], k, engine=engine, n_jobs=at_a_time, memory_limit=limit, given_arcs=graph.num_arcs
                )
                return {"way": "whole", **describe(plan)}
        reverse = reverse_in(folder, key["graph"])
        return {"way": "parts", **describe_parts(rows, reverse, k, graph.directed, engine, most)}

    job = Job.begin(folder, key, layout)
    if job.manifest["way"] == "whole" and too_large and not job.finished:
        raise InputError(f"{folder} holds a count without that memory_limit; leave it out, or give an empty folder.")
    if job.manifest["way"] == "parts" and job.manifest.get("most_arcs") != most:
        job.note(most_arcs=most)
    return Site(job, graph, *held)


def _share(job: Job, graph: Graph) -> None:
    """See to it that workers can open the graph by its path."""
    source = graph.path
    if source is None:
        source = job.folder / GRAPH
        if not source.exists():
            graph.save(source)
    job.note(source=str(source.resolve()), nodes=graph.num_nodes, arcs=graph.num_arcs)


def _work_off(site: Site, n_jobs: int, spread: bool, progress: Progress | None) -> Run:
    job = site.job
    total, done, resumed = sum(job.stages), 0, 0
    for stage, blocks in enumerate(job.stages):
        missing = job.missing(stage)
        resumed += blocks - len(missing)
        before = done + blocks - len(missing)

        def report(finished: float, before: int = before) -> None:
            if progress is not None:
                progress(before + finished, total)

        if spread:
            cluster.run(job.folder, stage, missing, report)
        else:
            _run_here(site, stage, missing, n_jobs, report)
        if job.missing(stage):
            raise InputError(
                f"blocks are missing from {job.folder} although the workers finished them; "
                f"give out= or set {cluster.SCRATCH} to a folder that all machines share."
            )
        done += blocks
    if progress is not None and total == 0:
        progress(1.0, 1.0)
    return Run(total, resumed, job.redone())


def _run_here(site: Site, stage: int, missing: list[int], n_jobs: int, report: Callable[[float], None]) -> None:
    def work(worker: None, begin: int, end: int, stop: Stop) -> None:
        for block in missing[begin:end]:
            if not stop[0]:
                site.run(stage, block)

    if missing:
        site.reach(stage)
        run_ranges(len(missing), 1, work, lambda: None, n_jobs, report)


def _finish(site: Site, n_jobs: int) -> None:
    """Write the counts of all arcs."""
    job, graph = site.job, site.graph
    if job.manifest["way"] == "parts":
        write_parts(job, rows_of(graph), job.manifest["k"], graph.directed)
        return
    for name, counts in zip(ARRAYS, _whole(site, n_jobs), strict=False):
        with writing(job.folder), new_array(job.folder / f"{name}.npy", np.int64, counts.shape) as file:
            file.write(counts.data)


def _whole(site: Site, n_jobs: int) -> list[Int64]:
    """The counts of all arcs of a graph that was counted as a whole."""
    tally = Tally.new(site.graph.num_arcs, site.job.manifest["k"], site.graph.directed)
    site.finish(tally, n_jobs)
    return [counts for counts in tally if counts is not None]


def _counts(folder: Path, graph: Graph, k: int, keep: bool) -> list[Int64]:
    """The counts of a finished folder: mapped, or read if it is not kept."""
    mode: Any = "r" if keep and graph.num_arcs else None
    found = []
    for name in ARRAYS[: 1 + graph.directed]:
        file = folder / f"{name}.npy"
        with suppress(OSError, ValueError, EOFError):
            counts = np.load(file, mmap_mode=mode)
            if counts.shape == (graph.num_arcs, k - 1) and counts.dtype == np.int64:
                found.append(counts)
                continue
        raise InputError(f"{file} is missing or damaged; remove {folder} and run the same count again.")
    return _frozen(found)


def _frozen(counts: list[Int64]) -> list[Int64]:
    for one in counts:
        one.flags.writeable = False
    return [one.view(np.ndarray) for one in counts]
