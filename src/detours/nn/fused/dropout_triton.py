"""Dropout of stacked networks, [rows, networks, channels], with one read and one write of each value."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
"""Random numbers per program, each of which it uses for every network."""


def dropout(x: Tensor, bits: Tensor, factor: Tensor, rate: Tensor) -> Tensor:
    """Return x [rows, networks, …] with some values dropped, and the others times 1 / (1 - rate).

    A value is dropped if its bits [rows, …], times the factor [networks] of its network, are below the network's rate
    [networks].
    """
    result = x.new_empty(x.shape)
    x, bits = x.reshape(*x.shape[:2], -1), bits.reshape(len(bits), -1)
    rows, networks, channels = x.shape
    block_channels = min(BLOCK, max(16, triton.next_power_of_2(channels)))
    block_rows = BLOCK // block_channels
    with torch.cuda.device_of(x):
        _dropout[(triton.cdiv(rows, block_rows), triton.cdiv(channels, block_channels))](
            result,
            x,
            bits,
            factor,
            rate,
            rows,
            networks,
            channels,
            *x.stride(),
            ROWS=block_rows,
            CHANNELS=block_channels,
        )
    return result


@triton.jit
def _dropout(
    result,
    x,
    bits,
    factors,
    rates,
    rows,
    networks,
    channels,
    x_row,
    x_network,
    x_channel,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]  # there may be 2^31 results
    channel = (tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)).to(tl.int64)[None, :]
    mask = (row < rows) & (channel < channels)
    drawn = tl.load(bits + row * channels + channel, mask=mask, other=0)
    x += row * x_row + channel * x_channel
    result += row * networks * channels + channel
    for network in range(networks):
        rate = tl.load(rates + network)
        kept = (drawn * tl.load(factors + network)).to(rate.dtype) >= rate * 4294967296.0 - 2147483648.0
        # a product, not tl.where, so that NaN stays NaN
        value = tl.load(x, mask=mask, other=0.0) * tl.where(kept, 1 / (1 - rate), 0.0)
        tl.store(result, value.to(result.dtype.element_ty), mask=mask)
        x += x_network
        result += channels
