"""Attention without padding, with custom gradients: every token is a query, or only the self token of each set.

On a GPU with Triton both use custom kernels (`detours.nn.fused`). Elsewhere the first has other implementations, and
the second uses sums over sets in plain torch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from detours.nn.functional import check_shared, networks_second
from detours.nn.fused import fused
from detours.nn.tokens.varlen import attend_pairs


class EveryQuery(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """For qkv [T, 3, heads, d] the output [T, heads, d] and the log-sum-exp of the scores [T, heads].

    The dimension of stacked networks is always the second.
    """

    @staticmethod
    def forward(qkv: Tensor, set_of_token: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
        from detours.nn.fused import sets_triton

        output, logsumexp = sets_triton.attend(_merge_networks(qkv, 3), set_of_token, offsets)
        shape = (*qkv.shape[:-3], *qkv.shape[-2:])
        return output.view(shape), logsumexp.view(shape[:-1])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        qkv, set_of_token, offsets, output, logsumexp = ctx.saved_tensors
        if torch.is_grad_enabled() or not fused(grad_output):  # double backward, or several gradients at once

            def pairs(qkv: Tensor) -> Tensor:
                by_head = _merge_networks(qkv, 3).transpose(1, 2).flatten(2, 3)  # heads of all networks
                return attend_pairs(by_head, set_of_token, offsets).view_as(output)

            return *torch.func.vjp(pairs, qkv)[1](grad_output), None, None
        from detours.nn.fused import sets_triton

        merged = (_merge_networks(each, dims) for each, dims in ((output, 2), (logsumexp, 1), (grad_output, 2)))
        grad_qkv = sets_triton.attend_backward(_merge_networks(qkv, 3), set_of_token, offsets, *merged)
        return grad_qkv.view_as(qkv), None, None

    @staticmethod
    def vmap(
        info: Any, dims: tuple[int | None, ...], qkv: Tensor, set_of_token: Tensor, offsets: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        check_shared(*dims[1:])
        return EveryQuery.apply(networks_second(qkv, dims[0], info), set_of_token, offsets), (1, 1)


class OneQuery(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """For queries [N, heads, d] and states [T, d] the output [N, heads, d] and the weights [T, heads].

    There is no padding, and sums replace products, which are slower if they are many and tiny. The dimension of stacked
    networks is always the second. The kernel returns the log-sum-exp of the scores [N, heads] in place of the weights,
    which it computes again in the backward pass.
    """

    @staticmethod
    def forward(query: Tensor, state: Tensor, set_of_token: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
        if fused(query, state):
            from detours.nn.fused import attention_triton

            output, logsumexp = attention_triton.attend(_merge_networks(query, 2), _merge_networks(state, 1), offsets)
            return output.view_as(query), logsumexp.view(query.shape[:-1])
        weights = _set_weights(query, state, set_of_token, offsets)
        return _reduce_sets("sum", state.unsqueeze(-2) * weights.unsqueeze(-1), offsets), weights

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.fused = fused(*inputs[:2])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        query, state, set_of_token, offsets, output, weights = ctx.saved_tensors
        if ctx.fused and fused(grad_output) and not torch.is_grad_enabled():
            from detours.nn.fused import attention_triton

            rows = ((query, 2), (state, 1), (grad_output, 2), (output, 2), (weights, 1))
            merged = (_merge_networks(each, dims) for each, dims in rows)
            grad_query, grad_state = attention_triton.attend_backward(offsets, set_of_token, *merged)
            return grad_query.view_as(query), grad_state.view_as(state), None, None
        if ctx.fused or torch.is_grad_enabled():  # in a double backward, weights depend on both
            weights = _set_weights(query, state, set_of_token, offsets)
        states, grads = state.unsqueeze(-2), grad_output.index_select(0, set_of_token)
        weighted_grads = weights * (states * grads).sum(-1)
        delta = _reduce_sets("sum", weighted_grads, offsets).index_select(0, set_of_token)
        grad_scores = (weighted_grads - weights * delta).unsqueeze(-1)
        by_head = torch.addcmul(grads * weights.unsqueeze(-1), query.index_select(0, set_of_token), grad_scores)
        grad_state = by_head.squeeze(-2) if by_head.size(-2) == 1 else by_head.sum(-2)
        return _reduce_sets("sum", states * grad_scores, offsets), grad_state, None, None

    @staticmethod
    def vmap(
        info: Any,
        dims: tuple[int | None, ...],
        query: Tensor,
        state: Tensor,
        set_of_token: Tensor,
        offsets: Tensor,
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        check_shared(*dims[2:])
        stacked = (networks_second(each, dim, info) for each, dim in zip((query, state), dims, strict=False))
        return OneQuery.apply(*stacked, set_of_token, offsets), (1, 1)


def _merge_networks(tensor: Tensor, dims: int) -> Tensor:
    """Return the tensor with all dimensions of networks merged into the second.

    A single network has the dimension of rows and `dims` others. Without networks, the new dimension is 1; nested
    `torch.vmap` has several, which are merged.
    """
    return tensor.reshape(tensor.size(0), -1, *tensor.shape[tensor.dim() - dims :])


def _set_weights(query: Tensor, state: Tensor, set_of_token: Tensor, offsets: Tensor) -> Tensor:
    scores = (state.unsqueeze(-2) * query.index_select(0, set_of_token)).sum(-1)
    largest = _reduce_sets("max", scores.detach(), offsets)
    exps = (scores - largest.index_select(0, set_of_token)).exp()
    return exps / _reduce_sets("sum", exps, offsets).index_select(0, set_of_token)


def _reduce_sets(reduction: str, values: Tensor, offsets: Tensor) -> Tensor:
    """Return [N, …], the sum or maximum of the rows of each set; set n starts at row ``offsets[n]``."""
    # not checked, since that would wait for the device
    return torch.segment_reduce(values.contiguous(), reduction, offsets=offsets, axis=0, unsafe=True)
