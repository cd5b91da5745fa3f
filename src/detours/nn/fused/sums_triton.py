"""Sums of rows by group, with no addition to memory that another may be adding to: the same bits every time."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from detours.nn.fused.columns_triton import exact
from detours.nn.fused.groups import Groups

ROWS, COLUMNS = 16, 128
"""Of one program."""
SMALL_GROUPS, LARGE_GROUPS = (8, 128), (32, 64)
"""Rows and columns at a time, where one program has all rows of a group."""


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
        source: ``values[source[e]]`` is taken instead.
        weight: [E] each is multiplied by ``weight[e]``.
        positive: Like `values`; only what belongs to a number above 0 is taken.
    """
    values, source, weight, positive = (
        None if each is None else each.contiguous() for each in (values, source, weight, positive)
    )
    number, columns = groups.begins.numel() - 1, values[0].numel()
    for each, shape in ((source, groups.rows.shape), (weight, groups.rows.shape), (positive, values.shape)):
        assert each is None or each.shape == shape, (each.shape, shape)
    dtype = values.dtype if weight is None else torch.promote_types(values.dtype, weight.dtype)
    sums: Tensor = values.new_empty((number, *values.shape[1:]), dtype=dtype)
    tile = SMALL_GROUPS if groups.rows.numel() <= 8 * number else LARGE_GROUPS
    with torch.cuda.device_of(values):
        _sums[(number, triton.cdiv(columns, tile[1]))](
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
            EXACT=exact(sums),
            ROWS=tile[0],
            COLUMNS=tile[1],
            num_warps=1,  # so each thread has some columns of all rows, and adds without the others
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
            result, x, index, other, other_index, rows, columns, EXACT=exact(x), ROWS=ROWS, COLUMNS=COLUMNS
        )
    return result


@triton.jit
def _sums(
    sums,
    values,
    rows,
    begins,
    source,
    weight,
    positive,
    columns,
    HAS_SOURCE: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    HAS_POSITIVE: tl.constexpr,
    EXACT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    group = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < columns
    begin, end = tl.load(begins + group), tl.load(begins + group + 1)
    total = tl.zeros([COLUMNS], EXACT)
    for first in range(begin, end, ROWS):
        place = first + tl.arange(0, ROWS)
        there = place < end
        row = tl.load(rows + place, mask=there, other=0)
        at = tl.load(source + row, mask=there, other=0).to(tl.int64) if HAS_SOURCE else row
        where = at[:, None] * columns + column[None, :]
        taken = there[:, None] & inside[None, :]
        if HAS_POSITIVE:
            taken = taken & (tl.load(positive + where, mask=taken, other=0.0) > 0)
        part = tl.load(values + where, mask=taken, other=0.0).to(EXACT)
        if HAS_WEIGHT:
            part = part * tl.load(weight + row, mask=there, other=0.0).to(EXACT)[:, None]
        total += tl.sum(part, 0)
    tl.store(sums + group * columns + column, total.to(sums.dtype.element_ty), mask=inside)


@triton.jit
def _relu_of_both(
    result,
    x,
    index,
    other,
    other_index,
    rows,
    columns,
    EXACT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    there = (row < rows)[:, None] & (column < columns)[None, :]
    one = tl.load(index + row, mask=row < rows, other=0).to(tl.int64)
    two = tl.load(other_index + row, mask=row < rows, other=0).to(tl.int64)
    first = tl.load(x + one[:, None] * columns + column[None, :], mask=there, other=0.0).to(EXACT)
    second = tl.load(other + two[:, None] * columns + column[None, :], mask=there, other=0.0).to(EXACT)
    value = tl.maximum(first + second, 0.0, propagate_nan=tl.PropagateNan.ALL).to(result.dtype.element_ty)
    tl.store(result + row[:, None] * columns + column[None, :], value, mask=there)
