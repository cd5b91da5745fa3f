"""What an engine is: one way to count, which can say beforehand how long it takes and how much memory.

To add an engine, write a subclass of `Engine` in a folder of its own beside this file, and add a line to
`ENGINES` in `registry.py`. Then `detours.count(..., engine=name)` takes it by name,
``engine="auto"`` compares it with the others, and `detours.explain` shows its estimate. (To count on disk or on a
cluster with it, see `on_disk/whole_graph.py`, which cuts the work of an engine into blocks.) The smallest engine is:

    class ZeroEngine(Engine):
        name = "zero"

        def estimate(self, task: Task) -> Estimate:
            return Estimate(seconds=1.0, bytes=0, how="always answers zero")

        def run(self, task: Task, estimate: Estimate, tally: Tally, progress: Progress | None = None) -> None:
            tally.by_length[:] = 0
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled
from detours.counting.engines.threads import Progress
from detours.counting.shrink.cyclic_part import Cyclic


class Tally(NamedTuple):
    """Where an engine writes its counts: one row per arc of the whole graph, zero to begin with."""

    by_length: Int64
    """[arcs, k - 1]: detours of length L in column L - 2."""
    cycles: Int64 | None
    """[arcs, k - 1]: directed cycles of length L + 1 through the arc in column L - 2; None if undirected: the same."""

    @classmethod
    def new(cls, arcs: int, k: int, directed: bool) -> Tally:
        shape = (arcs, k - 1)
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64) if directed else None)


@dataclass(frozen=True)
class Task:
    """A count that is to be done: what the estimates and runs of all engines start from."""

    cyclic: Cyclic
    """The graph, and which part of it lies on cycles; it has at least one arc there."""
    k: int
    n_jobs: int = 1
    memory: int | None = None
    """Bytes that the count should stay within if it can, results included."""
    device: str | None = None
    """A device of torch's, if one was asked for."""

    @property
    def directed(self) -> bool:
        return self.cyclic.directed

    @property
    def result_bytes(self) -> int:
        return 8 * len(self.cyclic.indices) * (self.k - 1) * (2 if self.directed else 1)

    @property
    def reduction_bytes(self) -> int:
        """Memory, at the peak, to find and sort the arcs on cycles (`Cyclic.reduced`)."""
        return 38 * len(self.cyclic.indices) + 40 * self.cyclic.num_nodes


@dataclass(frozen=True)
class Estimate:
    """What an engine expects of a task."""

    seconds: float
    """Infinite if all that is known is that it takes long; ``how`` says so then."""
    bytes: int
    """Memory at the peak, results included."""
    how: str
    """What the engine does, in a few words, with its main figures."""
    prepared: Any = field(default=None, compare=False, repr=False)
    """What was made on the way, with a method ``run(tally, n_jobs, progress)`` unless the engine has its own."""


class Engine(ABC):
    """One way to count. Engines have no state: all that belongs to a count is in its task and its estimate.

    The module of an engine is imported for every count, so it imports what only an estimate needs in `estimate`.
    """

    name: str
    longest: int | None = None
    """The largest k that it can do; None for any."""
    on_device: bool = False
    """Whether it counts on the device of its task; all others count on the CPU."""

    def least_seconds(self, task: Task) -> float:
        """Return a rough lower bound of the time, in no time at all.

        The planner starts with the engine whose bound is lowest, and needs no estimate of those whose bound is above
        the best estimate found.
        """
        return 0.0

    @abstractmethod
    def estimate(self, task: Task) -> Estimate:
        """Return the expected time and memory; raise `EngineError` if the engine cannot do the task."""

    def run(self, task: Task, estimate: Estimate, tally: Tally, progress: Progress | None = None) -> None:
        """Count into the tally, after `estimate` returned that estimate for that task."""
        estimate.prepared.run(tally, task.n_jobs, progress)


@compiled
def write_rows(counts: Int64, row: Int32, arc: Int64, out: Int64) -> None:
    """Give arc[p] the counts of row[p]."""
    for p in range(len(arc)):
        for column in range(counts.shape[1]):
            out[arc[p], column] = counts[row[p], column]
