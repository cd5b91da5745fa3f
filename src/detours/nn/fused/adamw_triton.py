"""A step of AdamW over the rows of a matrix, each with a learning rate and a weight decay of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS = 1024
"""Numbers that a program takes."""


def step(
    parameters: Tensor,
    gradient: Tensor,
    moments: Sequence[Tensor],
    steps: Tensor,
    rates: Tensor,
    decays: Tensor,
    betas: tuple[float, float],
    epsilon: float,
) -> None:
    """Change parameters and moments [R, parameters]; `steps`, which include this one, `rates` and `decays` are [R].

    The rows of parameters and moments lie equally far apart; the gradient may be of another format.
    """
    rows, width = parameters.shape
    with torch.cuda.device_of(parameters):
        _step[(triton.cdiv(width, COLUMNS), rows)](
            parameters,
            gradient,
            *moments,
            steps,
            rates,
            decays,
            width,
            parameters.stride(0),
            gradient.stride(0),
            BETA=betas[0],
            LOG_BETA=log(betas[0]),
            BETA_OF_SQUARES=betas[1],
            LOG_BETA_OF_SQUARES=log(betas[1]),
            EPSILON=epsilon,
            COLUMNS=COLUMNS,
        )


@triton.jit
def _step(
    parameters,
    gradient,
    means,
    squares,
    steps,
    rates,
    decays,
    width,
    from_row_to_row,
    from_slopes_to_slopes,
    BETA: tl.constexpr,
    LOG_BETA: tl.constexpr,
    BETA_OF_SQUARES: tl.constexpr,
    LOG_BETA_OF_SQUARES: tl.constexpr,
    EPSILON: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside, place = column < width, row * from_row_to_row + column
    rate, decay = tl.load(rates + row), tl.load(decays + row)
    # in double precision: in the first steps, 1 - beta^steps would lose digits
    taken = tl.load(steps + row).to(tl.float64)
    size = (rate / (1.0 - tl.exp(taken * LOG_BETA))).to(rate.dtype)
    root = tl.sqrt(1.0 - tl.exp(taken * LOG_BETA_OF_SQUARES)).to(rate.dtype)
    value = tl.load(parameters + place, mask=inside)
    slope = tl.load(gradient + row * from_slopes_to_slopes + column, mask=inside).to(value.dtype)
    mean = tl.load(means + place, mask=inside)
    square = tl.load(squares + place, mask=inside)
    mean += (slope - mean) * (1.0 - BETA)
    square = square * BETA_OF_SQUARES + slope * slope * (1.0 - BETA_OF_SQUARES)
    value -= rate * decay * value
    value -= size * mean / (tl.sqrt(square) / root + EPSILON)
    tl.store(parameters + place, value, mask=inside)
    tl.store(means + place, mean, mask=inside)
    tl.store(squares + place, square, mask=inside)
