"""Sums of rows by group without atomic additions, so that they are the same bits every time."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from detours.nn.fused.columns_triton import accumulator_type
from detours.nn.fused.groups import Groups

ROWS, COLUMNS = 16, 128
"""Per program."""
SMALL_TILE, LARGE_TILE = (8, 128), (32, 64)
"""(rows, columns) at a time, where one program sums all rows of a group."""


def sums_of_groups(
    values: Tensor,
    groups: Groups,
    *,
    source: Tensor | None = None,
    weight: Tensor | None = None,
    positive: Tensor | None = None,
) -> Tensor:
    """Return [groups, …]: the sum over the rows e of each group of ``values[e]``.

    Args:
        values: [rows, …].
        groups: The rows of each group.
        source: [E] sum ``values[source[e]]`` instead.
        weight: [E] multiply each row by ``weight[e]``.
        positive: Like `values`; sum only values where this is above 0.
    """
    values, source, weight, positive = (
        None if each is None else each.contiguous() for each in (values, source, weight, positive)
    )
    num_groups, columns = groups.begins.numel() - 1, values[0].numel()
    for each, shape in ((source, groups.rows.shape), (weight, groups.rows.shape), (positive, values.shape)):
        assert each is None or each.shape == shape, (each.shape, shape)
    dtype = values.dtype if weight is None else torch.promote_types(values.dtype, weight.dtype)
    sums: Tensor = values.new_empty((num_groups, *values.shape[1:]), dtype=dtype)
    tile = SMALL_TILE if groups.rows.numel() <= 8 * num_groups else LARGE_TILE
    with torch.cuda.device_of(values):
        _sums[(num_groups, triton.cdiv(columns, tile[1]))](
            sums,
            values,
            groups.rows,
            groups.begins,
            groups.rows if source is None else source,
            values if weight is None else weight,
            values if positive is None else positive,
            columns,
            HAS_SOURCE=source is not None,
            HAS_WEIGHT=weight is not None,
            HAS_POSITIVE=positive is not None,
            ACC=accumulator_type(sums),
            ROWS=tile[0],
            COLUMNS=tile[1],
            num_warps=1,  # so each thread sums its own columns over all rows
        )
    return sums


def relu_of_both(x: Tensor, index: Tensor, other: Tensor, other_index: Tensor) -> Tensor:
    """Return ReLU(``x[index] + other[other_index]``)."""
    x, index, other, other_index = (each.contiguous() for each in (x, index, other, other_index))
    rows, columns = index.numel(), x[0].numel()
    assert index.shape == other_index.shape and x.shape[1:] == other.shape[1:], (x.shape, other.shape)
    result: Tensor = x.new_empty((rows, *x.shape[1:]))
    with torch.cuda.device_of(x):
        _relu_of_both[(triton.cdiv(rows, ROWS), triton.cdiv(columns, COLUMNS))](
            result, x, index, other, other_index, rows, columns, ACC=accumulator_type(x), ROWS=ROWS, COLUMNS=COLUMNS
        )
    return result


@triton.jit
def _sums(
    sums,
    values,
    rows,
    offsets,
    source,
    weight,
    positive,
    columns,
    HAS_SOURCE: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    HAS_POSITIVE: tl.constexpr,
    ACC: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    group = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    column_mask = column < columns
    start, end = tl.load(offsets + group), tl.load(offsets + group + 1)
    total = tl.zeros([COLUMNS], ACC)
    for first in range(start, end, ROWS):
        position = first + tl.arange(0, ROWS)
        row_mask = position < end
        row = tl.load(rows + position, mask=row_mask, other=0)
        source_row = tl.load(source + row, mask=row_mask, other=0).to(tl.int64) if HAS_SOURCE else row
        index = source_row[:, None] * columns + column[None, :]
        mask = row_mask[:, None] & column_mask[None, :]
        if HAS_POSITIVE:
            mask = mask & (tl.load(positive + index, mask=mask, other=0.0) > 0)
        block = tl.load(values + index, mask=mask, other=0.0).to(ACC)
        if HAS_WEIGHT:
            block = block * tl.load(weight + row, mask=row_mask, other=0.0).to(ACC)[:, None]
        total += tl.sum(block, 0)
    tl.store(sums + group * columns + column, total.to(sums.dtype.element_ty), mask=column_mask)


@triton.jit
def _relu_of_both(
    result,
    x,
    index,
    other,
    other_index,
    rows,
    columns,
    ACC: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (row < rows)[:, None] & (column < columns)[None, :]
    x_row = tl.load(index + row, mask=row < rows, other=0).to(tl.int64)
    other_row = tl.load(other_index + row, mask=row < rows, other=0).to(tl.int64)
    first = tl.load(x + x_row[:, None] * columns + column[None, :], mask=mask, other=0.0).to(ACC)
    second = tl.load(other + other_row[:, None] * columns + column[None, :], mask=mask, other=0.0).to(ACC)
    value = tl.maximum(first + second, 0.0, propagate_nan=tl.PropagateNan.ALL).to(result.dtype.element_ty)
    tl.store(result + row[:, None] * columns + column[None, :], value, mask=mask)
