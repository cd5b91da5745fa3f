"""Batch normalisation over tokens, with the statistics of all processes where there are several."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.nn.functional import all_reduce

from detours.errors import InputError


def norm_of(kind: str, channels: int) -> nn.Module:
    """Return the norm of this name: "batch", "layer" or "none"."""
    if kind not in NORMS:
        raise InputError(f"norm must be one of {', '.join(NORMS)}, but it is {kind!r}.")
    return NORMS[kind](channels)


class TokenNorm(nn.BatchNorm1d):  # type: ignore[misc]  # PyTorch's types are not followed
    """`torch.nn.BatchNorm1d` over the rows [T, channels] of all token sets together, with its state and its names.

    The paper normalises "message sequences of the same graph" together and says batch normalisation; padding, where
    there is any, is never among the rows. Two things differ from torch's:

    - When `torch.distributed` runs several processes, training uses the mean and variance over the rows of all of
      them, each row counting once, on any device (torch's `SyncBatchNorm` refuses the CPU). Every process has to take
      part, if only with an empty batch.
    - In a single process, a batch of fewer than two rows has no variance: it is normalised by the running statistics,
      and leaves them alone.
    """

    def forward(self, x: Tensor) -> Tensor:
        if self.training and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
            return self._over_processes(x)
        if self.training and x.size(0) < 2:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        normed: Tensor = super().forward(x)
        return normed

    def _over_processes(self, x: Tensor) -> Tensor:
        # Mean first, then the squares around it: one sum of squares would cancel in single precision.
        rows = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
        number = rows.new_full((1,), rows.size(0))
        sums = all_reduce(torch.cat([rows.sum(0), number]))
        total = sums[-1].detach().clamp(min=1)
        mean = sums[:-1] / total
        centred = rows - mean
        variance = all_reduce(centred.square().sum(0)) / total
        self._remember(mean.detach(), variance.detach() * (total / (total - 1).clamp(min=1)))
        return (centred * torch.rsqrt(variance + self.eps) * self.weight + self.bias).to(x.dtype)

    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
        self.running_var.lerp_(variance.to(self.running_var.dtype), self.momentum)


NORMS: dict[str, type[nn.Module]] = {"batch": TokenNorm, "layer": nn.LayerNorm, "none": nn.Identity}
