"""The time of a search: trials end early enough to train the best of them again."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

AT_FIRST = 0.25
"""Share of the time that is kept for training the best again, before a run has shown how long that takes, and the most
that is kept before all models have finished a round: without their trials there is nothing to train again …"""
AT_MOST = 0.5
"""… and the most that is kept then."""


@dataclass
class Budget:
    """Seconds, some of which are kept for the runs that come after the trials.

    >>> budget = Budget(start=1000.0, seconds=100, after=30)
    >>> budget.note(runs=10, seconds=10)
    >>> budget.trials_until
    1075.0
    >>> budget.most = AT_MOST
    >>> budget.trials_until
    1070.0
    """

    start: float = 0.0
    seconds: float = inf
    after: int = 0
    """Runs that are trained after the trials."""
    runs: int = 0
    """Runs so far that were as long as those after the trials …"""
    taken: float = 0.0
    """… and the seconds they took."""
    most: float = AT_FIRST
    """The share that is kept at most."""

    def note(self, runs: int, seconds: float) -> None:
        """Remember how long some runs have taken."""
        self.runs += runs
        self.taken += seconds

    @property
    def end(self) -> float:
        """The time after which nothing is begun."""
        return self.start + self.seconds

    @property
    def trials_until(self) -> float:
        """The time after which no trial is begun."""
        if not self.after or self.seconds == inf:
            return self.end
        kept = self.after * self.taken / self.runs if self.runs else AT_FIRST * self.seconds
        return self.end - min(kept, self.most * self.seconds)
