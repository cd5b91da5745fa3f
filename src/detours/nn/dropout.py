"""Dropout for stacked networks, each with its own rate and random bits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from detours.nn.functional import networks_second, rows_first
from detours.nn.fused import fused


class Dropout(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    """Dropout for stacked networks, each with its own rate and random bits; with a rate of 0, there are neither.

    `rate` and `factor` are buffers. The random bits may be the same for all networks (``randomness="same"`` of
    `torch.vmap`): each network multiplies them by its own factor, an odd number modulo 2^32. What a network drops is
    then independent of the others.
    """

    rate: Tensor | None
    factor: Tensor | None

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.register_buffer("rate", torch.tensor(float(p)) if p else None, persistent=False)
        self.register_buffer("factor", torch.tensor(1, dtype=torch.int32) if p else None, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if self.rate is None or self.factor is None or not self.training:
            return x
        bits = torch.randint(-(2**31), 2**31, x.shape, dtype=torch.int32, device=x.device)
        if torch._C._functorch.is_batchedtensor(self.factor) and fused(x):
            by_kernel: Tensor = _FusedDropout.apply(x, bits, self.factor, self.rate)
            return by_kernel
        kept = _KeepMask.apply(bits, self.factor, self.rate)
        return x * (kept / (1 - _not_half(self.rate))).to(x.dtype)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def _not_half(rate: Tensor) -> Tensor:
    """Return a rate in at least 32 bits: in 16, 2^32 is infinite."""
    return rate.float() if rate.dtype.itemsize < 4 else rate


class _KeepMask(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """The mask of values to keep: those whose bits, times the factor, are not in the lowest share `rate` of int32."""

    @staticmethod
    def forward(bits: Tensor, factor: Tensor, rate: Tensor) -> Tensor:
        return bits * factor >= _not_half(rate) * 2**32 - 2**31

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], bits: Tensor, factor: Tensor, rate: Tensor
    ) -> tuple[Tensor, int]:
        if in_dims[0] is not None:
            raise NotImplementedError('stacked networks share random bits; take randomness="same".')
        dim = 1 if rows_first(bits.device) else 0
        ones = [1] * (bits.dim() - dim)
        return _KeepMask.forward(bits.unsqueeze(dim), factor.view(-1, *ones), rate.view(-1, *ones)), dim


class _FusedDropout(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """Dropout of x [rows, networks, …] by a kernel, scaled to keep the expectation; also applied to the gradient."""

    @staticmethod
    def forward(x: Tensor, bits: Tensor, factor: Tensor, rate: Tensor) -> Tensor:
        from detours.nn.fused.dropout_triton import dropout

        return dropout(x, bits, factor, rate)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        return _FusedDropout.apply(grad_output, *ctx.saved_tensors), None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], x: Tensor, bits: Tensor, factor: Tensor, rate: Tensor
    ) -> tuple[Tensor, int]:
        if in_dims[1:] != (None, 0, 0):
            raise NotImplementedError("stacked networks share random bits, and have a factor and a rate each.")
        return _FusedDropout.apply(networks_second(x, in_dims[0], info), bits, factor, rate), 1
