"""Batch norm with statistics over some rows, different ones per network: three kernels forward, three backward.

Rows are divided into parts. The first kernel computes count, mean and squared deviations of each part, which loses no
digits as a plain sum of squares would; the second combines them. Rows of 16 bits are widened when they are read, and
summed in 32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS, ROWS = 64, 32
PARTS = 32
"""Rows are divided into at most this many parts."""


class Statistics(NamedTuple):
    """Of each column, [networks · channels]."""

    mean: Tensor
    invstd: Tensor
    """1 / sqrt(variance + epsilon)"""
    share: Tensor
    """The weight of each counted row in the mean: 1 / count, or 0 if fewer than two rows count."""


class Running(NamedTuple):
    """The running statistics, updated in place: [networks, channels] each, and [networks] the batches so far."""

    mean: Tensor
    variance: Tensor
    batches: Tensor


def statistics(x: Tensor, counted: Tensor, running: Running, momentum: float, epsilon: float) -> Statistics:
    """Return the statistics of x [rows, networks, channels] over the rows with `counted` [rows, networks]."""
    rows, networks, channels = x.shape
    assert all(each.is_contiguous() and each.numel() == networks * channels for each in running[:2]), running.mean.shape
    columns, (parts, length) = networks * channels, _parts(rows)
    partial = x.new_empty((3, parts, columns), dtype=torch.promote_types(x.dtype, torch.float32))
    result = Statistics(*partial.new_empty((3, columns)))
    grid = triton.cdiv(columns, COLUMNS)
    with torch.cuda.device_of(x):
        _part_statistics[(grid, parts)](
            partial, x, counted, rows, columns, channels, parts, length, ROWS=ROWS, COLUMNS=COLUMNS
        )
        _combined[(grid,)](
            *result,
            *running,
            partial,
            columns,
            channels,
            parts,
            MOMENTUM=momentum,
            EPSILON=epsilon,
            PARTS=triton.next_power_of_2(parts),
            COLUMNS=COLUMNS,
        )
    return result


def normalise(x: Tensor, stats: Statistics, weight: Tensor, bias: Tensor) -> Tensor:
    """Return (x - mean) · invstd · weight + bias; weight and bias are [networks, channels], with the same strides."""
    (rows, _, channels), columns = x.shape, stats.mean.numel()
    result = torch.empty_like(x)
    with torch.cuda.device_of(x):
        _normalise[(triton.cdiv(rows, ROWS), triton.cdiv(columns, COLUMNS))](
            result,
            x,
            stats.mean,
            stats.invstd,
            weight,
            bias,
            weight.stride(0),
            rows,
            columns,
            channels,
            ROWS=ROWS,
            COLUMNS=COLUMNS,
        )
    return result


def normalise_backward(
    grad_output: Tensor, x: Tensor, counted: Tensor, stats: Statistics, weight: Tensor
) -> tuple[Any, ...]:
    """Return the gradients of x, weight and bias."""
    rows, networks, channels = x.shape
    columns, (parts, length) = networks * channels, _parts(rows)
    grad_output = grad_output.contiguous()
    partial, grad_x = stats.mean.new_empty((2, parts, columns)), torch.empty_like(x)
    grid = triton.cdiv(columns, COLUMNS)
    with torch.cuda.device_of(x):
        _part_grad_sums[(grid, parts)](
            partial, grad_output, x, stats.mean, stats.invstd, rows, columns, parts, length, ROWS=ROWS, COLUMNS=COLUMNS
        )
        grad_bias, grad_weight = partial.sum(1)
        _grad_x[(triton.cdiv(rows, ROWS), grid)](
            grad_x,
            grad_output,
            x,
            counted,
            *stats,
            weight,
            weight.stride(0),
            grad_bias,
            grad_weight,
            rows,
            columns,
            channels,
            ROWS=ROWS,
            COLUMNS=COLUMNS,
        )
    return grad_x, grad_weight.view(networks, channels), grad_bias.view(networks, channels)


def _parts(rows: int) -> tuple[int, int]:
    """The number of parts, and of rows in each, a multiple of `ROWS`."""
    length = triton.cdiv(triton.cdiv(rows, PARTS), ROWS) * ROWS
    return triton.cdiv(rows, length), length


@triton.jit
def _part_statistics(
    partial, x, counted, rows, columns, channels, parts, length, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    column_mask, networks = column < columns, columns // channels
    acc_type = partial.dtype.element_ty
    count = tl.zeros([COLUMNS], acc_type)
    total = tl.zeros([COLUMNS], acc_type)
    for first in range(part * length, part * length + length, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        mask = (row < rows)[:, None] & column_mask[None, :]
        is_counted = tl.load(counted + row[:, None] * networks + (column // channels)[None, :], mask=mask, other=0) != 0
        values = tl.load(x + row[:, None] * columns + column[None, :], mask=mask & is_counted, other=0.0)
        count += tl.sum(is_counted.to(acc_type), 0)
        total += tl.sum(values.to(acc_type), 0)
    mean = total / tl.maximum(count, 1.0)
    squares = tl.zeros([COLUMNS], acc_type)
    for first in range(part * length, part * length + length, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        mask = (row < rows)[:, None] & column_mask[None, :]
        is_counted = tl.load(counted + row[:, None] * networks + (column // channels)[None, :], mask=mask, other=0) != 0
        values = tl.load(x + row[:, None] * columns + column[None, :], mask=mask & is_counted, other=0.0)
        centred = tl.where(is_counted, values.to(acc_type) - mean[None, :], 0.0)
        squares += tl.sum(centred * centred, 0)
    index = part * columns + column
    tl.store(partial + index, count, mask=column_mask)
    tl.store(partial + parts * columns + index, mean, mask=column_mask)
    tl.store(partial + 2 * parts * columns + index, squares, mask=column_mask)


@triton.jit
def _combined(
    mean,
    invstd,
    share,
    running_mean,
    running_variance,
    batches,
    partial,
    columns,
    channels,
    parts,
    MOMENTUM: tl.constexpr,
    EPSILON: tl.constexpr,
    PARTS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.arange(0, PARTS)
    column_mask = column < columns
    mask = (part < parts)[:, None] & column_mask[None, :]
    index = part[:, None] * columns + column[None, :]
    counts = tl.load(partial + index, mask=mask, other=0.0)
    means = tl.load(partial + parts * columns + index, mask=mask, other=0.0)
    squares = tl.load(partial + 2 * parts * columns + index, mask=mask, other=0.0)
    count = tl.sum(counts, 0)
    enough = count > 1
    divisor = tl.maximum(count, 1.0)
    average = tl.sum(counts * means, 0) / divisor
    deviation = means - average[None, :]
    variance = (tl.sum(squares, 0) + tl.sum(counts * deviation * deviation, 0)) / divisor
    old_mean = tl.load(running_mean + column, mask=column_mask, other=0.0)
    old_variance = tl.load(running_variance + column, mask=column_mask, other=1.0)
    average = tl.where(enough, average, old_mean)
    variance = tl.where(enough, variance, old_variance)
    tl.store(mean + column, average, mask=column_mask)
    tl.store(invstd + column, 1.0 / tl.sqrt(variance + EPSILON), mask=column_mask)
    tl.store(share + column, tl.where(enough, 1.0 / divisor, 0.0), mask=column_mask)
    unbiased = variance * (count / tl.maximum(count - 1, 1.0))
    tl.store(running_mean + column, old_mean + (average - old_mean) * MOMENTUM, mask=column_mask & enough)
    tl.store(running_variance + column, old_variance + (unbiased - old_variance) * MOMENTUM, mask=column_mask & enough)
    once = column_mask & enough & (column % channels == 0)
    network = column // channels
    tl.store(batches + network, tl.load(batches + network, mask=once, other=0) + 1, mask=once)


@triton.jit
def _normalise(
    result,
    x,
    mean,
    invstd,
    weight,
    bias,
    stride,
    rows,
    columns,
    channels,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    column_mask = column < columns
    mask = (row < rows)[:, None] & column_mask[None, :]
    index = row[:, None] * columns + column[None, :]
    parameter_index = (column // channels).to(
        tl.int64
    ) * stride + column % channels  # networks may be far apart in memory
    scale = tl.load(invstd + column, mask=column_mask) * tl.load(weight + parameter_index, mask=column_mask)
    centred = tl.load(x + index, mask=mask) - tl.load(mean + column, mask=column_mask)[None, :]
    tl.store(
        result + index, centred * scale[None, :] + tl.load(bias + parameter_index, mask=column_mask)[None, :], mask=mask
    )


@triton.jit
def _part_grad_sums(
    partial, grad_output, x, mean, invstd, rows, columns, parts, length, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    column_mask = column < columns
    mean_value = tl.load(mean + column, mask=column_mask, other=0.0)
    invstd_value = tl.load(invstd + column, mask=column_mask, other=0.0)
    acc_type = partial.dtype.element_ty
    grad_bias = tl.zeros([COLUMNS], acc_type)
    grad_weight = tl.zeros([COLUMNS], acc_type)
    for first in range(part * length, part * length + length, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        mask = (row < rows)[:, None] & column_mask[None, :]
        index = row[:, None] * columns + column[None, :]
        grad_out = tl.load(grad_output + index, mask=mask, other=0.0).to(acc_type)
        x_hat = (tl.load(x + index, mask=mask, other=0.0) - mean_value[None, :]) * invstd_value[None, :]
        grad_bias += tl.sum(grad_out, 0)
        grad_weight += tl.sum(grad_out * x_hat, 0)
    index = part * columns + column
    tl.store(partial + index, grad_bias, mask=column_mask)
    tl.store(partial + parts * columns + index, grad_weight, mask=column_mask)


@triton.jit
def _grad_x(
    grad_x,
    grad_output,
    x,
    counted,
    mean,
    invstd,
    share,
    weight,
    stride,
    grad_bias,
    grad_weight,
    rows,
    columns,
    channels,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    column_mask = column < columns
    mask = (row < rows)[:, None] & column_mask[None, :]
    index = row[:, None] * columns + column[None, :]
    invstd_value = tl.load(invstd + column, mask=column_mask, other=0.0)
    x_hat = (
        tl.load(x + index, mask=mask, other=0.0) - tl.load(mean + column, mask=column_mask)[None, :]
    ) * invstd_value[None, :]
    network = (column // channels)[None, :]
    is_counted = tl.load(counted + row[:, None] * (columns // channels) + network, mask=mask, other=0) != 0
    row_share = tl.where(is_counted, tl.load(share + column, mask=column_mask, other=0.0)[None, :], 0.0)
    bias_sum = tl.load(grad_bias + column, mask=column_mask, other=0.0)
    weight_sum = tl.load(grad_weight + column, mask=column_mask, other=0.0)
    grad_out = (
        tl.load(grad_output + index, mask=mask, other=0.0)
        - (bias_sum[None, :] + x_hat * weight_sum[None, :]) * row_share
    )
    parameter_index = (column // channels).to(
        tl.int64
    ) * stride + column % channels  # networks may be far apart in memory
    tl.store(
        grad_x + index,
        grad_out * (invstd_value * tl.load(weight + parameter_index, mask=column_mask))[None, :],
        mask=mask,
    )
