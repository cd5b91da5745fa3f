"""Training runs from the first epoch, or the last checkpoint, to their results: all runs of one shape together.

Lightning Fabric handles devices, precision and processes; the loop is ours.
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
from detours.training.devices import apart, memory_kept
from detours.training.divergence import advice
from detours.training.logs import Epoch, Log
from detours.training.recipe import DROPOUTS, Recipe
from detours.training.replicas.fit import Fit
from detours.training.replicas.progress import Row
from detours.training.saved import SavedModel
from detours.training.tasks import centred, outputs_of, target_scaling, targets_of

Value = dict[str, Any]
READ_EVERY = 1.0
"""Seconds between two reads of results from a GPU; synchronising more often would slow it down."""


@dataclass(frozen=True)
class Run:
    """A run of a recipe: its data, and where its files go."""

    recipe: Recipe
    data: GraphSet
    split: Split
    path: Path
    """The file of the finished run; the log is next to it."""
    model: Path | None = None
    """Where the best model is saved; None to save none."""
    every: float = 5.0
    """Seconds between two checkpoints."""
    tensorboard: Path | None = None
    logged: bool = True


class Diverged(DetoursError):
    """A loss became NaN or infinite."""


class OutOfTime(DetoursError):
    """The deadline has passed; a checkpoint holds the state."""


def train(
    fabric: Fabric,
    runs: Sequence[Run],
    checkpoint: Path,
    finish: Callable[[Run, Value, float], None],
    *,
    finished: Sequence[bool] | None = None,
    deadline: float = inf,
) -> None:
    """Train runs of one shape as replicas until the patience of each is over.

    Every process of a distributed run calls this; the first one writes the files.

    Args:
        fabric: Device, precision and processes.
        runs: The runs; they share the data, and all have the same `shape_of`.
        checkpoint: The file to resume from, and to write checkpoints to. It is removed in the end.
        finish: Called with each run, its results, and the seconds since the start, as soon as it has ended.
        finished: Which of the runs are finished already; they are trained only if a checkpoint has them.
        deadline: When to stop, by `time.monotonic`.

    Raises:
        Diverged: The loss of some runs became NaN or infinite; the others have been finished.
        OutOfTime: The deadline has passed; the next call resumes from the checkpoint.
    """
    training = Training(fabric, runs, Checkpoint(checkpoint, [run.recipe for run in runs], runs[0].every), finish)
    with memory_kept(fabric.device), apart(fabric.device):
        training.begin(finished or [False] * len(runs))
        try:
            training.go_on(deadline)
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
        self.is_first = fabric.is_global_zero
        self.diverged: list[str] = []

    def begin(self, finished: Sequence[bool]) -> None:
        """Create the replicas, and restore the checkpoint if there is one."""
        self.start = time.perf_counter()
        saved, saves_models = self.checkpoint.load(), any(run.model is not None for run in self.runs)
        if saved is not None and saves_models and saved["fit"]["best"] is None:
            logging.getLogger("detours").warning("The checkpoint holds no model that could be saved; starting over.")
            saved = None
        if saved is None:
            self.members = [index for index, done in enumerate(finished) if not done]
        else:
            self.members = list(saved["members"])
            self.start -= saved["seconds"]
        recipe = self.runs[0].recipe  # all agree in what defines the inputs
        self.data = as_trained(self.runs[0].data, recipe)
        self.encoder = Encoder.of(self.data)
        self.targets = targets_of(self.data, recipe.task)
        y = centred(self.targets) if recipe.task == "regression" else self.targets
        inputs = prepared(self.data, self.encoder, y, recipe)
        members = [self.runs[index] for index in self.members]
        self.scalings = {
            index: scaling_of(inputs, run.split.train, run.recipe)
            for index, run in zip(self.members, members, strict=True)
        }
        self.fit = Fit(
            self.fabric,
            [run.recipe for run in members],
            inputs,
            [run.split for run in members],
            outputs_of(self.targets),
            scalings=list(self.scalings.values()),
            keep_weights=saves_models,
        )
        if saved is not None:
            self.fit.load(saved["fit"])
        self.checkpoint.expect(self.fit.state())
        active = self.fit.progress.active.tolist()
        self.alive = {index for index, trains in zip(self.members, active, strict=True) if trains}
        logged = [index for index in self.alive if self.is_first and self.runs[index].logged]
        self.logs = {index: self._log(self.runs[index]) for index in logged}
        self.replicas = len(members) if saved is None else int(saved["replicas"])

    def _log(self, run: Run) -> Log:
        return Log(run.path.with_suffix(".csv"), self.fit.done, run.tensorboard)

    def go_on(self, deadline: float = inf) -> None:
        """Train until all replicas have ended, or the deadline has passed."""
        last_read = time.monotonic()
        max_epochs = max(run.recipe.epochs for run in self.runs)
        while self.alive:
            self.fit.epoch()
            too_soon = self.fabric.device.type == "cuda" and time.monotonic() - last_read < READ_EVERY
            if too_soon and not self.fit.full() and self.fit.done < max_epochs:
                continue
            self._record(self.fit.read())
            last_read = time.monotonic()
            out_of_time = last_read >= deadline
            if self.is_first and self.alive and (out_of_time or self.checkpoint.due()):
                for log in self.logs.values():  # a resumed run continues after the checkpoint
                    log.flush()
                self.checkpoint.save(self._state())
            if out_of_time and self.alive:
                raise OutOfTime(f"out of time after {self.fit.done} epochs; run it again to continue.")
        if self.is_first:
            self.checkpoint.discard()

    def release(self) -> None:
        """Free the memory of the replicas."""
        self.fit.release()
        del self.fit

    def _state(self) -> dict[str, Any]:
        seconds = time.perf_counter() - self.start
        models = [str(run.model) for run in self.runs if run.model is not None]
        state = {"members": self.members, "replicas": self.replicas, "seconds": seconds, "fit": self.fit.state()}
        return {**state, "models": models}

    def _record(self, epochs: list[list[Row]]) -> None:
        """Log the epochs that were read, and finish the runs that have ended in them."""
        seconds = round(time.perf_counter() - self.start, 3)
        rows: dict[int, list[Epoch]] = {index: [] for index in self.alive}
        for epoch, replicas in enumerate(epochs, self.fit.done - len(epochs) + 1):
            for index, row in zip(self.members, replicas, strict=True):
                if row.active:
                    rows[index].append(_log_row(epoch, row, seconds))
        active = self.fit.progress.active.tolist()
        for replica, index in enumerate(self.members):
            if index not in self.alive:
                continue
            if index in self.logs:
                self.logs[index].add(rows[index])
            if not active[replica]:
                self.alive.remove(index)
                self._end(index, replica, rows[index][-1])
        if self.alive and 2 * len(self.alive) <= len(self.members):
            self.fit.keep([replica for replica, index in enumerate(self.members) if index in self.alive])
            self.members = [index for index in self.members if index in self.alive]

    def _end(self, index: int, replica: int, last: Epoch) -> None:
        """Finish a run, or note that it has diverged."""
        run = self.runs[index]
        if index in self.logs:
            self.logs[index].close()
        best = self.fit.progress.best_of(replica)._asdict()
        checked = {"loss": last.train_loss}
        if not best["epoch"]:  # no epoch was better than the initial state
            checked |= {"validation loss": last.val_loss, f"validation {run.recipe.metric}": last.val_score}
        not_finite = [f"the {name} is {value}" for name, value in checked.items() if not isfinite(value)]
        if not_finite:
            scales = self.fit.scales and (self.fit.scales[0][replica], self.fit.scales[1][replica])
            self.diverged.append(
                f"{run.recipe.data}, fold {run.recipe.fold}: {not_finite[0]} after {last.epoch} "
                f"epoch{'s' * (last.epoch != 1)}; {advice(self.fit.batches.packed, run.recipe, scales)}."
            )
            return
        if self.is_first and run.model is not None:
            self._saved_model(index, replica).save(run.model)
        if not len(run.split.test):
            best = {name: value for name, value in best.items() if not name.startswith("test_")}
        metric = run.recipe.metric
        value = {
            "best_epoch": best.pop("epoch"),
            "metric": metric,
            **{name.replace("score", metric): each for name, each in best.items()},
            "epochs": last.epoch,
            "parameters": self.fit.stack.num_parameters,
            "device": _device_name(self.fabric.device),
            "processes": self.fabric.world_size,
            "replicas": self.replicas,
        }
        self.finish(run, value, time.perf_counter() - self.start)

    def _saved_model(self, index: int, replica: int) -> SavedModel:
        run, data = self.runs[index], self.data
        classes = data.classes if run.recipe.task == "classification" else np.arange(outputs_of(self.targets))
        return SavedModel(
            run.recipe,
            self.encoder,
            classes,
            self.scalings[index],
            self.fit.weights(replica),
            target_scaling(self.targets, run.split.train) if run.recipe.task == "regression" else None,
            tuple(map(str, data.classes_as_given))
            if run.recipe.task == "classification" and data.class_names
            else None,
        )


PER_REPLICA = (
    *("fold", "seed", "lr", "weight_decay", "warmup", "schedule", *DROPOUTS),
    *("epochs", "patience", "ties", "smooth", "average"),
)
"""Settings in which replicas may differ."""


def shape_of(run: Run) -> dict[str, Any]:
    """Return what the runs that are trained as replicas of one network share."""
    key = {name: value for name, value in run.recipe.key().items() if name not in PER_REPLICA}
    drops = {name: getattr(run.recipe, name) > 0 for name in DROPOUTS}
    return {**key, **drops, "steps": steps_of(run.recipe, len(run.split.train))}


def scaling_of(inputs: Inputs, train: Int64, recipe: Recipe) -> Scaling:
    """Return how a recipe scales the features, learned on the training part."""
    if not recipe.standardise:
        return Scaling.none(inputs.x.shape[1])
    return Scaling.of(inputs.x[train if recipe.level == "node" else inputs.nodes_of(train)])


def _log_row(epoch: int, row: Row, seconds: float) -> Epoch:
    test = row.test_score if row.better else None
    return Epoch(epoch, row.train_loss, row.train_score, row.val_loss, row.val_score, test, seconds)


def _device_name(device: torch.device) -> str:
    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else str(device.type)
