"""Training runs from the first epoch, or the last checkpoint, to their results: all runs of one shape together.

Lightning Fabric knows devices, precision and processes; the loop is ours.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.fabric import Fabric

from detours.arrays import Int64
from detours.data import Encoder, GraphSet, Split
from detours.errors import DetoursError
from detours.training.batches.inputs import Inputs, Scaling, as_trained, prepared
from detours.training.batches.streams import steps_of
from detours.training.checkpoint import Checkpoint
from detours.training.devices import memory_kept
from detours.training.divergence import advice
from detours.training.logs import Epoch, Log
from detours.training.recipe import DROPOUTS, Recipe
from detours.training.replicas.fit import Fit
from detours.training.replicas.progress import Row
from detours.training.saved import SavedModel
from detours.training.tasks import centred, outputs_of, target_scaling, targets_of

Value = dict[str, Any]
READ = 1.0
"""Seconds after which the numbers of a GPU are read; waiting for them more often would slow it down."""


@dataclass(frozen=True)
class Run:
    """A run of a recipe: its data, and where its files go."""

    recipe: Recipe
    data: GraphSet
    split: Split
    path: Path
    """Of the finished run; the log lies beside it."""
    model: Path | None = None
    """Where the best model is saved; None for nowhere."""
    every: float = 5.0
    """Seconds between two checkpoints."""
    tensorboard: Path | None = None
    logged: bool = True


class Diverged(DetoursError):
    """A loss that is no number any more."""


class OutOfTime(DetoursError):
    """The time for training is over; a checkpoint holds what was reached."""


def train(
    fabric: Fabric,
    runs: Sequence[Run],
    checkpoint: Path,
    finish: Callable[[Run, Value, float], None],
    *,
    finished: Sequence[bool] | None = None,
    on_epoch: Callable[[Run, Epoch], None] | None = None,
    deadline: float = inf,
) -> None:
    """Train runs of one shape as replicas until the patience of each is over.

    Every process of a distributed run calls this; the first one writes the files.

    Args:
        fabric: Device, precision and processes.
        runs: The runs; they share the data, and their recipes fulfil `same_shape`.
        checkpoint: The file to go on from, and to write checkpoints to. It is removed in the end.
        finish: Called with each run, its results, and the seconds since the start, as soon as it is over.
        finished: Which of the runs are finished already; they are trained on only where a checkpoint has them.
        on_epoch: Called after every epoch of every run.
        deadline: When to stop, by `time.monotonic`.

    Raises:
        Diverged: The loss of some runs is no number any more; the others were finished before.
        OutOfTime: The deadline has passed; the next call goes on from the checkpoint.
    """
    training = Training(fabric, runs, Checkpoint(checkpoint, [run.recipe for run in runs], runs[0].every), finish)
    with memory_kept(fabric.device):
        training.begin(finished or [False] * len(runs))
        try:
            training.go_on(on_epoch, deadline)
        finally:
            training.release()
    if training.diverged:
        raise Diverged(" ".join(training.diverged))


class Training:
    """Runs of one shape, and the replicas that train them."""

    def __init__(
        self, fabric: Fabric, runs: Sequence[Run], checkpoint: Checkpoint, finish: Callable[[Run, Value, float], None]
    ) -> None:
        self.fabric, self.runs, self.checkpoint, self.finish = fabric, runs, checkpoint, finish
        self.first = fabric.is_global_zero
        self.diverged: list[str] = []

    def begin(self, finished: Sequence[bool]) -> None:
        """Make the replicas, as the checkpoint has them if there is one."""
        self.start = time.perf_counter()
        saved, keeps = self.checkpoint.load(), any(run.model is not None for run in self.runs)
        if saved is not None and keeps and saved["fit"]["best"] is None:
            logging.getLogger("detours").warning("The checkpoint holds no model that could be saved; starting over.")
            saved = None
        if saved is None:
            self.members = [at for at, over in enumerate(finished) if not over]
        else:
            self.members = list(saved["members"])
            self.start -= saved["seconds"]
        self.data = as_trained(self.runs[0].data, self.runs[0].recipe)
        self.encoder = Encoder.of(self.data)
        self.targets = targets_of(self.data, self.runs[0].recipe.task)
        y = centred(self.targets) if self.runs[0].recipe.task == "regression" else self.targets
        inputs = prepared(self.data, self.encoder, y, self.runs[0].recipe)
        members = [self.runs[at] for at in self.members]
        self.scalings = {at: scaling_of(inputs, self.runs[at].split.train, self.runs[at].recipe) for at in self.members}
        self.fit = Fit(
            self.fabric,
            [run.recipe for run in members],
            inputs,
            [run.split for run in members],
            outputs_of(self.targets),
            scalings=list(self.scalings.values()),
            keep_weights=keeps,
        )
        if saved is not None:
            self.fit.load(saved["fit"])
        self.checkpoint.expect(self.fit.state())
        active = self.fit.progress.active.tolist()
        self.alive = {at for at, goes_on in zip(self.members, active, strict=True) if goes_on}
        self.logs = {at: self._log(self.runs[at]) for at in self.alive if self.first and self.runs[at].logged}
        self.replicas = len(members) if saved is None else int(saved["replicas"])

    def _log(self, run: Run) -> Log:
        return Log(run.path.with_suffix(".csv"), self.fit.done, run.tensorboard)

    def go_on(self, on_epoch: Callable[[Run, Epoch], None] | None = None, deadline: float = inf) -> None:
        """Train until no replica goes on, or the deadline has passed."""
        last = time.monotonic()
        most = max(run.recipe.epochs for run in self.runs)
        while self.alive:
            self.fit.epoch()
            waiting = self.fabric.device.type == "cuda" and time.monotonic() - last < READ
            if waiting and not self.fit.full() and self.fit.done < most:
                continue
            self._take(self.fit.read(), on_epoch)
            last = time.monotonic()
            over = last >= deadline
            if self.first and self.alive and (over or self.checkpoint.due()):
                self.checkpoint.save(self._state())
            if over and self.alive:
                raise OutOfTime(f"the time is over after {self.fit.done} epochs; run it again to go on from there.")
        if self.first:
            self.checkpoint.discard()

    def release(self) -> None:
        """Give back the memory of the replicas."""
        self.fit.release()
        del self.fit

    def _state(self) -> dict[str, Any]:
        seconds = time.perf_counter() - self.start
        models = [str(run.model) for run in self.runs if run.model is not None]
        state = {"members": self.members, "replicas": self.replicas, "seconds": seconds, "fit": self.fit.state()}
        return {**state, "models": models}

    def _take(self, epochs: list[list[Row]], on_epoch: Callable[[Run, Epoch], None] | None) -> None:
        """Log the epochs that were read, and finish the runs that they end."""
        seconds = round(time.perf_counter() - self.start, 3)
        behind = self.fit.done - len(epochs)
        rows: dict[int, list[Epoch]] = {at: [] for at in self.alive}
        for number, replicas in enumerate(epochs, behind + 1):
            for at, row in zip(self.members, replicas, strict=True):
                if row.active:
                    rows[at].append(_epoch(number, row, seconds))
        active = self.fit.progress.active.tolist()
        for place, at in enumerate(self.members):
            if at not in self.alive:
                continue
            if at in self.logs:
                self.logs[at].add(rows[at])
            if on_epoch is not None:
                for epoch in rows[at]:
                    on_epoch(self.runs[at], epoch)
            if not active[place]:
                self.alive.remove(at)
                self._end(at, place, rows[at][-1])
        if self.alive and 2 * len(self.alive) <= len(self.members):
            self.fit.keep([place for place, at in enumerate(self.members) if at in self.alive])
            self.members = [at for at in self.members if at in self.alive]

    def _end(self, at: int, place: int, last: Epoch) -> None:
        """Finish a run, or note why it cannot be."""
        run = self.runs[at]
        if at in self.logs:
            self.logs[at].close()
        best = self.fit.progress.best_of(place)._asdict()
        told = {"loss": last.train_loss}
        if not best["epoch"]:  # none was better than nothing
            told |= {"validation loss": last.val_loss, f"validation {run.recipe.metric}": last.val_score}
        lost = [f"the {what} is {value}" for what, value in told.items() if not isfinite(value)]
        if lost:
            scales = self.fit.scales and (self.fit.scales[0][place], self.fit.scales[1][place])
            self.diverged.append(
                f"{run.recipe.data}, fold {run.recipe.fold}: {lost[0]} after {last.epoch} "
                f"epoch{'s' * (last.epoch != 1)}; {advice(self.fit.batches.packed, run.recipe, scales)}."
            )
            return
        if self.first and run.model is not None:
            self._saved(at, place).save(run.model)
        if not len(run.split.test):
            best = {name: value for name, value in best.items() if not name.startswith("test_")}
        metric = run.recipe.metric
        value = {
            "best_epoch": best.pop("epoch"),
            "metric": metric,
            **{name.replace("score", metric): number for name, number in best.items()},
            "epochs": last.epoch,
            "parameters": self.fit.stack.num_parameters,
            "device": _device_name(self.fabric.device),
            "processes": self.fabric.world_size,
            "replicas": self.replicas,
        }
        self.finish(run, value, time.perf_counter() - self.start)

    def _saved(self, at: int, place: int) -> SavedModel:
        run, targets = self.runs[at], None
        if run.recipe.task == "regression":
            targets = target_scaling(self.targets, run.split.train)
        classes = self.data.classes if run.recipe.task == "classification" else np.arange(outputs_of(self.targets))
        return SavedModel(run.recipe, self.encoder, classes, self.scalings[at], self.fit.weights(place), targets)


def same_shape(one: Run, other: Run) -> bool:
    """Whether two runs can be trained as replicas of one network."""
    return _shape(one) == _shape(other)


FREE = (
    *("fold", "seed", "lr", "weight_decay", "warmup", "schedule", *DROPOUTS),
    *("epochs", "patience", "ties", "smooth", "average"),
)
"""Settings in which replicas may differ."""


def _shape(run: Run) -> dict[str, Any]:
    key = {name: value for name, value in run.recipe.key().items() if name not in FREE}
    dropped = {name: getattr(run.recipe, name) > 0 for name in DROPOUTS}
    return {**key, **dropped, "steps": steps_of(run.recipe, len(run.split.train))}


def scaling_of(inputs: Inputs, train: Int64, recipe: Recipe) -> Scaling:
    """Return how a recipe scales the features, learned on the training part."""
    if not recipe.standardise:
        return Scaling.none(inputs.x.shape[1])
    return Scaling.of(inputs.x[train if recipe.level == "node" else inputs.nodes_of(train)])


def _epoch(number: int, row: Row, seconds: float) -> Epoch:
    test = row.test_score if row.better else None
    return Epoch(number, row.train_loss, row.train_score, row.val_loss, row.val_score, test, seconds)


def _device_name(device: torch.device) -> str:
    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else str(device.type)
