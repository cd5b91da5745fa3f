"""Biases: adding a row to all rows of a matrix, and the gradient of that, the sum of all rows.

The sum is the shortest of the kernels, so it is the one that Triton is tried out with.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 64, 32
"""At a time; 32 columns are what a device reads at once."""
MAX_PARTS = 64
"""A long sum is split into at most this many parts."""


def column_sums(values: Tensor) -> Tensor:
    """Return the sum of all rows of a matrix, in 32 bits at least."""
    rows, columns = values.shape
    length = triton.cdiv(triton.cdiv(rows, MAX_PARTS), ROWS) * ROWS
    parts = triton.cdiv(rows, length)
    partial = values.new_empty((parts, columns), dtype=torch.promote_types(values.dtype, torch.float32))
    with torch.cuda.device_of(values):
        _column_sums[(triton.cdiv(columns, COLUMNS), parts)](
            partial, values, rows, columns, length, ACC=accumulator_type(values), ROWS=ROWS, COLUMNS=COLUMNS
        )
    return partial[0] if parts == 1 else column_sums(partial)


def add_to_rows(values: Tensor, bias: Tensor) -> None:
    """Add a bias [networks, channels], possibly of a wider type, to all rows [rows, networks, channels] in place."""
    rows, networks, width = values.shape
    bias = bias if bias.stride(1) == 1 else bias.contiguous()
    with torch.cuda.device_of(values):
        _add_to_rows[(triton.cdiv(rows, ROWS), triton.cdiv(networks * width, COLUMNS))](
            values,
            bias,
            rows,
            networks * width,
            width,
            bias.stride(0),
            ACC=accumulator_type(values),
            ROWS=ROWS,
            COLUMNS=COLUMNS,
        )


def accumulator_type(values: Tensor) -> tl.dtype:
    """Return the type in which values of this type are summed."""
    return tl.float64 if values.dtype == torch.float64 else tl.float32


@triton.jit
def _column_sums(partial, values, rows, columns, length, ACC: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    total = tl.zeros([ROWS, COLUMNS], ACC)
    for first in range(part * length, tl.minimum(part * length + length, rows), ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        mask = (row < rows)[:, None] & (column < columns)[None, :]
        total += tl.load(values + row[:, None] * columns + column[None, :], mask=mask, other=0.0).to(ACC)
    tl.store(partial + part * columns + column, tl.sum(total, 0).to(partial.dtype.element_ty), mask=column < columns)


@triton.jit
def _add_to_rows(
    values, bias, rows, columns, width, bias_network, ACC: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    pointer = values + row[:, None] * columns + column[None, :]
    mask = (row < rows)[:, None] & (column < columns)[None, :]
    bias_index = (column // width).to(tl.int64) * bias_network + column % width  # networks may be far apart in memory
    term = tl.load(bias + bias_index, mask=column < columns, other=0.0).to(ACC)
    total = tl.load(pointer, mask=mask, other=0.0).to(ACC) + term[None, :]
    tl.store(pointer, total.to(values.dtype.element_ty), mask=mask)
