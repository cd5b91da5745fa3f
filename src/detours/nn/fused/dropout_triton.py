"""Dropout of stacked networks, [rows, networks, channels], in one reading and one writing."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

NUMBERS = 1024
"""Random numbers that a program takes; it makes as many results of them as there are networks."""


def dropped(x: Tensor, bits: Tensor, factor: Tensor, rate: Tensor) -> Tensor:
    """Return x [rows, networks, …] without what is dropped, and the rest times 1 / (1 - rate).

    Dropped are numbers whose bits [rows, …], times the factor [networks] of a network, are below its rate [networks].
    """
    result = x.new_empty(x.shape)
    x, bits = x.reshape(*x.shape[:2], -1), bits.reshape(len(bits), -1)
    rows, networks, channels = x.shape
    across = min(NUMBERS, max(16, triton.next_power_of_2(channels)))
    down = NUMBERS // across
    with torch.cuda.device_of(x):
        _dropped[(triton.cdiv(rows, down), triton.cdiv(channels, across))](
            result,
            x,
            bits,
            factor,
            rate,
            rows,
            networks,
            channels,
            *x.stride(),
            DOWN=down,
            ACROSS=across,
        )
    return result


@triton.jit
def _dropped(
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
    DOWN: tl.constexpr,
    ACROSS: tl.constexpr,
):
    row = (tl.program_id(0) * DOWN + tl.arange(0, DOWN)).to(tl.int64)[:, None]  # there may be 2^31 results
    channel = (tl.program_id(1) * ACROSS + tl.arange(0, ACROSS)).to(tl.int64)[None, :]
    inside = (row < rows) & (channel < channels)
    drawn = tl.load(bits + row * channels + channel, mask=inside, other=0)
    x += row * x_row + channel * x_channel
    result += row * networks * channels + channel
    for network in range(networks):
        rate = tl.load(rates + network)
        kept = (drawn * tl.load(factors + network)).to(rate.dtype) >= rate * 4294967296.0 - 2147483648.0
        # a product, so that what is no number stays none
        number = tl.load(x, mask=inside, other=0.0) * tl.where(kept, 1 / (1 - rate), 0.0)
        tl.store(result, number.to(result.dtype.element_ty), mask=inside)
        x += x_network
        result += channels
