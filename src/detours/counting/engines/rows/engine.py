"""The row engine: closed forms for blocks of roots on the CPU."""

from __future__ import annotations

from detours.counting.engines.base import Engine, Estimate, Task

START_SECONDS = 250e-6  # time of a count on the smallest graph
SECONDS_PER_ARC = 60e-9  # minimal time for finding the arcs on cycles
SECONDS_PER_LENGTH = 50e-9  # minimal time for counting, per arc and length


class RowEngine(Engine):
    """Closed forms on sparse vectors, exact for k <= 6."""

    name = "rows"
    longest = 6

    def least_seconds(self, task: Task) -> float:
        counting = SECONDS_PER_LENGTH * (task.k - 1) * task.cyclic.num_arcs / task.n_jobs
        return START_SECONDS + SECONDS_PER_ARC * len(task.cyclic.indices) + counting

    def estimate(self, task: Task) -> Estimate:
        from detours.counting.engines.rows.estimate import estimate_rows

        return estimate_rows(task)
