"""The search engine: cycles are listed. It is for graphs with few of them: molecules, roads, meshes."""

from __future__ import annotations

from math import inf

import numpy as np

from detours.counting.engines.base import Engine, Estimate, Task
from detours.counting.shrink.cyclic_part import Cyclic

SECONDS_PER_STEP = 9e-9  # time of one step, about
SECONDS_PER_ARC = 90e-9  # time before and after the search: to find the chains, and to give every arc its counts
SECONDS_PER_FAR_ARC = 170e-9  # the same, in addition, for an arc whose ends are far apart in memory:
FAR = 2**14  # by this many nodes
BYTES_PER_ARC = 24
START_SECONDS = 150e-6  # what a search takes on the smallest graph


class SearchEngine(Engine):
    """Counts for any k by listing cycles."""

    name = "search"

    def least_seconds(self, task: Task) -> float:
        """Every arc is met about as often as there are walks of half the length from it that never turn back.

        How they branch is the mean degree at the end of an arc; hubs count little, as chains between them are quick.
        """
        degree = task.cyclic.forest.degree
        onward = max(1.0, np.multiply(degree, np.minimum(degree, 64), dtype=np.float64).sum() / degree.sum() - 1)
        steps = task.cyclic.num_arcs * float(onward) ** min(task.k // 2, 30)
        return START_SECONDS + SECONDS_PER_ARC * task.cyclic.num_arcs + SECONDS_PER_STEP * steps / task.n_jobs

    def estimate(self, task: Task) -> Estimate:
        from detours.counting.engines.search.count import SearchCount, sample_steps

        count = SearchCount(task.cyclic, task.k)
        expected = sample_steps(count, *_sample_size(task))
        how = f"bounded depth-first search, about {expected.steps:.2g} steps"
        if not expected.complete:
            how = f"bounded depth-first search, more than {expected.steps:.2g} steps: a sample did not come to an end"
        seconds = START_SECONDS + (SECONDS_PER_ARC + SECONDS_PER_FAR_ARC * _far(task.cyclic)) * task.cyclic.num_arcs
        seconds += SECONDS_PER_STEP * expected.steps / task.n_jobs if expected.complete else inf
        size = task.n_jobs * count.bytes_per_worker + BYTES_PER_ARC * task.cyclic.num_arcs + task.result_bytes
        return Estimate(seconds, size, how, count)


def _far(cyclic: Cyclic) -> float:
    """Return the share of arcs whose ends are far apart, from some of them."""
    if len(cyclic.indptr) <= FAR:
        return 0.0
    some = np.arange(0, len(cyclic.indices), max(1, len(cyclic.indices) // 256))
    source = np.searchsorted(cyclic.indptr, some, side="right") - 1
    return float((np.abs(source - cyclic.indices[some]) > FAR).mean())


def _sample_size(task: Task) -> tuple[int, int]:
    """Return the roots and steps of a sample: a small share of what a count of such a graph takes in any way."""
    nodes, arcs = task.cyclic.num_nodes, task.cyclic.num_arcs
    per_arc = 1 / 4 if task.k <= 6 else 16 if task.k <= 8 else 2**21  # beyond 8 no closed forms are left to compare
    return min(max(nodes // 16, 16), 128), int(min(max(per_arc * arcs, 2**14), 2**21))
