"""A step of AdamW over the rows of a matrix, each with its own learning rate and weight decay."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
"""Values per program."""


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
    """Update parameters and moments [R, parameters] in place.

    `steps`, which count this one, `rates` and `decays` are [R]. Parameters and moments have the same row stride; the
    gradient may have another dtype.
    """
    rows, width = parameters.shape
    with torch.cuda.device_of(parameters):
        _step[(triton.cdiv(width, BLOCK), rows)](
            parameters,
            gradient,
            *moments,
            steps,
            rates,
            decays,
            width,
            parameters.stride(0),
            gradient.stride(0),
            BETA1=betas[0],
            LOG_BETA1=log(betas[0]),
            BETA2=betas[1],
            LOG_BETA2=log(betas[1]),
            EPSILON=epsilon,
            BLOCK=BLOCK,
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
    row_stride,
    gradient_stride,
    BETA1: tl.constexpr,
    LOG_BETA1: tl.constexpr,
    BETA2: tl.constexpr,
    LOG_BETA2: tl.constexpr,
    EPSILON: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask, position = column < width, row * row_stride + column
    rate, decay = tl.load(rates + row), tl.load(decays + row)
    # in double precision: 1 - beta^steps would lose digits in the first steps
    step_count = tl.load(steps + row).to(tl.float64)
    step_size = (rate / (1.0 - tl.exp(step_count * LOG_BETA1))).to(rate.dtype)
    correction = tl.sqrt(1.0 - tl.exp(step_count * LOG_BETA2)).to(rate.dtype)
    value = tl.load(parameters + position, mask=mask)
    grad = tl.load(gradient + row * gradient_stride + column, mask=mask).to(value.dtype)
    mean = tl.load(means + position, mask=mask)
    square = tl.load(squares + position, mask=mask)
    mean += (grad - mean) * (1.0 - BETA1)
    square = square * BETA2 + grad * grad * (1.0 - BETA2)
    value -= rate * decay * value
    value -= step_size * mean / (tl.sqrt(square) / correction + EPSILON)
    tl.store(parameters + position, value, mask=mask)
    tl.store(means + position, mean, mask=mask)
    tl.store(squares + position, square, mask=mask)
