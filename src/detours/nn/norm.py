"""Norms: batch norm over tokens, with statistics over all processes where there are several, and layer norm."""

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
    """`torch.nn.BatchNorm1d` over the rows [T, channels] of all token sets together, with the same state dict.

    The paper applies batch normalisation to "message sequences of the same graph" together; the rows never contain
    padding. Three things differ from torch's:

    - When `torch.distributed` runs several processes, training uses the mean and variance over the rows of all of
      them, each row counting once, on any device (torch's `SyncBatchNorm` refuses the CPU). Every process must take
      part, even with an empty batch.
    - A batch of fewer than two rows has no variance: it is normalised by the running statistics, which stay.
    - Rows may be left out of the statistics (`counted`), such as graphs outside the training part in a batch that
      several folds share. All rows are normalised.
    """

    def forward(self, x: Tensor, counted: Tensor | None = None) -> Tensor:
        """Normalise x [T, channels]; `counted` [T] masks the rows of the statistics in training, None for all."""
        distributed = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        if self.training and (distributed or counted is not None):
            return self._forward_counted(x, counted, distributed)
        rows = x
        if x.device.type == "cpu" and x.dtype in (torch.bfloat16, torch.float16):
            rows = x.to(self.running_mean.dtype)  # for stacked networks, torch takes no rows narrower than these
        if self.training and x.size(0) < 2:
            normed = F.batch_norm(rows, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        else:
            normed = super().forward(rows)
        result: Tensor = normed.to(x.dtype)
        return result

    def _forward_counted(self, x: Tensor, counted: Tensor | None, distributed: bool) -> Tensor:
        if counted is not None and not distributed and fused(x):
            buffers = (self.running_mean, self.running_var, self.num_batches_tracked)
            by_kernel: Tensor = _FusedBatchNorm.apply(
                x, counted, *buffers, self.weight, self.bias, self.momentum, self.eps
            )[0]
            return by_kernel
        rows = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
        with torch.no_grad():  # `_Normalise` has the gradients of mean and variance
            share = rows.new_ones(rows.size(0), 1) if counted is None else counted.to(rows.dtype).unsqueeze(1)
            sums = _all_reduce(torch.cat([(rows * share).sum(0), share.sum(0)]), distributed)
            count = sums[-1:]
            enough = count > 1
            share = share * (enough / count.clamp(min=1))
            mean = torch.where(enough, sums[:-1] / count.clamp(min=1), self.running_mean)
            # Squared deviations from the mean: a plain sum of squares would cancel in single precision.
            squares = _all_reduce(((rows - mean).square() * share).sum(0), distributed)
            variance = torch.where(enough, squares, self.running_var)
            self.num_batches_tracked.add_(enough.squeeze(0))
            unbiased = variance * (count / (count - 1).clamp(min=1))
            for running, current in ((self.running_mean, mean), (self.running_var, unbiased)):
                running.add_((current - running) * (self.momentum * enough.to(current.dtype)))
        invstd = torch.rsqrt(variance + self.eps)
        result: Tensor = _Normalise.apply(rows, share, mean, invstd, self.weight, self.bias, distributed)
        return result.to(x.dtype)


class _Normalise(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """(x - mean) · invstd · weight + bias; `share` is the weight of each row in mean and variance.

    Written out, the backward pass takes a third of the operations that autograd would take.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, share: Tensor, mean: Tensor, invstd: Tensor, weight: Tensor, bias: Tensor, distributed: bool
    ) -> Tensor:
        return torch.addcmul(bias, x - mean, invstd * weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, share, mean, invstd, weight, _, ctx.distributed = inputs
        ctx.save_for_backward(x, share, mean, invstd, weight)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        _refuse_double_backward()
        x, share, mean, invstd, weight = ctx.saved_tensors
        x_hat = (x - mean) * invstd
        grad_bias, grad_weight = grad_output.sum(0), (grad_output * x_hat).sum(0)
        sums = _all_reduce(torch.cat([grad_bias, grad_weight]), ctx.distributed)
        grad_sum, grad_x_hat_sum = sums.chunk(2)
        grad_x = (grad_output - torch.addcmul(grad_sum, x_hat, grad_x_hat_sum) * share) * (invstd * weight)
        return grad_x, None, None, None, grad_weight, grad_bias, None


class _FusedBatchNorm(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """`TokenNorm` of x [T, …, channels] with statistics over some rows, by kernels; also mean, invstd and share.

    The dimension of stacked networks is the second of `x` and `counted`, and the first of all others.
    """

    @staticmethod
    def forward(x: Tensor, counted: Tensor, *others: Any) -> tuple[Tensor, ...]:
        from detours.nn.fused import norm_triton

        *running, weight, bias, momentum, epsilon = others
        x, counted, weight, bias = _stacked(x, counted, weight, bias)
        stats = norm_triton.statistics(x, counted, norm_triton.Running(*running), momentum, epsilon)
        for each in running:
            torch.autograd.graph.increment_version(each)
        result = norm_triton.normalise(x, stats, weight, bias)
        return result.view(-1, *running[0].shape), *stats

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, counted, *_, weight, bias, _, _ = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(x, counted, weight, bias, *output[1:])

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        _refuse_double_backward()
        from detours.nn.fused import norm_triton

        *inputs, mean, invstd, share = ctx.saved_tensors
        shape = inputs[2].shape
        x, counted, weight, _ = _stacked(*inputs)
        stats = norm_triton.Statistics(mean, invstd, share)
        grad_x, grad_weight, grad_bias = norm_triton.normalise_backward(
            grad_output.reshape(x.shape), x, counted, stats, weight
        )
        return grad_x.view(grad_output.shape), *[None] * 4, grad_weight.view(shape), grad_bias.view(shape), None, None

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *others: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        x, counted, *running, weight, bias, momentum, epsilon = others
        x, counted = (networks_second(each, dim, info) for each, dim in zip((x, counted), dims, strict=False))
        if any(dims[2:5]) or None in dims[2:5]:
            raise NotImplementedError(
                "stacked networks must have running statistics of their own, in the first dimension."
            )
        weight, bias = (
            networks_second(each.unsqueeze(0), None if dim is None else dim + 1, info).squeeze(0)
            for each, dim in zip((weight, bias), dims[5:7], strict=True)
        )
        result, *stats = _FusedBatchNorm.apply(x, counted, *running, weight, bias, momentum, epsilon)
        return (result, *(each.view(info.batch_size, -1) for each in stats)), (1, 0, 0, 0)


class LayerNorm(nn.LayerNorm):  # type: ignore[misc]  # PyTorch's types are not followed
    """`torch.nn.LayerNorm` over the channels of rows [T, channels]; on a GPU with Triton by a kernel of our own."""

    def forward(self, x: Tensor) -> Tensor:
        normed: Tensor
        normed = _FusedLayerNorm.apply(x, self.weight, self.bias, self.eps) if fused(x) else super().forward(x)
        return normed


class _FusedLayerNorm(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """`LayerNorm` of x [T, …, channels] by kernels, in the type of x; the dimension of stacked networks is the second
    of `x`, and the first of weight and bias."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
        from detours.nn.fused import layer_norm_triton

        rows, scale, shift = _rows_and_parameters(x, weight, bias)
        return layer_norm_triton.normalise(rows, scale, shift, epsilon).view(x.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.epsilon = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, bias = ctx.saved_tensors
        if torch.is_grad_enabled() or not fused(grad_output):  # double backward, or several gradients at once

            def plain(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
                return F.layer_norm(x, x.shape[-1:], eps=ctx.epsilon) * weight + bias

            return *torch.func.vjp(plain, x, weight, bias)[1](grad_output), None
        from detours.nn.fused import layer_norm_triton

        rows, scale, _ = _rows_and_parameters(x, weight, bias)
        grads = layer_norm_triton.normalise_backward(grad_output.reshape(rows.shape), rows, scale, ctx.epsilon)
        return *(
            grad.view(each.shape).to(each.dtype) for grad, each in zip(grads, (x, weight, bias), strict=True)
        ), None

    @staticmethod
    def vmap(
        info: Any, dims: tuple[int | None, ...], x: Tensor, weight: Tensor, bias: Tensor, epsilon: float
    ) -> tuple[Tensor, int]:
        x = networks_second(x, dims[0], info)
        parameters = (
            networks_second(each.unsqueeze(0), None if dim is None else dim + 1, info).squeeze(0)
            for each, dim in zip((weight, bias), dims[1:3], strict=True)
        )
        return _FusedLayerNorm.apply(x, *parameters, epsilon), 1


def _rows_and_parameters(x: Tensor, *parameters: Tensor) -> list[Tensor]:
    """Return the arguments as the kernels read them: x [T, networks, channels], and the others [networks, channels]."""
    x = x.contiguous().view(x.size(0), -1, x.size(-1))
    per_network = [each.reshape(x.size(1), -1) for each in parameters]
    if any(each.stride() != (per_network[0].stride(0), 1) for each in per_network):
        per_network = [each.contiguous() for each in per_network]
    return [x, *per_network]


def _stacked(x: Tensor, counted: Tensor, *others: Tensor) -> list[Tensor]:
    """Return the arguments as the kernels read them: x [T, networks, channels], bytes, and the others [networks, …]."""
    x, *per_network = _rows_and_parameters(x, *others)
    mask = counted.to(torch.bool).contiguous().view(torch.uint8)
    return [x, mask, *per_network]


def _refuse_double_backward() -> None:
    """Refuse to be differentiated twice: mean and variance are computed outside the autograd graph."""
    if torch.is_grad_enabled():
        raise NotImplementedError("batch norm over counted rows has no second derivative; leave out create_graph=True.")


def _all_reduce(values: Tensor, distributed: bool) -> Tensor:
    """Return the sum over all processes, computed in place."""
    if distributed:
        dist.all_reduce(values)
    return values


def normed(norm: nn.Module, x: Tensor, counted: Tensor | None) -> Tensor:
    """Return norm(x), with the statistics of batch norms over the counted rows only."""
    result: Tensor = norm(x, counted) if isinstance(norm, TokenNorm) else norm(x)
    return result


NORMS: dict[str, type[nn.Module]] = {"batch": TokenNorm, "layer": LayerNorm, "none": nn.Identity}
