"""Scaled dot-product attention inside each token set, three ways that agree.

"bucketed" computes sets of equal (or similar) size together, "padded" pads all sets to the largest, "varlen" keeps the
tokens flat: with torch's variable-length kernel where there is one, otherwise with all pairs (query, key) in a list.
"auto" takes a kernel of our own on a GPU with Triton, and the quickest of these elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from detours.checks import check_choice
from detours.nn.functional import check_shared, gather, networks_second, rows_first, segment_softmax, segment_sum
from detours.nn.fused import fused
from detours.nn.tokens.buckets import single
from detours.nn.tokens.layout import Layout, laid_out
from detours.nn.tokens.tokens import Tokens

WAYS = ("auto", "bucketed", "padded", "varlen")

# Up to this size of a set, two batched products are taken in place of a fused kernel made for long sequences: they are
# quicker on a CUDA device, and `torch.vmap` has no rule for the fused kernel of the CPU.
TINY = 32
# Sets of so many tokens on average are small: on a CPU their products are mostly calls.
SMALL = 8
# torch's variable-length kernel knows these, and heads up to 256 wide.
VARLEN_DTYPES = (torch.bfloat16, torch.float16)
VARLEN_WIDEST = 256
# From so many buckets on, one variable-length kernel is taken to be quicker than one product per bucket.
VARLEN_BUCKETS = 8


def check_way(attention: str) -> str:
    """Return the name of a way of computing attention, or raise `InputError`."""
    check_choice("attention", attention, WAYS)
    return attention


def chosen(attention: str, qkv: Tensor, tokens: Tokens) -> str:
    """Return the way that "auto" stands for where no kernel of ours is taken: the quicker one."""
    if attention != "auto":
        return attention
    return "varlen" if has_kernel(qkv) and len(tokens.buckets) >= VARLEN_BUCKETS else "bucketed"


def attend(qkv: Tensor, tokens: Tokens, attention: str = "auto", bias: Tensor | None = None) -> Tensor:
    """Let every token ask the tokens of its set.

    Args:
        qkv: [T, 3, heads, d] queries, keys and values.
        tokens: The sets.
        attention: One of `WAYS`.
        bias: [T, heads] added to the scores of a token, whoever asks.

    Returns:
        [T, heads, d].
    """
    if attention == "auto" and bias is None and has_own_kernel(qkv):
        attended: Tensor = _EveryQuery.apply(qkv, tokens.set_of_token, tokens.begins)[0]
        return attended
    way = chosen(attention, qkv, tokens)
    if way == "varlen":
        if bias is None and has_kernel(qkv):
            return _kernel(qkv, tokens)
        return _all_pairs(qkv, tokens.set_of_token, tokens.begins, bias, tokens.num_pairs)
    return _by_buckets(qkv, _one_bucket(tokens) if way == "padded" else tokens.laid_out, bias)


def attend_self(
    query: Tensor, state: Tensor, tokens: Tokens, attention: str = "auto", bias: Tensor | None = None
) -> Tensor:
    """Let only self tokens ask; what they see are the states of the tokens themselves, the same for all heads.

    Args:
        query: [N, heads, d] one query per set and head, in the order of the sets, scaled already.
        state: [T, d] keys and values.
        tokens: The sets.
        attention: One of `WAYS`.
        bias: [T, heads] added to the scores.

    Returns:
        [N, heads, d], in the order of the sets.
    """
    if attention == "auto" and bias is None and _as_sums(query, tokens):
        query, state = (each.to(torch.promote_types(query.dtype, state.dtype)) for each in (query, state))
        attended: Tensor = _OneQuery.apply(query, state, tokens.set_of_token, tokens.begins)[0]
        return attended
    if attention == "varlen" or tokens.layout is None:
        weights = self_weights(query, state, tokens, bias).unsqueeze(-1)
        return segment_sum((weights * state.unsqueeze(1)).to(query.dtype), tokens.set_of_token, tokens.num_sets)
    layout = _one_bucket(tokens) if attention == "padded" else tokens.laid_out
    parts = []
    for asked, seen, mask in zip(layout.split_sets(query), layout.split(state), _masks(layout, bias), strict=True):
        # All heads see the same, so they are queries of one head.
        parts.append(two_products(asked, seen, seen, mask, scale=1.0))
    return torch.cat(parts) if parts else query


def _as_sums(query: Tensor, tokens: Tokens) -> bool:
    """Whether sums over sets are quicker than products: they hold a row per token and head, products one per token."""
    if not tokens.num_sets:
        return False
    if fused(query):
        return True
    return query.size(1) == 1 if rows_first(query.device) else tokens.num_tokens <= SMALL * tokens.num_sets


def self_weights(query: Tensor, state: Tensor, tokens: Tokens, bias: Tensor | None = None) -> Tensor:
    """Return [T, heads]: the weight of each token for the self token of its set, for the arguments of `attend_self`."""
    scores = (gather(query, tokens.set_of_token) * state.unsqueeze(1)).sum(-1)
    scores = scores if bias is None else scores + bias
    return segment_softmax(scores, tokens.set_of_token, tokens.num_sets)


def _one_bucket(tokens: Tokens) -> Layout:
    return laid_out(single(tokens.buckets), tokens.set_of_token, tokens.first)


def _by_buckets(qkv: Tensor, layout: Layout, bias: Tensor | None) -> Tensor:
    """[sets, size] tokens at a time, the padding of mixed buckets masked."""
    if not layout.buckets:
        return qkv[:, 2]
    scale, parts = 1 / sqrt(qkv.size(-1)), []
    for part, mask in zip(layout.split(qkv), _masks(layout, bias), strict=True):
        query, key, value = (each.transpose(1, 2) for each in part.unbind(2))
        mask = None if mask is None else mask.unsqueeze(2)
        parts.append(_dense(query, key, value, mask, scale).transpose(1, 2))
    return layout.join(parts)


def _masks(layout: Layout, bias: Tensor | None) -> list[Tensor | None]:
    """For each bucket [sets, 1 or heads, size] what is added to the scores, or True for real tokens, or None."""
    masks = [None if real is None else real.unsqueeze(1) for real in layout.masks()]
    if bias is None:
        return masks
    added = (part.transpose(1, 2) for part in layout.split(bias))
    return [
        part if real is None else part.masked_fill(~real, -torch.inf) for part, real in zip(added, masks, strict=True)
    ]


def _dense(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Attention in sets of one size, [sets, heads, size, d]: one choice of kernel."""
    learned = mask is not None and mask.dtype != torch.bool
    if key.size(2) <= TINY or (learned and not query.is_cuda):  # that of the CPU has no gradient of a mask
        return two_products(query, key, value, mask, scale)
    if mask is not None and not learned:
        # made from the query, as `torch.vmap` hands the kernel of a GPU a mask of one network for all of them
        mask = query.new_zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


def two_products(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Attention in sets of one size, as `F.scaled_dot_product_attention`, by products that hold all scores."""
    scores = (query * scale) @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1) @ value


def _all_pairs(
    qkv: Tensor, set_of_token: Tensor, begins: Tensor, bias: Tensor | None = None, number: int | None = None
) -> Tensor:
    """All pairs (query, key) of the sets in a list: exact anywhere, and as large as the sum of the squared sizes.

    Without their `number`, this waits for the device.
    """
    query, key, value = qkv.unbind(1)
    tokens = qkv.size(0)
    begin, size = (each.index_select(0, set_of_token) for each in (begins, torch.diff(begins)))
    asking = torch.repeat_interleave(torch.arange(tokens, device=qkv.device), size, output_size=number)
    shift = begin - (torch.cumsum(size, 0) - size)
    asked = torch.arange(asking.numel(), device=qkv.device) + shift.index_select(0, asking)
    scores = (gather(query, asking) * gather(key, asked)).sum(-1) / sqrt(query.size(-1))
    scores = scores if bias is None else scores + gather(bias, asked)
    weights = segment_softmax(scores, asking, tokens)
    return segment_sum(weights.unsqueeze(-1) * gather(value, asked), asking, tokens)


@cache
def _varlen_attn() -> Callable[..., Any] | None:
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # older than torch 2.10
        return None
    found: Callable[..., Any] = varlen_attn
    return found


def has_kernel(qkv: Tensor) -> bool:
    """Whether torch has a variable-length kernel for these."""
    fits = qkv.is_cuda and qkv.dtype in VARLEN_DTYPES and qkv.size(-1) <= VARLEN_WIDEST
    return fits and _varlen_attn() is not None


def _kernel(qkv: Tensor, tokens: Tokens) -> Tensor:
    query, key, value = qkv.unbind(1)
    kernel = _varlen_attn()
    assert kernel is not None
    begins = tokens.begins.to(torch.int32)
    attended: Tensor = kernel(query, key, value, begins, begins, tokens.largest, tokens.largest)
    return attended


def has_own_kernel(qkv: Tensor) -> bool:
    """Whether every token asks by a kernel of ours: its products know no 64 bits."""
    return fused(qkv) and qkv.dtype != torch.float64


class _EveryQuery(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """qkv [T, 3, heads, d]: the answers [T, heads, d], and the logarithms of sums of weights [T, heads].

    Of stacked networks, the dimension is the second everywhere.
    """

    @staticmethod
    def forward(qkv: Tensor, set_of_token: Tensor, begins: Tensor) -> tuple[Tensor, Tensor]:
        from detours.nn.fused import sets_triton

        answered, sums = sets_triton.attended(_networks_together(qkv, 3), set_of_token, begins)
        shape = (*qkv.shape[:-3], *qkv.shape[-2:])
        return answered.view(shape), sums.view(shape[:-1])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        qkv, set_of_token, begins, answered, sums = ctx.saved_tensors
        if torch.is_grad_enabled() or not fused(slope):  # differentiated once more, or several slopes at a time

            def pairs(qkv: Tensor) -> Tensor:
                by_head = _networks_together(qkv, 3).transpose(1, 2).flatten(2, 3)  # heads of all networks
                return _all_pairs(by_head, set_of_token, begins).view_as(answered)

            return *torch.func.vjp(pairs, qkv)[1](slope), None, None
        from detours.nn.fused import sets_triton

        given = (_networks_together(each, own) for each, own in ((answered, 2), (sums, 1), (slope, 2)))
        of_qkv = sets_triton.slopes(_networks_together(qkv, 3), set_of_token, begins, *given)
        return of_qkv.view_as(qkv), None, None

    @staticmethod
    def vmap(
        info: Any, dims: tuple[int | None, ...], qkv: Tensor, set_of_token: Tensor, begins: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        check_shared(*dims[1:])
        return _EveryQuery.apply(networks_second(qkv, dims[0], info), set_of_token, begins), (1, 1)


def _networks_together(tensor: Tensor, own: int) -> Tensor:
    """The same with one dimension for networks, the second: a network has one for rows and so many others.

    None become one of 1, and those of `torch.vmap` within `torch.vmap` one of all.
    """
    return tensor.reshape(tensor.size(0), -1, *tensor.shape[tensor.dim() - own :])


class _OneQuery(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """Queries of each set, [N, heads, d], ask states [T, d]: the answers [N, heads, d] and the weights [T, heads].

    Without padding and without products, of which so many tiny ones take longer than sums do. Of stacked networks, the
    dimension is the second everywhere. A kernel gives the logarithms of sums [N, heads] in place of the weights, which
    it makes anew when it goes back.
    """

    @staticmethod
    def forward(query: Tensor, state: Tensor, set_of_token: Tensor, begins: Tensor) -> tuple[Tensor, Tensor]:
        if fused(query, state):
            from detours.nn.fused import attention_triton

            answered, sums = attention_triton.answers(
                _networks_together(query, 2), _networks_together(state, 1), begins
            )
            return answered.view_as(query), sums.view(query.shape[:-1])
        weights = _weights_of_sets(query, state, set_of_token, begins)
        return _of_sets("sum", state.unsqueeze(-2) * weights.unsqueeze(-1), begins), weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.fused = fused(*inputs[:2])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        query, state, set_of_token, begins, answered, weights = ctx.saved_tensors
        if ctx.fused and fused(slope) and not torch.is_grad_enabled():
            from detours.nn.fused import attention_triton

            both = ((query, 2), (state, 1), (slope, 2), (answered, 2), (weights, 1))
            given = (_networks_together(each, own) for each, own in both)
            of_query, of_states = attention_triton.slopes(begins, set_of_token, *given)
            return of_query.view_as(query), of_states.view_as(state), None, None
        if ctx.fused or torch.is_grad_enabled():  # where it is differentiated once more, weights depend on both
            weights = _weights_of_sets(query, state, set_of_token, begins)
        seen, slopes = state.unsqueeze(-2), slope.index_select(0, set_of_token)
        weighted = weights * (seen * slopes).sum(-1)
        shared = _of_sets("sum", weighted, begins).index_select(0, set_of_token)
        of_scores = (weighted - weights * shared).unsqueeze(-1)
        by_head = torch.addcmul(slopes * weights.unsqueeze(-1), query.index_select(0, set_of_token), of_scores)
        of_state = by_head.squeeze(-2) if by_head.size(-2) == 1 else by_head.sum(-2)
        return _of_sets("sum", seen * of_scores, begins), of_state, None, None

    @staticmethod
    def vmap(
        info: Any,
        dims: tuple[int | None, ...],
        query: Tensor,
        state: Tensor,
        set_of_token: Tensor,
        begins: Tensor,
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        check_shared(*dims[2:])
        stacked = (networks_second(each, dim, info) for each, dim in zip((query, state), dims, strict=False))
        return _OneQuery.apply(*stacked, set_of_token, begins), (1, 1)


def _weights_of_sets(query: Tensor, state: Tensor, set_of_token: Tensor, begins: Tensor) -> Tensor:
    scores = (state.unsqueeze(-2) * query.index_select(0, set_of_token)).sum(-1)
    largest = _of_sets("max", scores.detach(), begins)
    shares = (scores - largest.index_select(0, set_of_token)).exp()
    return shares / _of_sets("sum", shares, begins).index_select(0, set_of_token)


def _of_sets(how: str, values: Tensor, begins: Tensor) -> Tensor:
    """Return [N, …], the sum or maximum of the rows of each set; set n begins at row ``begins[n]``."""
    # the check of the sizes would wait for the device
    return torch.segment_reduce(values.contiguous(), how, offsets=begins, axis=0, unsafe=True)
