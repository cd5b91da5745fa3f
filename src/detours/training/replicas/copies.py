"""Copies of the weights of stacked networks: a base class, and the weights of the best epoch."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from detours.training.replicas.stack import Stack


class Copies:
    """A copy of the parameters and the running statistics of stacked networks."""

    def __init__(self, stack: Stack) -> None:
        self.flat = stack.flat.clone()
        self.buffers = {name: each.clone() for name, each in stack.buffers.items()}

    def state(self) -> dict[str, object]:
        """Return the state for a checkpoint."""
        return {"flat": self.flat, "buffers": self.buffers}

    def load(self, flat: Tensor, buffers: Mapping[str, Tensor]) -> None:
        """Restore a state from a checkpoint."""
        self.flat.copy_(flat)
        for name, value in buffers.items():
            self.buffers[name].copy_(value)

    def keep(self, replicas: Tensor) -> None:
        """Drop all networks but these."""
        self.flat = self.flat[replicas]
        self.buffers = {name: each[replicas] for name, each in self.buffers.items()}


class BestWeights(Copies):
    """The weights of the best epoch of each network."""

    def update(self, flat: Tensor, buffers: Mapping[str, Tensor], better: Tensor) -> None:
        """Store the weights of an epoch for the networks whose best it is so far; `better` is [R]."""
        for kept, current in ((self.flat, flat), *((self.buffers[name], each) for name, each in buffers.items())):
            kept.copy_(torch.where(better.view(-1, *[1] * (kept.dim() - 1)), current, kept))
