"""The search: rounds of trials, first a few folds and epochs of each, then all folds and epochs of the best.

Every round draws `ETA` structures for each model. All their trials are trained on a third of the folds for a third of
the epochs; the best third of all trials so far is then trained on all folds for all epochs (successive halving,
`Jamieson and Talwalkar, 2016 <https://arxiv.org/abs/1502.07943>`_, with asynchronous promotion, `Li et al., 2020
<https://arxiv.org/abs/1810.05934>`_). In the end the best few may be trained again with seeds that no trial had, and
these results decide: the best of many trials is partly the luckiest one. Test parts are removed before anything else.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from math import ceil, inf
from typing import NamedTuple

import numpy as np
import torch

from detours.checks import check_integer
from detours.data import GraphSet, Split, Splits
from detours.data.splitting import inner_splits
from detours.errors import DetoursError, InputError
from detours.store import Store
from detours.training.loop import Diverged, OutOfTime, Run
from detours.training.recipe import Recipe
from detours.training.runs import runs_of
from detours.training.search.budget import MAX_SHARE, Budget
from detours.training.search.scores import Effort, Scored, score
from detours.training.search.trials import Draws, Trial
from detours.training.stacks import Resources, finished, parts_of, run_all, stacks_of

SEEDS = 3
"""Seeds with which the best trials are trained again."""
ETA = 3
"""One of this many trials is promoted; it gets this many times the folds and the epochs."""
CHECKPOINT_EVERY = 60.0
"""Seconds between two checkpoints: an interrupt loses the stack under way, or this much of it."""


class Stage(NamedTuple):
    """A stack that was trained, or read from the store.

    One without trials and replicas precedes the trials that are trained again.
    """

    model: str
    effort: Effort
    trials: list[int]
    replicas: int
    seconds: float
    best: Scored | None
    """The best trial of the model with this effort so far."""


class Search:
    """A search for the settings of some models on one data set.

    Args:
        draws: The trials, and the models; all models get the same number of trials.
        folds: The splits of the data set.
        indices: The indices of the folds to use.
        store: The store of finished runs.
        device: Where to train.
        replicas: The most networks that are trained as one.
        halving: Whether all trials are first trained on a third of the folds and epochs.
        inner: Whether a tenth of each training part chooses the epoch, so that the validation part only compares
            trials.
        report: Called after every stack.
    """

    def __init__(
        self,
        draws: Draws,
        folds: Splits,
        indices: Sequence[int],
        store: Store,
        *,
        device: str = "auto",
        replicas: int | None = None,
        halving: bool = True,
        inner: bool = False,
        report: Callable[[Stage], None] | None = None,
    ) -> None:
        models = draws.models
        if not models or not len(indices):
            raise InputError("a search needs at least one model and one fold.")
        if not (draws.space.known or draws.space.shared or any(draws.space.own[model] for model in models)):
            raise InputError(
                f"the space has nothing to draw for model {' and '.join(models)} besides the settings that are given; "
                "add choices to it, or give fewer settings."
            )
        self.draws, self.models, self.store, self.halving, self.inner = draws, models, store, halving, inner
        self.data: GraphSet = draws.data
        self.folds, self.indices = inner_splits(self.data, folds) if inner else without_test(folds), list(indices)
        self.part = "test" if inner else "val"
        """The part of these folds on which trials are compared: in any case the validation part of the data set."""
        self.place = Resources(device, replicas=default_replicas(self.data.level) if replicas is None else replicas)
        self.report = report or (lambda stage: None)
        self.budget = Budget()
        self.results: dict[tuple[str, int, Effort], Scored] = {}
        self.comparable: set[tuple[str, int, Effort]] = set()
        """The keys of results from rounds that all models have finished."""
        self.ended = False
        """Whether everything that was requested is finished."""
        self.finalists: dict[str, list[Trial]] = {}
        """The trials of each model that are trained again, once they are known."""
        self.confirmed = False
        """Whether the best trials have been trained again, for all models that have any."""

    def check(self, trials: int, confirm: int = 0) -> None:
        """Raise the `InputError` of `go_on` early: before hours of training, perhaps on other data."""
        check_integer("trials", trials, minimum=1)
        check_integer("confirm", confirm, minimum=0)
        known = self.draws.per_structure * len(self.draws.space.known)
        for model in self.models:
            # refuses impossible known points, and a space without a possible network
            numbers = range(self.draws.available(min(trials, known + 1)))
            first, *_ = [self.draws.trial(model, number) for number in numbers]
            for effort in (Effort.FULL, Effort.AGAIN) if confirm else (Effort.FULL,):
                self._runs(first, effort)  # refuses wrong folds

    def go_on(self, trials: int, seconds: float = inf, confirm: int = 0) -> None:
        """Run the trials up to a number, round by round, then train the best again.

        Args:
            trials: The number of trials of each model; there are fewer if the space has no others.
            seconds: The time after which no stack is started.
            confirm: The number of best trials of each model to train again with other seeds, for all models, together
                with the current recipe of the data set; 0 for none.
        """
        self.check(trials, confirm)
        self.finalists, self.confirmed = {}, False
        self.budget = Budget(time.monotonic(), seconds, self._num_confirming_runs(confirm))
        length = ETA * self.draws.per_structure
        ended = False
        try:
            for first in range(0, trials, length):
                numbers = range(first, self.draws.available(min(first + length, trials)))
                if not numbers:
                    break
                self._round(numbers)
                self.comparable, self.budget.max_share = set(self.results), MAX_SHARE
            ended = True
        except OutOfTime:
            pass
        self.ended = self._confirm(confirm) and ended

    def _num_confirming_runs(self, best: int) -> int:
        """Return the most runs that train the best again: for each model the best of all, and its current recipe."""
        models = len(self.models)
        return models * (models * best + 1) * len(self._confirming_folds()) * SEEDS if best else 0

    def _confirming_folds(self) -> list[int]:
        """Return the folds on which the best are trained again: those that the trials did not see, if there are any."""
        return [fold for fold in range(len(self.folds)) if fold not in self.indices] or self.indices

    def _confirm(self, best: int) -> bool:
        """Train the best trials of each model again, if any; return whether that is done."""
        # Without a model all of whose trials have diverged; without all models if there was no time.
        best_of = {model: numbers for model in self.models if (numbers := self._best(model, best))}
        if not best_of:
            return True
        finalists = sorted(set().union(*best_of.values()))
        self.finalists = {model: self._finalists(model, finalists) for model in best_of}
        self.report(Stage(next(iter(best_of)), Effort.AGAIN, [], 0, 0.0, None))
        try:
            for trials in self.finalists.values():
                self._train_trials(trials, Effort.AGAIN)
        except OutOfTime:
            return False
        self.confirmed = True
        return True

    def _best(self, model: str, best: int) -> set[int]:
        """Return the numbers of the best trials of a model; empty if there are none."""
        return {each.trial.number for each in self.candidates(model)[:best] if not each.diverged}

    def _finalists(self, model: str, numbers: Sequence[int]) -> list[Trial]:
        """Return the trials of a model with these numbers, and the current recipe of the data set.

        All models get the same numbers, so that a lucky draw of shared settings for one of them helps the others, too.
        """
        trials = [self.draws.trial(model, number) for number in numbers]
        try:
            today = self.draws.today(model)
        except InputError:  # it does not go with the fixed settings
            return trials
        return trials if self.recipe(today) in map(self.recipe, trials) else [*trials, today]

    def _round(self, numbers: range) -> None:
        if not self.halving:
            for model in self.models:
                self._train_trials([self.draws.trial(model, number) for number in numbers], Effort.FULL)
            return
        for structure in self.draws.structures(numbers):
            for model in self.models:
                self._train_trials([self.draws.trial(model, number) for number in structure], Effort.SHORT)
        for model in self.models:
            self._train_trials(self._promoted(model), Effort.FULL)

    def _promoted(self, model: str) -> list[Trial]:
        """Return the best third of the trials of short training, by their number."""
        short = self.of(model, full=False)
        best = short[: ceil(len(short) / ETA)]
        return [each.trial for each in sorted(best, key=lambda each: each.trial.number) if not each.diverged]

    def of(self, model: str, *, full: bool) -> list[Scored]:
        """Return the finished trials of a model, the best first."""
        return self._of(model, Effort(full))

    def again(self, model: str) -> list[Scored]:
        """Return the trials of a model that were trained again, the best first; none unless all are finished."""
        return self._of(model, Effort.AGAIN) if self.confirmed else []

    def _of(self, model: str, effort: Effort) -> list[Scored]:
        scored = [each for (name, _, done), each in self.results.items() if (name, done) == (model, effort)]
        return sorted(scored, key=lambda each: each.rank)

    def candidates(self, model: str) -> list[Scored]:
        """Return the trials to choose from, the best first.

        These are the fully trained ones, if each model has some. With several models, rounds that one of them has not
        finished are left out with the trials that they promoted, so that all have had the same number of trials; in the
        first round, the trials that all have finished count.
        """
        if len(self.models) == 1:
            return self.of(model, full=True) or self.of(model, full=False)
        if self.comparable:
            fully_trained = {name for name, _, effort in self.comparable if effort is Effort.FULL}
            full = all(name in fully_trained for name in self.models)
            return [
                each for each in self.of(model, full=full) if (model, each.trial.number, each.effort) in self.comparable
            ]
        full = not self.halving
        common = set.intersection(*({each.trial.number for each in self.of(name, full=full)} for name in self.models))
        return [each for each in self.of(model, full=full) if each.trial.number in common]

    # ------------------------------------------------------------ trials

    def recipe(self, trial: Trial) -> Recipe:
        """Return the recipe of a trial with all its epochs."""
        return self.draws.recipe(trial.settings)

    def _runs(self, trial: Trial, effort: Effort) -> list[Run]:
        settings, recipe = dict(trial.settings), self.recipe(trial)
        indices, seeds = self.indices, [recipe.seed]
        if effort is Effort.SHORT:
            settings["epochs"] = ceil(recipe.epochs / ETA)
            indices = indices[: max(1, len(indices) // ETA)]
        if effort is Effort.AGAIN:
            indices = self._confirming_folds()
            seeds = [recipe.seed + 1 + more for more in range(SEEDS)]
        return runs_of(
            self.data,
            self.folds,
            self.store,
            numbers=indices,
            seeds=seeds,
            ks=(settings.pop("k", None),),
            every=CHECKPOINT_EVERY,
            logged=False,
            experiment="tune",
            **settings,
        )

    def _train_trials(self, trials: Sequence[Trial], effort: Effort) -> None:
        """Train the trials that are not finished, those of one shape together."""
        waiting = [
            (trial, self._runs(trial, effort))
            for trial in trials
            if (trial.model, trial.number, effort) not in self.results
        ]
        different = {run.recipe: run for _, runs in waiting for run in runs}  # models without draws repeat theirs
        for stack in stacks_of(list(different.values()), self.place):
            start = time.monotonic()
            missing = [run for run in stack if finished(self.store, run) is None]
            if missing:
                if start >= (self.budget.end if effort is Effort.AGAIN else self.budget.trials_until):
                    raise OutOfTime("the budget is spent.")
                self._train(stack)
                if effort is Effort.FULL:
                    self.budget.note(len(missing), time.monotonic() - start)
            done = [scored for trial, runs in waiting if (scored := self._scored(trial, effort, runs)) is not None]
            waiting = [each for each in waiting if (each[0].model, each[0].number, effort) not in self.results]
            model = stack[0].recipe.model
            best = next(iter(self._of(model, effort)), None)
            numbers = [each.trial.number for each in done]
            self.report(Stage(model, effort, numbers, len(missing), time.monotonic() - start, best))

    def _train(self, stack: list[Run]) -> None:
        """Train a stack, in halves if it does not fit into the memory of the device."""
        if len(parts := parts_of(stack)) > 1:  # divided as it was when interrupted
            for part in parts:
                self._train(part)
            return
        try:
            run_all(self.store, stack, self.place)
            return
        except Diverged:
            for run in stack:
                if finished(self.store, run) is None:
                    self.store.keep(run.recipe.key(), {"diverged": True}, 0.0)
            return
        except torch.cuda.OutOfMemoryError:
            if len(stack) == 1:
                raise DetoursError(
                    f"a trial of {stack[0].recipe.data} does not fit into the memory of the GPU."
                ) from None
        # after the error is gone, with the memory that it refers to
        gc.collect()
        torch.cuda.empty_cache()
        half = ceil(len(stack) / 2)
        for part in (stack[:half], stack[half:]):
            self._train(part)

    def _scored(self, trial: Trial, effort: Effort, runs: Sequence[Run]) -> Scored | None:
        """Score a trial and remember it, if all its runs are finished."""
        cells = [cell for run in runs if (cell := finished(self.store, run)) is not None]
        if len(cells) < len(runs):
            return None
        scored = score(trial, effort, cells, runs[0].recipe, self.part)
        self.results[trial.model, trial.number, effort] = scored
        return scored


def without_test(folds: Splits) -> Splits:
    """Return folds with empty test parts, so that no test result can be computed."""
    empty = np.zeros(0, np.int64)
    return Splits(f"{folds.source}, without test parts", [Split(fold.train, fold.val, empty) for fold in folds])


def default_replicas(level: str) -> int:
    """Return the default of the most networks that are trained as one."""
    return 100 if level == "node" else 40
