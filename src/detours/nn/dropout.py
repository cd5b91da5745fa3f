"""Dropout for stacked networks: each with a rate and random bits of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from detours.nn.functional import rows_first
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
        drawn = self._drawn(x)
        return x if drawn is None else _left(x, drawn)

    def before_maps(self, x: Tensor) -> Dropped:
        """Return what dropout leaves of x [rows, columns], to be mapped."""
        drawn = self._drawn(x)
        if drawn is None:
            return Dropped(x)
        return Dropped(x, drawn) if _for_kernels(x, drawn) else Dropped(_left(x, drawn))

    def _drawn(self, x: Tensor) -> Drawn | None:
        if self.rate is None or self.factor is None or not self.training:
            return None
        bits = torch.randint(-(2**31), 2**31, x.shape, dtype=torch.int32, device=x.device)
        return Drawn(bits, self.factor, self.rate)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Drawn(NamedTuple):
    """What decides which numbers stay: those whose bits, times the factor, are at least a share `rate` of the way."""

    bits: Tensor
    """The same for all networks."""
    factor: Tensor
    rate: Tensor


class Dropped(NamedTuple):
    """What dropout leaves of features.

    Features are wide. Dropped by each of the stacked networks and written down, they would be read by one product and
    then forgotten; where there is a kernel for it, the product drops them as it reads them.
    """

    x: Tensor
    """[rows, columns]"""
    drawn: Drawn | None = None
    """What is still to be dropped of x."""

    def columns(self, start: int, end: int) -> Dropped:
        """Return a part of the columns."""
        part = self.x[:, start:end]
        return Dropped(part, self.drawn and self.drawn._replace(bits=self.drawn.bits[:, start:end]))

    def mapped(self, linear: nn.Linear) -> Tensor:
        """Return what a linear map makes of them."""
        if self.drawn is None:
            result: Tensor = linear(self.x)
        else:
            result = _DroppedMap.apply(self.x, *self.drawn, linear.weight, linear.bias)
        return result


def _for_kernels(x: Tensor, drawn: Drawn) -> bool:
    """Whether stacked networks drop numbers of x as they multiply; none of them is to be differentiated."""
    stacked = torch._C._functorch.is_batchedtensor(drawn.factor)
    single = x.dtype == torch.float32 and not torch.is_autocast_enabled(x.device.type)
    return bool(stacked and single and not x.requires_grad and fused(x))


def _left(x: Tensor, drawn: Drawn) -> Tensor:
    """Return x with 0 for what is dropped, and the rest scaled to the same expectation."""
    left: Tensor = x * (_Kept.apply(*drawn) / (1 - drawn.rate)).to(x.dtype)
    return left


class _Kept(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """Which numbers stay, see `Drawn`."""

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
        place = 1 if rows_first(bits.device) else 0
        ones = [1] * (bits.dim() - place)
        return _Kept.forward(bits.unsqueeze(place), factor.view(-1, *ones), rate.view(-1, *ones)), place


class _DroppedMap(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(x: Tensor, bits: Tensor, factor: Tensor, rate: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        raise NotImplementedError("weights of stacked networks are stacked.")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], x: Tensor, bits: Tensor, *stacked: Tensor) -> tuple[Tensor, int]:
        if dims[1] is not None or None in dims[2:]:
            raise NotImplementedError("stacked networks share random bits, and have all else of their own.")
        # what is shared is not copied: its networks are 0 numbers apart
        x = x.expand(info.batch_size, *x.shape) if dims[0] is None else x.movedim(dims[0], 0)
        factor, rate, weight, bias = (each.movedim(dim or 0, 0) for each, dim in zip(stacked, dims[2:], strict=True))
        return _StackedMap.apply(x, bits, factor, rate, weight, bias), 1


class _StackedMap(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """[rows, R, out] of x [R, rows, in], weight [R, out, in] and bias [R, out]."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, bits: Tensor, factor: Tensor, rate: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:
        from detours.nn.fused.dropped_triton import mapped

        if ctx.needs_input_grad[0]:
            raise NotImplementedError("features have no slopes here.")
        drawn = Drawn(bits, factor, rate)
        ctx.save_for_backward(x, *drawn)
        return mapped(x, drawn, weight, bias)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        from detours.nn.fused.columns_triton import column_sums
        from detours.nn.fused.dropped_triton import weight_slope

        x, *drawn = ctx.saved_tensors
        slope = slope.contiguous()
        of_bias = column_sums(slope.flatten(1)).view(slope.shape[1:])
        return None, None, None, None, weight_slope(x, Drawn(*drawn), slope), of_bias
