"""Attention without padding, with gradients of its own: every token asks, or only the self token of each set.

On a GPU with Triton both are kernels of ours (`detours.nn.fused`). Elsewhere every token asks in other ways, and self
tokens by sums over sets, in plain torch.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from detours.nn.functional import check_shared, networks_second
from detours.nn.fused import fused
from detours.nn.tokens.varlen import all_pairs


class EveryQuery(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
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
                return all_pairs(by_head, set_of_token, begins).view_as(answered)

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
        return EveryQuery.apply(networks_second(qkv, dims[0], info), set_of_token, begins), (1, 1)


class OneQuery(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
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
        return OneQuery.apply(*stacked, set_of_token, begins), (1, 1)


def _networks_together(tensor: Tensor, own: int) -> Tensor:
    """The same with one dimension for networks, the second: a network has one for rows and so many others.

    None become one of 1, and those of `torch.vmap` within `torch.vmap` one of all.
    """
    return tensor.reshape(tensor.size(0), -1, *tensor.shape[tensor.dim() - own :])


def _weights_of_sets(query: Tensor, state: Tensor, set_of_token: Tensor, begins: Tensor) -> Tensor:
    scores = (state.unsqueeze(-2) * query.index_select(0, set_of_token)).sum(-1)
    largest = _of_sets("max", scores.detach(), begins)
    shares = (scores - largest.index_select(0, set_of_token)).exp()
    return shares / _of_sets("sum", shares, begins).index_select(0, set_of_token)


def _of_sets(how: str, values: Tensor, begins: Tensor) -> Tensor:
    """Return [N, …], the sum or maximum of the rows of each set; set n begins at row ``begins[n]``."""
    # the check of the sizes would wait for the device
    return torch.segment_reduce(values.contiguous(), how, offsets=begins, axis=0, unsafe=True)
