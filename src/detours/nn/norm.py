"""Batch normalisation over tokens, with the statistics of all processes where there are several."""

from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed.nn.functional import all_reduce

from detours.checks import check_choice


def norm_of(kind: str, channels: int) -> nn.Module:
    """Return the norm of this name: "batch", "layer" or "none"."""
    check_choice("norm", kind, NORMS)
    return NORMS[kind](channels)


class TokenNorm(nn.BatchNorm1d):  # type: ignore[misc]  # PyTorch's types are not followed
    """`torch.nn.BatchNorm1d` over the rows [T, channels] of all token sets together, with its state and its names.

    The paper normalises "message sequences of the same graph" together and says batch normalisation; padding, where
    there is any, is never among the rows. Three things differ from torch's:

    - When `torch.distributed` runs several processes, training uses the mean and variance over the rows of all of
      them, each row counting once, on any device (torch's `SyncBatchNorm` refuses the CPU). Every process has to take
      part, if only with an empty batch.
    - A batch of fewer than two rows has no variance: it is normalised by the running statistics, and leaves them alone.
    - Rows may be left out of the statistics (`counted`): a graph that is not of the training part, in a batch that
      several folds share. All rows are normalised.
    """

    def forward(self, x: Tensor, counted: Tensor | None = None) -> Tensor:
        """Normalise x [T, channels]; `counted` [T] says which rows make the statistics in training, None for all."""
        together = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        if self.training and (together or counted is not None):
            return self._by_sums(x, counted, together)
        if self.training and x.size(0) < 2:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        normed: Tensor = super().forward(x)
        return normed

    def _by_sums(self, x: Tensor, counted: Tensor | None, together: bool) -> Tensor:
        # Mean first, then the squares around it: one sum of squares would cancel in single precision.
        rows = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
        share = rows.new_ones(rows.size(0), 1) if counted is None else counted.to(rows.dtype).unsqueeze(1)
        sums = torch.cat([(share * rows).sum(0), share.sum(0)])
        sums = all_reduce(sums) if together else sums
        number = sums[-1:].detach()
        enough = number > 1
        mean = torch.where(enough, sums[:-1] / number.clamp(min=1), self.running_mean)
        squares = (share * (rows - mean).square()).sum(0)
        squares = all_reduce(squares) if together else squares
        variance = torch.where(enough, squares / number.clamp(min=1), self.running_var)
        self._remember(mean.detach(), variance.detach() * (number / (number - 1).clamp(min=1)), enough)
        return ((rows - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias).to(x.dtype)

    def _remember(self, mean: Tensor, variance: Tensor, enough: Tensor) -> None:
        self.num_batches_tracked.add_(enough.squeeze(0).to(self.num_batches_tracked.dtype))
        for running, found in ((self.running_mean, mean), (self.running_var, variance)):
            share = self.momentum * enough.to(running.dtype)
            running.copy_(running + share * (found.to(running.dtype) - running))


def normed(norm: nn.Module, x: Tensor, counted: Tensor | None) -> Tensor:
    """Return norm(x), the statistics of batch norm taken over the counted rows alone."""
    result: Tensor = norm(x, counted) if isinstance(norm, TokenNorm) else norm(x)
    return result


NORMS: dict[str, type[nn.Module]] = {"batch": TokenNorm, "layer": nn.LayerNorm, "none": nn.Identity}
