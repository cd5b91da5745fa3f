"""GCN, GAT and GIN: PyG's in parameters and values, and each takes a weight and features for every arc.

They differ from PyG's in what they ask of the graph: it has no loops, so loops are appended without looking for any,
and nothing waits for the device.
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
        weight, own = normalised(edge_index, edge_weight, x)
        x = self.lin(x)
        received = received_by(x, edge_index, weight, self.lin_edge, edge_attr)
        return received + own.unsqueeze(-1) * x + self.bias

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
    :math:`\mathrm{ReLU}(\mathbf{x}_j + \mathbf{W} \mathbf{e}_{ij})`. With an unsigned x that is a plain sum, plus what
    the arc says.

    Args:
        h: The network of the nodes.
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
        received = received_by(x, edge_index, weight, self.lin_edge, edge_attr)
        result: Tensor = self.nn(torch.addcmul(received, x, (1 + self.eps).to(x.dtype)))
        return result


class GAT(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""PyG's `GATConv` with one head (`Graph Attention Networks <https://arxiv.org/abs/1710.10903>`_); loops have
    features 0:

    .. math::
        \mathbf{x}^{\prime}_i = \mathbf{b} + \sum_{j \in \mathcal{N}(i) \cup \{i\}} \alpha_{ij} \, \Theta \mathbf{x}_j,
        \qquad \alpha_{ij} = \mathrm{softmax}_j \, \mathrm{LeakyReLU}(\mathbf{a}^{\top} \Theta \mathbf{x}_j
        + \mathbf{c}^{\top} \Theta \mathbf{x}_i + \mathbf{d}^{\top} \mathbf{W} \mathbf{e}_{ij})

    Scores are those of nodes, and of features by one vector, :math:`\mathbf{W}^{\top} \mathbf{d}`: of what is as wide
    as x, arcs have their messages alone. It is no `MessagePassing`, for which PyG writes files of code into the
    temporary folder and leaves them there.

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
        """Draw all parameters anew, in the order of PyG's."""
        self.lin.reset_parameters()
        if self.lin_edge is not None:
            self.lin_edge.reset_parameters()
        for each in (self.att_src, self.att_dst, self.att_edge):
            glorot(each)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        source, target = ends(edge_index)
        x = self.lin(x)
        both = torch.stack([self.att_src.flatten(), self.att_dst.flatten()])
        of_source, of_target = F.linear(x, both.to(x.dtype)).unbind(1)
        of_arcs = None
        if edge_attr is not None and self.lin_edge is not None:
            of_arcs = (edge_attr.to(x.dtype) * (self.att_edge.flatten() @ self.lin_edge.weight)).sum(1)
        received = softmax_received(x, of_source, of_target, of_arcs, source, target, self.negative_slope)
        result: Tensor = received + self.bias
        return result

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, edge_dim={self.edge_dim}"


def softmax_received(
    x: Tensor,
    of_source: Tensor,
    of_target: Tensor,
    of_arcs: Tensor | None,
    source: Tensor,
    target: Tensor,
    negative: float,
) -> Tensor:
    """Return what each node receives from its neighbours and itself, by the softmax of the scores of arcs and loops.

    The score of an arc is the leaky ReLU of what its source [N], its target [N] and the arc itself [E] add to it.
    """
    given = (x, of_source, of_target, *([] if of_arcs is None else [of_arcs]))
    if not fused(*given) or len({each.dtype for each in given}) > 1:
        return _softmax_received(x, of_source, of_target, of_arcs, source, target, negative)
    received: Tensor = _SoftmaxReceived.apply(x, of_source, of_target, of_arcs, source, target, negative)[0]
    return received


def _softmax_received(
    x: Tensor,
    of_source: Tensor,
    of_target: Tensor,
    of_arcs: Tensor | None,
    source: Tensor,
    target: Tensor,
    negative: float,
) -> Tensor:
    scores, loops = gather(of_source, source) + gather(of_target, target), of_source + of_target
    if of_arcs is not None:
        scores = scores + of_arcs
    scores, loops = (F.leaky_relu(each, negative) for each in (scores, loops.to(scores.dtype)))
    to = target.long().view(-1, *[1] * (scores.dim() - 1)).expand_as(scores)
    largest = loops.detach().scatter_reduce(0, to, scores.detach(), "amax")
    shares, own = (scores - gather(largest, target)).exp(), (loops - largest).exp()
    total = segment_sum(shares, target, x.size(0)) + own
    received = segment_sum(shares.unsqueeze(-1) * gather(x, source), target, x.size(0))
    # divided once for each node, not for each arc
    return (received + own.unsqueeze(-1) * x) / total.unsqueeze(-1)


class _SoftmaxReceived(torch.autograd.Function):  # type: ignore[misc]  # PyTorch's types are not followed
    """By kernels: what is received, and the logarithms of sums of weights. Of stacked networks, the dimension is the
    second everywhere."""

    @staticmethod
    def forward(*given: Any) -> tuple[Tensor, Tensor]:
        from detours.nn.fused import gat_triton

        return gat_triton.received(*given)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.negative = inputs[-1]
        ctx.save_for_backward(*inputs[:-1], *output)

    @staticmethod
    def backward(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        x, of_source, of_target, of_arcs, source, target, received, sums = ctx.saved_tensors
        arcs = (source, target, ctx.negative)
        if not torch.is_grad_enabled() and fused(slope):
            from detours.nn.fused import gat_triton

            slopes = gat_triton.slopes(slope, received, sums, x, of_source, of_target, of_arcs, *arcs)
            return *slopes, None, None, None

        # differentiated once more, or several slopes at a time
        def plain(x: Tensor, of_source: Tensor, of_target: Tensor, of_arcs: Tensor | None = None) -> Tensor:
            return _softmax_received(x, of_source, of_target, of_arcs, *arcs)

        learned = (x, of_source, of_target) if of_arcs is None else (x, of_source, of_target, of_arcs)
        found = torch.func.vjp(plain, *learned)[1](slope)
        return *found, *[None] * (7 - len(found))

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], *given: Any) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        check_shared(*dims[4:])
        stacked = [
            None if each is None else networks_second(each, dim, info)
            for each, dim in zip(given[:4], dims[:4], strict=True)
        ]
        return _SoftmaxReceived.apply(*stacked, *given[4:]), (1, 1)


def normalised(edge_index: Tensor, weight: Tensor | None, x: Tensor, loops: float = 1.0) -> tuple[Tensor, Tensor]:
    """Return the weights of the arcs and of the loops in D^-1/2 (A + loops · I) D^-1/2; D sums over arcs in."""
    source, target = ends(edge_index)
    if weight is None:  # not `x.new_ones`, which would be one of each of the networks that `torch.vmap` runs together
        weight = torch.ones(target.numel(), dtype=x.dtype, device=x.device)
    weight = weight.view(-1)
    degree = segment_sum(weight, target, x.size(0)) + loops
    scale = degree.pow(-0.5).masked_fill(degree == 0, 0.0)
    return gather(scale, source) * weight * gather(scale, target), loops * scale.square()


def received_by(
    x: Tensor, edge_index: Tensor, weight: Tensor | None, lin_edge: nn.Linear | None, edge_attr: Tensor | None
) -> Tensor:
    """Return the sum of the messages to each node, each times its weight: x_j, or ReLU(x_j + W e) with features e."""
    source, target = ends(edge_index)
    if lin_edge is None or edge_attr is None:
        return neighbour_sum(x, source, target, weight)
    messages = (gather(x, source) + lin_edge(edge_attr.to(x.dtype))).relu()
    return segment_sum(messages if weight is None else messages * weight.unsqueeze(-1), target, x.size(0))
