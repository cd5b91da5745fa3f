"""`DetourWeighted`: any convolution that can take a number per arc, beside itself with k-DeN as that number."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from inspect import Parameter, signature

import torch
from torch import Tensor, nn
from torch_geometric.nn import CGConv, GENConv, GINConv, GINEConv, GMMConv, SplineConv

from detours.checks import check_integer
from detours.errors import InputError, shown
from detours.nn.checks import check_edge_attr


class Weighting(Enum):
    """How a convolution takes a number per arc."""

    WEIGHT = "edge_weight"
    FEATURE = "edge_attr"
    SUM = "a weighted sum in place of its own"

    @classmethod
    def of(cls, conv: nn.Module, edge_channels: int = 0) -> Weighting:
        """Tell by its signature, or refuse in one sentence that says what would do."""
        _check_module(conv)
        check_integer("edge_channels", edge_channels, minimum=0)
        name, arguments = type(conv).__name__, _further_arguments(conv)
        if _sums_as_gin(conv):
            if edge_channels:
                raise InputError(
                    f"{name} takes no edge_attr, but edge_channels={edge_channels}; "
                    f"take 0, or GINEConv with edge_dim={1 + edge_channels}."
                )
            return cls.SUM
        way = next((way for way in (cls.WEIGHT, cls.FEATURE) if way.value in arguments), None)
        if way is None:
            raise InputError(
                f"{name} takes neither edge_weight nor edge_attr, so detours cannot weight it; "
                "take a convolution that does (GCNConv, GraphConv, GATConv with edge_dim=1, …), or GINConv."
            )
        if edge_channels and "edge_attr" not in arguments:
            raise InputError(f"{name} takes no edge_attr, but edge_channels={edge_channels}; take 0.")
        _check_others(name, arguments, {way.value, "edge_attr"} if edge_channels else {way.value})
        if way is cls.FEATURE or edge_channels:
            check_width(conv, edge_channels, way)
        return way


class DetourWeighted(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""A layer of a DeN-weighted MPNN: one convolution, on the graph and on the graph weighted by k-DeN.

    .. math::
        \mathbf{X}^{\prime} = [\, \mathrm{conv}(\mathbf{X}, \mathbf{A}) ,\;
        \mathrm{conv}(\mathbf{X}, \mathbf{A} \odot \mathrm{DeN}^k) \,]

    Both branches have the same parameters. Convolutions with `edge_weight` (GCN and its kin) are weighted by it, those
    with `edge_attr` (GAT and its kin, made with ``edge_dim=1``) read the weight as a feature of the arc, which is 0 in
    the plain branch, and `GINConv` gets a weighted sum of ours with its own network and epsilon. A convolution that
    cannot be called without `edge_weight` gets ones in the plain branch.

    Weights are taken in the type of `x`: in float16, counts above 65,504 are infinite, so take their logarithms there.
    Under autocast they stay as wide as they are.

    Args:
        conv: A PyG convolution, or any module called as conv(x, edge_index, edge_weight=…) or (…, edge_attr=…). One
            that keeps the width of its edge features, as `edge_dim`, must have 1 + edge_channels; of any other it is
            not known, and the caller sees to it.
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
        self.edge_channels = edge_channels
        self.conv = conv
        arguments = signature(conv.forward).parameters
        self._needs_weight = self.weighting is Weighting.WEIGHT and _is_required(arguments["edge_weight"])

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.conv.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return torch.cat(self.branches(x, edge_index, weight, edge_attr), dim=-1)

    def branches(
        self, x: Tensor, edge_index: Tensor, weight: Tensor, edge_attr: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the plain branch and the weighted one, not joined."""
        _check_weight(weight, edge_index.size(1))
        check_edge_attr(edge_attr, edge_index.size(1), self.edge_channels)
        if self.weighting is Weighting.FEATURE:
            feature = weight.view(-1, 1).to(x.dtype)
            features = (torch.zeros_like(feature), feature)
            if edge_attr is not None:
                also = _in_type_of(x, edge_attr)
                features = (torch.cat([features[0], also], 1), torch.cat([features[1], also], 1))
            plain, weighted = (self.conv(x, edge_index, edge_attr=each) for each in features)
            return plain, weighted
        weight = _in_type_of(x, weight.view(-1))
        if self.weighting is Weighting.SUM:
            return self.conv(x, edge_index), _weighted_gin(self.conv, x, edge_index, weight)
        named = {} if edge_attr is None else {"edge_attr": _in_type_of(x, edge_attr)}
        ones = {"edge_weight": torch.ones_like(weight)} if self._needs_weight else {}
        return self.conv(x, edge_index, **ones, **named), self.conv(x, edge_index, edge_weight=weight, **named)


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


def _in_type_of(x: Tensor, given: Tensor) -> Tensor:
    """Return numbers of the arcs in the type of x; where torch mixes types itself, never in a narrower one than they
    have, since half a mantissa is too short for counts."""
    mixed = torch.is_autocast_enabled(x.device.type)
    return given.to(torch.promote_types(given.dtype, x.dtype) if mixed else x.dtype)


def _check_module(conv: object) -> None:
    if isinstance(conv, type):
        raise InputError(f"conv must be a convolution, but it is the class {conv.__name__}; make one of it first.")
    if not isinstance(conv, nn.Module):
        raise InputError(f"conv must be a convolution, a torch module, but {shown(conv)} was given.")
    if getattr(conv, "cached", False):
        raise InputError(
            f"{type(conv).__name__} was made with cached=True and would give its weighted branch the result of its "
            "plain one; make it with cached=False."
        )


def _check_weight(weight: Tensor | None, arcs: int) -> None:
    if weight is None:
        raise InputError("weight is missing; DetourWeighted needs a weight for every arc, see AddDetourWeights.")
    if weight.numel() != arcs:
        raise InputError(
            f"weight must hold one number for each of the {arcs} arcs, "
            f"but its shape is {tuple(weight.shape)}; give the sum over all lengths (by_length=False)."
        )


def _further_arguments(conv: nn.Module) -> dict[str, Parameter]:
    """The arguments of a convolution beside x and edge_index: its first two, unless edge_index comes later."""
    others = list(signature(conv.forward).parameters.items())[1:]
    at = next((at for at, (name, _) in enumerate(others) if name == "edge_index"), 0)
    return dict(others[:at] + others[at + 1 :])


def _check_others(name: str, arguments: Mapping[str, Parameter], given: set[str]) -> None:
    """Refuse a convolution that needs more than it is given."""
    others = [each for each in arguments if each not in given and _is_required(arguments[each])]
    if others:
        raise InputError(
            f"{name} needs {', '.join(others)} beside x and edge_index, which cannot be "
            "given here; take a convolution that is called with x, edge_index and edge_weight or edge_attr."
        )


def _is_required(argument: Parameter) -> bool:
    named = argument.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return named and argument.default is Parameter.empty


def check_width(conv: nn.Module, edge_channels: int, way: Weighting) -> None:
    """Refuse a convolution that was made for edge features of another width than it would get."""
    wanted = edge_channels + (way is Weighting.FEATURE)
    argument, width = _width(conv, wanted)
    if width != wanted:
        why = "it must read k-DeN as one feature per arc" if way is Weighting.FEATURE else f"{edge_channels=}"
        raise InputError(f"{type(conv).__name__} has {argument}={width}, but {why}; make it with {argument}={wanted}.")


def _width(conv: nn.Module, wanted: int) -> tuple[str, int | None]:
    """The argument that told a convolution the width of its edge features, and that width; where it cannot be known,
    the one that is wanted."""
    if isinstance(conv, GINEConv):  # keeps the layer that it makes of edge_dim, but not the number
        return "edge_dim", None if conv.lin is None else int(conv.lin.weight.size(1))
    if isinstance(conv, GENConv):  # nor does this one, and features as wide as its output need no layer
        layer = getattr(conv, "lin_edge", None)
        width = conv.out_channels if layer is None else int(layer.weight.size(1))
        return "edge_dim", None if layer is None and width != wanted else width
    names = ("dim",) if isinstance(conv, CGConv | GMMConv | SplineConv) else ("edge_dim", "in_edge_channels")
    known = ((name, getattr(conv, name)) for name in names if isinstance(getattr(conv, name, ""), int | None))
    return next(known, ("edge_dim", wanted))
