"""Linear maps and concatenation of stacked networks, in the memory layout that the rest of a step uses.

Inside `torch.vmap` each is one operation on all networks. On a CUDA device the values of a row are contiguous,
[rows, networks, channels]: `detours.nn.functional`, which moves a row at a time, keeps this layout, and a change of
layout between two operations would mean a copy.
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
"""Tiles that keep a large device busy."""
SHORTEST = 128
"""The fewest terms of a part of a sum."""


class BatchedProducts(TorchFunctionMode):  # type: ignore[misc]  # PyTorch's types are not followed
    """While it is active, `F.linear` and `torch.addmm` are `stacked_linear`, `torch.cat` keeps rows contiguous, and
    `relu_` is `relu`: a stacked tensor is a view, and after an in-place change the backward pass copies it three times.
    Attention with gradients on a CUDA device is two products, as torch's fused kernel does not notice under `vmap` that
    its inputs require gradients, and does not save what its backward pass needs.
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
            return _cat(*positional, **(named or {}))
        return function(*positional, **(named or {}))


def stacked_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + bias for x [rows, in], weight [out, in] and bias [out] or [rows, out], inside `torch.vmap`."""
    if torch.is_autocast_enabled(x.device.type):
        dtype = torch.get_autocast_dtype(x.device.type)
        x, weight = x.to(dtype), weight.to(dtype)  # the bias is cast only where it must be
        with torch.autocast(x.device.type, enabled=False):
            result: Tensor = _Linear.apply(x, weight, bias)
        return result
    result = _Linear.apply(x, weight, bias)
    return result


class _Linear(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        raise NotImplementedError("stacked_linear is for stacked networks; call it inside torch.vmap.")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], x: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
        def stacked(tensor: Tensor, dim: int | None) -> Tensor:
            # what networks share is expanded, not copied
            return tensor.expand(info.batch_size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)

        x, weight = stacked(x, dims[0]), stacked(weight, dims[1])
        bias = None if bias is None else stacked(bias, dims[2])
        if x.dim() == 3 and rows_first(x.device):
            return _RowsFirst.apply(x, weight, bias), 1
        bias = None if bias is None else bias.to(x.dtype)
        transposed = weight.transpose(1, 2)
        if x.dim() != 3:
            result = x @ transposed.reshape(len(transposed), *[1] * (x.dim() - 3), *transposed.shape[1:])
            return (result if bias is None else result + bias.reshape(len(bias), *[1] * (x.dim() - 2), -1)), 0
        if bias is None:
            return torch.bmm(x, transposed), 0
        return torch.baddbmm(bias.unsqueeze(1) if bias.dim() == 2 else bias, x, transposed), 0


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
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad = grad_output.transpose(0, 1)
        grad_x = _product(grad, weight).transpose(0, 1) if ctx.needs_input_grad[0] else None
        grad_bias = None
        if ctx.bias is not None and ctx.needs_input_grad[2]:
            dim, dtype = ctx.bias
            grad_bias = _row_sums(grad_output, dtype) if dim == 2 else grad.to(dtype)
        return grad_x, weight_gradient(x, grad), grad_bias


def _row_sums(values: Tensor, dtype: torch.dtype) -> Tensor:
    """[R, out]: the sum over the rows of [rows, R, out]."""
    if fused(values) and values.is_contiguous():
        from detours.nn.fused.columns_triton import column_sums

        return column_sums(values.flatten(1)).view(values.shape[1:]).to(dtype)
    return values.sum(0, dtype=dtype)


def _product(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """[rows, R, out] for x [R, rows, in], a matrix [R, in, out] and a bias [R, out] or [R, rows, out]."""
    if fused(x):
        from detours.nn.fused.maps_triton import batched_linear, is_narrow

        if is_narrow(x, matrix.size(2)):
            return batched_linear(x, matrix, bias)
    result = x.new_empty((x.size(1), x.size(0), matrix.size(2)))
    torch.bmm(x, matrix, out=result.transpose(0, 1))
    # added afterwards: `baddbmm` would write it twice before the product reads it
    if bias is not None and bias.dim() == 2 and fused(result):
        from detours.nn.fused.columns_triton import add_to_rows

        add_to_rows(result, bias)
    elif bias is not None:
        result += bias if bias.dim() == 2 else bias.transpose(0, 1)
    return result


def _shared(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """[rows, R, out] for x [rows, in] that all networks share: one product with all weights side by side."""
    (networks, width, _), rows = weight.shape, len(x)
    side_by_side = weight.reshape(networks * width, -1).t()
    result = x.new_empty((rows, networks, width))
    if bias is None:
        torch.mm(x, side_by_side, out=result.view(rows, -1))
    else:
        biases = bias.reshape(-1) if bias.dim() == 2 else bias.transpose(0, 1).reshape(rows, -1)
        torch.addmm(biases.to(x.dtype), x, side_by_side, out=result.view(rows, -1))
    return result


def weight_gradient(x: Tensor, grad: Tensor) -> Tensor:
    """Return [R, out, in], the sum over rows of grad [R, rows, out] times x [R, rows, in].

    The result is small and the sum long (split-K). A device works on as many tiles of a result at a time as it has
    multiprocessors, so the sum is divided: row r goes to part r modulo `parts`, and each part of each network is a
    separate product.
    """
    (networks, rows, width), channels = grad.shape, x.size(2)
    rows_first_grad = grad.transpose(0, 1)
    if x.stride(0) == 0 and rows_first_grad.is_contiguous():  # one product for all networks
        return (rows_first_grad.reshape(rows, -1).t() @ x[0]).view(networks, width, channels)
    tiles = networks * -(-width // TILE) * -(-channels // TILE)
    parts = _power_of_two(min(TILES // tiles, rows // SHORTEST))  # which divides the row counts of most padded batches
    divisible = rows - rows % parts if parts else 0
    if parts < 2 or not rows_first_grad.is_contiguous() or not x.transpose(0, 1).is_contiguous():
        return torch.bmm(grad.transpose(1, 2), x)
    grad_parts, x_parts = (
        each.transpose(0, 1)[:divisible].view(divisible // parts, parts * networks, -1).transpose(0, 1)
        for each in (grad, x)
    )
    products = torch.bmm(grad_parts.transpose(1, 2), x_parts)
    sums = _row_sums(products.view(parts, networks, width * channels), products.dtype).view(networks, width, channels)
    if divisible < rows:
        sums.baddbmm_(grad[:, divisible:].transpose(1, 2), x[:, divisible:])
    return sums


def _power_of_two(limit: int) -> int:
    """Return the largest power of two up to a limit; 0 for 0."""
    return 1 << limit.bit_length() - 1 if limit else 0


def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """`torch.cat`, with its signature."""
    result: Tensor = _Cat.apply(dim, *tensors)
    return result


class _Cat(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """`torch.cat` of rows or columns."""

    @staticmethod
    def forward(dim: int, *tensors: Tensor) -> Tensor:
        return torch.cat(tensors, dim)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], dim: int, *tensors: Tensor) -> tuple[Tensor, int]:
        moved = [
            each.unsqueeze(1).expand(-1, info.batch_size, *each.shape[1:]) if bdim is None else each.movedim(bdim, 1)
            for each, bdim in zip(tensors, dims[1:], strict=True)
        ]
        return torch.cat(moved, dim + 1 if dim > 0 else dim), 1
