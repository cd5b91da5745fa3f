"""GCN, GAT and GIN with PyG's parameters and outputs; all take features of the arcs, GCN and GIN weights as well.

Unlike PyG's, they assume that the graph has no loops, so they append loops without searching for existing ones, and
nothing waits for the device.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.dense import Linear
from torch_geometric.nn.inits import glorot

from detours.nn.functional import check_shared, gather, neighbour_sum, networks_second, segment_sum
from detours.nn.fused import fused
from detours.nn.fused.groups import ends


class GCN(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""The convolution of `Semi-Supervised Classification with Graph Convolutional Networks
    <https://arxiv.org/abs/1609.02907>`_, with weights w of the arcs, 1 by default, and 1 for the loop of each node:

    .. math::
        \mathbf{x}^{\prime}_i = \mathbf{b} + \sum_{j \in \mathcal{N}(i) \cup \{i\}}
        \frac{w_{ij}}{\sqrt{d_i d_j}} \, \Theta \mathbf{x}_j, \qquad d_i = 1 + \sum_{j \in \mathcal{N}(i)} w_{ij}

    With features e of the arcs, :math:`\Theta \mathbf{x}_j` of an arc becomes
    :math:`\mathrm{ReLU}(\Theta \mathbf{x}_j + \mathbf{W} \mathbf{e}_{ij})`, as in the
    `Open Graph Benchmark <https://arxiv.org/abs/2005.00687>`_.

    Args:
        in_channels: Width of x.
        out_channels: Width of the output.
        edge_dim: Width of the features of the arcs; None for none.
    """

    def __init__(self, in_channels: int, out_channels: int, edge_dim: int | None = None) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.edge_dim = in_channels, out_channels, edge_dim
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.lin_edge = nn.Linear(edge_dim, out_channels) if edge_dim else None
        nn.init.zeros_(self.bias)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.lin.reset_parameters()
        nn.init.zeros_(self.bias)
        if self.lin_edge is not None:
            self.lin_edge.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None
    ) -> Tensor:
        weight, own_weight = gcn_norm(edge_index, edge_weight, x)
        x = self.lin(x)
        out = aggregate(x, edge_index, weight, self.lin_edge, edge_attr)
        return out + own_weight.unsqueeze(-1) * x + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, edge_dim={self.edge_dim}"


class GIN(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""The convolution of `How Powerful are Graph Neural Networks? <https://arxiv.org/abs/1810.00826>`_, with weights w
    of the arcs, 1 by default:

    .. math::
        \mathbf{x}^{\prime}_i = h \Big( (1 + \epsilon) \, \mathbf{x}_i
        + \sum_{j \in \mathcal{N}(i)} w_{ij} \, \mathbf{x}_j \Big)

    With features e of the arcs it is GINE, from `Strategies for Pre-training Graph Neural Networks
    <https://arxiv.org/abs/1905.12265>`_: :math:`\mathbf{x}_j` of an arc becomes
    :math:`\mathrm{ReLU}(\mathbf{x}_j + \mathbf{W} \mathbf{e}_{ij})`. For nonnegative x this is the plain
    sum, plus what the features add.

    Args:
        h: The network applied to the nodes.
        in_channels: Width of x.
        edge_dim: Width of the features of the arcs; None for none.
    """

    eps: Tensor

    def __init__(self, h: nn.Sequential, in_channels: int, edge_dim: int | None = None) -> None:
        super().__init__()
        self.nn = h
        self.edge_dim = edge_dim
        self.lin_edge = nn.Linear(edge_dim, in_channels) if edge_dim else None
        self.register_buffer("eps", torch.zeros(1))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for part in (*self.nn, self.lin_edge):
            if isinstance(part, nn.Linear):
                part.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None
    ) -> Tensor:
        weight = None if edge_weight is None else edge_weight.view(-1)
        out = aggregate(x, edge_index, weight, self.lin_edge, edge_attr)
        result: Tensor = self.nn(torch.addcmul(out, x, (1 + self.eps).to(x.dtype)))
        return result


class GAT(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""PyG's `GATConv` with one head (`Graph Attention Networks <https://arxiv.org/abs/1710.10903>`_); loops have
    features 0:

    .. math::
        \mathbf{x}^{\prime}_i = \mathbf{b} + \sum_{j \in \mathcal{N}(i) \cup \{i\}} \alpha_{ij} \, \Theta \mathbf{x}_j,
        \qquad \alpha_{ij} = \mathrm{softmax}_j \, \mathrm{LeakyReLU}(\mathbf{a}^{\top} \Theta \mathbf{x}_j
        + \mathbf{c}^{\top} \Theta \mathbf{x}_i + \mathbf{d}^{\top} \mathbf{W} \mathbf{e}_{ij})

    Scores are computed per node, and from the features by one vector, :math:`\mathbf{W}^{\top} \mathbf{d}`, so that
    messages are the only thing as wide as x per arc. It is not a `MessagePassing`, for which PyG writes files of code
    into the temporary folder and leaves them there.

    Args:
        in_channels: Width of x.
        out_channels: Width of the output.
        edge_dim: Width of the features of the arcs; None for none.
    """

    negative_slope = 0.2
    """Of the leaky ReLU."""

    def __init__(self, in_channels: int, out_channels: int, edge_dim: int | None = None) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.edge_dim = in_channels, out_channels, edge_dim or None
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.att_src, self.att_dst = (nn.Parameter(torch.empty(1, 1, out_channels)) for _ in range(2))
        self.lin_edge = Linear(edge_dim, out_channels, bias=False, weight_initializer="glorot") if edge_dim else None
        self.register_parameter("att_edge", nn.Parameter(torch.empty(1, 1, out_channels)) if edge_dim else None)
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew, in the same order as PyG."""
        self.lin.reset_parameters()
        if self.lin_edge is not None:
            self.lin_edge.reset_parameters()
        for each in (self.att_src, self.att_dst, self.att_edge):
            glorot(each)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        source, target = ends(edge_index)
        x = self.lin(x)
        att = torch.stack([self.att_src.flatten(), self.att_dst.flatten()])
        alpha_src, alpha_dst = F.linear(x, att.to(x.dtype)).unbind(1)
        alpha_edge = None
        if edge_attr is not None and self.lin_edge is not None:
            alpha_edge = (edge_attr.to(x.dtype) * (self.att_edge.flatten() @ self.lin_edge.weight)).sum(1)
        out = softmax_aggregate(x, alpha_src, alpha_dst, alpha_edge, source, target, self.negative_slope)
        result: Tensor = out + self.bias
        return result

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, edge_dim={self.edge_dim}"


def softmax_aggregate(
    x: Tensor,
    alpha_src: Tensor,
    alpha_dst: Tensor,
    alpha_edge: Tensor | None,
    source: Tensor,
    target: Tensor,
    negative_slope: float,
) -> Tensor:
    """Return the sum over the neighbours of each node and itself, weighted by the softmax of the scores.

    The score of an arc is the leaky ReLU of ``alpha_src[source] + alpha_dst[target] + alpha_edge``, where the first two
    are [N] and the third is [E] or missing.
    """
    inputs = (x, alpha_src, alpha_dst, *([] if alpha_edge is None else [alpha_edge]))
    if not fused(*inputs) or len({each.dtype for each in inputs}) > 1:
        return _softmax_aggregate(x, alpha_src, alpha_dst, alpha_edge, source, target, negative_slope)
    out: Tensor = _SoftmaxAggregate.apply(x, alpha_src, alpha_dst, alpha_edge, source, target, negative_slope)[0]
    return out


def _softmax_aggregate(
    x: Tensor,
    alpha_src: Tensor,
    alpha_dst: Tensor,
    alpha_edge: Tensor | None,
    source: Tensor,
    target: Tensor,
    negative_slope: float,
) -> Tensor:
    scores, loops = gather(alpha_src, source) + gather(alpha_dst, target), alpha_src + alpha_dst
    if alpha_edge is not None:
        scores = scores + alpha_edge
    scores, loops = (F.leaky_relu(each, negative_slope) for each in (scores, loops.to(scores.dtype)))
    target_index = target.long().view(-1, *[1] * (scores.dim() - 1)).expand_as(scores)
    largest = loops.detach().scatter_reduce(0, target_index, scores.detach(), "amax")
    weights, own_weight = (scores - gather(largest, target)).exp(), (loops - largest).exp()
    total = segment_sum(weights, target, x.size(0)) + own_weight
    out = segment_sum(weights.unsqueeze(-1) * gather(x, source), target, x.size(0))
    # one division per node, not per arc
    return (out + own_weight.unsqueeze(-1) * x) / total.unsqueeze(-1)


class _SoftmaxAggregate(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """By kernels, with the log-sum-exp of the scores; the dimension of stacked networks is always the second."""

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, Tensor]:
        from detours.nn.fused import gat_triton

        return gat_triton.softmax_aggregate(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.negative_slope = inputs[-1]
        ctx.save_for_backward(*inputs[:-1], *output)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        x, alpha_src, alpha_dst, alpha_edge, source, target, out, logsumexp = ctx.saved_tensors
        graph_arguments = (source, target, ctx.negative_slope)
        if not torch.is_grad_enabled() and fused(grad_output):
            from detours.nn.fused import gat_triton

            grads = gat_triton.softmax_aggregate_backward(
                grad_output, out, logsumexp, x, alpha_src, alpha_dst, alpha_edge, *graph_arguments
            )
            return *grads, None, None, None

        # for double backward, or several gradients at a time
        def plain(x: Tensor, alpha_src: Tensor, alpha_dst: Tensor, alpha_edge: Tensor | None = None) -> Tensor:
            return _softmax_aggregate(x, alpha_src, alpha_dst, alpha_edge, *graph_arguments)

        differentiable = (x, alpha_src, alpha_dst) if alpha_edge is None else (x, alpha_src, alpha_dst, alpha_edge)
        grads = torch.func.vjp(plain, *differentiable)[1](grad_output)
        return *grads, *[None] * (7 - len(grads))

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        check_shared(*dims[4:])
        stacked = [
            None if each is None else networks_second(each, dim, info)
            for each, dim in zip(inputs[:4], dims[:4], strict=True)
        ]
        return _SoftmaxAggregate.apply(*stacked, *inputs[4:]), (1, 1)


def gcn_norm(edge_index: Tensor, weight: Tensor | None, x: Tensor, loops: float = 1.0) -> tuple[Tensor, Tensor]:
    """Return the weights of arcs and loops in D^-1/2 (A + loops · I) D^-1/2, where D sums over incoming arcs."""
    source, target = ends(edge_index)
    if weight is None:  # not `x.new_ones`, which under `torch.vmap` would be one per network
        weight = torch.ones(target.numel(), dtype=x.dtype, device=x.device)
    weight = weight.view(-1)
    degree = segment_sum(weight, target, x.size(0)) + loops
    scale = degree.pow(-0.5).masked_fill(degree == 0, 0.0)
    return gather(scale, source) * weight * gather(scale, target), loops * scale.square()


def aggregate(
    x: Tensor, edge_index: Tensor, weight: Tensor | None, lin_edge: nn.Linear | None, edge_attr: Tensor | None
) -> Tensor:
    """Return the weighted sum of the messages to each node: x_j, or ReLU(x_j + W e) with features e."""
    source, target = ends(edge_index)
    if lin_edge is None or edge_attr is None:
        return neighbour_sum(x, source, target, weight)
    messages = (gather(x, source) + lin_edge(edge_attr.to(x.dtype))).relu()
    return segment_sum(messages if weight is None else messages * weight.unsqueeze(-1), target, x.size(0))
