"""Scaled dot-product attention inside each token set, three ways that agree.

"bucketed" computes sets of equal (or similar) size together, "padded" pads all sets to the largest, "varlen" keeps the
tokens flat: with torch's variable-length kernel where there is one, otherwise with all pairs (query, key) in a list.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.utils import softmax

from detours.checks import check_choice
from detours.nn.buckets import single
from detours.nn.layout import Layout, laid_out
from detours.nn.tokens import Tokens

WAYS = ("auto", "bucketed", "padded", "varlen")

# Up to this size of a set, two batched products are taken on a CUDA device in place of a fused kernel made for long
# sequences. On a CPU the fused kernel is quicker for any size: on MUTAG, up to twice as quick.
TINY = 32
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
    """The way that "auto" stands for: the one place that knows which is quicker where."""
    if attention != "auto":
        return attention
    return "varlen" if has_kernel(qkv) and len(tokens.buckets) >= VARLEN_BUCKETS else "bucketed"


def attend(qkv: Tensor, tokens: Tokens, attention: str = "auto") -> Tensor:
    """Every token asks the tokens of its set: [T, 3, heads, d], queries, keys and values, to [T, heads, d]."""
    match chosen(attention, qkv, tokens):
        case "varlen":
            return _kernel(qkv, tokens) if has_kernel(qkv) else _all_pairs(qkv, tokens)
        case "padded":
            return _by_buckets(qkv, _one_bucket(tokens))
        case _:
            return _by_buckets(qkv, tokens.layout)


def attend_self(query: Tensor, state: Tensor, tokens: Tokens, attention: str = "auto") -> Tensor:
    """Only self tokens ask, and what they see are the states of the tokens themselves, the same for all heads.

    Args:
        query: [N, heads, d] one query per set and head, in the order of the sets, scaled already.
        state: [T, d] keys and values.
        tokens: The sets.
        attention: One of `WAYS`.

    Returns:
        [N, heads, d], in the order of the sets.
    """
    if attention == "varlen":
        weights = self_weights(query, state, tokens).unsqueeze(-1)
        set_of_token = tokens.sets.index_select(0, tokens.query)
        return torch.zeros_like(query).index_add(0, set_of_token, (weights * state.unsqueeze(1)).to(query.dtype))
    layout = _one_bucket(tokens) if attention == "padded" else tokens.layout
    parts = []
    for asked, seen, real in zip(layout.split_sets(query), layout.split(state), layout.masks(), strict=True):
        # All heads see the same, so they are so many queries of one head.
        shared = seen.unsqueeze(1)
        parts.append(_dense(asked.unsqueeze(1), shared, shared, real, scale=1.0).squeeze(1))
    return torch.cat(parts) if parts else query


def self_weights(query: Tensor, state: Tensor, tokens: Tokens) -> Tensor:
    """[T, heads]: how much each token counts for the self token of its set, for the arguments of `attend_self`."""
    set_of_token = tokens.sets.index_select(0, tokens.query)
    scores = (query.index_select(0, set_of_token) * state.unsqueeze(1)).sum(-1)
    return softmax(scores, set_of_token, num_nodes=tokens.num_sets)


def _one_bucket(tokens: Tokens) -> Layout:
    return laid_out(single(tokens.buckets), tokens.sets.index_select(0, tokens.query), tokens.first)


def _by_buckets(qkv: Tensor, layout: Layout) -> Tensor:
    """[sets, size] tokens at a time, the padding of mixed buckets masked."""
    if not layout.buckets:
        return qkv[:, 2]
    scale, parts = 1 / sqrt(qkv.size(-1)), []
    for part, real in zip(layout.split(qkv), layout.masks(), strict=True):
        query, key, value = (each.transpose(1, 2) for each in part.unbind(2))
        parts.append(_dense(query, key, value, real, scale).transpose(1, 2))
    return layout.join(parts)


def _dense(query: Tensor, key: Tensor, value: Tensor, real: Tensor | None, scale: float) -> Tensor:
    """Attention in sets of one size, [sets, heads, …, d], of which [sets, size] keys are real: one choice of kernel."""
    mask = None if real is None else real[:, None, None, :]
    if key.size(2) > TINY or not key.is_cuda:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    return _two_products(query, key, value, mask, scale)


def _two_products(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    scores = (query * scale) @ key.transpose(2, 3)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1) @ value


def _all_pairs(qkv: Tensor, tokens: Tokens) -> Tensor:
    """All pairs (query, key) of the sets in a list: exact anywhere, and as large as the sum of the squared sizes."""
    query, key, value = qkv.unbind(1)
    sizes = tokens.set_sizes
    begin, size = (each.index_select(0, tokens.sets.index_select(0, tokens.query)) for each in (tokens.first, sizes))
    everyone = torch.arange(tokens.num_tokens, device=qkv.device)
    asking = torch.repeat_interleave(everyone, size, output_size=tokens.num_pairs)
    shift = begin - (torch.cumsum(size, 0) - size)
    asked = torch.arange(tokens.num_pairs, device=qkv.device) + shift.index_select(0, asking)
    scores = (query.index_select(0, asking) * key.index_select(0, asked)).sum(-1) / sqrt(query.size(-1))
    weights = softmax(scores, asking, num_nodes=tokens.num_tokens)
    return torch.zeros_like(value).index_add(0, asking, weights.unsqueeze(-1) * value.index_select(0, asked))


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
    begins = F.pad(tokens.first, (0, 1), value=tokens.num_tokens).to(torch.int32)
    attended: Tensor = kernel(query, key, value, begins, begins, tokens.largest, tokens.largest)
    return attended
