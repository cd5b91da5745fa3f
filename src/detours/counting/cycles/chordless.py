"""Counts of chordless cycles, for any k: a search that abandons a path at the first chord.

A cycle is chordless, or induced, if there are no other edges between its nodes. There is no closed form, but in dense
graphs they are far fewer than all cycles: a complete graph has only its triangles.
"""

from __future__ import annotations

from math import inf

import numpy as np

from detours.arrays import Int32, Int64, read_only
from detours.counting.cycles.order import hubs_first
from detours.counting.cycles.search_numba import Graph, Rules, advance, begin, new_space
from detours.counting.engines.base import Engine, Estimate, Tally, Task, write_rows
from detours.counting.engines.threads import Progress, Stop, run_ranges
from detours.counting.shrink.csr import transpose
from detours.counting.shrink.cyclic_part import Cyclic

STEPS = 2**22
"""Steps of the search between two checks for Ctrl-C: a few hundredths of a second."""
SECONDS_PER_STEP = 8e-9
SECONDS_PER_ARC = 100e-9
"""Time before and after the search: for finding the arcs on cycles, and for writing their counts."""
START_SECONDS = 150e-6
SAMPLE_ROOTS, SAMPLE_STEPS = 64, 2**20
NO_OUTPUT = np.empty((0, 0), np.int32)


class ChordlessEngine(Engine):
    """The engine for chordless cycles, for any k; it is always a search."""

    name = "search"

    def estimate(self, task: Task) -> Estimate:
        count = ChordlessCount(task.cyclic, task.k)
        steps, complete = count.sample_steps()
        how = f"search that stops at chords, {'about' if complete else 'more than'} {steps:.2g} steps"
        seconds = START_SECONDS + SECONDS_PER_ARC * task.cyclic.num_arcs
        seconds += SECONDS_PER_STEP * steps / task.n_jobs if complete else inf
        size = task.n_jobs * count.bytes_per_worker + task.result_bytes + task.reduction_bytes
        return Estimate(seconds, size, how, count)


class ChordlessCount:
    """One count: the graph and its workers."""

    def __init__(self, cyclic: Cyclic, k: int) -> None:
        longest = max(3, min(k + 1, cyclic.largest_block))
        self.rules = Rules(longest, directed=False, chordless=True, any_start=False)
        indptr, indices, self.arc = hubs_first(cyclic.reduced)
        self.num_nodes, self.num_edges = len(indptr) - 1, len(indices) // 2
        self.graph = Graph(indptr, indices, indptr, indices, read_only(_edge_of_arc(indptr, indices), np.int32))
        self.workers: list[Worker] = []

    @property
    def bytes_per_worker(self) -> int:
        return 8 * self.num_edges * (self.rules.longest - 2) + 8 * self.rules.longest**2 + 16 * self.num_nodes

    def worker(self) -> Worker:
        """Return a new worker; its counts are part of the result."""
        self.workers.append(Worker(self))
        return self.workers[-1]

    def run(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        run_ranges(self.num_nodes, 1, Worker.run, self.worker, n_jobs, progress)
        counts = self.workers[0].counts
        for other in self.workers[1:]:
            counts += other.counts
        self.workers = []
        write_rows(counts, self.graph.row, self.arc, tally.by_length)

    def sample_steps(self) -> tuple[float, bool]:
        """Return the number of steps, estimated from some roots, and whether the sample was completed.

        Roots are drawn by degree with stratified sampling, so that hubs are not missed.
        """
        degree = np.diff(self.graph.indptr)
        probability = (degree / degree.sum() + 1 / self.num_nodes) / 2
        quantiles = (np.arange(SAMPLE_ROOTS) + np.random.default_rng(0).random(SAMPLE_ROOTS)) / SAMPLE_ROOTS
        roots = np.minimum(np.searchsorted(np.cumsum(probability), quantiles), self.num_nodes - 1)
        worker, left, estimates = Worker(self), SAMPLE_STEPS, []
        for root in np.random.default_rng(0).permutation(roots).tolist():
            before = left
            worker.assign(root, root + 1)
            left = worker.advance(left)
            estimates.append((before - left) / probability[root])
            if left <= 0:
                break
        return float(np.mean(estimates)), left > 0


class Worker:
    """The counts and the current range of roots of one thread."""

    def __init__(self, count: ChordlessCount) -> None:
        self.count = count
        self.counts = np.zeros((count.num_edges, count.rules.longest - 2), np.int64)
        self.space = new_space(count.num_nodes, count.rules.longest, counting=True)

    def assign(self, first: int, last: int) -> None:
        """Start on the roots first .. last - 1."""
        begin(self.space, first, last)

    def advance(self, steps: int = STEPS) -> int:
        """Search for about `steps` steps, without the GIL; return the steps left, 0 or less if it is not done."""
        count = self.count
        return advance(count.graph, self.space, count.rules, steps, self.counts, NO_OUTPUT)[0]

    def run(self, first: int, last: int, stop: Stop) -> None:
        """Search from the roots first .. last - 1, or until ``stop[0]`` is set."""
        self.assign(first, last)
        while self.advance() <= 0 and not stop[0]:
            pass


def _edge_of_arc(indptr: Int64, indices: Int32) -> Int64:
    """Return the index of the edge of each arc of a symmetric graph."""
    arc = np.arange(len(indices))
    _, _, reverse = transpose(indptr, indices, arc)
    forward = arc < reverse
    edge = np.cumsum(forward) - 1
    return np.where(forward, edge, edge[reverse])
