"""The softmax of GAT over the neighbours of each node and itself, and the sum that it weighs: a pass over the arcs
forwards, and two back, by target and by source.

A program has one node of one network, as in `attention_triton`. Nothing that is as wide as x is held for an arc.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from detours.nn.fused.attention_triton import blocks
from detours.nn.fused.groups import groups_of, within


def received(
    x: Tensor,
    of_source: Tensor,
    of_target: Tensor,
    of_arcs: Tensor | None,
    source: Tensor,
    target: Tensor,
    negative: float,
) -> tuple[Tensor, Tensor]:
    """Return what each node receives, like x, and the logarithm of the sum of its weights, like `of_source`.

    Args:
        x: [nodes, networks, d], or without networks.
        of_source: [nodes, networks] what a node adds to the scores of arcs that begin at it, and of its loop.
        of_target: [nodes, networks] the same for arcs that end at it.
        of_arcs: [arcs, networks] what an arc adds to its score.
        source: [arcs].
        target: [arcs].
        negative: The slope of the leaky ReLU below 0.
    """
    x, nodes = x.contiguous(), x.size(0)
    scores, sizes, held = _prepared(x, of_source, of_target, of_arcs, source, negative)
    result, sums = torch.empty_like(x), torch.empty_like(scores[0], dtype=_exact(x))
    with torch.cuda.device_of(x):
        _received[_grid(sums)](
            result, sums, x, *scores, *groups_of(target, nodes), within(source, nodes).contiguous(), *sizes, **held
        )
    return result, sums


def slopes(
    slope: Tensor,
    result: Tensor,
    sums: Tensor,
    x: Tensor,
    of_source: Tensor,
    of_target: Tensor,
    of_arcs: Tensor | None,
    source: Tensor,
    target: Tensor,
    negative: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return the slopes of x, of_source, of_target and of_arcs."""
    x, slope, nodes = x.contiguous(), slope.contiguous(), x.size(0)
    scores, sizes, held = _prepared(x, of_source, of_target, of_arcs, source, negative)
    of_x, loops, to_source, to_target = (torch.empty_like(each) for each in (x, sums, sums, sums))
    to_arcs = sums.new_empty((source.numel(), *sums.shape[1:]))
    into, out_of = (groups_of(each, nodes) for each in (target, source))
    source, target = source.contiguous(), target.contiguous()
    with torch.cuda.device_of(x):
        _slopes_by_target[_grid(sums)](
            to_target, to_arcs, loops, slope, result, sums, x, *scores, *into, source, *sizes, **held
        )
        _slopes_by_source[_grid(sums)](
            of_x, to_source, to_arcs, loops, slope, sums, *scores, *out_of, target, *sizes, **held
        )
    to_source, to_target, to_arcs = (each.to(x.dtype) for each in (to_source, to_target, to_arcs))
    return of_x, to_source, to_target, None if of_arcs is None else to_arcs


def _prepared(
    x: Tensor, of_source: Tensor, of_target: Tensor, of_arcs: Tensor | None, source: Tensor, negative: float
) -> tuple[list[Tensor], tuple[int, int], dict[str, Any]]:
    """The three scores, the numbers of networks and channels, and what a program holds and knows."""
    scores = [each.contiguous() for each in (of_source, of_target, of_source if of_arcs is None else of_arcs)]
    held = blocks(x, source.numel() // x.size(0)) | {"OF_ARCS": of_arcs is not None, "NEGATIVE": negative}
    return scores, (of_source[0].numel(), x.size(-1)), held


def _grid(sums: Tensor) -> tuple[int, int]:
    return sums.size(0), sums[0].numel()


def _exact(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


@triton.jit
def _leaky(score, NEGATIVE: tl.constexpr):
    return tl.where(score > 0, score, NEGATIVE * score)


@triton.jit
def _through(score, slope, NEGATIVE: tl.constexpr):
    """The slope of a score, from that of its leaky ReLU."""
    return tl.where(score > 0, slope, NEGATIVE * slope)


@triton.jit
def _scores_of(arc, one, other, of_one, of_other, of_arcs, networks, network, there, OF_ARCS, EXACT):
    """The scores of arcs between nodes `one` (each its own) and the node `other`, before the leaky ReLU."""
    score = tl.load(of_one + one * networks + network, mask=there, other=0.0).to(EXACT)
    score += tl.load(of_other + other * networks + network).to(EXACT)
    if OF_ARCS:
        score += tl.load(of_arcs + arc * networks + network, mask=there, other=0.0).to(EXACT)
    return score


@triton.jit
def _received(
    result,
    sums,
    x,
    of_source,
    of_target,
    of_arcs,
    rows,
    begins,
    source,
    networks,
    width,
    NEGATIVE: tl.constexpr,
    OF_ARCS: tl.constexpr,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    EXACT: tl.constexpr,
):
    node, network = tl.program_id(0).to(tl.int64), tl.program_id(1)
    own = node * networks + network
    column = tl.arange(0, WIDTH)
    inside = column < width
    largest = _leaky(tl.load(of_source + own).to(EXACT) + tl.load(of_target + own).to(EXACT), NEGATIVE)  # the loop
    total = tl.full([], 1.0, EXACT)
    answer = tl.load(x + own * width + column, mask=inside, other=0.0).to(EXACT)
    end = tl.load(begins + node + 1)
    for first in range(tl.load(begins + node), end, TOKENS):
        place = first + tl.arange(0, TOKENS)
        there = place < end
        arc = tl.load(rows + place, mask=there, other=0)
        other = tl.load(source + arc, mask=there, other=0)
        scores = _scores_of(arc, other, node, of_source, of_target, of_arcs, networks, network, there, OF_ARCS, EXACT)
        scores = tl.where(there, _leaky(scores, NEGATIVE), -float("inf"))
        highest = tl.maximum(largest, tl.max(scores, 0))
        weights = tl.exp(scores - highest)
        kept = tl.exp(largest - highest)
        at = (other * networks + network)[:, None] * width + column[None, :]
        seen = tl.load(x + at, mask=there[:, None] & inside[None, :], other=0.0).to(EXACT)
        total = total * kept + tl.sum(weights, 0)
        answer = answer * kept + tl.sum(weights[:, None] * seen, 0)
        largest = highest
    tl.store(result + own * width + column, (answer / total).to(result.dtype.element_ty), mask=inside)
    tl.store(sums + own, largest + tl.log(total))


@triton.jit
def _slopes_by_target(
    to_target,
    to_arcs,
    of_loops,
    slope,
    result,
    sums,
    x,
    of_source,
    of_target,
    of_arcs,
    rows,
    begins,
    source,
    networks,
    width,
    NEGATIVE: tl.constexpr,
    OF_ARCS: tl.constexpr,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    EXACT: tl.constexpr,
):
    node, network = tl.program_id(0).to(tl.int64), tl.program_id(1)
    own = node * networks + network
    column = tl.arange(0, WIDTH)
    inside = column < width
    given = tl.load(slope + own * width + column, mask=inside, other=0.0).to(EXACT)
    shared = tl.sum(given * tl.load(result + own * width + column, mask=inside, other=0.0).to(EXACT), 0)
    all_weights = tl.load(sums + own)
    score = tl.load(of_source + own).to(EXACT) + tl.load(of_target + own).to(EXACT)
    weight = tl.exp(_leaky(score, NEGATIVE) - all_weights)
    loop = tl.sum(given * tl.load(x + own * width + column, mask=inside, other=0.0).to(EXACT), 0)
    total = _through(score, weight * (loop - shared), NEGATIVE)
    tl.store(of_loops + own, total)
    end = tl.load(begins + node + 1)
    for first in range(tl.load(begins + node), end, TOKENS):
        place = first + tl.arange(0, TOKENS)
        there = place < end
        arc = tl.load(rows + place, mask=there, other=0)
        other = tl.load(source + arc, mask=there, other=0)
        scores = _scores_of(arc, other, node, of_source, of_target, of_arcs, networks, network, there, OF_ARCS, EXACT)
        weights = tl.exp(_leaky(scores, NEGATIVE) - all_weights)
        at = (other * networks + network)[:, None] * width + column[None, :]
        seen = tl.load(x + at, mask=there[:, None] & inside[None, :], other=0.0).to(EXACT)
        found = _through(scores, weights * (tl.sum(seen * given[None, :], 1) - shared), NEGATIVE)
        tl.store(to_arcs + arc * networks + network, found, mask=there)
        total += tl.sum(tl.where(there, found, 0.0), 0)
    tl.store(to_target + own, total)


@triton.jit
def _slopes_by_source(
    of_x,
    to_source,
    to_arcs,
    of_loops,
    slope,
    sums,
    of_source,
    of_target,
    of_arcs,
    rows,
    begins,
    target,
    networks,
    width,
    NEGATIVE: tl.constexpr,
    OF_ARCS: tl.constexpr,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    EXACT: tl.constexpr,
):
    node, network = tl.program_id(0).to(tl.int64), tl.program_id(1)
    own = node * networks + network
    column = tl.arange(0, WIDTH)
    inside = column < width
    score = tl.load(of_source + own).to(EXACT) + tl.load(of_target + own).to(EXACT)
    weight = tl.exp(_leaky(score, NEGATIVE) - tl.load(sums + own))
    answer = weight * tl.load(slope + own * width + column, mask=inside, other=0.0).to(EXACT)
    total = tl.load(of_loops + own)
    end = tl.load(begins + node + 1)
    for first in range(tl.load(begins + node), end, TOKENS):
        place = first + tl.arange(0, TOKENS)
        there = place < end
        arc = tl.load(rows + place, mask=there, other=0)
        other = tl.load(target + arc, mask=there, other=0)
        scores = _scores_of(arc, other, node, of_target, of_source, of_arcs, networks, network, there, OF_ARCS, EXACT)
        all_weights = tl.load(sums + other * networks + network, mask=there, other=0.0)
        weights = tl.where(there, tl.exp(_leaky(scores, NEGATIVE) - all_weights), 0.0)
        at = (other * networks + network)[:, None] * width + column[None, :]
        given = tl.load(slope + at, mask=there[:, None] & inside[None, :], other=0.0).to(EXACT)
        answer += tl.sum(weights[:, None] * given, 0)
        total += tl.sum(tl.load(to_arcs + arc * networks + network, mask=there, other=0.0), 0)
    tl.store(of_x + own * width + column, answer.to(of_x.dtype.element_ty), mask=inside)
    tl.store(to_source + own, total)
