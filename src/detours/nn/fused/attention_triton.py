"""Queries of each set ask the tokens of the set: a pass over the tokens forwards, and two back.

A program has one query, so one warp and no exchange but the sum over channels. The slopes of the states are sums over
heads: they are taken token by token, in a pass of their own that no large set holds up.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

NUMBERS = 1024
"""Of states that a warp holds at a time."""
WIDEST = 512
"""Channels of one warp; wider states have more warps."""


def answers(query: Tensor, state: Tensor, begins: Tensor) -> tuple[Tensor, Tensor]:
    """Return the answers [sets, networks, heads, d], and the logarithm of the sum of all weights of each query.

    Args:
        query: [sets, networks, heads, d]
        state: [tokens, networks, d]; set n has the tokens ``begins[n]`` to ``begins[n + 1]``.
        begins: [sets + 1]
    """
    query, state = query.contiguous(), state.contiguous()
    exact = torch.promote_types(query.dtype, torch.float32)
    answered, sums = torch.empty_like(query), query.new_empty(query.shape[:3], dtype=exact)
    sets, networks, heads, width = query.shape
    with torch.cuda.device_of(query):
        _answers[(sets, networks * heads)](
            answered, sums, query, state, begins, networks, heads, width, **blocks(query, state.size(0) // sets)
        )
    return answered, sums


def slopes(
    begins: Tensor,
    set_of_token: Tensor,
    query: Tensor,
    state: Tensor,
    slope: Tensor,
    answered: Tensor,
    sums: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the slopes of query and state; `set_of_token` [tokens] says which query asks each."""
    query, state, slope = query.contiguous(), state.contiguous(), slope.contiguous()
    of_query, of_state, common = torch.empty_like(query), torch.empty_like(state), torch.empty_like(sums)
    (sets, networks, heads, width), tokens = query.shape, state.size(0)
    sizes = (networks, heads, width)
    held = blocks(query, tokens // sets)
    with torch.cuda.device_of(query):
        _slopes_of_queries[(sets, networks * heads)](
            of_query, common, slope, answered, sums, query, state, begins, *sizes, **held
        )
        _slopes_of_states[(triton.cdiv(tokens, held["TOKENS"]), networks)](
            of_state, common, slope, sums, query, state, set_of_token, tokens, *sizes, **held
        )
    return of_query, of_state


def blocks(state: Tensor, usual: int) -> dict[str, Any]:
    """How many tokens and channels of states a program holds at a time, where sets are usually of this size."""
    width = triton.next_power_of_2(state.size(-1))
    warps = max(1, width // WIDEST)
    tokens = max(1, min(warps * NUMBERS // width, triton.next_power_of_2(max(4, usual))))
    exact = tl.float64 if state.dtype == torch.float64 else tl.float32
    return {"TOKENS": tokens, "WIDTH": width, "EXACT": exact, "num_warps": warps}


@triton.jit
def _answers(
    answered,
    sums,
    query,
    state,
    begins,
    networks,
    heads,
    width,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    EXACT: tl.constexpr,
):
    asking, network = tl.program_id(0).to(tl.int64), tl.program_id(1) // heads
    own = asking * networks * heads + tl.program_id(1)
    column = tl.arange(0, WIDTH)
    within = column < width
    asked = tl.load(query + own * width + column, mask=within, other=0.0).to(EXACT)
    begin, end = tl.load(begins + asking), tl.load(begins + asking + 1)
    largest = tl.full([], -float("inf"), EXACT)
    total = tl.zeros([], EXACT)
    answer = tl.zeros([WIDTH], EXACT)
    for first in range(begin, end, TOKENS):
        token = first + tl.arange(0, TOKENS)
        there = token < end
        place = (token * networks + network)[:, None] * width + column[None, :]
        seen = tl.load(state + place, mask=there[:, None] & within[None, :], other=0.0).to(EXACT)
        scores = tl.where(there, tl.sum(seen * asked[None, :], 1), -float("inf"))
        highest = tl.maximum(largest, tl.max(scores, 0))
        weights = tl.exp(scores - highest)
        kept = tl.exp(largest - highest)
        total = total * kept + tl.sum(weights, 0)
        answer = answer * kept + tl.sum(weights[:, None] * seen, 0)
        largest = highest
    tl.store(answered + own * width + column, (answer / total).to(answered.dtype.element_ty), mask=within)
    tl.store(sums + own, largest + tl.log(total))


@triton.jit
def _slopes_of_queries(
    of_query,
    common,
    slope,
    answered,
    sums,
    query,
    state,
    begins,
    networks,
    heads,
    width,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    EXACT: tl.constexpr,
):
    asking, network = tl.program_id(0).to(tl.int64), tl.program_id(1) // heads
    own = asking * networks * heads + tl.program_id(1)
    column = tl.arange(0, WIDTH)
    within = column < width
    asked = tl.load(query + own * width + column, mask=within, other=0.0).to(EXACT)
    given = tl.load(slope + own * width + column, mask=within, other=0.0).to(EXACT)
    total = tl.load(sums + own)
    shared = tl.sum(given * tl.load(answered + own * width + column, mask=within, other=0.0).to(EXACT), 0)
    tl.store(common + own, shared)
    begin, end = tl.load(begins + asking), tl.load(begins + asking + 1)
    found = tl.zeros([WIDTH], EXACT)
    for first in range(begin, end, TOKENS):
        token = first + tl.arange(0, TOKENS)
        there = token < end
        place = (token * networks + network)[:, None] * width + column[None, :]
        seen = tl.load(state + place, mask=there[:, None] & within[None, :], other=0.0).to(EXACT)
        weights = tl.exp(tl.sum(seen * asked[None, :], 1) - total)
        of_scores = weights * (tl.sum(seen * given[None, :], 1) - shared)
        found += tl.sum(tl.where(there, of_scores, 0.0)[:, None] * seen, 0)
    tl.store(of_query + own * width + column, found.to(of_query.dtype.element_ty), mask=within)


@triton.jit
def _slopes_of_states(
    of_state,
    common,
    slope,
    sums,
    query,
    state,
    set_of_token,
    tokens,
    networks,
    heads,
    width,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    EXACT: tl.constexpr,
):
    token = (tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)).to(tl.int64)
    network, column = tl.program_id(1), tl.arange(0, WIDTH)
    there = token < tokens
    inside = there[:, None] & (column < width)[None, :]
    place = (token * networks + network)[:, None] * width + column[None, :]
    seen = tl.load(state + place, mask=inside, other=0.0).to(EXACT)
    first = (tl.load(set_of_token + token, mask=there, other=0) * networks + network) * heads
    found = tl.zeros([TOKENS, WIDTH], EXACT)
    for head in range(heads):
        own = first + head
        where = own[:, None] * width + column[None, :]
        asked = tl.load(query + where, mask=inside, other=0.0).to(EXACT)
        given = tl.load(slope + where, mask=inside, other=0.0).to(EXACT)
        total = tl.load(sums + own, mask=there, other=0.0)
        weights = tl.exp(tl.sum(seen * asked, 1) - total)
        of_scores = weights * (tl.sum(seen * given, 1) - tl.load(common + own, mask=there, other=0.0))
        found += weights[:, None] * given + of_scores[:, None] * asked
    tl.store(of_state + place, found.to(of_state.dtype.element_ty), mask=inside)
