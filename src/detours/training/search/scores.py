"""Scores of finished trials: the validation score over folds and seeds, and the effort of the training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from enum import IntEnum
from math import inf, isnan, nan, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from detours.store import Cell
from detours.training.cost import seconds_of
from detours.training.recipe import Recipe, merit
from detours.training.search.trials import Trial
from detours.training.tasks import score_of


class Effort(IntEnum):
    """How much a trial was trained."""

    SHORT = 0
    """On a third of the folds, for a third of the epochs."""
    FULL = 1
    """On all folds of the search, for all epochs."""
    AGAIN = 2
    """For all epochs with other seeds, on the folds that the search left out, or on its folds if it left out none."""


class Scored(NamedTuple):
    """A finished trial: its validation score and loss, averaged over folds."""

    trial: Trial
    effort: Effort
    metric: str
    score: float
    """The score in the metric; NaN if a fold has diverged."""
    error: float
    """The standard error of the score over the folds; NaN for a single one."""
    loss: float
    folds: int
    epochs: int
    seconds: float
    """The time of its runs, each with its share of the time of its stack."""

    @property
    def rank(self) -> tuple[float, float, int]:
        """The sort key of trials, the best first."""
        return (inf if self.diverged else -merit(self.metric, self.score), self.loss, self.trial.number)

    @property
    def diverged(self) -> bool:
        """Whether the loss of a fold became NaN or infinite."""
        return isnan(self.score)

    @property
    def full(self) -> bool:
        """Whether it was trained for all epochs."""
        return self.effort > Effort.SHORT


def score(trial: Trial, effort: Effort, cells: Sequence[Cell], recipe: Recipe, part: str = "val") -> Scored:
    """Return the score of a trial on a part, from its finished runs; a fold counts with the mean over its seeds."""
    folds = defaultdict(list)
    for cell in cells:
        folds[cell.key["fold"]].append(cell.value)
    seconds = seconds_of([{**cell.value, "seconds": cell.seconds} for cell in cells])
    effort_spent = (len(folds), recipe.epochs, seconds)
    if any("diverged" in cell.value for cell in cells):
        return Scored(trial, effort, recipe.metric, nan, nan, inf, *effort_spent)
    scores = [fmean(score_of(value, part) for value in values) for values in folds.values()]
    error = stdev(scores) / sqrt(len(scores)) if len(scores) > 1 else nan
    loss = fmean(float(cell.value[f"{part}_loss"]) for cell in cells)
    return Scored(trial, effort, recipe.metric, fmean(scores), error, loss, *effort_spent)
