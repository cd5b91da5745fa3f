"""`DetourWeighted`: any convolution that can take a number per arc, beside itself with k-DeN as that number."""

from __future__ import annotations

from enum import Enum
from inspect import Parameter, signature

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv, GINEConv

from detours.errors import InputError


class Weighting(Enum):
    """How a convolution takes a number per arc."""

    WEIGHT = "edge_weight"
    FEATURE = "edge_attr"
    SUM = "a weighted sum in place of its own"

    @classmethod
    def of(cls, conv: nn.Module, edge_channels: int = 0) -> Weighting:
        """Tell by its signature, or refuse in one sentence that says what would do."""
        name = type(conv).__name__
        if getattr(conv, "cached", False):
            raise InputError(
                f"{name} was made with cached=True and would give its weighted branch the result of its plain one; "
                "make it with cached=False."
            )
        if _sums_as_gin(conv):
            return cls.SUM
        arguments = dict(list(signature(conv.forward).parameters.items())[2:])
        way = next((way for way in (cls.WEIGHT, cls.FEATURE) if way.value in arguments), None)
        if way is None:
            raise InputError(
                f"{name} takes neither edge_weight nor edge_attr, so detours cannot weight it; "
                "take a convolution that does (GCNConv, GraphConv, GATConv with edge_dim=1, …), or GINConv."
            )
        taken = {way.value, "edge_attr"} if edge_channels else {way.value}
        if missing := taken - arguments.keys():
            raise InputError(f"{name} takes no {missing.pop()}, but edge_channels={edge_channels}; take 0.")
        others = [known for known in arguments.values() if known.name not in taken and _is_required(known)]
        if others:
            raise InputError(
                f"{name} needs {', '.join(known.name for known in others)} beside x and edge_index, which cannot be "
                "given here; take a convolution that is called with x, edge_index and edge_weight or edge_attr."
            )
        if way is cls.FEATURE and (edge_dim := _edge_dim(conv)) != 1 + edge_channels:
            raise InputError(
                f"{name} has edge_dim={edge_dim}, but it must read k-DeN as one feature per arc; "
                f"make it with edge_dim={1 + edge_channels}."
            )
        return way


class DetourWeighted(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""A layer of a DeN-weighted MPNN: one convolution, on the graph and on the graph weighted by k-DeN.

    .. math::
        \mathbf{X}^{\prime} = [\, \mathrm{conv}(\mathbf{X}, \mathbf{A}) ,\;
        \mathrm{conv}(\mathbf{X}, \mathbf{A} \odot \mathrm{DeN}^k) \,]

    Both branches have the same parameters. Convolutions with `edge_weight` (GCN and its kin) are weighted by it, those
    with `edge_attr` (GAT and its kin, made with ``edge_dim=1``) read the weight as a feature of the arc, which is 0 in
    the plain branch, and `GINConv` gets a weighted sum of ours with its own network and epsilon.

    Args:
        conv: A PyG convolution, or any module called as conv(x, edge_index, edge_weight=…) or (…, edge_attr=…).
        edge_channels: Width of further features of the arcs, which both branches see; 0 for none.

    Shapes:
        - **x:** [nodes, in_channels], **edge_index:** [2, arcs], **weight:** [arcs], as `AddDetourWeights` gives it,
          **edge_attr:** [arcs, edge_channels]
        - **output:** [nodes, 2 * out_channels], the plain branch first

    >>> from torch_geometric.nn import GCNConv
    >>> layer = DetourWeighted(GCNConv(3, 8))
    >>> layer(torch.ones(2, 3), torch.tensor([[0, 1], [1, 0]]), torch.zeros(2)).shape
    torch.Size([2, 16])
    """

    def __init__(self, conv: nn.Module, edge_channels: int = 0) -> None:
        super().__init__()
        self.weighting = Weighting.of(conv, edge_channels)
        self.conv = conv

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.conv.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return torch.cat(self.branches(x, edge_index, weight, edge_attr), dim=-1)

    def branches(
        self, x: Tensor, edge_index: Tensor, weight: Tensor, edge_attr: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the plain branch and the weighted one, not joined."""
        if weight.numel() != edge_index.size(1):
            raise InputError(
                f"weight must hold one number for each of the {edge_index.size(1)} arcs, "
                f"but its shape is {tuple(weight.shape)}; give the sum over all lengths (by_length=False)."
            )
        if self.weighting is Weighting.FEATURE:
            feature = weight.view(-1, 1).to(x.dtype)
            features = (torch.zeros_like(feature), feature)
            if edge_attr is not None:
                features = (torch.cat([features[0], edge_attr], 1), torch.cat([features[1], edge_attr], 1))
            plain, weighted = (self.conv(x, edge_index, edge_attr=each) for each in features)
            return plain, weighted
        # never to a narrower type than the weights have: half a mantissa is too short for counts
        weight = weight.view(-1).to(torch.promote_types(weight.dtype, x.dtype))
        if self.weighting is Weighting.SUM:
            return self.conv(x, edge_index), _weighted_gin(self.conv, x, edge_index, weight)
        also = {} if edge_attr is None else {"edge_attr": edge_attr}
        return self.conv(x, edge_index, **also), self.conv(x, edge_index, edge_weight=weight, **also)


def _weighted_gin(conv: GINConv, x: Tensor, edge_index: Tensor, weight: Tensor) -> Tensor:
    """Return what PyG's `conv` would compute if its messages had weights: its own network, epsilon and aggregation."""
    source, target = edge_index if conv.flow == "source_to_target" else edge_index.flip(0)
    messages = x.index_select(0, source) * weight.view(-1, 1)
    received = conv.aggr_module(messages, target, dim_size=x.size(0), dim=0)
    result: Tensor = conv.nn(received + (1 + conv.eps) * x)
    return result


def _sums_as_gin(conv: nn.Module) -> bool:
    kind = type(conv)
    return isinstance(conv, GINConv) and kind.forward is GINConv.forward and kind.message is GINConv.message


def _is_required(argument: Parameter) -> bool:
    named = argument.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return named and argument.default is Parameter.empty


def _edge_dim(conv: nn.Module) -> int | None:
    if isinstance(conv, GINEConv):  # keeps the layer that it makes of edge_dim, but not the number
        return None if conv.lin is None else int(conv.lin.weight.size(1))
    edge_dim: int | None = getattr(conv, "edge_dim", None)
    return edge_dim
