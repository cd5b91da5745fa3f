"""Exponential moving averages (EMA) of weights, which are evaluated and saved if a recipe has `average`."""

from __future__ import annotations

import torch
from torch import Tensor

from detours.training.replicas.copies import Copies
from detours.training.replicas.stack import Stack, statistics

WARM_UP = 10
"""After t steps the decay is at most (1 + t) / (10 + t), so that the first weights are soon forgotten."""


class Averaged(Copies):
    """Exponential moving averages of the parameters and the running statistics of stacked networks.

    Args:
        stack: The networks.
        decay: [R, 1] the share of each average that a step keeps; 0 for no averaging.
    """

    def __init__(self, stack: Stack, decay: Tensor) -> None:
        super().__init__(stack)
        self.decay = decay

    def update(self, stack: Stack, steps: Tensor) -> None:
        """Add the weights after a step; `steps` is the number of steps so far, on the device."""
        share = 1 - torch.minimum(self.decay, ((1 + steps) / (WARM_UP + steps)).to(self.decay.dtype))
        self.flat.lerp_(stack.flat, share)
        for name, each in statistics(stack.buffers).items():
            if each.is_floating_point():
                self.buffers[name].lerp_(each, share.view(-1, *[1] * (each.dim() - 1)).to(each.dtype))
            else:
                self.buffers[name].copy_(each)

    def keep(self, replicas: Tensor) -> None:
        """Drop all networks but these."""
        super().keep(replicas)
        self.decay = self.decay[replicas]
