"""Biases: a row that is added to all rows of a matrix, and the sum of all rows, its slopes.

The sum is the shortest of the kernels, so the one to try Triton with.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, COLUMNS = 16, 128
"""Of one program."""
PARTS = 64
"""A long sum is divided into at most so many."""


def column_sums(values: Tensor) -> Tensor:
    """Return the sum of all rows of a matrix, in 32 bits at least."""
    rows, columns = values.shape
    length = triton.cdiv(triton.cdiv(rows, PARTS), ROWS) * ROWS
    parts = triton.cdiv(rows, length)
    found = values.new_empty((parts, columns), dtype=torch.promote_types(values.dtype, torch.float32))
    with torch.cuda.device_of(values):
        _column_sums[(triton.cdiv(columns, COLUMNS), parts)](
            found, values, rows, columns, length, EXACT=exact(values), ROWS=ROWS, COLUMNS=COLUMNS
        )
    sums: Tensor = found.sum(0)
    return sums


def add_to_rows(values: Tensor, added: Tensor) -> None:
    """Add a row to all rows [rows, networks, channels], in place; the row [networks, channels] may have more bits."""
    rows, networks, width = values.shape
    added = added if added.stride(1) == 1 else added.contiguous()
    with torch.cuda.device_of(values):
        _add_to_rows[(triton.cdiv(rows, ROWS), triton.cdiv(networks * width, COLUMNS))](
            values,
            added,
            rows,
            networks * width,
            width,
            added.stride(0),
            EXACT=exact(values),
            ROWS=ROWS,
            COLUMNS=COLUMNS,
        )


def exact(values: Tensor) -> tl.dtype:
    """Return the type that numbers of this one are added in."""
    return tl.float64 if values.dtype == torch.float64 else tl.float32


@triton.jit
def _column_sums(found, values, rows, columns, length, EXACT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    total = tl.zeros([ROWS, COLUMNS], EXACT)
    for first in range(part * length, part * length + length, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        there = (row < rows)[:, None] & (column < columns)[None, :]
        total += tl.load(values + row[:, None] * columns + column[None, :], mask=there, other=0.0).to(EXACT)
    tl.store(found + part * columns + column, tl.sum(total, 0).to(found.dtype.element_ty), mask=column < columns)


@triton.jit
def _add_to_rows(
    values, added, rows, columns, width, network, EXACT: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    place = values + row[:, None] * columns + column[None, :]
    there = (row < rows)[:, None] & (column < columns)[None, :]
    where = (column // width).to(tl.int64) * network + column % width  # networks may be far apart
    more = tl.load(added + where, mask=column < columns, other=0.0).to(EXACT)
    total = tl.load(place, mask=there, other=0.0).to(EXACT) + more[None, :]
    tl.store(place, total.to(values.dtype.element_ty), mask=there)
