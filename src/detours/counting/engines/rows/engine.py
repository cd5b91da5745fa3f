"""The row engine: closed forms for blocks of roots on the CPU."""

from __future__ import annotations

from detours.counting.engines.base import Engine, Estimate, Task

START_SECONDS = 250e-6  # what a count takes on the smallest graph
LEAST_SECONDS = 50e-9  # seconds per arc and length that a count takes at the least


class RowEngine(Engine):
    """Closed forms on sparse vectors, exact for k <= 6."""

    name = "rows"
    longest = 6

    def least_seconds(self, task: Task) -> float:
        return START_SECONDS + LEAST_SECONDS * (task.k - 1) * task.cyclic.num_arcs / task.n_jobs

    def estimate(self, task: Task) -> Estimate:
        from detours.counting.engines.rows.estimate import estimate_rows

        return estimate_rows(task)
