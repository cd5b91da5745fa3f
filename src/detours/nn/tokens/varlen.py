"""Attention of tokens that stay flat, "varlen": by torch's variable-length kernel, or all pairs in a list."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from detours.nn.functional import gather, segment_softmax, segment_sum
from detours.nn.tokens.tokens import Tokens

# torch's variable-length kernel knows these, and heads up to 256 wide.
VARLEN_DTYPES = (torch.bfloat16, torch.float16)
VARLEN_WIDEST = 256


def has_kernel(qkv: Tensor) -> bool:
    """Whether torch has a variable-length kernel for these."""
    fits = qkv.is_cuda and qkv.dtype in VARLEN_DTYPES and qkv.size(-1) <= VARLEN_WIDEST
    return fits and _varlen_attn() is not None


def by_kernel(qkv: Tensor, tokens: Tokens) -> Tensor:
    """Let every token ask by torch's variable-length kernel, where `has_kernel`."""
    query, key, value = qkv.unbind(1)
    kernel = _varlen_attn()
    assert kernel is not None
    begins = tokens.begins.to(torch.int32)
    attended: Tensor = kernel(query, key, value, begins, begins, tokens.largest, tokens.largest)
    return attended


@cache
def _varlen_attn() -> Callable[..., Any] | None:
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # older than torch 2.10
        return None
    found: Callable[..., Any] = varlen_attn
    return found


def all_pairs(
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
