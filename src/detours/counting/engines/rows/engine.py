"""The row engine: closed forms for blocks of roots on the CPU, exact for k <= 6."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from detours.counting.derive.closed_forms import MAX_LENGTH
from detours.counting.derive.vector_program import program
from detours.counting.engines.base import Engine, Estimate, Tally, Task
from detours.counting.engines.overflow import narrowest_word
from detours.counting.engines.rows.cost import PASS_SECONDS, Sample, bytes_of_arcs, sample_work, work_on_arcs
from detours.counting.engines.rows.evaluate import RowCount
from detours.counting.engines.rows.graph import Layout
from detours.counting.engines.threads import Progress

LAYOUTS = Layout(False, 64), Layout(True, 64), Layout(False, 16), Layout(False, 1)
SMALL = 4096  # arcs up to which looking at blocks of roots would take longer than counting; then
SMALL_LAYOUT = Layout(by_degree=False, lanes=16)  # this layout is taken,
SMALL_SECONDS = 150e-9  # and this time is expected for an arc and a product
LEAST_SECONDS = 50e-9  # seconds per arc and length that a count takes at the least
CACHED = 1000  # nodes near a block of roots whose vectors certainly stay in the cache


class RowEngine(Engine):
    name = "rows"
    longest = MAX_LENGTH

    def least_seconds(self, task: Task) -> float:
        passes = len(program(min(task.k, MAX_LENGTH), task.directed).passes)
        return passes * PASS_SECONDS + LEAST_SECONDS * (task.k - 1) * task.cyclic.num_arcs / task.n_jobs

    def estimate(self, task: Task) -> Estimate:
        """Compare several layouts, and return the estimate of the fastest one that fits into the memory."""
        reduced, steps = task.cyclic.reduced, program(task.k, task.directed)
        word = narrowest_word(reduced, task.k)
        count = RowCount.build(reduced, task.k, word, SMALL_LAYOUT)
        fixed = len(steps.passes) * PASS_SECONDS + work_on_arcs(count, len(task.cyclic.indices)).seconds()
        size = bytes_of_arcs(count)
        found: list[tuple[float, int, Layout]] = []
        if reduced.num_arcs < SMALL:
            seconds = SMALL_SECONDS * reduced.num_arcs * (1 + steps.products)
            found.append((seconds, 500 * reduced.num_arcs, SMALL_LAYOUT))
        else:
            for layout, sample in _samples(count, every=task.memory is not None):
                scratch = task.n_jobs * (sample.buffer + 13 * count.graph.num_nodes)
                found.append((sample.work.seconds() / task.n_jobs, scratch, layout))
        room = np.inf if task.memory is None else task.memory - size
        fitting = [each for each in found if max(each[1], task.result_bytes) <= room]
        seconds, scratch, layout = min(fitting) if fitting else min(found, key=lambda each: each[1])
        bits = 8 * np.dtype(word).itemsize
        how = f"closed forms, {steps.products} sparse products per block of roots, {bits}-bit, {layout}"
        size += max(scratch, task.result_bytes)  # results are written when the vectors are gone
        return Estimate(fixed + seconds, max(size, task.reduction_bytes), how, count.with_layout(layout))

    def run(self, task: Task, estimate: Estimate, tally: Tally, progress: Progress | None = None) -> None:
        estimate.prepared.run(tally, task.n_jobs, progress)


def _samples(count: RowCount, every: bool) -> Iterator[tuple[Layout, Sample]]:
    """Look at the layouts that may be the fastest, or at every one, wide blocks first."""
    wide, *others = LAYOUTS
    sample = sample_work(count.with_layout(wide))
    yield wide, sample
    cached, near_everything = sample.rows < CACHED, sample.rows > count.graph.num_nodes / 2
    for layout in others:
        if every or not (cached or (near_everything and not layout.by_degree)):
            yield layout, sample_work(count.with_layout(layout))
