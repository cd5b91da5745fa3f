"""Batch normalisation over tokens, with the statistics of all processes where there are several."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from detours.checks import check_choice
from detours.nn.functional import networks_second
from detours.nn.fused import fused


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
        rows = x
        if x.device.type == "cpu" and x.dtype in (torch.bfloat16, torch.float16):
            rows = x.to(self.running_mean.dtype)  # of stacked networks, torch takes none that are narrower than these
        if self.training and x.size(0) < 2:
            normed = F.batch_norm(rows, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        else:
            normed = super().forward(rows)
        result: Tensor = normed.to(x.dtype)
        return result

    def _by_sums(self, x: Tensor, counted: Tensor | None, together: bool) -> Tensor:
        if counted is not None and not together and fused(x):
            kept = (self.running_mean, self.running_var, self.num_batches_tracked)
            normalised: Tensor = _Fused.apply(x, counted, *kept, self.weight, self.bias, self.momentum, self.eps)[0]
            return normalised
        rows = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
        with torch.no_grad():  # `_Normalised` knows the slopes of mean and variance
            share = rows.new_ones(rows.size(0), 1) if counted is None else counted.to(rows.dtype).unsqueeze(1)
            sums = _summed(torch.cat([(rows * share).sum(0), share.sum(0)]), together)
            number = sums[-1:]
            enough = number > 1
            share = share * (enough / number.clamp(min=1))
            mean = torch.where(enough, sums[:-1] / number.clamp(min=1), self.running_mean)
            # Squares around the mean: one sum of squares would cancel in single precision.
            squares = _summed(((rows - mean).square() * share).sum(0), together)
            variance = torch.where(enough, squares, self.running_var)
            self.num_batches_tracked.add_(enough.squeeze(0))
            unbiased = variance * (number / (number - 1).clamp(min=1))
            for running, found in ((self.running_mean, mean), (self.running_var, unbiased)):
                running.add_((found - running) * (self.momentum * enough.to(found.dtype)))
        scale = torch.rsqrt(variance + self.eps)
        result: Tensor = _Normalised.apply(rows, share, mean, scale, self.weight, self.bias, together)
        return result.to(x.dtype)


class _Normalised(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """Rows minus their mean, times scale and weight, plus bias; `share` is the weight of each row in mean and variance.

    Written out, the backward pass takes a third of the steps that differentiating the forward pass takes.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, share: Tensor, mean: Tensor, scale: Tensor, weight: Tensor, bias: Tensor, together: bool
    ) -> Tensor:
        return torch.addcmul(bias, x - mean, scale * weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, share, mean, scale, weight, _, ctx.together = inputs
        ctx.save_for_backward(x, share, mean, scale, weight)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        _check_once()
        x, share, mean, scale, weight = ctx.saved_tensors
        normal = (x - mean) * scale
        of_bias, of_weight = slope.sum(0), (slope * normal).sum(0)
        sums = _summed(torch.cat([of_bias, of_weight]), ctx.together)
        first, second = sums.chunk(2)
        of_x = (slope - torch.addcmul(first, normal, second) * share) * (scale * weight)
        return of_x, None, None, None, of_weight, of_bias, None


class _Fused(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """What `TokenNorm` makes of x [T, …, channels] if some rows count, by kernels; and mean, scale and share.

    Of stacked networks, the dimension is the second of x and of `counted`, the first of all else.
    """

    @staticmethod
    def forward(x: Tensor, counted: Tensor, *given: Any) -> tuple[Tensor, ...]:
        from detours.nn.fused import norm_triton

        *running, weight, bias, momentum, epsilon = given
        x, counted, weight, bias = _stacked(x, counted, weight, bias)
        known = norm_triton.statistics(x, counted, norm_triton.Running(*running), momentum, epsilon)
        for each in running:
            torch.autograd.graph.increment_version(each)
        result = norm_triton.normalised(x, known, weight, bias)
        return result.view(-1, *running[0].shape), *known

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, counted, *_, weight, bias, _, _ = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(x, counted, weight, bias, *output[1:])

    @staticmethod
    def backward(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        _check_once()
        from detours.nn.fused import norm_triton

        *inputs, mean, scale, share = ctx.saved_tensors
        shape = inputs[2].shape
        x, counted, weight, _ = _stacked(*inputs)
        known = norm_triton.Statistics(mean, scale, share)
        of_x, of_weight, of_bias = norm_triton.slopes(slope.reshape(x.shape), x, counted, known, weight)
        return of_x.view(slope.shape), *[None] * 4, of_weight.view(shape), of_bias.view(shape), None, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *given: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        x, counted, *running, weight, bias, momentum, epsilon = given
        x, counted = (networks_second(each, dim, info) for each, dim in zip((x, counted), dims, strict=False))
        if any(dims[2:5]) or None in dims[2:5]:
            raise NotImplementedError("stacked networks have running statistics of their own, the first dimension.")
        weight, bias = (
            networks_second(each.unsqueeze(0), None if dim is None else dim + 1, info).squeeze(0)
            for each, dim in zip((weight, bias), dims[5:7], strict=True)
        )
        found = _Fused.apply(x, counted, *running, weight, bias, momentum, epsilon)
        return (found[0], *(each.view(info.batch_size, -1) for each in found[1:])), (1, 0, 0, 0)


def _stacked(x: Tensor, counted: Tensor, *given: Tensor) -> list[Tensor]:
    """x as [T, networks, channels] and whether its rows count, as the kernels read them; the rest per network."""
    x = x.contiguous().view(x.size(0), -1, x.size(-1))
    counts = counted.to(torch.bool).contiguous().view(torch.uint8)
    own = [each.reshape(x.size(1), -1) for each in given]
    if any(each.stride() != (own[0].stride(0), 1) for each in own):
        own = [each.contiguous() for each in own]
    return [x, counts, *own]


def _check_once() -> None:
    """Raise where slopes are to have slopes: mean and variance are found outside the graph of operations."""
    if torch.is_grad_enabled():
        raise NotImplementedError("batch norm over counted rows has no second derivative; leave out create_graph=True.")


def _summed(values: Tensor, together: bool) -> Tensor:
    """Return the sum over all processes, in place."""
    if together:
        dist.all_reduce(values)
    return values


def normed(norm: nn.Module, x: Tensor, counted: Tensor | None) -> Tensor:
    """Return norm(x), the statistics of batch norm taken over the counted rows alone."""
    result: Tensor = norm(x, counted) if isinstance(norm, TokenNorm) else norm(x)
    return result


NORMS: dict[str, type[nn.Module]] = {"batch": TokenNorm, "layer": nn.LayerNorm, "none": nn.Identity}
