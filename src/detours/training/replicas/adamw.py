"""AdamW for stacked networks: a learning rate and a weight decay for each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from detours.nn.fused import fused

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class AdamW:
    """`torch.optim.AdamW` over the rows of a matrix, each with a learning rate and a weight decay of its own.

    A kernel reads and writes every number once, where a chain of single operations would do so three times: ours for
    all rows, or, where it cannot be had, torch's for those that always have the same rate and decay. Everything stays
    on the device, so that a step can be part of a CUDA graph.

    Args:
        parameters: [R, parameters], changed in place.
        decays: [R] the weight decay of each row.
        kinds: [R] rows of equal kind have the same learning rate in every step, and the same weight decay. Default:
            every row is of a kind of its own.
    """

    def __init__(self, parameters: Tensor, decays: Sequence[float], kinds: Sequence[object] | None = None) -> None:
        self.decays, self.kinds = list(decays), list(range(len(decays)) if kinds is None else kinds)
        self.decay_of_rows = torch.tensor(self.decays, dtype=parameters.dtype, device=parameters.device)
        self.mean = torch.zeros_like(parameters)
        self.square = torch.zeros_like(parameters)
        self.steps = torch.zeros(len(parameters), dtype=torch.float32, device=parameters.device)
        """[R] how many there were; the same in all rows, which torch's kernel wants one by one."""

    def step(self, parameters: Tensor, gradients: Sequence[Tensor], rates: Tensor) -> None:
        """Change the parameters; `gradients` are those of all columns, side by side, and `rates` is [R, 1]."""
        if fused(parameters):
            from detours.nn.fused.adamw_triton import step

            self.steps += 1
            rates = rates.squeeze(1).contiguous()
            changed, widths = (parameters, self.mean, self.square), [each.size(1) for each in gradients]
            columns = zip(*(each.split(widths, dim=1) for each in changed), strict=True)
            for (values, *moments), slopes in zip(columns, gradients, strict=True):
                step(values, slopes.contiguous(), moments, self.steps, rates, self.decay_of_rows, BETAS, EPSILON)
            return
        gradient = torch.cat([each.to(parameters.dtype) for each in gradients], dim=1)
        for kind in dict.fromkeys(self.kinds):
            rows = [row for row, each in enumerate(self.kinds) if each == kind]
            values, slopes, means, squares, steps = (
                [each[row] for row in rows] for each in (parameters, gradient, self.mean, self.square, self.steps)
            )
            rate = rates[rows[0], 0]
            adamw(
                values,
                slopes,
                means,
                squares,
                [],
                steps,
                fused=True,
                capturable=True,
                amsgrad=False,
                beta1=BETAS[0],
                beta2=BETAS[1],
                lr=rate.float() if rate.is_cuda else rate,  # the kernel of a GPU reads four bytes of it
                weight_decay=self.decays[rows[0]],
                eps=EPSILON,
                maximize=False,
            )

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint has to hold."""
        return {"mean": self.mean, "square": self.square, "steps": self.steps}

    def load(self, state: dict[str, Tensor]) -> None:
        """Go back to a state."""
        for name, value in state.items():
            getattr(self, name).copy_(value)

    def keep(self, replicas: Tensor) -> None:
        """Drop all rows but these."""
        self.mean, self.square, self.steps = self.mean[replicas], self.square[replicas], self.steps[replicas]
        self.decay_of_rows = self.decay_of_rows[replicas]
        kept = replicas.tolist()
        self.decays, self.kinds = ([each[row] for row in kept] for each in (self.decays, self.kinds))
