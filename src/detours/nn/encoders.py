"""Encoders: from the features of the nodes to the first state, which is two halves wide."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from detours.nn.convolutions import gcn_norm
from detours.nn.dropout import Dropout
from detours.nn.functional import gather, segment_sum
from detours.nn.layers import GraphInputs


class NodeEncoder(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    """A linear map, or two with a ReLU between ("mlp"); the graph is ignored."""

    def __init__(self, in_channels: int, out_channels: int, *, mlp: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        inner = [nn.Linear(out_channels, out_channels)] if mlp else []
        self.maps = nn.ModuleList([nn.Linear(in_channels, out_channels), *inner])
        self.dropout = Dropout(dropout)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for each in self.maps:
            each.reset_parameters()

    def forward(self, x: Tensor, graph: GraphInputs) -> Tensor:
        first, *more = self.maps
        x = first(x)
        for each in more:
            x = each(self.dropout(x.relu()))
        return x


class HopEncoder(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""Nearly linear: a map for each distance, as FSGNN (`Improving Graph Neural Networks with Simple Architecture
    Design <https://arxiv.org/abs/2105.07634>`_).

    .. math::
        X^{\prime} = \sum_{h=0}^{H} \alpha_h \, \mathrm{norm}(\mathbf{W}_h \, \hat{A}^h X), \qquad
        \alpha = \mathrm{softmax}(a), \qquad \hat{A} = D^{-1/2} A D^{-1/2}

    A has no loops, so that a node is not mixed with its neighbours; norm scales every row to length
    :math:`\sqrt{\text{channels}}`. FSGNN concatenates the terms instead of adding them.

    Args:
        in_channels: Width of X.
        out_channels: Width of the output.
        hops: H.
        weighted: Whether to add powers of A weighted by k-DeN; of several columns per arc, by their sum.
        both: Whether to add powers of the transposed A.

    Shapes:
        - x [N, in_channels], or [N, blocks · in_channels] if the caller has computed the powers (see `hop_features`)
        - output [N, out_channels]
    """

    def __init__(
        self, in_channels: int, out_channels: int, hops: int, *, weighted: bool = False, both: bool = False
    ) -> None:
        super().__init__()
        self.in_channels, self.hops, self.weighted, self.both = in_channels, hops, weighted, both
        self.maps = nn.ModuleList(
            nn.Linear(in_channels, out_channels) for _ in range(1 + hops * (1 + weighted) * (1 + both))
        )
        self.scores = nn.Parameter(torch.zeros(len(self.maps)))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for each in self.maps:
            each.reset_parameters()
        nn.init.zeros_(self.scores)

    def expanded(self, x: Tensor, graph: GraphInputs) -> Tensor:
        """Return x followed by the hop features, computed unless the caller has done so."""
        if x.size(1) == len(self.maps) * self.in_channels:
            return x
        weight = graph.den if self.weighted else None
        if weight is not None and weight.dim() == 2:
            weight = weight.sum(1)
        return hop_features(x, graph.edge_index, self.hops, weight=weight, both=self.both)

    def forward(self, x: Tensor, graph: GraphInputs) -> Tensor:
        parts = self.expanded(x, graph).split(self.in_channels, dim=1)
        concatenated = torch.cat([each(part) for each, part in zip(self.maps, parts, strict=True)], dim=1)
        encoded = concatenated.unflatten(1, (len(parts), -1))
        total: Tensor = _SumOfUnits.apply(encoded, self.scores.softmax(0) * encoded.size(2) ** 0.5)
        return total


class _SumOfUnits(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""[N, C]: :math:`\sum_h c_h v_h / |v_h|` for vectors v [N, H, C] and coefficients c [H].

    With :math:`u = v / |v|`, the gradient of :math:`v_h` is :math:`c_h (g - \langle g, u_h \rangle u_h) / |v_h|`: half
    as many operations as autograd has.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(vectors: Tensor, coefficients: Tensor) -> Tensor:
        scale = coefficients.unsqueeze(1) / _lengths(vectors)
        return (vectors * scale.to(vectors.dtype)).sum(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        vectors, coefficients = ctx.saved_tensors
        lengths, grad = _lengths(vectors), grad_output.unsqueeze(1)
        units = vectors / lengths
        along = (grad * units).sum(2, keepdim=True)
        grad_vectors = torch.addcmul(grad, along, units, value=-1) * (coefficients.unsqueeze(1) / lengths)
        return grad_vectors.to(vectors.dtype), along.sum((0, 2)).to(coefficients.dtype)


def _lengths(vectors: Tensor) -> Tensor:
    """[N, H, 1] in 32 bits at least."""
    dtype = torch.promote_types(vectors.dtype, torch.float32)
    return torch.linalg.vector_norm(vectors, dim=2, keepdim=True, dtype=dtype).clamp(min=1e-12)


def hop_features(
    x: Tensor, edge_index: Tensor, hops: int, *, weight: Tensor | None = None, both: bool = False
) -> Tensor:
    """Return [N, blocks · channels]: x, then for h = 1 … hops the features ÂʰX, see `HopEncoder`.

    With `weight` the powers of the weighted matrix follow those of the plain one; with `both` those of the transposed
    matrices come last. A network with ``directions="out"`` takes those of ``edge_index.flip(0)``. They depend on no
    parameter, so computing them once is enough for all epochs.

    >>> hop_features(torch.eye(2), torch.tensor([[0, 1], [1, 0]]), hops=2)
    tensor([[1., 0., 0., 1., 1., 0.],
            [0., 1., 1., 0., 0., 1.]])
    """
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    blocks = [x]
    if weight is not None:  # counts are integers, or may have another precision than x
        weight = weight.to(torch.promote_types(x.dtype, torch.float32))
    for arcs in (edge_index, edge_index.flip(0)) if both else (edge_index,):
        for weights in (None, weight) if weight is not None else (None,):
            scaled, _ = gcn_norm(arcs, weights, x, loops=0.0)
            state = x
            for _ in range(hops):
                state = segment_sum(scaled.unsqueeze(1) * gather(state, arcs[0]), arcs[1], x.size(0))
                blocks.append(state.to(x.dtype))
    return torch.cat(blocks, dim=1)
