"""The dense engine: closed forms on dense matrices. It is for graphs in which many pairs of nodes are adjacent."""

from __future__ import annotations

from detours.counting.engines.base import Engine, Estimate, Task

SECONDS_PER_ARC = 100e-9  # time to find the position of an arc in the matrices, and to read its counts
START_SECONDS = 300e-6  # time of a count on the smallest graph


class DenseEngine(Engine):
    """Closed forms on dense NumPy matrices, exact for k <= 8."""

    name = "dense"
    longest = 8

    def least_seconds(self, task: Task) -> float:
        """One product on the largest component, dense or skipping zeros, and one pass over the arcs."""
        nodes, arcs = task.cyclic.largest_block, task.cyclic.num_arcs
        product = nodes * min(0.08e-9 * nodes**2, 0.4e-9 * min(arcs, nodes**2))
        return START_SECONDS + product / task.n_jobs + SECONDS_PER_ARC * arcs * (3 + task.k) / 4

    def estimate(self, task: Task) -> Estimate:
        from detours.counting.engines.dense.count import DenseCount

        count = DenseCount(task.cyclic.reduced, task.k)
        seconds = START_SECONDS + SECONDS_PER_ARC * task.cyclic.num_arcs + count.seconds(task.n_jobs)
        size = max(count.bytes(task.n_jobs) + task.result_bytes, task.reduction_bytes)
        return Estimate(seconds, size, how_dense(task), count)


def how_dense(task: Task) -> str:
    return f"closed forms on dense matrices, the largest of {task.cyclic.largest_block:,} nodes"
