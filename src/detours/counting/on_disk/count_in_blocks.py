"""Counting block by block in a folder: a count that can be resumed, on this machine or on a cluster."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from detours.arrays import Int64
from detours.atomic import check_target
from detours.checks import check_jobs, check_path, parse_bytes
from detours.containers import fingerprint
from detours.counting.budget import check_size
from detours.counting.engines.base import Tally
from detours.counting.engines.threads import Progress, Stop, run_ranges
from detours.counting.export import check_names
from detours.counting.export.files import check_parquet
from detours.counting.finished import ARRAYS, GRAPH, frozen, open_counts
from detours.counting.on_disk.cluster import connect, run_blocks
from detours.counting.on_disk.job import SHARED, Job, locked, reverse_folder, writing
from detours.counting.on_disk.parts import HaloTooLarge, describe_parts, max_halo_arcs, needs_parts, write_parts
from detours.counting.on_disk.scratch import SCRATCH, shared_scratch
from detours.counting.on_disk.whole_graph import describe, plan_blocks
from detours.counting.on_disk.worker import BlockRunner, rows_of
from detours.counting.result import Detours, Run
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import EngineError, FileFormatError, InputError, warn_caller
from detours.graph import Graph
from detours.graph.disk_rows import digest, new_array
from detours.graph.edges import Names
from detours.graph.files.shared.names import pack_names

_FILE_SUFFIXES = {".csv", ".tsv", ".txt", ".json", ".npy", ".npz", ".html", ".xlsx", ".pkl", ".pt", ".gz"}


def count_in_blocks(
    graph: Graph,
    k: int,
    *,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    cluster: Any = None,
    progress: Progress | None = None,
) -> Detours:
    """Count in the folder `out`, or in a temporary one; on a cluster if one is given.

    For a Parquet file the folder is next to it, and is removed when the file is written.
    """
    kept = None if out is None else check_path("out", out)
    table = kept if kept is not None and kept.suffix.lower() == ".parquet" else None
    jobs, limit = check_jobs(n_jobs), parse_bytes(memory_limit)
    empty = Cyclic(np.zeros(1, np.int64), np.empty(0, np.int32))
    plan_blocks(empty, k, engine=engine)  # raises before anything is written if no engine can do it
    if table is not None:
        check_parquet(table)
        check_target(table)
        check_names(graph)
        kept = table.with_name(f"{table.name}.blocks")
    elif kept is not None:
        _refuse_file(kept)
        pack_names(graph.names)  # raises before the work if they cannot be stored
    with (
        nullcontext() if cluster is None else connect(cluster) as client,
        shared_scratch() if kept is None else nullcontext(kept) as folder,
        locked(folder),
    ):
        runner, run, jobs = _run_or_resume(folder, graph, k, engine, jobs, limit, client, progress)
        if runner.job.finished:
            runner.job.clear()
        else:
            if out is None and runner.job.manifest["way"] == "whole":
                return Detours(graph, k, *frozen(_whole_counts(runner, jobs)), run=run)
            _finish(runner, jobs)
            files = [f"{name}.npy" for name in ARRAYS[: 1 + graph.directed]]
            runner.job.update(run=run, files={name: fingerprint(folder / name) for name in files})
            runner.job.clear()
        counts = open_counts(folder, runner.job.manifest, graph, k, keep=out is not None)
        result = Detours(graph, k, *counts, run=run)
        if out is not None and table is None and not _is_saved(graph, folder / GRAPH):
            graph.save(folder / GRAPH)
        if table is not None:
            result.to_parquet(table)
            shutil.rmtree(folder, ignore_errors=True)  # arrays that are mapped stay readable
        return result


def _is_saved(graph: Graph, folder: Path) -> bool:
    """Return whether a folder holds a graph of these arcs with the same names and listed edges."""
    if not folder.exists():
        return False
    try:
        saved = Graph.open(folder)
        if saved.edges_in_csr_order != graph.edges_in_csr_order or not _are_equal(graph.names, saved.names):
            return False
        return graph.edges_in_csr_order or np.array_equal(graph.edge_index, saved.edge_index)
    except FileFormatError:  # damaged
        return False


def _are_equal(names: Names | None, others: Names | None) -> bool:
    if isinstance(names, np.ndarray) and isinstance(others, np.ndarray):
        return np.array_equal(names, others)
    if names is None or others is None:
        return names is others
    return len(names) == len(others) and all(name == other for name, other in zip(names, others, strict=True))


def _refuse_file(folder: Path) -> None:
    """Raise `InputError` if `out` looks like a file of a kind that is not written here."""
    if folder.suffix.lower() in _FILE_SUFFIXES and not folder.exists():
        raise InputError(
            f"out is a folder or a .parquet file, but it is {str(folder)!r}; leave it out and write the result, "
            "as with to_pandas().to_csv(...)."
        )


def _run_or_resume(
    folder: Path,
    graph: Graph,
    k: int,
    engine: str,
    jobs: int,
    limit: int | None,
    client: Any,
    progress: Progress | None,
) -> tuple[BlockRunner, Run, int]:
    """Run all missing blocks, with fewer threads if a part does not fit into the memory share of one.

    Return the runner, the numbers of blocks and the number of threads used.
    """
    while True:
        try:
            runner = _start_or_resume(folder, graph, k, engine, jobs if client is None else 1, limit)
            if runner.job.finished:
                return runner, Run(sum(runner.job.stages), sum(runner.job.stages), 0), jobs
            if client is not None:
                _share(runner.job, graph)
            return runner, _run_stages(runner, jobs, client, progress), jobs
        except HaloTooLarge as error:
            if jobs > 1 and client is None:
                jobs //= 2
            elif engine == "dense":
                advice = "engine='dense' may need more: leave it out, with an empty folder"
                raise HaloTooLarge(f"{error}; {advice}") from None
            else:
                raise


def _start_or_resume(folder: Path, graph: Graph, k: int, engine: str, parallel: int, limit: int | None) -> BlockRunner:
    """Start the count in the folder, or resume it."""
    rows, max_arcs = rows_of(graph), max_halo_arcs(k, graph.directed, parallel, limit)
    too_large = needs_parts(graph.num_nodes, graph.num_arcs, k, graph.directed, limit)
    cyclic: list[Cyclic] = []
    key: dict[str, Any] = {"graph": digest(rows, graph.directed), "directed": graph.directed, "k": k, "engine": engine}

    def layout() -> dict[str, Any]:
        if not too_large:
            check_size(graph, k, "; with a memory_limit it is counted in parts")
            cyclic.append(Cyclic(graph.indptr, graph.indices, graph.directed))
            try:
                options: dict[str, Any] = {"n_jobs": parallel, "memory_limit": limit, "fewer_threads": False}
                plan = plan_blocks(cyclic[0], k, engine=engine, **options)
            except EngineError:  # too little memory for all threads together
                pass
            else:
                return {"way": "whole", **describe(plan)}
        reverse = reverse_folder(folder, key["graph"])
        return {"way": "parts", **describe_parts(rows, reverse, k, graph.directed, engine, max_arcs)}

    job = Job.begin(folder, key, layout)
    if job.manifest["way"] == "whole" and too_large and not job.finished:
        raise InputError(f"{folder} holds a count without that memory_limit; leave it out, or give an empty folder.")
    if job.manifest["way"] == "parts" and not (too_large or cyclic or job.finished):
        warn_caller(
            f"the count in {folder} goes on in parts, as it was begun; in an empty folder the whole graph would "
            "now be counted at once.",
            UserWarning,
        )
    if job.manifest["way"] == "parts" and job.manifest.get("most_arcs") != max_arcs:
        job.update(most_arcs=max_arcs)
    return BlockRunner(job, graph, *cyclic)


def _share(job: Job, graph: Graph) -> None:
    """Save the graph unless it is on disk already, so that workers can open it by its path."""
    source = graph.path
    if source is None:
        source = job.folder / SHARED
        if not source.exists():
            graph.save(source)
    job.update(source=str(source.resolve()), nodes=graph.num_nodes, arcs=graph.num_arcs)


def _run_stages(runner: BlockRunner, n_jobs: int, client: Any, progress: Progress | None) -> Run:
    job = runner.job
    total, done, resumed = sum(job.stages), 0, 0
    for stage, blocks in enumerate(job.stages):
        missing = job.missing(stage)
        resumed += blocks - len(missing)
        before = done + blocks - len(missing)

        def report(finished: float, _: float = 0.0, before: int = before) -> None:
            if progress is not None:
                progress(before + finished, total)

        if client is None:
            _run_in_threads(runner, stage, missing, n_jobs, report)
        else:
            run_blocks(client, job.folder, stage, missing, report)
        if job.missing(stage):
            raise InputError(
                f"blocks are missing from {job.folder} although the workers finished them; "
                f"give out= or set {SCRATCH} to a folder that all machines share."
            )
        done += blocks
    if progress is not None and total == 0:
        progress(1.0, 1.0)
    return Run(total, resumed, job.redone())


def _run_in_threads(runner: BlockRunner, stage: int, missing: list[int], n_jobs: int, progress: Progress) -> None:
    shares: dict[int, float] = {}
    caller = threading.get_ident()

    def report(*_: float) -> None:
        progress(sum(list(shares.values())), len(missing))

    def work(worker: None, begin: int, end: int, stop: Stop) -> None:
        for block in missing[begin:end]:

            def report_share(share: float, block: int = block) -> bool:
                shares[block] = share
                if threading.get_ident() == caller:
                    report()
                return not stop[0]

            if not stop[0]:
                runner.run(stage, block, report_share, stop)
                shares[block] = 1.0

    if missing:
        runner.prepare(stage)
        run_ranges(len(missing), 1, work, lambda: None, n_jobs, report)


def _finish(runner: BlockRunner, n_jobs: int) -> None:
    """Write the counts of all arcs."""
    job, graph = runner.job, runner.graph
    if job.manifest["way"] == "parts":
        write_parts(job, rows_of(graph), job.manifest["k"], graph.directed)
        return
    for name, counts in zip(ARRAYS, _whole_counts(runner, n_jobs), strict=False):
        with writing(job.folder), new_array(job.folder / f"{name}.npy", np.int64, counts.shape) as file:
            file.write(counts.data)


def _whole_counts(runner: BlockRunner, n_jobs: int) -> list[Int64]:
    """Return the counts of all arcs of a graph that was counted as a whole."""
    tally = Tally.new(runner.graph.num_arcs, runner.job.manifest["k"], runner.graph.directed)
    runner.finish(tally, n_jobs)
    return [counts for counts in tally if counts is not None]
