"""Scaled dot-product attention inside each token set: which of the ways that agree is taken.

"bucketed" computes sets of equal (or similar) size together, "padded" pads all sets to the largest (`products`).
"varlen" keeps the tokens flat, with torch's variable-length kernel where there is one, otherwise with all pairs (query,
key) in a list (`varlen`). "auto" takes a kernel of our own on a GPU with Triton, sums over sets where self tokens alone
ask and these are quicker (`queries`), and the quickest of the others elsewhere.
"""

from __future__ import annotations

import torch
from torch import Tensor

from detours.checks import check_choice
from detours.nn.functional import gather, rows_first, segment_softmax, segment_sum
from detours.nn.fused import fused
from detours.nn.tokens.buckets import single
from detours.nn.tokens.layout import Layout, laid_out
from detours.nn.tokens.products import by_buckets, self_by_buckets
from detours.nn.tokens.queries import EveryQuery, OneQuery
from detours.nn.tokens.tokens import Tokens
from detours.nn.tokens.varlen import all_pairs, by_kernel, has_kernel

WAYS = ("auto", "bucketed", "padded", "varlen")

# Sets of so many tokens on average are small: on a CPU their products are mostly calls.
SMALL = 8
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
        attended: Tensor = EveryQuery.apply(qkv, tokens.set_of_token, tokens.begins)[0]
        return attended
    way = chosen(attention, qkv, tokens)
    if way == "varlen":
        if bias is None and has_kernel(qkv):
            return by_kernel(qkv, tokens)
        return all_pairs(qkv, tokens.set_of_token, tokens.begins, bias, tokens.num_pairs)
    return by_buckets(qkv, _layout(way, tokens), bias)


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
        attended: Tensor = OneQuery.apply(query, state, tokens.set_of_token, tokens.begins)[0]
        return attended
    if attention == "varlen" or tokens.layout is None:
        weights = self_weights(query, state, tokens, bias).unsqueeze(-1)
        return segment_sum((weights * state.unsqueeze(1)).to(query.dtype), tokens.set_of_token, tokens.num_sets)
    return self_by_buckets(query, state, _layout(attention, tokens), bias)


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


def _layout(way: str, tokens: Tokens) -> Layout:
    return laid_out(single(tokens.buckets), tokens.set_of_token, tokens.first) if way == "padded" else tokens.laid_out


def has_own_kernel(qkv: Tensor) -> bool:
    """Whether every token asks by a kernel of ours: its products know no 64 bits."""
    return fused(qkv) and qkv.dtype != torch.float64
