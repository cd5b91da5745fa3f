"""Linear maps of stacked networks: narrow ones, whose products are over before a library of large ones has begun.

Numbers lie [rows, networks, channels]. Forwards, and for the slopes of x, a kernel takes the bias with it. The slopes
of weight and bias are one kernel: rows are divided into parts, and whichever program is last to finish a part adds them
up, always in the same order.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

WIDEST = 256
"""Channels in and out; wider products are those of the library."""
TILE = 64
"""Rows and columns of a result, at most, that a program takes."""
ROWS = 32
"""Rows that a program adds up at a time."""
SHORTEST = 64
"""A sum is not divided into shorter ones than this."""
PROGRAMS = 264
"""So many keep a large device busy."""


def narrow(x: Tensor, width: int) -> bool:
    """Whether a map of x [networks, rows, channels] to so many channels is one for these kernels."""
    return bool(x.dtype != torch.float64 and x.stride(2) == 1 and max(x.size(2), width) <= WIDEST)


def mapped(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return [rows, networks, out]: x [networks, rows, in] times matrix [networks, in, out], plus bias.

    The bias is [networks, out] or [networks, rows, out].
    """
    (networks, rows, channels), width = x.shape, matrix.size(2)
    result = x.new_empty((rows, networks, width))
    if bias is not None and bias.stride(-1) != 1:
        bias = bias.contiguous()
    of_rows = 0 if bias is None or bias.dim() == 2 else bias.stride(1)
    tile = _tile(width)
    with torch.cuda.device_of(x):
        _mapped[(triton.cdiv(rows, TILE), networks * triton.cdiv(width, tile))](
            result,
            x,
            matrix,
            result if bias is None else bias,
            rows,
            networks,
            width,
            channels,
            x.stride(1),
            x.stride(0),
            *matrix.stride(),
            of_rows,
            0 if bias is None else bias.stride(0),
            BIAS=bias is not None,
            PRECISION=_precision(),
            ROWS=TILE,
            OUT=tile,
            IN=min(32, _tile(channels)),
        )
    return result


def slopes(x: Tensor, slope: Tensor, *, bias: bool) -> tuple[Tensor, Tensor | None]:
    """Return the slopes of weight [networks, out, in] and of bias [networks, out].

    Args:
        x: [networks, rows, in]
        slope: [rows, networks, out] of the result, contiguous.
        bias: Whether that of the bias is asked for.
    """
    (rows, networks, width), channels = slope.shape, x.size(2)
    tile, other = _tile(width), _tile(channels)
    across = triton.cdiv(channels, other)
    tiles = networks * triton.cdiv(width, tile) * across
    parts = max(1, min(PROGRAMS // tiles, triton.cdiv(rows, SHORTEST)))
    length = triton.cdiv(triton.cdiv(rows, parts), ROWS) * ROWS
    parts = triton.cdiv(rows, length)
    of_weight, of_bias = slope.new_empty((networks, width, channels)), slope.new_empty((networks, width))
    found = torch.empty((parts, networks * width, channels + 1), dtype=torch.float32, device=x.device)
    arrived = torch.zeros(tiles, dtype=torch.int32, device=x.device)
    with torch.cuda.device_of(x):
        _slopes[(tiles, parts)](
            of_weight,
            of_bias,
            found,
            arrived,
            slope,
            x,
            rows,
            networks,
            width,
            channels,
            x.stride(1),
            x.stride(0),
            length,
            across,
            BIAS=bias,
            PRECISION=_precision(),
            ROWS=ROWS,
            OUT=tile,
            IN=other,
        )
    return of_weight, of_bias if bias else None


def _tile(channels: int) -> int:
    return int(min(TILE, max(16, triton.next_power_of_2(channels))))


def _precision() -> str:
    """As products of torch have it."""
    return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"


@triton.jit
def _mapped(
    result,
    x,
    matrix,
    bias,
    rows,
    networks,
    width,
    channels,
    x_row,
    x_network,
    matrix_network,
    matrix_in,
    matrix_out,
    bias_row,
    bias_network,
    BIAS: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    OUT: tl.constexpr,
    IN: tl.constexpr,
):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    network = tl.program_id(1) % networks
    out = tl.program_id(1) // networks * OUT + tl.arange(0, OUT)
    inside, there = out < width, row < rows
    total = tl.zeros([ROWS, OUT], tl.float32)
    for first in range(0, channels, IN):
        channel = first + tl.arange(0, IN)
        seen = tl.load(
            x + row[:, None] * x_row + network * x_network + channel[None, :],
            mask=there[:, None] & (channel < channels)[None, :],
            other=0.0,
        )
        weights = tl.load(
            matrix + network * matrix_network + channel[:, None] * matrix_in + out[None, :] * matrix_out,
            mask=(channel < channels)[:, None] & inside[None, :],
            other=0.0,
        )
        total = tl.dot(seen, weights, total, input_precision=PRECISION)
    both = there[:, None] & inside[None, :]
    if BIAS:
        place = row[:, None] * bias_row + network * bias_network + out[None, :]
        total += tl.load(bias + place, mask=both, other=0.0).to(tl.float32)
    place = (row[:, None] * networks + network) * width + out[None, :]
    tl.store(result + place, total.to(result.dtype.element_ty), mask=both)


@triton.jit
def _slopes(
    of_weight,
    of_bias,
    found,
    arrived,
    slope,
    x,
    rows,
    networks,
    width,
    channels,
    x_row,
    x_network,
    length,
    across,
    BIAS: tl.constexpr,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    OUT: tl.constexpr,
    IN: tl.constexpr,
):
    tile, part = tl.program_id(0), tl.program_id(1)
    network = tile // across % networks
    out = tile // across // networks * OUT + tl.arange(0, OUT)
    channel = tile % across * IN + tl.arange(0, IN)
    inside, known = out < width, channel < channels
    total = tl.zeros([OUT, IN], tl.float32)
    sums = tl.zeros([OUT], tl.float32)
    for first in range(part * length, part * length + length, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        there = row < rows
        given = tl.load(
            slope + (row[:, None] * networks + network) * width + out[None, :],
            mask=there[:, None] & inside[None, :],
            other=0.0,
        )
        seen = tl.load(
            x + row[:, None] * x_row + network * x_network + channel[None, :],
            mask=there[:, None] & known[None, :],
            other=0.0,
        )
        total = tl.dot(tl.trans(given), seen, total, input_precision=PRECISION)
        if BIAS:
            sums += tl.sum(given.to(tl.float32), 0)
    both, own = inside[:, None] & known[None, :], network * width + out
    begins_row = out < tl.where(tile % across == 0, width, 0)
    parts = tl.num_programs(1)
    last = parts == 1
    if parts > 1:
        # one more column for the bias
        line, size = own * (channels + 1), networks * width * (channels + 1)
        mine = found + part * size
        tl.store(mine + line[:, None] + channel[None, :], total, mask=both)
        if BIAS:
            tl.store(mine + line + channels, sums, mask=begins_row)
        tl.debug_barrier()  # all of it is there before it is said to be
        last = tl.atomic_add(arrived + tile, 1, sem="acq_rel") == parts - 1
        if last:
            total = tl.zeros([OUT, IN], tl.float32)
            sums = tl.zeros([OUT], tl.float32)
            for each in range(parts):
                theirs = found + each * size
                total += tl.load(theirs + line[:, None] + channel[None, :], mask=both, other=0.0, cache_modifier=".cg")
                if BIAS:
                    sums += tl.load(theirs + line + channels, mask=begins_row, other=0.0, cache_modifier=".cg")
    if last:
        place = own[:, None] * channels + channel[None, :]
        tl.store(of_weight + place, total.to(of_weight.dtype.element_ty), mask=both)
        if BIAS:
            tl.store(of_bias + own, sums.to(of_bias.dtype.element_ty), mask=begins_row)
