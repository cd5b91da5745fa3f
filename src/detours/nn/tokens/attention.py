"""Scaled dot-product attention inside each token set, by one of several equivalent implementations.

"bucketed" computes sets of equal (or similar) size together, "padded" pads all sets to the largest (`products`).
"varlen" keeps the tokens flat, with torch's variable-length kernel if available, else with a list of all pairs (query,
key) (`varlen`). "auto" takes a custom kernel on a GPU with Triton, sums over sets if only self tokens are queries and
sums are faster (`queries`), and otherwise the fastest of the others.
"""

from __future__ import annotations

import torch
from torch import Tensor

from detours.checks import check_choice
from detours.nn.functional import gather, rows_first, segment_softmax, segment_sum
from detours.nn.fused import fused
from detours.nn.tokens.buckets import single
from detours.nn.tokens.layout import Layout, build_layout
from detours.nn.tokens.products import attend_bucketed, attend_self_bucketed
from detours.nn.tokens.queries import EveryQuery, OneQuery
from detours.nn.tokens.tokens import Tokens
from detours.nn.tokens.varlen import attend_pairs, attend_varlen, has_kernel

IMPLEMENTATIONS = ("auto", "bucketed", "padded", "varlen")

# Sets of at most this many tokens on average are small: on a CPU, the time of their products is mostly call overhead.
SMALL_SET = 8
# From this many buckets on, one variable-length kernel is assumed to be faster than one product per bucket.
VARLEN_BUCKETS = 8


def check_attention(attention: str) -> str:
    """Return `attention` if it names an implementation, or raise `InputError`."""
    check_choice("attention", attention, IMPLEMENTATIONS)
    return attention


def chosen(attention: str, qkv: Tensor, tokens: Tokens, bias: Tensor | None = None) -> str:
    """Return the implementation that "auto" stands for without a custom kernel: the faster one."""
    if attention != "auto":
        return attention
    # torch's kernel takes no bias, and the list of all pairs that would replace it is large
    return "varlen" if bias is None and has_kernel(qkv) and len(tokens.buckets) >= VARLEN_BUCKETS else "bucketed"


def attend(qkv: Tensor, tokens: Tokens, attention: str = "auto", bias: Tensor | None = None) -> Tensor:
    """Let every token attend to the tokens of its set.

    Args:
        qkv: [T, 3, heads, d] queries, keys and values.
        tokens: The sets.
        attention: One of `IMPLEMENTATIONS`.
        bias: [T, heads] added to the scores of each key, for all queries.

    Returns:
        [T, heads, d].
    """
    if attention == "auto" and bias is None and has_custom_kernel(qkv):
        output: Tensor = EveryQuery.apply(qkv, tokens.set_of_token, tokens.begins)[0]
        return output
    implementation = chosen(attention, qkv, tokens, bias)
    if implementation == "varlen":
        if bias is None and has_kernel(qkv):
            return attend_varlen(qkv, tokens)
        return attend_pairs(qkv, tokens.set_of_token, tokens.begins, bias, tokens.num_pairs)
    return attend_bucketed(qkv, _layout(implementation, tokens), bias)


def attend_self(
    query: Tensor, state: Tensor, tokens: Tokens, attention: str = "auto", bias: Tensor | None = None
) -> Tensor:
    """Let only self tokens attend to their sets; keys and values are the states of the tokens, the same for all heads.

    Args:
        query: [N, heads, d] one query per set and head, in the order of the sets, already scaled.
        state: [T, d] keys and values.
        tokens: The sets.
        attention: One of `IMPLEMENTATIONS`.
        bias: [T, heads] added to the scores.

    Returns:
        [N, heads, d], in the order of the sets.
    """
    if attention == "auto" and (bias is None or fused(query)) and _use_sums(query, tokens):
        query, state = (each.to(torch.promote_types(query.dtype, state.dtype)) for each in (query, state))
        width = query.size(-1)
        if bias is not None:
            query, state = _with_bias(query, state, bias)
        output: Tensor = OneQuery.apply(query, state, tokens.set_of_token, tokens.begins)[0]
        return output[..., :width]
    if attention == "varlen" or tokens.layout is None:
        weights = self_weights(query, state, tokens, bias).unsqueeze(-1)
        return segment_sum((weights * state.unsqueeze(1)).to(query.dtype), tokens.set_of_token, tokens.num_sets)
    return attend_self_bucketed(query, state, _layout(attention, tokens), bias)


def _with_bias(query: Tensor, state: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return queries and states with a channel more for each head, whose products are the bias of that head."""
    heads = query.size(1)
    own_head = torch.eye(heads, dtype=query.dtype, device=query.device).expand(query.size(0), heads, heads)
    return torch.cat([query, own_head], dim=2), torch.cat([state, bias.to(state.dtype)], dim=1)


def _use_sums(query: Tensor, tokens: Tokens) -> bool:
    """Whether sums over sets are faster than products: they store a row per token and head, products one per token."""
    if not tokens.num_sets:
        return False
    if fused(query):
        return True
    return query.size(1) == 1 if rows_first(query.device) else tokens.num_tokens <= SMALL_SET * tokens.num_sets


def self_weights(query: Tensor, state: Tensor, tokens: Tokens, bias: Tensor | None = None) -> Tensor:
    """Return [T, heads]: the weight of each token for the self token of its set, for the arguments of `attend_self`."""
    scores = (gather(query, tokens.set_of_token) * state.unsqueeze(1)).sum(-1)
    scores = scores if bias is None else scores + bias
    return segment_softmax(scores, tokens.set_of_token, tokens.num_sets)


def _layout(implementation: str, tokens: Tokens) -> Layout:
    if implementation == "padded":
        return build_layout(single(tokens.buckets), tokens.set_of_token, tokens.first)
    return tokens.laid_out


def has_custom_kernel(qkv: Tensor) -> bool:
    """Whether `attend` has a custom kernel for these: its products have no 64-bit version."""
    return fused(qkv) and qkv.dtype != torch.float64
