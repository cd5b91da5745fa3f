"""What the planner and the door ask of an engine."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from detours.counting.parallel import Progress


class Tally(NamedTuple):
    """Where an engine writes its counts: one row per arc of the whole graph, zero where there is nothing to count."""

    by_length: NDArray[np.int64]
    """[arcs, k - 1]: detours of length L in column L - 2."""
    cycles: NDArray[np.int64] | None
    """[arcs, k - 1]: directed cycles of length L + 1 through the arc in column L - 2; None if undirected: the same."""


class Engine(Protocol):
    """One count, ready to run."""

    name: str

    def count(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None: ...
