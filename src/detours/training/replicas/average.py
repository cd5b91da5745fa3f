"""Averages of weights over the steps of training: what is evaluated and saved where a recipe asks for it."""

from __future__ import annotations

import torch
from torch import Tensor

from detours.training.replicas.copies import Copies
from detours.training.replicas.stack import Stack

SLOWEST = 10
"""After t steps at most (1 + t) / (10 + t) of an average is old, so that the first weights are soon forgotten."""


class Averaged(Copies):
    """Exponential averages of the parameters and the running statistics of stacked networks.

    Args:
        stack: The networks.
        shares: [R, 1] how much of each average stays in a step; 0 for none of it.
    """

    def __init__(self, stack: Stack, shares: Tensor) -> None:
        super().__init__(stack)
        self.shares = shares

    def update(self, stack: Stack, steps: Tensor) -> None:
        """Take in the weights after a step; `steps` is how many there were, on the device."""
        share = torch.minimum(self.shares, ((1 + steps) / (SLOWEST + steps)).to(self.shares.dtype))
        self.flat.lerp_(stack.flat, 1 - share)
        for name, each in stack.buffers.items():
            if each.is_floating_point():
                self.buffers[name].lerp_(each, (1 - share).view(-1, *[1] * (each.dim() - 1)).to(each.dtype))
            else:
                self.buffers[name].copy_(each)

    def keep(self, replicas: Tensor) -> None:
        """Drop all networks but these."""
        super().keep(replicas)
        self.shares = self.shares[replicas]
