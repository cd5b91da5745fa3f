"""What the planner and the door ask of an engine."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled
from detours.counting.engines.threads import Progress


class Tally(NamedTuple):
    """Where an engine writes its counts: one row per arc of the whole graph."""

    by_length: Int64
    """[arcs, k - 1]: detours of length L in column L - 2."""
    cycles: Int64 | None
    """[arcs, k - 1]: directed cycles of length L + 1 through the arc in column L - 2; None if undirected: the same."""

    @classmethod
    def new(cls, arcs: int, k: int, directed: bool, zero: bool = True) -> Tally:
        """Room for the counts of so many arcs, with zeros in it unless every row will be written."""
        make = np.zeros if zero else np.empty
        return cls(make((arcs, k - 1), np.int64), make((arcs, k - 1), np.int64) if directed else None)


class Engine(Protocol):
    """One count, ready to run."""

    name: str
    fills: bool
    """Whether it writes every row of a tally; if not, the tally it is given must be zero where nothing is counted."""

    def count(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None: ...


@compiled
def write_rows(counts: Int64, row: Int32, arc: Int64, out: Int64) -> None:
    """Give arc[p] the counts of row[p]."""
    for p in range(len(arc)):
        for column in range(counts.shape[1]):
            out[arc[p], column] = counts[row[p], column]
