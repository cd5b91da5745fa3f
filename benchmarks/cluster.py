"""Two workers of a Dask cluster against one, and the cost of each part when a large graph is counted out of core.

    python -m benchmarks.cluster                 # Squirrel, k = 6; then a random geometric graph of 2,000,000 edges
    python -m benchmarks.cluster --quick         # small graphs, no data needed

One worker and two take turns, so that a drift in the machine's speed affects both alike, and the median of the ratios
counts. For comparison, it also prints the ratio of CPU times (client plus busiest worker), which excludes waiting, and
the speed-up of two threads in one process, measured in the same turns, as the best that this machine allows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import detours
from benchmarks import cases, rivals

SPEED_UP = 1.6
"""The least speed-up that two workers should reach."""
RUNS = 3
"""Runs per turn; the fastest counts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small graphs, no data needed")
    parser.add_argument("--turns", type=int, default=5, help="how often to measure one worker and two (default 5)")
    options = parser.parse_args()
    speed_up(options.quick, options.turns)
    per_part(options.quick)


class Turn(NamedTuple):
    """The fastest of several runs: wall time, and CPU time of the client plus its busiest worker."""

    wall: float
    cpu: float


def speed_up(quick: bool, turns: int) -> None:
    """Alternate the same count with one and with two workers of one thread each."""
    graph = geometric(20_000, 30) if quick else rivals.our_graph(cases.wikipedia("squirrel"))
    expected = detours.count(graph, 6).arc_by_length
    ratios = []
    for _ in range(turns):
        one, two = (turn(graph, expected, workers) for workers in (1, 2))
        one_thread, two_threads = (threads(graph, n_jobs) for n_jobs in (1, 2))
        ratios.append((one.wall / two.wall, one.cpu / two.cpu, one_thread / two_threads))
    by_wall, by_cpu, by_threads = zip(*ratios, strict=True)
    verdict = "met" if statistics.median(by_wall) >= SPEED_UP else "MISSED"
    print(f"speed-up of two workers: {_range(by_wall)}, goal {SPEED_UP}: {verdict}; in CPU time {_range(by_cpu)}")
    print(f"speed-up of two threads in one process, for comparison: {_range(by_threads)}")
    print(f"load of this machine: {os.getloadavg()[0]:.1f}")


def _range(ratios: tuple[float, ...]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def threads(graph: detours.Graph, n_jobs: int) -> float:
    """Wall time of the fastest of several counts in this process."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        detours.count(graph, 6, n_jobs=n_jobs)
        times.append(time.perf_counter() - start)
    return min(times)


def turn(graph: detours.Graph, expected: NDArray[np.int64], workers: int) -> Turn:
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local,
        Client(local) as client,
    ):
        runs = []
        for _ in range(1 + RUNS):  # the first one loads the compiled code
            start, start_cpu, before = time.perf_counter(), time.process_time(), client.run(time.process_time)
            result = detours.count(graph, 6, n_jobs=-1, cluster=client)  # this process plans, and combines the blocks
            wall, client_cpu = time.perf_counter() - start, time.process_time() - start_cpu
            worker_cpu = [after - before[worker] for worker, after in client.run(time.process_time).items()]
            runs.append((wall, client_cpu + max(worker_cpu)))
            assert np.array_equal(result.arc_by_length, expected)
    best = Turn(*(min(times) for times in zip(*runs[1:], strict=True)))
    print(
        f"{workers} worker{'s' * (workers > 1)}: {best.wall:.2f} s; CPU time of the client and the busiest "
        f"worker {best.cpu:.2f} s; {result.run}",
        flush=True,
    )
    return best


def per_part(quick: bool) -> None:
    """The cost of out-of-core parts by their size, against the same count in memory."""
    graph = geometric(20_000 if quick else 200_000, 20)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph.save(folder / "graph")
        print("\nk   limit   parts     ms/part      µs/arc   times in memory")
        for k in (3, 4, 5, 6):
            detours.count(graph, k, engine="rows")
            in_memory, _ = _timed(lambda k=k: detours.count(graph, k, engine="rows"))
            for limit in ("16MB", "64MB"):
                out = folder / f"{k}-{limit}"
                cost, result = _timed(
                    lambda k=k, out=out, limit=limit: detours.count(folder / "graph", k, out=out, memory_limit=limit)
                )
                parts = result.run.blocks if result.run else 0
                arc = 1e6 * cost / graph.num_arcs
                print(
                    f"{k}   {limit:>5}   {parts:5}   {1e3 * cost / parts:9.1f}   {arc:9.2f}   {cost / in_memory:15.2f}"
                )


def geometric(nodes: int, degree: float) -> detours.Graph:
    """Random points connected to those nearby, numbered along a Z-order curve: neighbours have close indices."""
    from scipy.spatial import cKDTree

    points = np.random.default_rng(0).random((nodes, 2))
    cell = (points * 2**16).astype(np.int64)
    z_order = sum(((cell[:, axis] >> bit) & 1) << (2 * bit + axis) for axis in (0, 1) for bit in range(16))
    points = points[np.argsort(z_order, kind="stable")]
    half = cKDTree(points).query_pairs(np.sqrt(degree / np.pi / nodes), output_type="ndarray").T
    return detours.Graph.from_edge_index(np.concatenate([half, half[::-1]], axis=1), num_nodes=nodes)


def _timed(work: Callable[[], detours.Detours]) -> tuple[float, detours.Detours]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


if __name__ == "__main__":
    main()
