"""Batch norm whose statistics are of some rows, other rows in each network: three kernels forwards, three backwards.

Rows are divided into parts. The first kernel takes number, mean and squares around the mean of each part, which lose
no digits as one sum of squares would; the second joins them. Rows may have fewer than 32 bits: they are widened as they
are read, and what is summed has 32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS, ROWS = 64, 32
PARTS = 32
"""Rows are divided into at most so many parts."""


class Statistics(NamedTuple):
    """[networks · channels] each."""

    mean: Tensor
    scale: Tensor
    """1 / sqrt(variance + EPSILON)"""
    share: Tensor
    """The share of each counted row in the mean."""


class Running(NamedTuple):
    """The running statistics, changed in place: [networks, channels] each, and [networks] the batches so far."""

    mean: Tensor
    variance: Tensor
    batches: Tensor


def statistics(x: Tensor, counted: Tensor, running: Running, momentum: float, epsilon: float) -> Statistics:
    """Return the statistics of x [rows, networks, channels] over the counted [rows, networks]."""
    rows, networks, channels = x.shape
    assert all(each.is_contiguous() and each.numel() == networks * channels for each in running[:2]), running.mean.shape
    columns, (parts, length) = networks * channels, _parts(rows)
    found = x.new_empty((3, parts, columns), dtype=torch.promote_types(x.dtype, torch.float32))
    made = Statistics(*found.new_empty((3, columns)))
    grid = triton.cdiv(columns, COLUMNS)
    with torch.cuda.device_of(x):
        _part_statistics[(grid, parts)](
            found, x, counted, rows, columns, channels, parts, length, ROWS=ROWS, COLUMNS=COLUMNS
        )
        _joined[(grid,)](
            *made,
            *running,
            found,
            columns,
            channels,
            parts,
            MOMENTUM=momentum,
            EPSILON=epsilon,
            PARTS=triton.next_power_of_2(parts),
            COLUMNS=COLUMNS,
        )
    return made


def normalised(x: Tensor, known: Statistics, weight: Tensor, bias: Tensor) -> Tensor:
    """Return (x - mean) · scale · weight + bias; these two are [networks, channels], of one stride."""
    (rows, _, channels), columns = x.shape, known.mean.numel()
    result = torch.empty_like(x)
    with torch.cuda.device_of(x):
        _normalised[(triton.cdiv(rows, ROWS), triton.cdiv(columns, COLUMNS))](
            result,
            x,
            known.mean,
            known.scale,
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


def slopes(slope: Tensor, x: Tensor, counted: Tensor, known: Statistics, weight: Tensor) -> tuple[Any, ...]:
    """Return the slopes of x, of weight and of bias."""
    rows, networks, channels = x.shape
    columns, (parts, length) = networks * channels, _parts(rows)
    slope = slope.contiguous()
    found, of_x = known.mean.new_empty((2, parts, columns)), torch.empty_like(x)
    grid = triton.cdiv(columns, COLUMNS)
    with torch.cuda.device_of(x):
        _part_slopes[(grid, parts)](
            found, slope, x, known.mean, known.scale, rows, columns, parts, length, ROWS=ROWS, COLUMNS=COLUMNS
        )
        of_bias, of_weight = found.sum(1)
        _slopes[(triton.cdiv(rows, ROWS), grid)](
            of_x,
            slope,
            x,
            counted,
            *known,
            weight,
            weight.stride(0),
            of_bias,
            of_weight,
            rows,
            columns,
            channels,
            ROWS=ROWS,
            COLUMNS=COLUMNS,
        )
    return of_x, of_weight.view(networks, channels), of_bias.view(networks, channels)


def _parts(rows: int) -> tuple[int, int]:
    """How many parts, and how many rows each has, a multiple of `ROWS`."""
    length = triton.cdiv(triton.cdiv(rows, PARTS), ROWS) * ROWS
    return triton.cdiv(rows, length), length


@triton.jit
def _part_statistics(
    found, x, counted, rows, columns, channels, parts, length, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    inside, networks = column < columns, columns // channels
    wide = found.dtype.element_ty
    number = tl.zeros([COLUMNS], wide)
    total = tl.zeros([COLUMNS], wide)
    for first in range(part * length, part * length + length, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        there = (row < rows)[:, None] & inside[None, :]
        counts = tl.load(counted + row[:, None] * networks + (column // channels)[None, :], mask=there, other=0) != 0
        values = tl.load(x + row[:, None] * columns + column[None, :], mask=there & counts, other=0.0)
        number += tl.sum(counts.to(wide), 0)
        total += tl.sum(values.to(wide), 0)
    mean = total / tl.maximum(number, 1.0)
    squares = tl.zeros([COLUMNS], wide)
    for first in range(part * length, part * length + length, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        there = (row < rows)[:, None] & inside[None, :]
        counts = tl.load(counted + row[:, None] * networks + (column // channels)[None, :], mask=there, other=0) != 0
        values = tl.load(x + row[:, None] * columns + column[None, :], mask=there & counts, other=0.0)
        centred = tl.where(counts, values.to(wide) - mean[None, :], 0.0)
        squares += tl.sum(centred * centred, 0)
    place = part * columns + column
    tl.store(found + place, number, mask=inside)
    tl.store(found + parts * columns + place, mean, mask=inside)
    tl.store(found + 2 * parts * columns + place, squares, mask=inside)


@triton.jit
def _joined(
    mean,
    scale,
    share,
    running_mean,
    running_variance,
    batches,
    found,
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
    inside = column < columns
    there = (part < parts)[:, None] & inside[None, :]
    place = part[:, None] * columns + column[None, :]
    numbers = tl.load(found + place, mask=there, other=0.0)
    means = tl.load(found + parts * columns + place, mask=there, other=0.0)
    squares = tl.load(found + 2 * parts * columns + place, mask=there, other=0.0)
    number = tl.sum(numbers, 0)
    enough = number > 1
    divisor = tl.maximum(number, 1.0)
    average = tl.sum(numbers * means, 0) / divisor
    apart = means - average[None, :]
    variance = (tl.sum(squares, 0) + tl.sum(numbers * apart * apart, 0)) / divisor
    old_mean = tl.load(running_mean + column, mask=inside, other=0.0)
    old_variance = tl.load(running_variance + column, mask=inside, other=1.0)
    average = tl.where(enough, average, old_mean)
    variance = tl.where(enough, variance, old_variance)
    tl.store(mean + column, average, mask=inside)
    tl.store(scale + column, 1.0 / tl.sqrt(variance + EPSILON), mask=inside)
    tl.store(share + column, tl.where(enough, 1.0 / divisor, 0.0), mask=inside)
    unbiased = variance * (number / tl.maximum(number - 1, 1.0))
    tl.store(running_mean + column, old_mean + (average - old_mean) * MOMENTUM, mask=inside & enough)
    tl.store(running_variance + column, old_variance + (unbiased - old_variance) * MOMENTUM, mask=inside & enough)
    once = inside & enough & (column % channels == 0)
    network = column // channels
    tl.store(batches + network, tl.load(batches + network, mask=once, other=0) + 1, mask=once)


@triton.jit
def _normalised(
    result,
    x,
    mean,
    scale,
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
    inside = column < columns
    there = (row < rows)[:, None] & inside[None, :]
    place = row[:, None] * columns + column[None, :]
    own = (column // channels).to(tl.int64) * stride + column % channels  # networks may be far apart
    factor = tl.load(scale + column, mask=inside) * tl.load(weight + own, mask=inside)
    centred = tl.load(x + place, mask=there) - tl.load(mean + column, mask=inside)[None, :]
    tl.store(result + place, centred * factor[None, :] + tl.load(bias + own, mask=inside)[None, :], mask=there)


@triton.jit
def _part_slopes(found, slope, x, mean, scale, rows, columns, parts, length, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    inside = column < columns
    centre = tl.load(mean + column, mask=inside, other=0.0)
    factor = tl.load(scale + column, mask=inside, other=0.0)
    wide = found.dtype.element_ty
    of_bias = tl.zeros([COLUMNS], wide)
    of_weight = tl.zeros([COLUMNS], wide)
    for first in range(part * length, part * length + length, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        there = (row < rows)[:, None] & inside[None, :]
        place = row[:, None] * columns + column[None, :]
        given = tl.load(slope + place, mask=there, other=0.0).to(wide)
        normal = (tl.load(x + place, mask=there, other=0.0) - centre[None, :]) * factor[None, :]
        of_bias += tl.sum(given, 0)
        of_weight += tl.sum(given * normal, 0)
    place = part * columns + column
    tl.store(found + place, of_bias, mask=inside)
    tl.store(found + parts * columns + place, of_weight, mask=inside)


@triton.jit
def _slopes(
    of_x,
    slope,
    x,
    counted,
    mean,
    scale,
    share,
    weight,
    stride,
    of_bias,
    of_weight,
    rows,
    columns,
    channels,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < columns
    there = (row < rows)[:, None] & inside[None, :]
    place = row[:, None] * columns + column[None, :]
    factor = tl.load(scale + column, mask=inside, other=0.0)
    normal = (tl.load(x + place, mask=there, other=0.0) - tl.load(mean + column, mask=inside)[None, :]) * factor[
        None, :
    ]
    network = (column // channels)[None, :]
    counts = tl.load(counted + row[:, None] * (columns // channels) + network, mask=there, other=0) != 0
    part = tl.where(counts, tl.load(share + column, mask=inside, other=0.0)[None, :], 0.0)
    first = tl.load(of_bias + column, mask=inside, other=0.0)
    second = tl.load(of_weight + column, mask=inside, other=0.0)
    given = tl.load(slope + place, mask=there, other=0.0) - (first[None, :] + normal * second[None, :]) * part
    own = (column // channels).to(tl.int64) * stride + column % channels  # networks may be far apart
    tl.store(of_x + place, given * (factor * tl.load(weight + own, mask=inside))[None, :], mask=there)
