"""What every replica has reached: its best epoch by validation, whether it is over, and the numbers of its epochs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

ROWS = 32
"""Epochs whose numbers are kept on the device until they are read."""


class Scores(NamedTuple):
    """The numbers of an epoch, [R] each."""

    train_loss: Tensor
    train_score: Tensor
    val_loss: Tensor
    val_score: Tensor
    test_loss: Tensor
    test_score: Tensor


class Best(NamedTuple):
    """The epoch with the best validation result, smoothed as the recipe says, and what the test part gave there."""

    epoch: int
    val_score: float
    val_loss: float
    test_score: float
    test_loss: float


class Row(NamedTuple):
    """An epoch of one replica as it is read from the device."""

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
    """All of it on the device, so that nothing waits in an epoch, and that a CUDA graph can hold the whole of it.

    A replica whose patience is over stays as it is, however long the others go on.

    Args:
        patience: [R] epochs without a better validation result after which a replica is over.
        epochs: [R] the most epochs.
        by_loss: [R] whether the lower validation loss decides between epochs of equal score, or the first is best.
        smooth: [R] how much of the validation score and loss that decide comes from the epochs before.
        lower: Whether a lower score is better.
    """

    def __init__(
        self, patience: Tensor, epochs: Tensor, by_loss: Tensor, smooth: Tensor, *, lower: bool = False
    ) -> None:
        self.patience, self.epochs, self.by_loss, self.smooth, self.lower = patience, epochs, by_loss, smooth, lower
        number, device = len(patience), patience.device
        self.done = torch.zeros((), dtype=torch.long, device=device)
        self.best = torch.zeros((len(Best._fields), number), dtype=torch.float64, device=device)
        self.best[1] = torch.inf if lower else -torch.inf
        self.smoothed = torch.zeros((2, number), dtype=torch.float64, device=device)
        """Score and loss of validation as of the last epoch."""
        self.active = torch.ones(number, dtype=torch.bool, device=device)
        self.rows = torch.zeros((ROWS, len(Row._fields), number), dtype=torch.float64, device=device)
        self.filled = torch.zeros(1, dtype=torch.long, device=device)

    def update(self, scores: Scores) -> Tensor:
        """Count one more epoch; [R], whether it is the best of a replica so far."""
        self.done += 1
        best_score, best_loss = self.best[1], self.best[2]
        now = torch.stack([scores.val_score, scores.val_loss]).double()
        mixed = (self.smooth > 0) & (self.done > 1)
        self.smoothed.copy_(torch.where(mixed, torch.lerp(now, self.smoothed, self.smooth), now))
        score, loss = self.smoothed
        ahead = score < best_score if self.lower else score > best_score
        ties = (score == best_score) & self.by_loss & (loss < best_loss)
        # a network that answers with what is no number may be right by chance
        better = self.active & (ahead | ties) & ~scores.val_loss.isnan()
        epoch = self.done.expand(len(better)).double()
        found = [epoch, score, loss, scores.test_score, scores.test_loss]
        row = torch.stack([*scores, better.double(), self.active.double()])
        self.rows.index_copy_(0, self.filled, row.unsqueeze(0))
        self.filled += 1
        self.best.copy_(torch.where(better, torch.stack(found), self.best))
        waited = self.done - self.best[0]
        self.active &= (waited < self.patience) & (self.done < self.epochs) & torch.isfinite(scores.train_loss)
        return better

    def read(self, number: int) -> list[list[Row]]:
        """Return the last epochs, for each of them a row of each replica; this waits for the device."""
        found = self.rows[:number].transpose(1, 2).tolist()
        self.filled.zero_()
        return [[Row(*row[:-2], *map(bool, row[-2:])) for row in epoch] for epoch in found]

    def best_of(self, replica: int) -> Best:
        """Return the best epoch of a replica; this waits for the device."""
        epoch, *others = self.best[:, replica].tolist()
        return Best(int(epoch), *others)

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint has to hold."""
        return {"done": self.done, "best": self.best, "smoothed": self.smoothed, "active": self.active}

    def load(self, state: dict[str, Tensor]) -> None:
        """Go back to a state."""
        for name, value in state.items():
            getattr(self, name).copy_(value)

    def keep(self, replicas: Tensor) -> None:
        """Drop all replicas but these."""
        for name in ("patience", "epochs", "by_loss", "smooth", "active"):
            setattr(self, name, getattr(self, name)[replicas])
        self.best, self.smoothed = self.best[:, replicas], self.smoothed[:, replicas]
        self.rows = self.rows[:, :, replicas]
