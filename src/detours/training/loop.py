"""One training run: epochs, the best of them by validation, early stopping, and going on where it was stopped.

Lightning Fabric knows devices, precision and processes; the loop is ours. Numbers stay on the device until an epoch
ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor

from detours.data import Encoder, GraphSet, Split
from detours.errors import DetoursError
from detours.training.batches import Batches, batches_of
from detours.training.build import OnBatch, load_weights, network_of
from detours.training.checkpoint import Checkpoint
from detours.training.inputs import Inputs, Scaling, as_trained, prepared
from detours.training.logs import Epoch, Log
from detours.training.recipe import Recipe
from detours.training.saved import SavedModel

Ints = NDArray[np.int64]
DROPOUT = 2
"""What the global generator is seeded for; 0 and 1 are those of the batches."""


@dataclass(frozen=True)
class Run:
    """A run of a recipe: its data, and where what it leaves behind goes."""

    recipe: Recipe
    data: GraphSet
    split: Split
    path: Path
    """Of the finished run; log and checkpoint lie beside it."""
    model: Path | None = None
    """Where the best model is saved; None for nowhere."""
    every: float = 5.0
    """Seconds between two checkpoints."""
    tensorboard: Path | None = None
    compiled: bool = False


class Best(NamedTuple):
    """The epoch with the best validation result, and what the test part gave there."""

    epoch: int
    val_accuracy: float
    val_loss: float
    test_accuracy: float
    test_loss: float


class Diverged(DetoursError):
    """A loss that is no number any more."""


def train(fabric: Fabric, run: Run, on_epoch: Callable[[Epoch], None] | None = None) -> tuple[dict[str, Any], float]:
    """Train until the patience is over, and give the results with the seconds it took in all.

    Every process of a distributed run calls this; the first one writes the files.
    """
    recipe, first = run.recipe, fabric.is_global_zero
    data, classes = as_trained(run.data, recipe), run.data.classes
    encoder = Encoder.of(data)
    inputs = prepared(data, encoder.encode(data), data.targets, recipe)
    scaling = _scaling(inputs, run.split.train, recipe)
    fit = Fit(fabric, recipe, scaling.apply(inputs), run.split, len(classes), run.compiled)

    checkpoint = Checkpoint(run.path.with_suffix(".ckpt"), recipe, run.every)
    seconds = fit.resume(checkpoint)
    log = Log(run.path.with_suffix(".csv"), fit.done, run.tensorboard) if first else None
    start = time.perf_counter() - seconds
    while not fit.over():
        row = fit.epoch(time.perf_counter() - start)
        if log is not None:
            log.add(row)
            if checkpoint.due():
                checkpoint.save(fit.state(time.perf_counter() - start))
        if on_epoch is not None:
            on_epoch(row)
    if log is not None:
        log.close()
    assert fit.best is not None
    if first and run.model is not None:
        saved = SavedModel(recipe, encoder, classes, scaling, fit.best_weights)
        saved.save(run.model)
    results = fit.best._asdict()
    value = {
        "best_epoch": results.pop("epoch"),
        **results,
        "epochs": fit.done,
        "parameters": sum(each.numel() for each in fit.network.parameters()),
        "device": _device_name(fabric.device),
        "processes": fabric.world_size,
    }
    return value, time.perf_counter() - start


def _scaling(inputs: Inputs, train: Ints, recipe: Recipe) -> Scaling:
    if not recipe.standardise:
        return Scaling.none(inputs.x.shape[1])
    return Scaling.of(inputs.x[train if recipe.level == "node" else inputs.nodes_of(train)])


class Fit:
    """The state of a run between two epochs, and how to go from one to the next."""

    def __init__(
        self, fabric: Fabric, recipe: Recipe, inputs: Inputs, split: Split, classes: int, compiled: bool = False
    ) -> None:
        self.fabric, self.recipe, self.split = fabric, recipe, split
        self.network = network_of(recipe, inputs.x.shape[1], classes)
        self.plain = OnBatch(self.network, recipe.model)
        inner = OnBatch(torch.compile(self.network, dynamic=True), recipe.model) if compiled else self.plain
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(),
            lr=recipe.lr,
            weight_decay=recipe.weight_decay,
            fused=fabric.device.type == "cuda",
        )
        self.module, self.stepper = fabric.setup(inner, self.optimizer)
        self.batches: Batches = batches_of(inputs, recipe, fabric.device, fabric.global_rank, fabric.world_size)
        self.done = 0
        """Epochs behind us."""
        self.best: Best | None = None
        self.best_weights: dict[str, Tensor] = {}

    def resume(self, checkpoint: Checkpoint) -> float:
        """Go back to the last checkpoint, if there is one; the seconds that were spent before it."""
        saved = checkpoint.load()
        if saved is None:
            return 0.0
        load_weights(self.network, saved["network"], str(checkpoint.path))
        self.optimizer.load_state_dict(saved["optimizer"])
        self.done = saved["done"]
        self.best = Best(**saved["best"])
        self.best_weights = saved["best_weights"]
        return float(saved["seconds"])

    def state(self, seconds: float) -> dict[str, Any]:
        """What a checkpoint has to hold."""
        assert self.best is not None
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "done": self.done,
            "best": self.best._asdict(),
            "best_weights": self.best_weights,
            "seconds": seconds,
        }

    def over(self) -> bool:
        """Whether all epochs are done, or the patience is."""
        waited = 0 if self.best is None else self.done - self.best.epoch
        return self.done >= self.recipe.epochs or waited >= self.recipe.patience

    def epoch(self, seconds: float = 0.0) -> Epoch:
        """One epoch of training, and a look at the validation part; at the test part too if that is the best so far."""
        start = time.perf_counter()
        self.done += 1
        train = self._trained()
        val_sums = self._evaluated(self.split.val)
        sums = self._summed(torch.cat([train, val_sums]))
        train_loss, train_accuracy = sums[0] / len(self.split.train), sums[1] / len(self.split.train)
        val_loss, val_accuracy = sums[2] / len(self.split.val), sums[3] / len(self.split.val)
        if not np.isfinite(train_loss):
            raise Diverged(
                f"{self.recipe.data}, fold {self.recipe.fold}: the loss is {train_loss} after {self.done} epochs; "
                "take a smaller lr."
            )
        test_accuracy = None
        if self._better(val_accuracy, val_loss):
            loss, correct = self._summed(self._evaluated(self.split.test))
            number = max(1, len(self.split.test))
            test_accuracy = correct / number
            self.best = Best(self.done, val_accuracy, val_loss, test_accuracy, loss / number)
            self.best_weights = {name: value.detach().clone() for name, value in self.network.state_dict().items()}
        passed = seconds + time.perf_counter() - start
        return Epoch(self.done, train_loss, train_accuracy, val_loss, val_accuracy, test_accuracy, round(passed, 3))

    def _better(self, accuracy: float, loss: float) -> bool:
        if self.best is None or accuracy != self.best.val_accuracy:
            return self.best is None or accuracy > self.best.val_accuracy
        return self.recipe.ties == "loss" and loss < self.best.val_loss

    def _trained(self) -> Tensor:
        """One pass over the training part; the sums of losses and of right answers, still on the device."""
        recipe = self.recipe
        entropy = [recipe.seed, recipe.fold, self.done, DROPOUT, self.fabric.global_rank]
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))
        self.module.train()
        sums = torch.zeros(2, dtype=torch.float64, device=self.fabric.device)
        steps = self.batches.steps(len(self.split.train))
        for step, batch in enumerate(self.batches.training(self.split.train, self.done)):
            for group in self.optimizer.param_groups:
                group["lr"] = recipe.lr * _warmup(recipe, self.done - 1 + (step + 1) / steps)
            logits = self.module(batch)
            # Processes average their gradients, so each counts its losses `world_size` times.
            loss = F.cross_entropy(logits, batch.y, reduction="sum")
            self.stepper.zero_grad(set_to_none=True)
            self.fabric.backward(loss * (self.fabric.world_size / batch.total))
            self.stepper.step()
            sums += _counted(loss, logits, batch.y)
        return sums

    def _evaluated(self, ids: Ints) -> Tensor:
        self.module.eval()
        sums = torch.zeros(2, dtype=torch.float64, device=self.fabric.device)
        for batch in self.batches.evaluation(ids):
            # Not through the module of a distributed run: its processes need not have equally many batches here.
            with torch.no_grad(), self.fabric.autocast():
                logits = self.plain(batch)
            logits = logits if logits.dtype == torch.float64 else logits.float()
            sums += _counted(F.cross_entropy(logits, batch.y, reduction="sum"), logits, batch.y)
        return sums

    def _summed(self, sums: Tensor) -> list[float]:
        """The sums over all processes, on the host: the one wait of an epoch."""
        if self.fabric.world_size > 1:
            sums = self.fabric.all_reduce(sums, reduce_op="sum")
        values: list[float] = sums.tolist()
        return values


def _counted(loss: Tensor, logits: Tensor, y: Tensor) -> Tensor:
    return torch.stack([loss.detach().double(), (logits.detach().argmax(1) == y).sum().double()])


def _warmup(recipe: Recipe, epochs: float) -> float:
    """The share of the learning rate after so many epochs: rising in a straight line, then 1."""
    return min(1.0, epochs / (recipe.warmup * recipe.epochs)) if recipe.warmup else 1.0


def _device_name(device: torch.device) -> str:
    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else str(device.type)
