"""The progress of every replica: its best epoch by validation, whether it still trains, the scores of its epochs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

ROWS = 32
"""Epochs whose scores are kept on the device until they are read."""


class Scores(NamedTuple):
    """Losses and scores of an epoch, [R] each."""

    train_loss: Tensor
    train_score: Tensor
    val_loss: Tensor
    val_score: Tensor
    test_loss: Tensor
    test_score: Tensor


class Best(NamedTuple):
    """The epoch with the best validation result, smoothed as the recipe says, and its test result."""

    epoch: int
    val_score: float
    val_loss: float
    test_score: float
    test_loss: float


class Row(NamedTuple):
    """An epoch of one replica, read from the device."""

    train_loss: float
    train_score: float
    val_loss: float
    val_score: float
    test_loss: float
    test_score: float
    better: bool
    """Whether it is the best so far."""
    active: bool
    """Whether the replica was still training in this epoch."""


class Progress:
    """Early stopping on the device: an epoch never synchronises, and a CUDA graph can hold all of it.

    A replica whose patience is over stays as it is, however long the others go on.

    Args:
        patience: [R] epochs without a better validation result after which a replica stops.
        epochs: [R] the most epochs.
        by_loss: [R] whether the lower validation loss decides between epochs of equal score, or the first is best.
        smooth: [R] the share of earlier epochs in the validation score and loss that decide.
        lower: Whether a lower score is better.
    """

    def __init__(
        self, patience: Tensor, epochs: Tensor, by_loss: Tensor, smooth: Tensor, *, lower: bool = False
    ) -> None:
        self.patience, self.epochs, self.by_loss, self.smooth, self.lower = patience, epochs, by_loss, smooth, lower
        replicas, device = len(patience), patience.device
        self.done = torch.zeros((), dtype=torch.long, device=device)
        self.best = torch.zeros((len(Best._fields), replicas), dtype=torch.float64, device=device)
        self.best[1] = torch.inf if lower else -torch.inf
        self.smoothed = torch.zeros((2, replicas), dtype=torch.float64, device=device)
        """Validation score and loss as of the last epoch."""
        self.active = torch.ones(replicas, dtype=torch.bool, device=device)
        self.rows = torch.zeros((ROWS, len(Row._fields), replicas), dtype=torch.float64, device=device)
        self.filled = torch.zeros(1, dtype=torch.long, device=device)

    def update(self, scores: Scores) -> Tensor:
        """Record an epoch; return [R], whether it is the best so far of each replica."""
        self.done += 1
        best_score, best_loss = self.best[1], self.best[2]
        current = torch.stack([scores.val_score, scores.val_loss]).double()
        smooths = (self.smooth > 0) & (self.done > 1)
        self.smoothed.copy_(torch.where(smooths, torch.lerp(current, self.smoothed, self.smooth), current))
        score, loss = self.smoothed
        higher = score < best_score if self.lower else score > best_score
        ties = (score == best_score) & self.by_loss & (loss < best_loss)
        # a network whose outputs are NaN may be right by chance
        better = self.active & (higher | ties) & ~scores.val_loss.isnan()
        epoch = self.done.expand(len(better)).double()
        candidate = torch.stack([epoch, score, loss, scores.test_score, scores.test_loss])
        row = torch.stack([*scores, better.double(), self.active.double()])
        self.rows.index_copy_(0, self.filled, row.unsqueeze(0))
        self.filled += 1
        self.best.copy_(torch.where(better, candidate, self.best))
        waited = self.done - self.best[0]
        self.active &= (waited < self.patience) & (self.done < self.epochs) & torch.isfinite(scores.train_loss)
        return better

    def read(self, epochs: int) -> list[list[Row]]:
        """Return the epochs since the last call, a row of each replica for each; this waits for the device."""
        values = self.rows[:epochs].transpose(1, 2).tolist()
        self.filled.zero_()
        return [[Row(*row[:-2], *map(bool, row[-2:])) for row in epoch] for epoch in values]

    def best_of(self, replica: int) -> Best:
        """Return the best epoch of a replica; this waits for the device."""
        epoch, *others = self.best[:, replica].tolist()
        return Best(int(epoch), *others)

    def state(self) -> dict[str, Tensor]:
        """Return the state for a checkpoint."""
        return {"done": self.done, "best": self.best, "smoothed": self.smoothed, "active": self.active}

    def load(self, state: dict[str, Tensor]) -> None:
        """Restore a state from a checkpoint."""
        for name, value in state.items():
            getattr(self, name).copy_(value)

    def keep(self, replicas: Tensor) -> None:
        """Drop all replicas but these."""
        for name in ("patience", "epochs", "by_loss", "smooth", "active"):
            setattr(self, name, getattr(self, name)[replicas])
        self.best, self.smoothed = self.best[:, replicas], self.smoothed[:, replicas]
        self.rows = self.rows[:, :, replicas]
