"""Dropout for stacked networks: each with a rate and random bits of its own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from detours.nn.functional import networks_second, rows_first
from detours.nn.fused import fused


class Dropout(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    """Dropout for stacked networks, each with a rate and random bits of its own; a rate of 0 has neither.

    `rate` and `factor` are buffers. The random bits may be the same for all networks (``randomness="same"`` of
    `torch.vmap`): each multiplies them by its own factor, an odd number modulo 2^32. What a network drops then depends
    on no other.
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
            by_kernel: Tensor = _Dropped.apply(x, bits, self.factor, self.rate)
            return by_kernel
        kept = _Kept.apply(bits, self.factor, self.rate)
        return x * (kept / (1 - self.rate)).to(x.dtype)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _Kept(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """Which numbers stay: those whose bits, times the factor, are at least a share `rate` of the way up."""

    @staticmethod
    def forward(bits: Tensor, factor: Tensor, rate: Tensor) -> Tensor:
        return bits * factor >= rate * 2**32 - 2**31

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], bits: Tensor, factor: Tensor, rate: Tensor
    ) -> tuple[Tensor, int]:
        if in_dims[0] is not None:
            raise NotImplementedError('stacked networks share random bits; take randomness="same".')
        place = 1 if rows_first(bits.device) else 0
        ones = [1] * (bits.dim() - place)
        return _Kept.forward(bits.unsqueeze(place), factor.view(-1, *ones), rate.view(-1, *ones)), place


class _Dropped(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """What stays of x [rows, networks, …], scaled to the same expectation, by a kernel; slopes are treated alike."""

    @staticmethod
    def forward(x: Tensor, bits: Tensor, factor: Tensor, rate: Tensor) -> Tensor:
        from detours.nn.fused.dropout_triton import dropped

        return dropped(x, bits, factor, rate)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        return _Dropped.apply(slope, *ctx.saved_tensors), None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], x: Tensor, bits: Tensor, factor: Tensor, rate: Tensor
    ) -> tuple[Tensor, int]:
        if in_dims[1:] != (None, 0, 0):
            raise NotImplementedError("stacked networks share random bits, and have a factor and a rate each.")
        return _Dropped.apply(networks_second(x, in_dims[0], info), bits, factor, rate), 1
