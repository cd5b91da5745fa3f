"""The interface of engines: an engine is one way to count, and can estimate its time and memory beforehand.

To add an engine, write a subclass of `Engine` in its own folder next to this file, and add a line to
`ENGINES` in `registry.py`. Then `detours.count(..., engine=name)` selects it by name,
``engine="auto"`` compares it with the others, and `detours.explain` shows its estimate. (To count on disk or on a
cluster with it, see `on_disk/whole_graph.py`, which cuts the work of an engine into blocks.) A minimal engine:

    class ZeroEngine(Engine):
        name = "zero"

        def estimate(self, task: Task) -> Estimate:
            return Estimate(seconds=1.0, bytes=0, how="always returns zeros")

        def run(self, task: Task, estimate: Estimate, tally: Tally, progress: Progress | None = None) -> None:
            tally.by_length[:] = 0
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled
from detours.counting.engines.threads import Progress
from detours.counting.shrink.cyclic_part import Cyclic


class Tally(NamedTuple):
    """The arrays that an engine writes its counts to: one row per arc of the whole graph, initially zero."""

    by_length: Int64
    """[arcs, k - 1]: detours of length L in column L - 2."""
    cycles: Int64 | None
    """[arcs, k - 1]: directed cycles of length L + 1 through the arc in column L - 2; None if undirected (equal)."""

    @classmethod
    def new(cls, arcs: int, k: int, directed: bool) -> Tally:
        shape = (arcs, k - 1)
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64) if directed else None)


@dataclass(frozen=True)
class Task:
    """A count to be done: the input of all estimates and runs."""

    cyclic: Cyclic
    """The graph, and which part of it lies on cycles; it has at least one arc there."""
    k: int
    n_jobs: int = 1
    memory: int | None = None
    """Bytes that the count should stay within if it can, results included."""
    device: str | None = None
    """A torch device, if one was requested."""

    @property
    def directed(self) -> bool:
        return self.cyclic.directed

    @property
    def result_bytes(self) -> int:
        return 8 * len(self.cyclic.indices) * (self.k - 1) * (2 if self.directed else 1)

    @property
    def reduction_bytes(self) -> int:
        """Peak memory for finding and sorting the arcs on cycles (`Cyclic.reduced`)."""
        return 38 * len(self.cyclic.indices) + 40 * self.cyclic.num_nodes


@dataclass(frozen=True)
class Estimate:
    """The time and memory that an engine expects to need for a task."""

    seconds: float
    """Infinite if only a lower bound is known; ``how`` says so then."""
    bytes: int
    """Peak memory, results included."""
    how: str
    """What the engine does, in a few words with the most important figures."""
    prepared: Any = field(default=None, compare=False, repr=False)
    """The prepared count, with a method ``run(tally, n_jobs, progress)`` unless the engine overrides `Engine.run`."""
    longer: Callable[[float], Estimate | None] | None = field(default=None, compare=False, repr=False)
    """Where the time is unknown: a better estimate, given the seconds it may take, or None if these change nothing."""


class Engine(ABC):
    """One way to count. Engines are stateless: everything about a count is in its task and its estimate.

    The module of an engine is imported for every count, so imports that only an estimate needs belong in `estimate`.
    """

    name: str
    longest: int | None = None
    """The largest k that it supports; None for any."""
    on_device: bool = False
    """Whether it counts on the device of its task instead of the CPU."""

    def least_seconds(self, task: Task) -> float:
        """Return a rough lower bound of the time; must be instant.

        The planner starts with the engine with the lowest bound, and skips those whose bound is above the best estimate
        so far.
        """
        return 0.0

    def planning_seconds(self, task: Task) -> float:
        """Return the time of `estimate` if it is worth making in spite of a high `least_seconds`; infinity if not."""
        return inf

    @abstractmethod
    def estimate(self, task: Task) -> Estimate:
        """Return the expected time and memory; raise `EngineError` if the engine cannot do the task."""

    def run(self, task: Task, estimate: Estimate, tally: Tally, progress: Progress | None = None) -> None:
        """Count into the tally; ``estimate`` is what `estimate` returned for this task."""
        estimate.prepared.run(tally, task.n_jobs, progress)


@compiled
def write_rows(counts: Int64, row: Int32, arc: Int64, out: Int64) -> None:
    """out[arc[p]] = counts[row[p]] for every p."""
    for p in range(len(arc)):
        for column in range(counts.shape[1]):
            out[arc[p], column] = counts[row[p], column]
