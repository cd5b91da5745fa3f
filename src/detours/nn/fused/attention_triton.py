"""One query per set attends to the tokens of the set: one pass over the tokens forward, two backward.

A program has one query and one warp, so only the sum over channels needs communication between threads. The gradients
of the states are sums over heads: they are computed token by token, in a separate pass that no large set slows down.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
"""Values of states that a warp holds at a time."""
WARP_CHANNELS = 512
"""Channels per warp; wider states have more warps."""


def attend(query: Tensor, state: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Return the output [sets, networks, heads, d] and the log-sum-exp of the scores of each query.

    Args:
        query: [sets, networks, heads, d]
        state: [tokens, networks, d]; set n has the tokens ``offsets[n]`` to ``offsets[n + 1]``.
        offsets: [sets + 1]
    """
    query, state = query.contiguous(), state.contiguous()
    wide = torch.promote_types(query.dtype, torch.float32)
    output, logsumexp = torch.empty_like(query), query.new_empty(query.shape[:3], dtype=wide)
    sets, networks, heads, width = query.shape
    with torch.cuda.device_of(query):
        _attend[(sets, networks * heads)](
            output,
            logsumexp,
            query,
            state,
            offsets,
            networks,
            heads,
            width,
            **block_options(query, state.size(0) // sets),
        )
    return output, logsumexp


def attend_backward(
    offsets: Tensor,
    set_of_token: Tensor,
    query: Tensor,
    state: Tensor,
    grad_output: Tensor,
    output: Tensor,
    logsumexp: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the gradients of query and state; `set_of_token` [tokens] says which query attends to each token."""
    query, state, grad_output = query.contiguous(), state.contiguous(), grad_output.contiguous()
    grad_query, grad_state, delta = torch.empty_like(query), torch.empty_like(state), torch.empty_like(logsumexp)
    (sets, networks, heads, width), tokens = query.shape, state.size(0)
    sizes = (networks, heads, width)
    options = block_options(query, tokens // sets)
    with torch.cuda.device_of(query):
        _grad_query[(sets, networks * heads)](
            grad_query, delta, grad_output, output, logsumexp, query, state, offsets, *sizes, **options
        )
        _grad_state[(triton.cdiv(tokens, options["TOKENS"]), networks)](
            grad_state, delta, grad_output, logsumexp, query, state, set_of_token, tokens, *sizes, **options
        )
    return grad_query, grad_state


def block_options(state: Tensor, set_size: int) -> dict[str, Any]:
    """Return how many tokens and channels of states a program holds at a time, for sets of this average size."""
    width = triton.next_power_of_2(state.size(-1))
    warps = max(1, width // WARP_CHANNELS)
    tokens = max(1, min(warps * BLOCK // width, triton.next_power_of_2(max(4, set_size))))
    acc = tl.float64 if state.dtype == torch.float64 else tl.float32
    return {"TOKENS": tokens, "WIDTH": width, "ACC": acc, "num_warps": warps}


@triton.jit
def _attend(
    output,
    logsumexp,
    query,
    state,
    offsets,
    networks,
    heads,
    width,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    ACC: tl.constexpr,
):
    set_index, network = tl.program_id(0).to(tl.int64), tl.program_id(1) // heads
    query_row = set_index * networks * heads + tl.program_id(1)
    column = tl.arange(0, WIDTH)
    column_mask = column < width
    q = tl.load(query + query_row * width + column, mask=column_mask, other=0.0).to(ACC)
    start, end = tl.load(offsets + set_index), tl.load(offsets + set_index + 1)
    largest = tl.full([], -float("inf"), ACC)
    total = tl.zeros([], ACC)
    acc = tl.zeros([WIDTH], ACC)
    for first in range(start, end, TOKENS):
        token = first + tl.arange(0, TOKENS)
        token_mask = token < end
        index = (token * networks + network)[:, None] * width + column[None, :]
        s = tl.load(state + index, mask=token_mask[:, None] & column_mask[None, :], other=0.0).to(ACC)
        scores = tl.where(token_mask, tl.sum(s * q[None, :], 1), -float("inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 0))
        weights = tl.exp(scores - new_largest)
        rescale = tl.exp(largest - new_largest)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * s, 0)
        largest = new_largest
    tl.store(output + query_row * width + column, (acc / total).to(output.dtype.element_ty), mask=column_mask)
    tl.store(logsumexp + query_row, largest + tl.log(total))


@triton.jit
def _grad_query(
    grad_query,
    delta,
    grad_output,
    output,
    logsumexp,
    query,
    state,
    offsets,
    networks,
    heads,
    width,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    ACC: tl.constexpr,
):
    set_index, network = tl.program_id(0).to(tl.int64), tl.program_id(1) // heads
    query_row = set_index * networks * heads + tl.program_id(1)
    column = tl.arange(0, WIDTH)
    column_mask = column < width
    q = tl.load(query + query_row * width + column, mask=column_mask, other=0.0).to(ACC)
    grad_out = tl.load(grad_output + query_row * width + column, mask=column_mask, other=0.0).to(ACC)
    lse = tl.load(logsumexp + query_row)
    own_delta = tl.sum(grad_out * tl.load(output + query_row * width + column, mask=column_mask, other=0.0).to(ACC), 0)
    tl.store(delta + query_row, own_delta)
    start, end = tl.load(offsets + set_index), tl.load(offsets + set_index + 1)
    acc = tl.zeros([WIDTH], ACC)
    for first in range(start, end, TOKENS):
        token = first + tl.arange(0, TOKENS)
        token_mask = token < end
        index = (token * networks + network)[:, None] * width + column[None, :]
        s = tl.load(state + index, mask=token_mask[:, None] & column_mask[None, :], other=0.0).to(ACC)
        weights = tl.exp(tl.sum(s * q[None, :], 1) - lse)
        grad_scores = weights * (tl.sum(s * grad_out[None, :], 1) - own_delta)
        acc += tl.sum(tl.where(token_mask, grad_scores, 0.0)[:, None] * s, 0)
    tl.store(grad_query + query_row * width + column, acc.to(grad_query.dtype.element_ty), mask=column_mask)


@triton.jit
def _grad_state(
    grad_state,
    delta,
    grad_output,
    logsumexp,
    query,
    state,
    set_of_token,
    tokens,
    networks,
    heads,
    width,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    ACC: tl.constexpr,
):
    token = (tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)).to(tl.int64)
    network, column = tl.program_id(1), tl.arange(0, WIDTH)
    token_mask = token < tokens
    mask = token_mask[:, None] & (column < width)[None, :]
    state_index = (token * networks + network)[:, None] * width + column[None, :]
    s = tl.load(state + state_index, mask=mask, other=0.0).to(ACC)
    first_row = (tl.load(set_of_token + token, mask=token_mask, other=0) * networks + network) * heads
    acc = tl.zeros([TOKENS, WIDTH], ACC)
    for head in range(heads):
        query_row = first_row + head
        index = query_row[:, None] * width + column[None, :]
        q = tl.load(query + index, mask=mask, other=0.0).to(ACC)
        grad_out = tl.load(grad_output + index, mask=mask, other=0.0).to(ACC)
        lse = tl.load(logsumexp + query_row, mask=token_mask, other=0.0)
        weights = tl.exp(tl.sum(s * q, 1) - lse)
        grad_scores = weights * (tl.sum(s * grad_out, 1) - tl.load(delta + query_row, mask=token_mask, other=0.0))
        acc += weights[:, None] * grad_out + grad_scores[:, None] * q
    tl.store(grad_state + state_index, acc.to(grad_state.dtype.element_ty), mask=mask)
