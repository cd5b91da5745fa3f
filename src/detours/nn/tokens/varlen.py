"""Attention over flat tokens, "varlen": by torch's variable-length kernel, or a list of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from detours.nn.functional import gather, segment_softmax, segment_sum
from detours.nn.tokens.tokens import Tokens

# torch's variable-length kernel supports these, and heads up to 256 wide.
VARLEN_DTYPES = (torch.bfloat16, torch.float16)
VARLEN_WIDEST = 256


def has_kernel(qkv: Tensor) -> bool:
    """Whether torch has a variable-length kernel for this tensor."""
    fits = qkv.is_cuda and qkv.dtype in VARLEN_DTYPES and qkv.size(-1) <= VARLEN_WIDEST
    return fits and _varlen_attn() is not None


def attend_varlen(qkv: Tensor, tokens: Tokens) -> Tensor:
    """Let every token attend by torch's variable-length kernel, if `has_kernel`."""
    query, key, value = qkv.unbind(1)
    kernel = _varlen_attn()
    assert kernel is not None
    offsets = tokens.begins.to(torch.int32)
    output: Tensor = kernel(query, key, value, offsets, offsets, tokens.largest, tokens.largest)
    return output


@cache
def _varlen_attn() -> Callable[..., Any] | None:
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:  # older than torch 2.10
        return None
    kernel: Callable[..., Any] = varlen_attn
    return kernel


def attend_pairs(
    qkv: Tensor, set_of_token: Tensor, offsets: Tensor, bias: Tensor | None = None, num_pairs: int | None = None
) -> Tensor:
    """Attention by a list of all pairs (query, key): exact on any device, and as large as the sum of the squared sizes.

    Without `num_pairs`, this waits for the device.
    """
    query, key, value = qkv.unbind(1)
    tokens = qkv.size(0)
    start, size = (each.index_select(0, set_of_token) for each in (offsets, torch.diff(offsets)))
    query_index = torch.repeat_interleave(torch.arange(tokens, device=qkv.device), size, output_size=num_pairs)
    shift = start - (torch.cumsum(size, 0) - size)
    key_index = torch.arange(query_index.numel(), device=qkv.device) + shift.index_select(0, query_index)
    scores = (gather(query, query_index) * gather(key, key_index)).sum(-1) / sqrt(query.size(-1))
    scores = scores if bias is None else scores + gather(bias, key_index)
    weights = segment_softmax(scores, query_index, tokens)
    return segment_sum(weights.unsqueeze(-1) * gather(value, key_index), query_index, tokens)
