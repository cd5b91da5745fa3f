"""The softmax of GAT over the neighbours of each node and itself, and the sum that it weights: one pass over the arcs
forward, two backward, by target and by source.

A program has one node of one network, as in `attention_triton`. Nothing as wide as x is stored per arc.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from detours.nn.fused.attention_triton import block_options
from detours.nn.fused.groups import checked, groups_of


def softmax_aggregate(
    x: Tensor,
    alpha_src: Tensor,
    alpha_dst: Tensor,
    alpha_edge: Tensor | None,
    source: Tensor,
    target: Tensor,
    negative_slope: float,
) -> tuple[Tensor, Tensor]:
    """Return the aggregated x of each node, like `x`, and the log-sum-exp of its scores, like `alpha_src`.

    Args:
        x: [nodes, networks, d], or without networks.
        alpha_src: [nodes, networks] what a node adds to the scores of its outgoing arcs, and of its loop.
        alpha_dst: [nodes, networks] the same for its incoming arcs.
        alpha_edge: [arcs, networks] what an arc adds to its score.
        source: [arcs].
        target: [arcs].
        negative_slope: Of the leaky ReLU.
    """
    x, nodes = x.contiguous(), x.size(0)
    alphas, sizes, options = _kernel_arguments(x, alpha_src, alpha_dst, alpha_edge, source, negative_slope)
    output, logsumexp = torch.empty_like(x), torch.empty_like(alphas[0], dtype=_wide(x))
    with torch.cuda.device_of(x):
        _forward[_grid(logsumexp)](
            output,
            logsumexp,
            x,
            *alphas,
            *groups_of(target, nodes),
            checked(source, nodes).contiguous(),
            *sizes,
            **options,
        )
    return output, logsumexp


def softmax_aggregate_backward(
    grad_output: Tensor,
    output: Tensor,
    logsumexp: Tensor,
    x: Tensor,
    alpha_src: Tensor,
    alpha_dst: Tensor,
    alpha_edge: Tensor | None,
    source: Tensor,
    target: Tensor,
    negative_slope: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return the gradients of x, alpha_src, alpha_dst and alpha_edge."""
    x, grad_output, nodes = x.contiguous(), grad_output.contiguous(), x.size(0)
    alphas, sizes, options = _kernel_arguments(x, alpha_src, alpha_dst, alpha_edge, source, negative_slope)
    grad_x, grad_loop, grad_src, grad_dst = (torch.empty_like(each) for each in (x, logsumexp, logsumexp, logsumexp))
    grad_edge = logsumexp.new_empty((source.numel(), *logsumexp.shape[1:]))
    by_target, by_source = (groups_of(each, nodes) for each in (target, source))
    source, target = source.contiguous(), target.contiguous()
    with torch.cuda.device_of(x):
        _backward_by_target[_grid(logsumexp)](
            grad_dst,
            grad_edge,
            grad_loop,
            grad_output,
            output,
            logsumexp,
            x,
            *alphas,
            *by_target,
            source,
            *sizes,
            **options,
        )
        _backward_by_source[_grid(logsumexp)](
            grad_x,
            grad_src,
            grad_edge,
            grad_loop,
            grad_output,
            logsumexp,
            *alphas,
            *by_source,
            target,
            *sizes,
            **options,
        )
    grad_src, grad_dst, grad_edge = (each.to(x.dtype) for each in (grad_src, grad_dst, grad_edge))
    return grad_x, grad_src, grad_dst, None if alpha_edge is None else grad_edge


def _kernel_arguments(
    x: Tensor, alpha_src: Tensor, alpha_dst: Tensor, alpha_edge: Tensor | None, source: Tensor, negative_slope: float
) -> tuple[list[Tensor], tuple[int, int], dict[str, Any]]:
    """The three alphas, the numbers of networks and channels, and the compile-time options of the kernels."""
    alphas = [each.contiguous() for each in (alpha_src, alpha_dst, alpha_src if alpha_edge is None else alpha_edge)]
    options = block_options(x, source.numel() // x.size(0))
    options |= {"HAS_EDGE": alpha_edge is not None, "NEGATIVE_SLOPE": negative_slope}
    return alphas, (alpha_src[0].numel(), x.size(-1)), options


def _grid(logsumexp: Tensor) -> tuple[int, int]:
    return logsumexp.size(0), logsumexp[0].numel()


def _wide(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


@triton.jit
def _leaky_relu(score, NEGATIVE_SLOPE: tl.constexpr):
    return tl.where(score > 0, score, NEGATIVE_SLOPE * score)


@triton.jit
def _leaky_relu_backward(score, grad, NEGATIVE_SLOPE: tl.constexpr):
    """The gradient of a score, from that of its leaky ReLU."""
    return tl.where(score > 0, grad, NEGATIVE_SLOPE * grad)


@triton.jit
def _scores(
    arc, neighbours, node, alpha_neighbours, alpha_node, alpha_edge, networks, network, arc_mask, HAS_EDGE, ACC
):
    """The scores of arcs between `neighbours`, one per arc, and `node`, before the leaky ReLU."""
    score = tl.load(alpha_neighbours + neighbours * networks + network, mask=arc_mask, other=0.0).to(ACC)
    score += tl.load(alpha_node + node * networks + network).to(ACC)
    if HAS_EDGE:
        score += tl.load(alpha_edge + arc * networks + network, mask=arc_mask, other=0.0).to(ACC)
    return score


@triton.jit
def _forward(
    output,
    logsumexp,
    x,
    alpha_src,
    alpha_dst,
    alpha_edge,
    rows,
    offsets,
    source,
    networks,
    width,
    NEGATIVE_SLOPE: tl.constexpr,
    HAS_EDGE: tl.constexpr,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    ACC: tl.constexpr,
):
    node, network = tl.program_id(0).to(tl.int64), tl.program_id(1)
    node_index = node * networks + network
    column = tl.arange(0, WIDTH)
    column_mask = column < width
    loop_score = tl.load(alpha_src + node_index).to(ACC) + tl.load(alpha_dst + node_index).to(ACC)
    largest = _leaky_relu(loop_score, NEGATIVE_SLOPE)
    total = tl.full([], 1.0, ACC)
    acc = tl.load(x + node_index * width + column, mask=column_mask, other=0.0).to(ACC)
    end = tl.load(offsets + node + 1)
    for first in range(tl.load(offsets + node), end, TOKENS):
        position = first + tl.arange(0, TOKENS)
        arc_mask = position < end
        arc = tl.load(rows + position, mask=arc_mask, other=0)
        other = tl.load(source + arc, mask=arc_mask, other=0)
        scores = _scores(arc, other, node, alpha_src, alpha_dst, alpha_edge, networks, network, arc_mask, HAS_EDGE, ACC)
        scores = tl.where(arc_mask, _leaky_relu(scores, NEGATIVE_SLOPE), -float("inf"))
        new_largest = tl.maximum(largest, tl.max(scores, 0))
        weights = tl.exp(scores - new_largest)
        rescale = tl.exp(largest - new_largest)
        index = (other * networks + network)[:, None] * width + column[None, :]
        x_other = tl.load(x + index, mask=arc_mask[:, None] & column_mask[None, :], other=0.0).to(ACC)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * x_other, 0)
        largest = new_largest
    tl.store(output + node_index * width + column, (acc / total).to(output.dtype.element_ty), mask=column_mask)
    tl.store(logsumexp + node_index, largest + tl.log(total))


@triton.jit
def _backward_by_target(
    grad_dst,
    grad_edge,
    grad_loop,
    grad_output,
    output,
    logsumexp,
    x,
    alpha_src,
    alpha_dst,
    alpha_edge,
    rows,
    offsets,
    source,
    networks,
    width,
    NEGATIVE_SLOPE: tl.constexpr,
    HAS_EDGE: tl.constexpr,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    ACC: tl.constexpr,
):
    node, network = tl.program_id(0).to(tl.int64), tl.program_id(1)
    node_index = node * networks + network
    column = tl.arange(0, WIDTH)
    column_mask = column < width
    grad_out = tl.load(grad_output + node_index * width + column, mask=column_mask, other=0.0).to(ACC)
    delta = tl.sum(grad_out * tl.load(output + node_index * width + column, mask=column_mask, other=0.0).to(ACC), 0)
    lse = tl.load(logsumexp + node_index)
    score = tl.load(alpha_src + node_index).to(ACC) + tl.load(alpha_dst + node_index).to(ACC)
    weight = tl.exp(_leaky_relu(score, NEGATIVE_SLOPE) - lse)
    loop = tl.sum(grad_out * tl.load(x + node_index * width + column, mask=column_mask, other=0.0).to(ACC), 0)
    total = _leaky_relu_backward(score, weight * (loop - delta), NEGATIVE_SLOPE)
    tl.store(grad_loop + node_index, total)
    end = tl.load(offsets + node + 1)
    for first in range(tl.load(offsets + node), end, TOKENS):
        position = first + tl.arange(0, TOKENS)
        arc_mask = position < end
        arc = tl.load(rows + position, mask=arc_mask, other=0)
        other = tl.load(source + arc, mask=arc_mask, other=0)
        scores = _scores(arc, other, node, alpha_src, alpha_dst, alpha_edge, networks, network, arc_mask, HAS_EDGE, ACC)
        weights = tl.exp(_leaky_relu(scores, NEGATIVE_SLOPE) - lse)
        index = (other * networks + network)[:, None] * width + column[None, :]
        x_other = tl.load(x + index, mask=arc_mask[:, None] & column_mask[None, :], other=0.0).to(ACC)
        grad_scores = _leaky_relu_backward(
            scores, weights * (tl.sum(x_other * grad_out[None, :], 1) - delta), NEGATIVE_SLOPE
        )
        tl.store(grad_edge + arc * networks + network, grad_scores, mask=arc_mask)
        total += tl.sum(tl.where(arc_mask, grad_scores, 0.0), 0)
    tl.store(grad_dst + node_index, total)


@triton.jit
def _backward_by_source(
    grad_x,
    grad_src,
    grad_edge,
    grad_loop,
    grad_output,
    logsumexp,
    alpha_src,
    alpha_dst,
    alpha_edge,
    rows,
    offsets,
    target,
    networks,
    width,
    NEGATIVE_SLOPE: tl.constexpr,
    HAS_EDGE: tl.constexpr,
    TOKENS: tl.constexpr,
    WIDTH: tl.constexpr,
    ACC: tl.constexpr,
):
    node, network = tl.program_id(0).to(tl.int64), tl.program_id(1)
    node_index = node * networks + network
    column = tl.arange(0, WIDTH)
    column_mask = column < width
    score = tl.load(alpha_src + node_index).to(ACC) + tl.load(alpha_dst + node_index).to(ACC)
    weight = tl.exp(_leaky_relu(score, NEGATIVE_SLOPE) - tl.load(logsumexp + node_index))
    acc = weight * tl.load(grad_output + node_index * width + column, mask=column_mask, other=0.0).to(ACC)
    total = tl.load(grad_loop + node_index)
    end = tl.load(offsets + node + 1)
    for first in range(tl.load(offsets + node), end, TOKENS):
        position = first + tl.arange(0, TOKENS)
        arc_mask = position < end
        arc = tl.load(rows + position, mask=arc_mask, other=0)
        other = tl.load(target + arc, mask=arc_mask, other=0)
        scores = _scores(arc, other, node, alpha_dst, alpha_src, alpha_edge, networks, network, arc_mask, HAS_EDGE, ACC)
        lse = tl.load(logsumexp + other * networks + network, mask=arc_mask, other=0.0)
        weights = tl.where(arc_mask, tl.exp(_leaky_relu(scores, NEGATIVE_SLOPE) - lse), 0.0)
        index = (other * networks + network)[:, None] * width + column[None, :]
        grad_out = tl.load(grad_output + index, mask=arc_mask[:, None] & column_mask[None, :], other=0.0).to(ACC)
        acc += tl.sum(weights[:, None] * grad_out, 0)
        total += tl.sum(tl.load(grad_edge + arc * networks + network, mask=arc_mask, other=0.0), 0)
    tl.store(grad_x + node_index * width + column, acc.to(grad_x.dtype.element_ty), mask=column_mask)
    tl.store(grad_src + node_index, total)
