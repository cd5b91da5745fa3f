"""Every token asks the tokens of its set: a pass over the tokens forwards, and two back, without padding.

A program has a tile of tokens that lie together: several small sets, or a part of a large one. What they see lies
together as well, from the first token of their first set to the last of their last one. The program goes over that
tile by tile, with the softmax so far at hand (FlashAttention, https://arxiv.org/abs/2205.14135), and pairs of two sets
weigh nothing.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from detours.nn.fused.maps_triton import product_precision

TILE = 32
"""Tokens of a tile. On an H200 as quick as 16 for sets of 3 tokens, twice as quick for sets of 1,500; 64 is slower."""
DEEPEST = 256
"""Bytes of a token that are multiplied at a time, at most: 64 channels in 32 bits, 128 in 16, where with 768 channels
the slopes take four fifths of the time that they take with 64 (an H200, tokens of MUTAG); 256 are not quicker."""
WIDEST = 256
"""Channels of a result that a program takes, at most; others have the same scores, and compute them again."""
WARPS = 4


def attended(qkv: Tensor, set_of_token: Tensor, begins: Tensor) -> tuple[Tensor, Tensor]:
    """Return the answers [tokens, networks, heads, d], and the logarithm of the sum of all weights of each query.

    Args:
        qkv: [tokens, networks, 3, heads, d] queries, keys and values.
        set_of_token: [tokens], ascending.
        begins: [sets + 1] the first token of each set, and the number of tokens.
    """
    qkv = qkv.contiguous()
    tokens, networks, _, heads, width = qkv.shape
    answered = qkv.new_empty((tokens, networks, heads, width))
    sums = qkv.new_empty(answered.shape[:3], dtype=torch.float32)
    grid, blocks = _blocks(qkv)
    given = (qkv, set_of_token, begins, tokens, networks, heads, width, width**-0.5)
    with torch.cuda.device_of(qkv):
        _attended[grid](answered, sums, *given, **blocks)
    return answered, sums


def slopes(qkv: Tensor, set_of_token: Tensor, begins: Tensor, answered: Tensor, sums: Tensor, slope: Tensor) -> Tensor:
    """Return the slopes of qkv, for those of the answers."""
    qkv, slope = qkv.contiguous(), slope.contiguous()
    tokens, networks, _, heads, width = qkv.shape
    of_qkv = torch.empty_like(qkv)
    common = torch.empty_like(sums)
    grid, blocks = _blocks(qkv)
    given = (slope, sums, common, qkv, set_of_token, begins, tokens, networks, heads, width, width**-0.5)
    with torch.cuda.device_of(qkv):
        _slopes_of_queries[grid](of_qkv, answered, *given, **blocks)
        _slopes_of_keys[grid](of_qkv, *given, **blocks)
    return of_qkv


def _blocks(qkv: Tensor) -> tuple[tuple[int, int], dict[str, Any]]:
    tokens, networks, _, heads, width = qkv.shape
    part = min(WIDEST, max(16, triton.next_power_of_2(width)))
    deep = min(DEEPEST // qkv.element_size(), part)
    sizes = {"TILE": TILE, "PART": part, "DEEP": deep, "PRECISION": product_precision()}
    # the parts of a tile follow each other: they read the same
    return (triton.cdiv(tokens, TILE) * triton.cdiv(width, part), networks * heads), sizes | {"num_warps": WARPS}


@triton.jit
def _rows(at, token, end, row, channel, width):
    """The channels of these tokens; 0 outside."""
    inside = (token < end)[:, None] & (channel < width)[None, :]
    return tl.load(at + token[:, None].to(tl.int64) * row + channel[None, :], mask=inside, other=0.0)


@triton.jit
def _product(one, one_row, other, other_row, token, end, asked, asked_end, width, TILE, DEEP, PRECISION):
    """[tokens, asked]: the products of all channels of the one with those of the other."""
    found = tl.zeros([TILE, TILE], tl.float32)
    for first in range(0, width, DEEP):
        channel = first + tl.arange(0, DEEP)
        left = _rows(one, token, end, one_row, channel, width)
        right = _rows(other, asked, asked_end, other_row, channel, width)
        found = tl.dot(left, tl.trans(right), found, input_precision=PRECISION)
    return found


@triton.jit
def _seen(set_of_token, begins, tokens, width, TILE, PART):
    """The columns of a program; the tokens of its tile and their sets; where what they see begins and ends."""
    parts = tl.cdiv(width, PART)
    column = tl.program_id(0) % parts * PART + tl.arange(0, PART)
    first = tl.program_id(0) // parts * TILE
    token = first + tl.arange(0, TILE)
    own = tl.load(set_of_token + token, mask=token < tokens, other=-1)
    last = tl.minimum(first + TILE, tokens) - 1
    begin = tl.load(begins + tl.load(set_of_token + first)).to(tl.int32)
    end = tl.load(begins + tl.load(set_of_token + last) + 1).to(tl.int32)
    return column, token, own, begin, end


@triton.jit
def _attended(
    answered,
    sums,
    qkv,
    set_of_token,
    begins,
    tokens,
    networks,
    heads,
    width,
    scale,
    TILE: tl.constexpr,
    PART: tl.constexpr,
    DEEP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    head = tl.program_id(1)  # of all networks
    row = networks * heads * width
    query = qkv + (head // heads * 3 * heads + head % heads) * width
    key, value = query + heads * width, query + 2 * heads * width
    column, token, own, begin, end = _seen(set_of_token, begins, tokens, width, TILE, PART)
    largest = tl.full([TILE], -float("inf"), tl.float32)
    total = tl.zeros([TILE], tl.float32)
    answer = tl.zeros([TILE, PART], tl.float32)
    spoilt = tl.zeros([TILE], tl.int32)
    for first in range(begin, end, TILE):
        asked = first + tl.arange(0, TILE)
        same = own[:, None] == tl.load(set_of_token + asked, mask=asked < end, other=-2)[None, :]
        scores = _product(query, 3 * row, key, 3 * row, token, tokens, asked, end, width, TILE, DEEP, PRECISION)
        scores = tl.where(same, scores * scale, -float("inf"))
        highest = tl.maximum(largest, tl.max(scores, 1))
        level = tl.where(highest == -float("inf"), 0.0, highest)  # of a token that has seen none of its set yet
        weights = tl.exp(scores - level[:, None])
        kept = tl.exp(largest - level)
        total = total * kept + tl.sum(weights, 1)
        seen = _rows(value, asked, end, 3 * row, column, width)
        # 0 times what is no number is none: such values count apart, so that they stay in their own set
        finite = tl.abs(seen.to(tl.float32)) < float("inf")
        wrong = tl.max(tl.where(finite, 0, 1), 1)
        spoilt = tl.maximum(spoilt, tl.max(tl.where(same, wrong[None, :], 0), 1))
        seen = tl.where(finite, seen, 0.0)
        answer = tl.dot(weights.to(seen.dtype), seen, answer * kept[:, None], input_precision=PRECISION)
        largest = highest
    total = tl.where(token < tokens, total, 1.0)
    answer = tl.where((spoilt > 0)[:, None], float("nan"), answer / total[:, None])
    place = token[:, None].to(tl.int64) * row + head * width + column[None, :]
    inside = (token < tokens)[:, None] & (column < width)[None, :]
    tl.store(answered + place, answer.to(answered.dtype.element_ty), mask=inside)
    # every part stores the same
    tl.store(sums + token.to(tl.int64) * networks * heads + head, largest + tl.log(total), mask=token < tokens)


@triton.jit
def _slopes_of_queries(
    of_qkv,
    answered,
    slope,
    sums,
    common,
    qkv,
    set_of_token,
    begins,
    tokens,
    networks,
    heads,
    width,
    scale,
    TILE: tl.constexpr,
    PART: tl.constexpr,
    DEEP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    head = tl.program_id(1)
    row = networks * heads * width
    own_place = (head // heads * 3 * heads + head % heads) * width
    query = qkv + own_place
    key, value = query + heads * width, query + 2 * heads * width
    given = slope + head * width
    column, token, own, begin, end = _seen(set_of_token, begins, tokens, width, TILE, PART)
    there = token < tokens
    total = tl.load(sums + token.to(tl.int64) * networks * heads + head, mask=there, other=0.0)
    shared = tl.zeros([TILE], tl.float32)
    for first in range(0, width, DEEP):
        channel = first + tl.arange(0, DEEP)
        left = _rows(given, token, tokens, row, channel, width).to(tl.float32)
        shared += tl.sum(left * _rows(answered + head * width, token, tokens, row, channel, width).to(tl.float32), 1)
    tl.store(common + token.to(tl.int64) * networks * heads + head, shared, mask=there)  # for the keys
    found = tl.zeros([TILE, PART], tl.float32)
    for first in range(begin, end, TILE):
        asked = first + tl.arange(0, TILE)
        same = own[:, None] == tl.load(set_of_token + asked, mask=asked < end, other=-2)[None, :]
        scores = _product(query, 3 * row, key, 3 * row, token, tokens, asked, end, width, TILE, DEEP, PRECISION)
        of_weights = _product(given, row, value, 3 * row, token, tokens, asked, end, width, TILE, DEEP, PRECISION)
        weights = tl.where(same, tl.exp(scores * scale - total[:, None]), 0.0)
        of_scores = tl.where(same, weights * (of_weights - shared[:, None]) * scale, 0.0)
        seen = _rows(key, asked, end, 3 * row, column, width)
        found = tl.dot(of_scores.to(seen.dtype), seen, found, input_precision=PRECISION)
    place = own_place + token[:, None].to(tl.int64) * 3 * row + column[None, :]
    tl.store(of_qkv + place, found.to(of_qkv.dtype.element_ty), mask=there[:, None] & (column < width)[None, :])


@triton.jit
def _slopes_of_keys(
    of_qkv,
    slope,
    sums,
    common,
    qkv,
    set_of_token,
    begins,
    tokens,
    networks,
    heads,
    width,
    scale,
    TILE: tl.constexpr,
    PART: tl.constexpr,
    DEEP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Of keys and of values: the tile is one of keys, and goes over the queries that see it."""
    head = tl.program_id(1)
    row = networks * heads * width
    own_place = (head // heads * 3 * heads + head % heads) * width
    query = qkv + own_place
    key, value = query + heads * width, query + 2 * heads * width
    given = slope + head * width
    column, token, own, begin, end = _seen(set_of_token, begins, tokens, width, TILE, PART)
    of_keys = tl.zeros([TILE, PART], tl.float32)
    of_values = tl.zeros([TILE, PART], tl.float32)
    for first in range(begin, end, TILE):
        asking = first + tl.arange(0, TILE)
        there = asking < end
        same = own[:, None] == tl.load(set_of_token + asking, mask=there, other=-2)[None, :]
        total = tl.load(sums + asking.to(tl.int64) * networks * heads + head, mask=there, other=0.0)
        shared = tl.load(common + asking.to(tl.int64) * networks * heads + head, mask=there, other=0.0)
        scores = _product(key, 3 * row, query, 3 * row, token, tokens, asking, end, width, TILE, DEEP, PRECISION)
        of_weights = _product(value, 3 * row, given, row, token, tokens, asking, end, width, TILE, DEEP, PRECISION)
        weights = tl.where(same, tl.exp(scores * scale - total[None, :]), 0.0)
        of_scores = tl.where(same, weights * (of_weights - shared[None, :]) * scale, 0.0)
        steep = _rows(given, asking, end, row, column, width)
        of_values = tl.dot(weights.to(steep.dtype), steep, of_values, input_precision=PRECISION)
        queries = _rows(query, asking, end, 3 * row, column, width)
        of_keys = tl.dot(of_scores.to(queries.dtype), queries, of_keys, input_precision=PRECISION)
    place = own_place + heads * width + token[:, None].to(tl.int64) * 3 * row + column[None, :]
    inside = (token < tokens)[:, None] & (column < width)[None, :]
    tl.store(of_qkv + place, of_keys.to(of_qkv.dtype.element_ty), mask=inside)
    tl.store(of_qkv + place + heads * width, of_values.to(of_qkv.dtype.element_ty), mask=inside)
