"""AdamW for stacked networks: a learning rate and a weight decay for each."""

from __future__ import annotations

import torch
from torch import Tensor

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class AdamW:
    """`torch.optim.AdamW` over the rows of a matrix, each with a learning rate and a weight decay of its own.

    Everything stays on the device, so that a step can be part of a CUDA graph.

    Args:
        parameters: [R, parameters], changed in place.
        weight_decay: [R, 1].
    """

    def __init__(self, parameters: Tensor, weight_decay: Tensor) -> None:
        self.weight_decay = weight_decay
        self.mean = torch.zeros_like(parameters)
        self.square = torch.zeros_like(parameters)
        # in double precision: 1 - 0.999 loses four digits in single
        self.steps = torch.zeros((), dtype=torch.float64, device=parameters.device)

    def step(self, parameters: Tensor, gradient: Tensor, rate: Tensor) -> None:
        """Change the parameters; `rate` is [R, 1]."""
        first, second = BETAS
        self.steps += 1
        parameters.mul_(1 - rate * self.weight_decay)
        self.mean.lerp_(gradient, 1 - first)
        self.square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
        size = self.square.sqrt().div_((1 - second**self.steps).sqrt().to(rate.dtype)).add_(EPSILON)
        parameters.sub_((self.mean * (rate / (1 - first**self.steps).to(rate.dtype))).div_(size))

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint has to hold."""
        return {"mean": self.mean, "square": self.square, "steps": self.steps}

    def load(self, state: dict[str, Tensor]) -> None:
        """Go back to a state."""
        for name, value in state.items():
            getattr(self, name).copy_(value)

    def keep(self, replicas: Tensor) -> None:
        """Drop all rows but these."""
        self.mean, self.square = self.mean[replicas], self.square[replicas]
        self.weight_decay = self.weight_decay[replicas]
