"""The search: rounds of trials, first a few folds and epochs of each, then all folds and epochs of the best.

Every round draws `ETA` structures for each model. All their trials are trained on a third of the folds for a third of
the epochs; whatever is then among the best third of all trials so far goes on to all folds and epochs (successive
halving, `Jamieson and Talwalkar, 2016 <https://arxiv.org/abs/1502.07943>`_, with promotion as soon as it is earned,
`Li et al., 2020 <https://arxiv.org/abs/1810.05934>`_). In the end the best few may be trained once more with seeds that
no trial had, and these choose: the best of many trials is partly the luckiest one. Test parts are taken away before
anything else is done.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from math import ceil, inf
from typing import NamedTuple

import numpy as np
import torch

from detours.checks import check_choice, check_integer
from detours.data import GraphSet, Split, Splits
from detours.data.splitting import inner_splits
from detours.errors import DetoursError, InputError
from detours.store import Store
from detours.training.loop import Diverged, OutOfTime, Run
from detours.training.recipe import MODELS, Recipe
from detours.training.runs import runs_of
from detours.training.search.budget import AT_MOST, Budget
from detours.training.search.scores import Effort, Scored, score
from detours.training.search.trials import Draws, Trial
from detours.training.stacks import Workplace, finished, parts_of, run_all, stacks_of

SEEDS = 3
"""Seeds with which the best trials are trained again."""
ETA = 3
"""One of this many trials is promoted; it gets this many times the folds and the epochs."""
CHECKPOINT_EVERY = 60.0
"""Seconds between two checkpoints: an interrupt loses the stack under way, or this much of it."""


class Stage(NamedTuple):
    """A stack that was trained, or read from the store.

    One without trials and replicas comes before those that are trained again.
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
        draws: The trials.
        folds: The splits of the data set.
        numbers: Which folds to use.
        models: Which models; they get the same number of trials.
        store: Where finished runs are.
        device: Where to train.
        replicas: How many networks are trained as one at most.
        halving: Whether all trials are first trained shortly.
        inner: Whether a tenth of each training part chooses the epoch, so that the validation part only compares
            trials.
        report: Called after every stack.
    """

    def __init__(
        self,
        draws: Draws,
        folds: Splits,
        numbers: Sequence[int],
        models: Sequence[str],
        store: Store,
        *,
        device: str = "auto",
        replicas: int | None = None,
        halving: bool = True,
        inner: bool = False,
        report: Callable[[Stage], None] | None = None,
    ) -> None:
        for model in models:
            check_choice("model", model, MODELS)
        if not models or not len(numbers):
            raise InputError("a search needs at least one model and one fold.")
        if not (draws.space.known or draws.space.shared or any(draws.space.own[model] for model in models)):
            raise InputError(
                f"the space has nothing to draw for model {' and '.join(models)} beside the settings that are given; "
                "add choices to it, or give fewer settings."
            )
        self.draws, self.models, self.store, self.halving, self.inner = draws, list(models), store, halving, inner
        self.data: GraphSet = draws.data
        self.folds, self.numbers = inner_splits(self.data, folds) if inner else without_test(folds), list(numbers)
        self.part = "test" if inner else "val"
        """The part of these folds that trials are compared on: the validation part of the data set in any case."""
        self.place = Workplace(device, replicas=default_replicas(self.data.level) if replicas is None else replicas)
        self.report = report or (lambda stage: None)
        self.budget = Budget()
        self.results: dict[tuple[str, int, Effort], Scored] = {}
        self.counted: set[tuple[str, int, Effort]] = set()
        """The results of rounds that all models have finished."""
        self.ended = False
        """Whether all that was asked for is finished."""
        self.finalists: dict[str, list[Trial]] = {}
        """The trials of each model that are trained again, as soon as they are known."""
        self.confirmed = False
        """Whether the best trials of all models that have any have been trained again."""

    def check(self, trials: int, confirm: int = 0) -> None:
        """Raise `InputError` if `go_on` would: before hours of training, perhaps on other data."""
        check_integer("trials", trials, minimum=1)
        check_integer("confirm", confirm, minimum=0)
        known = self.draws.draws * len(self.draws.space.known)
        for model in self.models:
            # known points that are no networks are refused, and a space that gives none
            first, *_ = [self.draws.trial(model, at) for at in range(0, min(trials, known + 1), self.draws.draws)]
            for effort in (Effort.FULL, Effort.AGAIN) if confirm else (Effort.FULL,):
                self._runs(first, effort)  # folds that cannot be are refused

    def go_on(self, trials: int, seconds: float = inf, confirm: int = 0) -> None:
        """Make the trials up to a number, round by round, then train the best again.

        Args:
            trials: How many trials of each model.
            seconds: No stack is begun after so many.
            confirm: How many of the best trials of each model are trained again with other seeds, for all models,
                beside the recipe that the data set has today; 0 for none.
        """
        self.check(trials, confirm)
        self.finalists, self.confirmed = {}, False
        self.budget = Budget(time.monotonic(), seconds, self._runs_after(confirm))
        length = ETA * self.draws.draws
        ended = False
        try:
            for first in range(0, trials, length):
                self._round(range(first, min(first + length, trials)))
                self.counted, self.budget.most = set(self.results), AT_MOST
            ended = True
        except OutOfTime:
            pass
        self.ended = self._confirm(confirm) and ended

    def _runs_after(self, best: int) -> int:
        """Return how many runs train the best trials again, at most: all models those of each, and that of today."""
        models = len(self.models)
        return models * (models * best + 1) * len(self._folds_after()) * SEEDS if best else 0

    def _folds_after(self) -> list[int]:
        """Return the folds on which the best are trained again: those that the trials did not see, if there are any."""
        return [fold for fold in range(len(self.folds)) if fold not in self.numbers] or self.numbers

    def _confirm(self, best: int) -> bool:
        """Train the best trials of each model again, if any; whether that is done."""
        # A model all of whose trials have diverged is left out; if there was no time, all are.
        ahead = {model: found for model in self.models if (found := self._best(model, best))}
        if not ahead:
            return True
        numbers = sorted(set().union(*ahead.values()))
        self.finalists = {model: self._finalists(model, numbers) for model in ahead}
        self.report(Stage(next(iter(ahead)), Effort.AGAIN, [], 0, 0.0, None))
        try:
            for trials in self.finalists.values():
                self._make(trials, Effort.AGAIN)
        except OutOfTime:
            return False
        self.confirmed = True
        return True

    def _best(self, model: str, best: int) -> set[int]:
        """Return the numbers of the best trials of a model; empty if there are none."""
        return {each.trial.number for each in self.candidates(model)[:best] if not each.diverged}

    def _finalists(self, model: str, numbers: Sequence[int]) -> list[Trial]:
        """Return the trials of a model that are best for any, and what the data set is trained with today.

        All models get the same numbers, so that what was drawn luckily for one of them is tried for the others, too.
        """
        found = [self.draws.trial(model, number) for number in numbers]
        try:
            today = self.draws.today(model)
        except InputError:  # the settings of all trials do not go with it
            return found
        return found if self.recipe(today) in map(self.recipe, found) else [*found, today]

    def _round(self, numbers: range) -> None:
        if not self.halving:
            for model in self.models:
                self._make([self.draws.trial(model, number) for number in numbers], Effort.FULL)
            return
        structure = self.draws.draws
        for start in range(numbers.start, numbers.stop, structure):
            for model in self.models:
                part = range(start, min(start + structure, numbers.stop))
                self._make([self.draws.trial(model, number) for number in part], Effort.SHORT)
        for model in self.models:
            self._make(self._promoted(model), Effort.FULL)

    def _promoted(self, model: str) -> list[Trial]:
        """Return the trials among the best third of the first stage, by their number."""
        first = self.of(model, full=False)
        best = first[: ceil(len(first) / ETA)]
        return [each.trial for each in sorted(best, key=lambda each: each.trial.number) if not each.diverged]

    def of(self, model: str, *, full: bool) -> list[Scored]:
        """Return the finished trials of a model, the best first."""
        return self._of(model, Effort(full))

    def again(self, model: str) -> list[Scored]:
        """Return the trials of a model that were trained again, the best first; none unless all are finished."""
        return self._of(model, Effort.AGAIN) if self.confirmed else []

    def _of(self, model: str, effort: Effort) -> list[Scored]:
        found = [each for (name, _, own), each in self.results.items() if (name, own) == (model, effort)]
        return sorted(found, key=lambda each: each.rank)

    def candidates(self, model: str) -> list[Scored]:
        """Return the trials that the choice is among, the best first.

        These are the fully trained ones, if each model has some. Where several models are searched, rounds that one of
        them has not finished are left out with all that they promoted, so that all have had the same number of trials;
        in the first round, the trials that all have finished count.
        """
        if len(self.models) == 1:
            return self.of(model, full=True) or self.of(model, full=False)
        if self.counted:
            full = all(any((name, own) == (each, Effort.FULL) for name, _, own in self.counted) for each in self.models)
            return [
                each for each in self.of(model, full=full) if (model, each.trial.number, each.effort) in self.counted
            ]
        full = not self.halving
        common = set.intersection(*({each.trial.number for each in self.of(m, full=full)} for m in self.models))
        return [each for each in self.of(model, full=full) if each.trial.number in common]

    # ------------------------------------------------------------ trials

    def recipe(self, trial: Trial) -> Recipe:
        """Return the recipe of a trial, as it is chosen."""
        return self.draws.recipe(trial.settings)

    def _runs(self, trial: Trial, effort: Effort) -> list[Run]:
        settings, plain = dict(trial.settings), self.recipe(trial)
        numbers, seeds = self.numbers, [plain.seed]
        if effort is Effort.SHORT:
            settings["epochs"] = ceil(plain.epochs / ETA)
            numbers = numbers[: max(1, len(numbers) // ETA)]
        if effort is Effort.AGAIN:
            numbers = self._folds_after()
            seeds = [plain.seed + 1 + more for more in range(SEEDS)]
        return runs_of(
            self.data,
            self.folds,
            self.store,
            numbers=numbers,
            seeds=seeds,
            ks=(settings.pop("k", None),),
            every=CHECKPOINT_EVERY,
            logged=False,
            experiment="tune",
            **settings,
        )

    def _make(self, trials: Sequence[Trial], effort: Effort) -> None:
        """Train the trials that are not finished; those of one shape together."""
        waiting = [
            (trial, self._runs(trial, effort))
            for trial in trials
            if (trial.model, trial.number, effort) not in self.results
        ]
        for stack in stacks_of([run for _, runs in waiting for run in runs], self.place):
            start = time.monotonic()
            missing = [run for run in stack if finished(self.store, run) is None]
            if missing:
                if start >= (self.budget.end if effort is Effort.AGAIN else self.budget.trials_until):
                    raise OutOfTime("the budget is spent.")
                self._train(stack)
                if effort is Effort.FULL:
                    self.budget.note(len(missing), time.monotonic() - start)
            done = [found for trial, runs in waiting if (found := self._scored(trial, effort, runs)) is not None]
            waiting = [each for each in waiting if (each[0].model, each[0].number, effort) not in self.results]
            model = stack[0].recipe.model
            best = next(iter(self._of(model, effort)), None)
            numbers = [each.trial.number for each in done]
            self.report(Stage(model, effort, numbers, len(missing), time.monotonic() - start, best))

    def _train(self, stack: list[Run]) -> None:
        """Train a stack; one that does not fit into the memory of the device is divided."""
        if len(parts := parts_of(stack)) > 1:  # as it was when it was interrupted
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
        # After the error is gone, with all that it holds.
        gc.collect()
        torch.cuda.empty_cache()
        half = ceil(len(stack) / 2)
        for part in (stack[:half], stack[half:]):
            self._train(part)

    def _scored(self, trial: Trial, effort: Effort, runs: Sequence[Run]) -> Scored | None:
        """Score a trial and remember it, if all its runs are finished."""
        found = [finished(self.store, run) for run in runs]
        cells = [cell for cell in found if cell is not None]
        if len(cells) < len(runs):
            return None
        scored = score(trial, effort, cells, runs[0].recipe, self.part)
        self.results[trial.model, trial.number, effort] = scored
        return scored


def without_test(folds: Splits) -> Splits:
    """Return folds whose test parts are empty, so that no test result can be computed."""
    nothing = np.zeros(0, np.int64)
    return Splits(f"{folds.source}, without test parts", [Split(fold.train, fold.val, nothing) for fold in folds])


def default_replicas(level: str) -> int:
    """Return how many networks are trained as one where nothing else is said."""
    return 100 if level == "node" else 40
