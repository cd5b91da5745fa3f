"""Every token attends to the tokens of its set: one pass over the tokens forward, two backward, without padding.

A program has a tile of consecutive tokens: several small sets, or a part of a large one. The keys that they see are
consecutive too, from the first token of their first set to the last token of their last set. The program goes through
those tile by tile with an online softmax (FlashAttention, https://arxiv.org/abs/2205.14135), and masks pairs of tokens
from different sets.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from detours.nn.fused.maps_triton import product_precision

TILE = 32
"""Tokens per tile. On an H200 as fast as 16 for sets of 3 tokens, twice as fast for sets of 1,500; 64 is slower."""
MAX_DEPTH = 256
"""Bytes of a token that are multiplied at a time, at most: 64 channels in 32 bits, 128 in 16, where the backward pass
of 768 channels takes four fifths of its time with 64 (on an H200, tokens of MUTAG); 256 are not faster."""
MAX_CHANNELS = 256
"""Output channels per program, at most; programs for other channels compute the same scores again."""
WARPS = 4


def attend(qkv: Tensor, set_of_token: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Return the output [tokens, networks, heads, d] and the log-sum-exp of the scores of each query.

    Args:
        qkv: [tokens, networks, 3, heads, d] queries, keys and values.
        set_of_token: [tokens], ascending.
        offsets: [sets + 1] the first token of each set, and the number of tokens.
    """
    qkv = qkv.contiguous()
    tokens, networks, _, heads, width = qkv.shape
    output = qkv.new_empty((tokens, networks, heads, width))
    logsumexp = qkv.new_empty(output.shape[:3], dtype=torch.float32)
    grid, options = _launch_options(qkv)
    arguments = (qkv, set_of_token, offsets, tokens, networks, heads, width, width**-0.5)
    with torch.cuda.device_of(qkv):
        _attend[grid](output, logsumexp, *arguments, **options)
    return output, logsumexp


def attend_backward(
    qkv: Tensor, set_of_token: Tensor, offsets: Tensor, output: Tensor, logsumexp: Tensor, grad_output: Tensor
) -> Tensor:
    """Return the gradient of qkv, given that of the output."""
    qkv, grad_output = qkv.contiguous(), grad_output.contiguous()
    tokens, networks, _, heads, width = qkv.shape
    grad_qkv = torch.empty_like(qkv)
    delta = torch.empty_like(logsumexp)
    grid, options = _launch_options(qkv)
    arguments = (grad_output, logsumexp, delta, qkv, set_of_token, offsets, tokens, networks, heads, width, width**-0.5)
    with torch.cuda.device_of(qkv):
        _grad_query[grid](grad_qkv, output, *arguments, **options)
        _grad_key_value[grid](grad_qkv, *arguments, **options)
    return grad_qkv


def _launch_options(qkv: Tensor) -> tuple[tuple[int, int], dict[str, Any]]:
    tokens, networks, _, heads, width = qkv.shape
    part = min(MAX_CHANNELS, max(16, triton.next_power_of_2(width)))
    depth = min(MAX_DEPTH // qkv.element_size(), part)
    sizes = {"TILE": TILE, "PART": part, "DEPTH": depth, "PRECISION": product_precision()}
    # consecutive programs have the parts of one tile, since they read the same data
    return (triton.cdiv(tokens, TILE) * triton.cdiv(width, part), networks * heads), sizes | {"num_warps": WARPS}


@triton.jit
def _load(pointer, token, end, row, channel, width):
    """Load these channels of these tokens, 0 outside."""
    mask = (token < end)[:, None] & (channel < width)[None, :]
    return tl.load(pointer + token[:, None].to(tl.int64) * row + channel[None, :], mask=mask, other=0.0)


@triton.jit
def _product(
    left, left_row, right, right_row, left_token, left_end, right_token, right_end, width, TILE, DEPTH, PRECISION
):
    """[left tokens, right tokens]: the inner products over all channels."""
    acc = tl.zeros([TILE, TILE], tl.float32)
    for first in range(0, width, DEPTH):
        channel = first + tl.arange(0, DEPTH)
        left_block = _load(left, left_token, left_end, left_row, channel, width)
        right_block = _load(right, right_token, right_end, right_row, channel, width)
        acc = tl.dot(left_block, tl.trans(right_block), acc, input_precision=PRECISION)
    return acc


@triton.jit
def _tile(set_of_token, offsets, tokens, width, TILE, PART):
    """The columns of a program; the tokens of its tile and their sets; start and end of the tokens they see."""
    parts = tl.cdiv(width, PART)
    column = tl.program_id(0) % parts * PART + tl.arange(0, PART)
    first = tl.program_id(0) // parts * TILE
    token = first + tl.arange(0, TILE)
    own_set = tl.load(set_of_token + token, mask=token < tokens, other=-1)
    last = tl.minimum(first + TILE, tokens) - 1
    start = tl.load(offsets + tl.load(set_of_token + first)).to(tl.int32)
    end = tl.load(offsets + tl.load(set_of_token + last) + 1).to(tl.int32)
    return column, token, own_set, start, end


@triton.jit
def _attend(
    output,
    logsumexp,
    qkv,
    set_of_token,
    offsets,
    tokens,
    networks,
    heads,
    width,
    scale,
    TILE: tl.constexpr,
    PART: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    head = tl.program_id(1)  # of all networks
    row = networks * heads * width
    query = qkv + (head // heads * 3 * heads + head % heads) * width
    key, value = query + heads * width, query + 2 * heads * width
    column, token, own_set, start, end = _tile(set_of_token, offsets, tokens, width, TILE, PART)
    largest = tl.full([TILE], -float("inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    acc = tl.zeros([TILE, PART], tl.float32)
    not_finite = tl.zeros([TILE], tl.int32)
    for first in range(start, end, TILE):
        key_token = first + tl.arange(0, TILE)
        same_set = own_set[:, None] == tl.load(set_of_token + key_token, mask=key_token < end, other=-2)[None, :]
        scores = _product(query, 3 * row, key, 3 * row, token, tokens, key_token, end, width, TILE, DEPTH, PRECISION)
        scores = tl.where(same_set, scores * scale, -float("inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 1))
        reference = tl.where(new_largest == -float("inf"), 0.0, new_largest)  # none of its set seen so far
        weights = tl.exp(scores - reference[:, None])
        rescale = tl.exp(largest - reference)
        total = total * rescale + tl.sum(weights, 1)
        values = _load(value, key_token, end, 3 * row, column, width)
        # 0 times NaN is NaN: entries that are not finite are handled separately, so that they stay in their own set
        finite = tl.abs(values.to(tl.float32)) < float("inf")
        key_not_finite = tl.max(tl.where(finite, 0, 1), 1)
        not_finite = tl.maximum(not_finite, tl.max(tl.where(same_set, key_not_finite[None, :], 0), 1))
        values = tl.where(finite, values, 0.0)
        acc = tl.dot(weights.to(values.dtype), values, acc * rescale[:, None], input_precision=PRECISION)
        largest = new_largest
    total = tl.where(token < tokens, total, 1.0)
    acc = tl.where((not_finite > 0)[:, None], float("nan"), acc / total[:, None])
    index = token[:, None].to(tl.int64) * row + head * width + column[None, :]
    mask = (token < tokens)[:, None] & (column < width)[None, :]
    tl.store(output + index, acc.to(output.dtype.element_ty), mask=mask)
    # all parts of a tile store the same values
    tl.store(logsumexp + token.to(tl.int64) * networks * heads + head, largest + tl.log(total), mask=token < tokens)


@triton.jit
def _grad_query(
    grad_qkv,
    output,
    grad_output,
    logsumexp,
    delta,
    qkv,
    set_of_token,
    offsets,
    tokens,
    networks,
    heads,
    width,
    scale,
    TILE: tl.constexpr,
    PART: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    head = tl.program_id(1)
    row = networks * heads * width
    query_offset = (head // heads * 3 * heads + head % heads) * width
    query = qkv + query_offset
    key, value = query + heads * width, query + 2 * heads * width
    grad_head = grad_output + head * width
    column, token, own_set, start, end = _tile(set_of_token, offsets, tokens, width, TILE, PART)
    token_mask = token < tokens
    lse = tl.load(logsumexp + token.to(tl.int64) * networks * heads + head, mask=token_mask, other=0.0)
    own_delta = tl.zeros([TILE], tl.float32)
    for first in range(0, width, DEPTH):
        channel = first + tl.arange(0, DEPTH)
        grad_out = _load(grad_head, token, tokens, row, channel, width).to(tl.float32)
        own_delta += tl.sum(
            grad_out * _load(output + head * width, token, tokens, row, channel, width).to(tl.float32), 1
        )
    tl.store(delta + token.to(tl.int64) * networks * heads + head, own_delta, mask=token_mask)  # for `_grad_key_value`
    acc = tl.zeros([TILE, PART], tl.float32)
    for first in range(start, end, TILE):
        key_token = first + tl.arange(0, TILE)
        same_set = own_set[:, None] == tl.load(set_of_token + key_token, mask=key_token < end, other=-2)[None, :]
        scores = _product(query, 3 * row, key, 3 * row, token, tokens, key_token, end, width, TILE, DEPTH, PRECISION)
        grad_weights = _product(
            grad_head, row, value, 3 * row, token, tokens, key_token, end, width, TILE, DEPTH, PRECISION
        )
        weights = tl.where(same_set, tl.exp(scores * scale - lse[:, None]), 0.0)
        grad_scores = tl.where(same_set, weights * (grad_weights - own_delta[:, None]) * scale, 0.0)
        keys = _load(key, key_token, end, 3 * row, column, width)
        acc = tl.dot(grad_scores.to(keys.dtype), keys, acc, input_precision=PRECISION)
    index = query_offset + token[:, None].to(tl.int64) * 3 * row + column[None, :]
    tl.store(grad_qkv + index, acc.to(grad_qkv.dtype.element_ty), mask=token_mask[:, None] & (column < width)[None, :])


@triton.jit
def _grad_key_value(
    grad_qkv,
    grad_output,
    logsumexp,
    delta,
    qkv,
    set_of_token,
    offsets,
    tokens,
    networks,
    heads,
    width,
    scale,
    TILE: tl.constexpr,
    PART: tl.constexpr,
    DEPTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Gradients of keys and values: the tile is one of keys, and loops over the queries that see it."""
    head = tl.program_id(1)
    row = networks * heads * width
    query_offset = (head // heads * 3 * heads + head % heads) * width
    query = qkv + query_offset
    key, value = query + heads * width, query + 2 * heads * width
    grad_head = grad_output + head * width
    column, token, own_set, start, end = _tile(set_of_token, offsets, tokens, width, TILE, PART)
    grad_k = tl.zeros([TILE, PART], tl.float32)
    grad_v = tl.zeros([TILE, PART], tl.float32)
    for first in range(start, end, TILE):
        query_token = first + tl.arange(0, TILE)
        token_mask = query_token < end
        same_set = own_set[:, None] == tl.load(set_of_token + query_token, mask=token_mask, other=-2)[None, :]
        lse = tl.load(logsumexp + query_token.to(tl.int64) * networks * heads + head, mask=token_mask, other=0.0)
        own_delta = tl.load(delta + query_token.to(tl.int64) * networks * heads + head, mask=token_mask, other=0.0)
        scores = _product(key, 3 * row, query, 3 * row, token, tokens, query_token, end, width, TILE, DEPTH, PRECISION)
        grad_weights = _product(
            value, 3 * row, grad_head, row, token, tokens, query_token, end, width, TILE, DEPTH, PRECISION
        )
        weights = tl.where(same_set, tl.exp(scores * scale - lse[None, :]), 0.0)
        grad_scores = tl.where(same_set, weights * (grad_weights - own_delta[None, :]) * scale, 0.0)
        grad_out = _load(grad_head, query_token, end, row, column, width)
        grad_v = tl.dot(weights.to(grad_out.dtype), grad_out, grad_v, input_precision=PRECISION)
        q = _load(query, query_token, end, 3 * row, column, width)
        grad_k = tl.dot(grad_scores.to(q.dtype), q, grad_k, input_precision=PRECISION)
    index = query_offset + heads * width + token[:, None].to(tl.int64) * 3 * row + column[None, :]
    mask = (token < tokens)[:, None] & (column < width)[None, :]
    tl.store(grad_qkv + index, grad_k.to(grad_qkv.dtype.element_ty), mask=mask)
    tl.store(grad_qkv + index + heads * width, grad_v.to(grad_qkv.dtype.element_ty), mask=mask)
