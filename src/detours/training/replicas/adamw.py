"""AdamW for stacked networks, with a learning rate and a weight decay for each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from detours.nn.fused import fused

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class AdamW:
    """`torch.optim.AdamW` over the rows of a matrix, each with its own learning rate and weight decay.

    A fused kernel reads and writes every value once, where a chain of single operations would do so three times: a
    Triton kernel for all rows, or, where that is not available, torch's for the rows of each group. Everything stays on
    the device, so that a step can be part of a CUDA graph.

    Args:
        parameters: [R, parameters], changed in place.
        decays: [R] the weight decay of each row.
        groups: [R] rows of one group have the same learning rate in every step, and the same weight decay. Default:
            a group for every row.
    """

    def __init__(self, parameters: Tensor, decays: Sequence[float], groups: Sequence[object] | None = None) -> None:
        self.decays, self.groups = list(decays), list(range(len(decays)) if groups is None else groups)
        self.decay_of_rows = torch.tensor(self.decays, dtype=parameters.dtype, device=parameters.device)
        self.mean = torch.zeros_like(parameters)
        self.square = torch.zeros_like(parameters)
        self.steps = torch.zeros(len(parameters), dtype=torch.float32, device=parameters.device)
        """[R] steps taken: the same in all rows, as torch's kernel takes a counter for each."""

    def step(self, parameters: Tensor, gradients: Sequence[Tensor], rates: Tensor) -> None:
        """Update the parameters; `gradients` are blocks of columns, left to right, and `rates` is [R, 1]."""
        if fused(parameters):
            from detours.nn.fused.adamw_triton import step

            self.steps += 1
            rates = rates.squeeze(1).contiguous()
            updated, widths = (parameters, self.mean, self.square), [each.size(1) for each in gradients]
            columns = zip(*(each.split(widths, dim=1) for each in updated), strict=True)
            for (values, *moments), gradient in zip(columns, gradients, strict=True):
                step(values, gradient.contiguous(), moments, self.steps, rates, self.decay_of_rows, BETAS, EPSILON)
            return
        joined = torch.cat([each.to(parameters.dtype) for each in gradients], dim=1)
        for group in dict.fromkeys(self.groups):
            rows = [row for row, each in enumerate(self.groups) if each == group]
            values, grads, means, squares, steps = (
                [each[row] for row in rows] for each in (parameters, joined, self.mean, self.square, self.steps)
            )
            rate = rates[rows[0], 0]
            adamw(
                values,
                grads,
                means,
                squares,
                [],
                steps,
                fused=True,
                capturable=True,
                amsgrad=False,
                beta1=BETAS[0],
                beta2=BETAS[1],
                lr=rate.float() if rate.is_cuda else rate,  # the CUDA kernel reads a float32
                weight_decay=self.decays[rows[0]],
                eps=EPSILON,
                maximize=False,
            )

    def state(self) -> dict[str, Tensor]:
        """Return the state for a checkpoint."""
        return {"mean": self.mean, "square": self.square, "steps": self.steps}

    def load(self, state: dict[str, Tensor]) -> None:
        """Restore a state from a checkpoint."""
        for name, value in state.items():
            getattr(self, name).copy_(value)

    def keep(self, replicas: Tensor) -> None:
        """Drop all rows but these."""
        self.mean, self.square, self.steps = self.mean[replicas], self.square[replicas], self.steps[replicas]
        self.decay_of_rows = self.decay_of_rows[replicas]
        kept = replicas.tolist()
        self.decays, self.groups = ([each[row] for row in kept] for each in (self.decays, self.groups))
