"""Narrow linear maps of stacked networks, [rows, networks, channels]: products with a fused bias.

Used forward and for the gradient of x. That of the weights is a sum over all rows, where torch's products are faster.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

MAX_CHANNELS = 256
"""Channels in and out, at most; wider products are left to torch."""
TILE = 64
"""Rows and columns of the result per program, at most."""
MAX_DEPTH = 32
"""Channels multiplied at a time, at most."""


def is_narrow(x: Tensor, width: int) -> bool:
    """Whether these kernels handle a linear map of x [networks, rows, channels] to `width` channels."""
    return bool(x.dtype != torch.float64 and x.stride(2) == 1 and max(x.size(2), width) <= MAX_CHANNELS)


def batched_linear(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return [rows, networks, out]: x [networks, rows, in] times matrix [networks, in, out], plus bias.

    The bias is [networks, out] or [networks, rows, out].
    """
    (networks, rows, channels), width = x.shape, matrix.size(2)
    result = x.new_empty((rows, networks, width))
    if bias is not None and bias.stride(-1) != 1:
        bias = bias.contiguous()
    bias_row_stride = 0 if bias is None or bias.dim() == 2 or bias.size(1) == 1 else bias.stride(1)
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
            bias_row_stride,
            0 if bias is None else bias.stride(0),
            BIAS=bias is not None,
            PRECISION=product_precision(),
            ROWS=TILE,
            OUT=tile,
            IN=min(MAX_DEPTH, _tile(channels)),
        )
    return result


def _tile(channels: int) -> int:
    return int(min(TILE, max(16, triton.next_power_of_2(channels))))


def product_precision() -> str:
    """The precision of torch's own products."""
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
    network = (tl.program_id(1) % networks).to(tl.int64)  # networks may be far apart in memory
    out = tl.program_id(1) // networks * OUT + tl.arange(0, OUT)
    out_mask, row_mask = out < width, row < rows
    total = tl.zeros([ROWS, OUT], tl.float32)
    for first in range(0, channels, IN):
        channel = first + tl.arange(0, IN)
        x_block = tl.load(
            x + row[:, None] * x_row + network * x_network + channel[None, :],
            mask=row_mask[:, None] & (channel < channels)[None, :],
            other=0.0,
        )
        matrix_block = tl.load(
            matrix + network * matrix_network + channel[:, None] * matrix_in + out[None, :] * matrix_out,
            mask=(channel < channels)[:, None] & out_mask[None, :],
            other=0.0,
        )
        total = tl.dot(x_block, matrix_block, total, input_precision=PRECISION)
    mask = row_mask[:, None] & out_mask[None, :]
    if BIAS:
        index = row[:, None] * bias_row + network * bias_network + out[None, :]
        total += tl.load(bias + index, mask=mask, other=0.0).to(tl.float32)
    index = (row[:, None] * networks + network) * width + out[None, :]
    tl.store(result + index, total.to(result.dtype.element_ty), mask=mask)
