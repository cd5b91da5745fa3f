"""The search engine: lists cycles. It is for graphs with few of them: molecules, roads, meshes."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from detours.counting.engines.base import Engine, Estimate, Task
from detours.counting.shrink.cyclic_part import Cyclic

if TYPE_CHECKING:
    from detours.counting.engines.search.count import Sample, SearchCount

SECONDS_PER_STEP = 9e-9  # approximate time of one step
SECONDS_PER_ARC = 90e-9  # time before and after the search: to find the chains, and to write the counts of every arc
SECONDS_PER_FAR_ARC = 170e-9  # additional time for an arc whose ends are far apart in memory:
FAR = 2**14  # by more nodes than this
BYTES_PER_ARC = 24
START_SECONDS = 150e-6  # time of a count on the smallest graph
LONGEST_SAMPLE = 10.0  # seconds


class SearchEngine(Engine):
    """Counts for any k by listing cycles."""

    name = "search"

    def least_seconds(self, task: Task) -> float:
        """Every arc is visited about as often as there are non-backtracking walks of half the length from it.

        Their branching is the mean degree at the end of an arc; hubs count little, as chains between them are fast.
        """
        degree = task.cyclic.forest.degree
        onward = max(1.0, np.multiply(degree, np.minimum(degree, 64), dtype=np.float64).sum() / degree.sum() - 1)
        steps = task.cyclic.num_arcs * float(onward) ** min(task.k // 2, 30)
        return START_SECONDS + SECONDS_PER_ARC * task.cyclic.num_arcs + SECONDS_PER_STEP * steps / task.n_jobs

    def planning_seconds(self, task: Task) -> float:
        """The bound is too high on chains between hubs, which are a single step each."""
        return 2 * (START_SECONDS + SECONDS_PER_ARC * task.cyclic.num_arcs + SECONDS_PER_STEP * _sample_size(task)[1])

    def estimate(self, task: Task) -> Estimate:
        from detours.counting.engines.search.count import Sample, SearchCount

        count = SearchCount(task.cyclic, task.k)
        size, limit = _sample_size(task)
        return _Sampled(task, count, Sample(count, size)).estimate(limit)


class _Sampled(NamedTuple):
    """A count with a sample of its search."""

    task: Task
    search: SearchCount
    sample: Sample

    def estimate(self, limit: int) -> Estimate:
        """Estimate from ``limit`` steps of the sample."""
        task, expected = self.task, self.sample.steps(limit)
        seconds = START_SECONDS + (SECONDS_PER_ARC + SECONDS_PER_FAR_ARC * _far(task.cyclic)) * task.cyclic.num_arcs
        size = task.n_jobs * self.search.bytes_per_worker + BYTES_PER_ARC * task.cyclic.num_arcs + task.result_bytes
        how = "bounded depth-first search, {} {:.2g} steps"
        if expected.complete:
            seconds += SECONDS_PER_STEP * expected.steps / task.n_jobs
            return Estimate(seconds, size, how.format("about", expected.steps), self.search)

        def longer(allowed: float) -> Estimate | None:
            more = int(min(allowed, LONGEST_SAMPLE) / SECONDS_PER_STEP)
            return self.estimate(more) if more > 2 * limit else None

        how = how.format("more than", expected.steps) + ": the sample did not finish"
        return Estimate(inf, size, how, self.search, longer)


def _far(cyclic: Cyclic) -> float:
    """Return the share of arcs whose ends are far apart, from a sample."""
    if len(cyclic.indptr) <= FAR:
        return 0.0
    sample = np.arange(0, len(cyclic.indices), max(1, len(cyclic.indices) // 256))
    source = np.searchsorted(cyclic.indptr, sample, side="right") - 1
    return float((np.abs(source - cyclic.indices[sample]) > FAR).mean())


def _sample_size(task: Task) -> tuple[int, int]:
    """Return the roots and steps of a sample: a small share of the time of a count with any engine."""
    nodes, arcs = task.cyclic.num_nodes, task.cyclic.num_arcs
    per_arc = (
        1 / 4 if task.k <= 6 else 16 if task.k <= 8 else 2**21
    )  # beyond 8 there are no closed forms to compare with
    return min(max(nodes // 16, 16), 128), int(min(max(per_arc * arcs, 2**14), 2**21))
