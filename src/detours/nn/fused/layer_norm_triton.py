"""Layer norm of stacked networks, [rows, networks, channels]: one kernel forward, one backward.

Torch's kernels take a block of threads for each row, and stacked weights would be applied by further ones.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from detours.nn.fused.columns_triton import accumulator_type, column_sums

BLOCK = 4096
"""Values per program, approximately."""
MAX_PARTS = 64
"""In the backward pass, the rows are divided into at most this many parts."""


def normalise(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    """Return (x - mean) / sqrt(variance + epsilon) · weight + bias, with mean and variance of each row.

    Args:
        x: [rows, networks, channels], contiguous.
        weight, bias: [networks, channels], with the same strides and contiguous channels.
        epsilon: Added to the variance.
    """
    rows, networks, channels = x.shape
    result = torch.empty_like(x)
    tile_rows, tile_columns = _tile(channels)
    with torch.cuda.device_of(x):
        _normalise[(triton.cdiv(rows, tile_rows), networks)](
            result,
            x,
            weight,
            bias,
            weight.stride(0),
            rows,
            channels,
            EPSILON=epsilon,
            ACC=accumulator_type(x),
            ROWS=tile_rows,
            COLUMNS=tile_columns,
        )
    return result


def normalise_backward(grad_output: Tensor, x: Tensor, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of x, weight and bias; mean and variance are computed again."""
    rows, networks, channels = x.shape
    grad_output, grad_x = grad_output.contiguous(), torch.empty_like(x)
    tile_rows, tile_columns = _tile(channels)
    length = triton.cdiv(triton.cdiv(rows, MAX_PARTS), tile_rows) * tile_rows
    parts = triton.cdiv(rows, length)
    partial = x.new_empty((parts, 2, networks, channels), dtype=torch.promote_types(x.dtype, torch.float32))
    with torch.cuda.device_of(x):
        _gradients[(parts, networks)](
            grad_x,
            partial,
            grad_output,
            x,
            weight,
            weight.stride(0),
            rows,
            channels,
            length,
            EPSILON=epsilon,
            ACC=accumulator_type(x),
            ROWS=tile_rows,
            COLUMNS=tile_columns,
        )
    grad_weight, grad_bias = column_sums(partial.view(parts, -1)).view(2, networks, channels)
    return grad_x, grad_weight, grad_bias


def _tile(channels: int) -> tuple[int, int]:
    columns = triton.next_power_of_2(channels)
    return max(1, min(64, BLOCK // columns)), columns


@triton.jit
def _standardised(x, index, mask, channels, column_mask, EPSILON, ACC):
    """The rows with mean 0 and variance 1, and what they were divided by, inverted."""
    block = tl.load(x + index, mask=mask, other=0.0).to(ACC)
    mean = tl.sum(block, 1) / channels
    centred = tl.where(column_mask[None, :], block - mean[:, None], 0.0)
    invstd = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / channels + EPSILON)
    return centred * invstd[:, None], invstd


@triton.jit
def _normalise(
    result,
    x,
    weight,
    bias,
    weight_network,
    rows,
    channels,
    EPSILON: tl.constexpr,
    ACC: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    network, networks = tl.program_id(1).to(tl.int64), tl.num_programs(1)
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.arange(0, COLUMNS)
    column_mask = column < channels
    mask = (row < rows)[:, None] & column_mask[None, :]
    index = (row[:, None] * networks + network) * channels + column[None, :]
    x_hat, _ = _standardised(x, index, mask, channels, column_mask, EPSILON, ACC)
    scale = tl.load(weight + network * weight_network + column, mask=column_mask, other=0.0).to(ACC)
    shift = tl.load(bias + network * weight_network + column, mask=column_mask, other=0.0).to(ACC)
    tl.store(result + index, (x_hat * scale[None, :] + shift[None, :]).to(result.dtype.element_ty), mask=mask)


@triton.jit
def _gradients(
    grad_x,
    partial,
    grad_output,
    x,
    weight,
    weight_network,
    rows,
    channels,
    length,
    EPSILON: tl.constexpr,
    ACC: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    part = tl.program_id(0).to(tl.int64)
    network, networks = tl.program_id(1).to(tl.int64), tl.num_programs(1)
    column = tl.arange(0, COLUMNS)
    column_mask = column < channels
    scale = tl.load(weight + network * weight_network + column, mask=column_mask, other=0.0).to(ACC)
    grad_weight = tl.zeros([COLUMNS], ACC)
    grad_bias = tl.zeros([COLUMNS], ACC)
    for first in range(0, length, ROWS):
        row = part * length + first + tl.arange(0, ROWS)
        mask = (row < rows)[:, None] & column_mask[None, :]
        index = (row[:, None] * networks + network) * channels + column[None, :]
        x_hat, invstd = _standardised(x, index, mask, channels, column_mask, EPSILON, ACC)
        grad = tl.load(grad_output + index, mask=mask, other=0.0).to(ACC)
        grad_weight += tl.sum(grad * x_hat, 0)
        grad_bias += tl.sum(grad, 0)
        scaled = grad * scale[None, :]
        along = tl.sum(scaled * x_hat, 1) / channels
        centred = scaled - (tl.sum(scaled, 1) / channels)[:, None] - x_hat * along[:, None]
        tl.store(grad_x + index, (centred * invstd[:, None]).to(grad_x.dtype.element_ty), mask=mask)
    target = partial + (part * 2 * networks + network) * channels + column
    tl.store(target, grad_weight.to(partial.dtype.element_ty), mask=column_mask)
    tl.store(target + networks.to(tl.int64) * channels, grad_bias.to(partial.dtype.element_ty), mask=column_mask)
