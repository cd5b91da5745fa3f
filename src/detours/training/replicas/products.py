"""Linear maps and joins of stacked networks, with memory laid out as the rest of a step wants it.

Inside `torch.vmap` each is one operation on all networks. On a CUDA device the numbers of a row lie together,
[rows, networks, channels]: `detours.nn.functional`, which moves a row at a time, leaves them so, and a layout that
changed between two operations would mean a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

from detours.nn.functional import rows_first
from detours.nn.fused import fused
from detours.nn.tokens.products import two_products

TILE = 64
"""Rows and columns of a result that a multiprocessor takes at a time."""
TILES = 256
"""So many tiles keep a large device busy."""
SHORTEST = 128
"""A sum is not divided into shorter ones than this."""


class BatchedProducts(TorchFunctionMode):  # type: ignore[misc]  # PyTorch's types are not followed
    """While it is active, `F.linear` and `torch.addmm` are `stacked_linear`, `torch.cat` keeps rows together, and
    `relu_` is `relu`: a stacked tensor is a view, and after a change in place the backward pass copies it three times.
    Attention that is to be differentiated on a CUDA device is two products, as torch's fused kernel does not see that
    stacked networks learn, and leaves out what its backward pass needs.
    """

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, positional: tuple[Any, ...] = (), named: Any = None
    ) -> Any:
        if not named and function is F.linear:
            return stacked_linear(*positional)
        if not named and function is torch.addmm and positional[0].dim() == 2:
            return stacked_linear(positional[1], positional[2].t(), positional[0])
        if function is Tensor.relu_:
            return positional[0].relu()
        if function is F.scaled_dot_product_attention and torch.is_grad_enabled() and rows_first(positional[0].device):
            query, key, value = positional
            return two_products(query, key, value, named["attn_mask"], named["scale"])
        if function is torch.cat and rows_first(positional[0][0].device):
            return _joined(*positional, **(named or {}))
        return function(*positional, **(named or {}))


def stacked_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + bias for x [rows, in], weight [out, in] and bias [out] or [rows, out], inside `torch.vmap`."""
    if torch.is_autocast_enabled(x.device.type):
        dtype = torch.get_autocast_dtype(x.device.type)
        x, weight = x.to(dtype), weight.to(dtype)  # the bias is rounded only where it must be
        with torch.autocast(x.device.type, enabled=False):
            result: Tensor = _Linear.apply(x, weight, bias)
        return result
    result = _Linear.apply(x, weight, bias)
    return result


class _Linear(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        raise NotImplementedError("weights of stacked networks are stacked.")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], x: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        def stacked(tensor: Tensor, dim: int | None) -> Tensor:
            # what is shared is not copied: its networks are 0 numbers apart
            return tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)

        x, weight = stacked(x, dims[0]), stacked(weight, dims[1])
        bias = None if bias is None else stacked(bias, dims[2])
        if x.dim() == 3 and rows_first(x.device):
            return _RowsFirst.apply(x, weight, bias), 1
        bias = None if bias is None else bias.to(x.dtype)
        turned = weight.transpose(1, 2)
        if x.dim() != 3:
            result = x @ turned.reshape(len(turned), *[1] * (x.dim() - 3), *turned.shape[1:])
            return (result if bias is None else result + bias.reshape(len(bias), *[1] * (x.dim() - 2), -1)), 0
        if bias is None:
            return torch.bmm(x, turned), 0
        return torch.baddbmm(bias.unsqueeze(1) if bias.dim() == 2 else bias, x, turned), 0


class _RowsFirst(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """[rows, R, out]: x Wᵀ + bias for x [R, rows, in], weight [R, out, in] and bias [R, out] or [R, rows, out]."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.bias = None if bias is None else (bias.dim(), bias.dtype)
        if x.stride(0) == 0:
            return _shared(x[0], weight, bias)
        return _product(x, weight.transpose(1, 2), bias)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, memory: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        slope = memory.transpose(0, 1)
        of_x = _product(slope, weight).transpose(0, 1) if ctx.needs_input_grad[0] else None
        of_bias = None
        if ctx.bias is not None and ctx.needs_input_grad[2]:
            dim, dtype = ctx.bias
            of_bias = _row_sums(memory, dtype) if dim == 2 else slope.to(dtype)
        return of_x, weight_slope(x, slope), of_bias


def _row_sums(memory: Tensor, dtype: torch.dtype) -> Tensor:
    """[R, out]: the sum over the rows of [rows, R, out]."""
    if fused(memory) and memory.is_contiguous():
        from detours.nn.fused.columns_triton import column_sums

        return column_sums(memory.flatten(1)).view(memory.shape[1:]).to(dtype)
    return memory.sum(0, dtype=dtype)


def _product(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """[rows, R, out] for x [R, rows, in], a matrix [R, in, out] and a bias [R, out] or [R, rows, out]."""
    if fused(x):
        from detours.nn.fused.maps_triton import mapped, narrow

        if narrow(x, matrix.size(2)):
            return mapped(x, matrix, bias)
    memory = x.new_empty((x.size(1), x.size(0), matrix.size(2)))
    torch.bmm(x, matrix, out=memory.transpose(0, 1))
    # added afterwards: `baddbmm` would write it twice before the product reads it
    if bias is not None and bias.dim() == 2 and fused(memory):
        from detours.nn.fused.columns_triton import add_to_rows

        add_to_rows(memory, bias)
    elif bias is not None:
        memory += bias if bias.dim() == 2 else bias.transpose(0, 1)
    return memory


def _shared(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """[rows, R, out] for x [rows, in] that all networks share: one product with all weights side by side."""
    (networks, width, _), rows = weight.shape, len(x)
    side_by_side = weight.reshape(networks * width, -1).t()
    memory = x.new_empty((rows, networks, width))
    if bias is None:
        torch.mm(x, side_by_side, out=memory.view(rows, -1))
    else:
        every = bias.reshape(-1) if bias.dim() == 2 else bias.transpose(0, 1).reshape(rows, -1)
        torch.addmm(every.to(x.dtype), x, side_by_side, out=memory.view(rows, -1))
    return memory


def weight_slope(x: Tensor, slope: Tensor) -> Tensor:
    """Return [R, out, in], the sum over rows of slope [R, rows, out] times x [R, rows, in].

    The result is small and the sum long. A device works on as many tiles of a result at a time as it has
    multiprocessors, so the sum is divided: row r goes to part r modulo `parts`, and each part of each network is a
    product of its own.
    """
    (networks, rows, width), channels = slope.shape, x.size(2)
    memory = slope.transpose(0, 1)
    if x.stride(0) == 0 and memory.is_contiguous():  # one product for all networks
        return (memory.reshape(rows, -1).t() @ x[0]).view(networks, width, channels)
    tiles = networks * -(-width // TILE) * -(-channels // TILE)
    parts = _power_of_two(min(TILES // tiles, rows // SHORTEST))  # which divides most numbers of rows that are chosen
    whole = rows - rows % parts if parts else 0
    if parts < 2 or not memory.is_contiguous() or not x.transpose(0, 1).is_contiguous():
        return torch.bmm(slope.transpose(1, 2), x)
    divided = (
        each.transpose(0, 1)[:whole].view(whole // parts, parts * networks, -1).transpose(0, 1) for each in (slope, x)
    )
    first, second = divided
    sums = torch.bmm(first.transpose(1, 2), second).view(parts, networks, width, channels).sum(0)
    if whole < rows:
        sums.baddbmm_(slope[:, whole:].transpose(1, 2), x[:, whole:])
    return sums


def _power_of_two(number: int) -> int:
    """The largest that is at most this number; 0 if it is 0."""
    return 1 << number.bit_length() - 1 if number else 0


def _joined(parts: Sequence[Tensor], dim: int = 0) -> Tensor:
    """`torch.cat`, called as it is called."""
    joined: Tensor = _Joined.apply(dim, *parts)
    return joined


class _Joined(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """`torch.cat` of rows or columns."""

    @staticmethod
    def forward(dim: int, *parts: Tensor) -> Tensor:
        return torch.cat(parts, dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], dim: int, *parts: Tensor) -> tuple[Tensor, int]:
        moved = [
            each.unsqueeze(1).expand(-1, info.batch_size, *each.shape[1:]) if at is None else each.movedim(at, 1)
            for each, at in zip(parts, dims[1:], strict=True)
        ]
        return torch.cat(moved, dim + 1 if dim > 0 else dim), 1
