"""Linear maps of stacked networks that drop numbers of x as they read it, each network others.

All networks share x and the random bits, so nothing as wide as x is ever written for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch import Tensor

from detours.nn.fused.maps_triton import precision

if TYPE_CHECKING:
    from detours.nn.dropout import Drawn

BUSY = 128
"""So many programs keep a device busy; where there would be fewer, each takes fewer rows."""


def mapped(x: Tensor, drawn: Drawn, weight: Tensor, bias: Tensor) -> Tensor:
    """Return [rows, networks, out]: what is left of x [networks, rows, in], mapped by weight [networks, out, in]."""
    (networks, rows, channels), width = x.shape, weight.size(1)
    result = x.new_empty((rows, networks, width))
    out = _tile(width, 128)
    columns = networks * triton.cdiv(width, out)
    tile = next((size for size in (64, 32) if triton.cdiv(rows, size) * columns >= BUSY), 16)
    with torch.cuda.device_of(x):
        _mapped[(columns, triton.cdiv(rows, tile))](  # the networks of the same rows at one time
            result,
            x,
            drawn.bits,
            drawn.factor,
            drawn.rate,
            weight,
            bias,
            rows,
            networks,
            width,
            channels,
            *x.stride(),
            *drawn.bits.stride(),
            drawn.factor.stride(0),
            drawn.rate.stride(0),
            *weight.stride(),
            *bias.stride(),
            PRECISION=precision(),
            ROWS=tile,
            OUT=out,
            IN=32,
            num_warps=8 if tile * out > 4096 else 4,
        )
    return result


def weight_slope(x: Tensor, drawn: Drawn, slope: Tensor) -> Tensor:
    """Return [networks, out, in]: the slope of the weight from that of the result [rows, networks, out]."""
    (networks, rows, channels), width = x.shape, slope.size(2)
    result = x.new_empty((networks, width, channels))
    out = _tile(width, 128)
    with torch.cuda.device_of(x):
        _weight_slope[(networks * triton.cdiv(width, out), triton.cdiv(channels, 64))](
            result,
            x,
            drawn.bits,
            drawn.factor,
            drawn.rate,
            slope,
            rows,
            networks,
            width,
            channels,
            *x.stride(),
            *drawn.bits.stride(),
            drawn.factor.stride(0),
            drawn.rate.stride(0),
            PRECISION=precision(),
            ROWS=32,
            OUT=out,
            IN=64,
            num_warps=8 if out > 64 else 4,
        )
    return result


def _tile(number: int, most: int) -> int:
    return int(min(most, max(16, triton.next_power_of_2(number))))


@triton.jit
def _left(x, bits, places, bit_places, inside, factor, lowest):
    """The numbers of a tile of x that stay, not yet scaled."""
    numbers = tl.load(x + places, mask=inside, other=0.0)
    drawn = tl.load(bits + bit_places, mask=inside, other=0)
    return tl.where((drawn * factor).to(tl.float32) >= lowest, numbers, 0.0)


@triton.jit
def _mapped(
    result,
    x,
    bits,
    factors,
    rates,
    weight,
    bias,
    rows,
    networks,
    width,
    channels,
    x_network,
    x_row,
    x_channel,
    bits_row,
    bits_channel,
    factor_network,
    rate_network,
    weight_network,
    weight_out,
    weight_in,
    bias_network,
    bias_out,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    OUT: tl.constexpr,
    IN: tl.constexpr,
):
    network = (tl.program_id(0) % networks).to(tl.int64)  # networks may be far apart
    out = tl.program_id(0) // networks * OUT + tl.arange(0, OUT)
    row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    there, wanted = row < rows, out < width
    factor = tl.load(factors + network * factor_network)
    rate = tl.load(rates + network * rate_network).to(tl.float32)
    lowest = rate * 4294967296.0 - 2147483648.0
    x += network * x_network
    weight += network * weight_network
    total = tl.zeros([ROWS, OUT], tl.float32)
    for first in range(0, channels, IN):
        channel = first + tl.arange(0, IN)
        inside = there[:, None] & (channel < channels)[None, :]
        places = row[:, None] * x_row + channel[None, :] * x_channel
        bit_places = row[:, None] * bits_row + channel[None, :] * bits_channel
        seen = _left(x, bits, places, bit_places, inside, factor, lowest)
        weights = tl.load(
            weight + channel[:, None] * weight_in + out[None, :] * weight_out,
            mask=(channel < channels)[:, None] & wanted[None, :],
            other=0.0,
        )
        total = tl.dot(seen, weights, total, input_precision=PRECISION)
    total = total * (1.0 / (1.0 - rate))
    total += tl.load(bias + network * bias_network + out * bias_out, mask=wanted, other=0.0)[None, :]
    place = (row[:, None] * networks + network) * width + out[None, :]
    tl.store(result + place, total, mask=there[:, None] & wanted[None, :])


@triton.jit
def _weight_slope(
    result,
    x,
    bits,
    factors,
    rates,
    slope,
    rows,
    networks,
    width,
    channels,
    x_network,
    x_row,
    x_channel,
    bits_row,
    bits_channel,
    factor_network,
    rate_network,
    PRECISION: tl.constexpr,
    ROWS: tl.constexpr,
    OUT: tl.constexpr,
    IN: tl.constexpr,
):
    network = (tl.program_id(0) % networks).to(tl.int64)
    out = tl.program_id(0) // networks * OUT + tl.arange(0, OUT)
    channel = tl.program_id(1) * IN + tl.arange(0, IN)
    wanted, seen = out < width, channel < channels
    factor = tl.load(factors + network * factor_network)
    rate = tl.load(rates + network * rate_network).to(tl.float32)
    lowest = rate * 4294967296.0 - 2147483648.0
    x += network * x_network
    total = tl.zeros([OUT, IN], tl.float32)
    for first in range(0, rows, ROWS):
        row = (first + tl.arange(0, ROWS)).to(tl.int64)
        there = row < rows
        places = row[:, None] * x_row + channel[None, :] * x_channel
        bit_places = row[:, None] * bits_row + channel[None, :] * bits_channel
        left = _left(x, bits, places, bit_places, there[:, None] & seen[None, :], factor, lowest)
        slopes = tl.load(
            slope + (row[None, :] * networks + network) * width + out[:, None],
            mask=there[None, :] & wanted[:, None],
            other=0.0,
        )
        total = tl.dot(slopes, left, total, input_precision=PRECISION)
    total = total * (1.0 / (1.0 - rate))
    place = (network * width + out[:, None]) * channels + channel[None, :]
    tl.store(result + place, total, mask=wanted[:, None] & seen[None, :])
