"""The time that finished runs took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def seconds_of(runs: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds that runs took, each counted with its share of the time of its stack.

    A run records when it ended, relative to the start of its stack, and the number of replicas at the start (one that
    diverged does not, and counts as one); the stack ends with its last run. This is exact for one stack and for single
    runs. Several stacks with equally many replicas cannot be distinguished: runs are assigned to them in the order of
    their ends.
    """
    seconds = 0.0
    for replicas in {run.get("replicas", 1) for run in runs}:
        ends = sorted((run["seconds"] for run in runs if run.get("replicas", 1) == replicas), reverse=True)
        seconds += sum(ends[at - at % replicas] for at in range(len(ends))) / replicas
    return seconds
