"""The choice of a layout for the row engine, and the expected time and memory with it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from detours.counting.derive.vector_program import program
from detours.counting.engines.base import Estimate, Task
from detours.counting.engines.overflow import narrowest_dtype
from detours.counting.engines.rows.cost import Sample, bytes_of_arcs, sample_work, work_on_arcs
from detours.counting.engines.rows.evaluate import RowCount
from detours.counting.engines.rows.graph import Layout

PASS_SECONDS = 250e-6  # time of a pass on the smallest graph
LAYOUTS = Layout(False, 64), Layout(True, 64), Layout(False, 16), Layout(False, 1)
SMALL = 4096  # with fewer arcs, sampling blocks of roots would take longer than counting; then
SMALL_LAYOUT = Layout(by_degree=False, lanes=16)  # this layout is used,
SMALL_SECONDS = 150e-9  # and this is the expected time per arc and product
CACHED = 1000  # with fewer nodes near a block of roots, its vectors certainly stay in the cache


def estimate_rows(task: Task) -> Estimate:
    """Compare several layouts, and return the estimate of the fastest one that fits into the memory."""
    reduced, steps = task.cyclic.reduced, program(task.k, task.directed)
    word = narrowest_dtype(reduced, task.k)
    count = RowCount.build(reduced, task.k, word, SMALL_LAYOUT)
    fixed = len(steps.passes) * PASS_SECONDS + work_on_arcs(count, len(task.cyclic.indices)).seconds()
    size = bytes_of_arcs(count)
    candidates: list[tuple[float, int, Layout]] = []
    if reduced.num_arcs < SMALL:
        seconds = SMALL_SECONDS * reduced.num_arcs * (1 + steps.products)
        candidates.append((seconds, 500 * reduced.num_arcs, SMALL_LAYOUT))
    else:
        for layout, sample in _samples(count, every=task.memory is not None):
            scratch = task.n_jobs * (sample.buffer + 13 * count.graph.num_nodes)
            candidates.append((sample.work.seconds() / task.n_jobs, scratch, layout))
    available = np.inf if task.memory is None else task.memory - size
    fitting = [candidate for candidate in candidates if max(candidate[1], task.result_bytes) <= available]
    seconds, scratch, layout = min(fitting) if fitting else min(candidates, key=lambda candidate: candidate[1])
    bits = 8 * np.dtype(word).itemsize
    products = f"{steps.products} sparse product{'s' * (steps.products != 1)}"
    how = f"closed forms, {products} per block of roots, {bits}-bit, {layout}"
    size += max(scratch, task.result_bytes)  # results are written after the vectors are freed
    return Estimate(fixed + seconds, max(size, task.reduction_bytes), how, count.with_layout(layout))


def _samples(count: RowCount, every: bool) -> Iterator[tuple[Layout, Sample]]:
    """Sample the layouts that may be the fastest, or every layout, wide blocks first."""
    wide, *others = LAYOUTS
    sample = sample_work(count.with_layout(wide))
    yield wide, sample
    cached, near_everything = sample.rows < CACHED, sample.rows > count.graph.num_nodes / 2
    for layout in others:
        if every or not (cached or (near_everything and not layout.by_degree)):
            yield layout, sample_work(count.with_layout(layout))
