"""Attention by matrix products, "bucketed" or "padded": token sets of one size at a time, with masked padding."""

from __future__ import annotations

from math import sqrt

import torch
import torch.nn.functional as F
from torch import Tensor

from detours.nn.tokens.layout import Layout

# Up to this set size, two batched products replace the fused kernel, which is made for long sequences: they are faster
# on a CUDA device, and `torch.vmap` has no rule for the fused kernel of the CPU.
TINY = 32


def attend_bucketed(qkv: Tensor, layout: Layout, bias: Tensor | None) -> Tensor:
    """Let every token attend: [T, heads, d] for qkv [T, 3, heads, d] and a bias [T, heads]."""
    if not layout.buckets:
        return qkv[:, 2]
    scale, parts = 1 / sqrt(qkv.size(-1)), []
    for part, mask in zip(layout.split(qkv), _masks(layout, bias), strict=True):
        query, key, value = (each.transpose(1, 2) for each in part.unbind(2))
        mask = None if mask is None else mask.unsqueeze(2)
        parts.append(_dense(query, key, value, mask, scale).transpose(1, 2))
    return layout.join(parts)


def attend_self_bucketed(query: Tensor, state: Tensor, layout: Layout, bias: Tensor | None) -> Tensor:
    """Let only self tokens attend: [N, heads, d] for queries of that shape, states [T, d] and a bias [T, heads]."""
    parts = []
    for query_part, state_part, mask in zip(
        layout.split_sets(query), layout.split(state), _masks(layout, bias), strict=True
    ):
        # All heads have the same keys and values, so they are treated as queries of one head.
        parts.append(two_products(query_part, state_part, state_part, mask, scale=1.0))
    return torch.cat(parts) if parts else query


def _masks(layout: Layout, bias: Tensor | None) -> list[Tensor | None]:
    """For each bucket [sets, 1 or heads, size]: a bias of the scores, a boolean mask of real tokens, or None."""
    masks = [None if real is None else real.unsqueeze(1) for real in layout.masks()]
    if bias is None:
        return masks
    biases = (part.transpose(1, 2) for part in layout.split(bias))
    return [
        part if real is None else part.masked_fill(~real, -torch.inf) for part, real in zip(biases, masks, strict=True)
    ]


def _dense(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Attention in sets of one size, [sets, heads, size, d], by the fitting kernel."""
    has_gradient = mask is not None and mask.dtype != torch.bool
    if key.size(2) <= TINY or (has_gradient and not query.is_cuda):  # the CPU kernel has no gradient of its mask
        return two_products(query, key, value, mask, scale)
    if mask is not None and not has_gradient:
        # derived from the query: otherwise `torch.vmap` passes the GPU kernel the mask of one network for all of them
        mask = query.new_zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)


def two_products(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Like `F.scaled_dot_product_attention` for sets of one size, by products that store all scores."""
    scores = (query * scale) @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1) @ value
