"""The time budget of a search: trials end early enough to train the best of them again."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

FIRST_SHARE = 0.25
"""The share of the time reserved for training the best again while the time of a run is unknown, and the largest share
until all models have finished a round: without their trials there is nothing to train again."""
MAX_SHARE = 0.5
"""The largest share from then on."""


@dataclass
class Budget:
    """Seconds, some of which are reserved for runs after the trials.

    >>> budget = Budget(start=1000.0, seconds=100, runs_after=30)
    >>> budget.note(runs=10, seconds=10)
    >>> budget.trials_until
    1075.0
    >>> budget.max_share = MAX_SHARE
    >>> budget.trials_until
    1070.0
    """

    start: float = 0.0
    seconds: float = inf
    runs_after: int = 0
    """Runs that are trained after the trials."""
    runs: int = 0
    """Runs so far that were as long as those after the trials."""
    taken: float = 0.0
    """The seconds that they took."""
    max_share: float = FIRST_SHARE
    """The largest share of the time that is reserved."""

    def note(self, runs: int, seconds: float) -> None:
        """Record the time of some runs."""
        self.runs += runs
        self.taken += seconds

    @property
    def end(self) -> float:
        """The time after which nothing is started."""
        return self.start + self.seconds

    @property
    def trials_until(self) -> float:
        """The time after which no trial is started."""
        if not self.runs_after or self.seconds == inf:
            return self.end
        reserved = self.runs_after * self.taken / self.runs if self.runs else FIRST_SHARE * self.seconds
        return self.end - min(reserved, self.max_share * self.seconds)
