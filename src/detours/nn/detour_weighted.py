"""`DetourWeighted`: any convolution that accepts a weight per arc, next to the same with k-DeN as the weight."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from inspect import Parameter, signature

import torch
from torch import Tensor, nn
from torch_geometric.nn import CGConv, GENConv, GINConv, GINEConv, GMMConv, SplineConv
from torch_geometric.nn.inits import reset
from torch_geometric.nn.models.basic_gnn import BasicGNN

from detours.checks import check_integer
from detours.errors import InputError, short_repr
from detours.nn.checks import check_edge_attr


class Weighting(Enum):
    """How a convolution accepts a weight per arc."""

    WEIGHT = "edge_weight"
    FEATURE = "edge_attr"
    SUM = "a weighted sum in place of its own"

    @classmethod
    def of(cls, conv: nn.Module, edge_channels: int = 0) -> Weighting:
        """Return the way that its signature allows, or raise an `InputError` that says what to use instead."""
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

    Both branches have the same parameters. Convolutions with `edge_weight` (such as GCN) use it, those with `edge_attr`
    (such as GAT, built with ``edge_dim=1``) read the weight as a feature of the arc, which is 0 in the plain branch,
    and `GINConv` gets our weighted sum with its own network and epsilon. A convolution that requires `edge_weight` gets
    ones in the plain branch.

    Weights are cast to the dtype of `x`: in float16, counts above 65,504 are infinite, so take their logarithms there.
    Under autocast they are not narrowed.

    Args:
        conv: A PyG convolution, or any module called as conv(x, edge_index, edge_weight=…) or (…, edge_attr=…). If
            it stores the width of its edge features, such as `edge_dim`, this must be 1 + edge_channels; otherwise the
            caller has to ensure it.
        edge_channels: Width of additional features of the arcs, seen by both branches; 0 for none.

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
        reset(self.conv)

    def forward(self, x: Tensor, edge_index: Tensor, weight: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return torch.cat(self.branches(x, edge_index, weight, edge_attr), dim=-1)

    def branches(
        self, x: Tensor, edge_index: Tensor, weight: Tensor, edge_attr: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the plain branch and the weighted one, not concatenated."""
        _check_weight(weight, edge_index.size(1))
        check_edge_attr(edge_attr, edge_index.size(1), self.edge_channels)
        if self.weighting is Weighting.FEATURE:
            feature = weight.view(-1, 1).to(x.dtype)
            features = (torch.zeros_like(feature), feature)
            if edge_attr is not None:
                extra = _cast_like(x, edge_attr)
                features = (torch.cat([features[0], extra], 1), torch.cat([features[1], extra], 1))
            plain, weighted = (self.conv(x, edge_index, edge_attr=each) for each in features)
            return plain, weighted
        weight = _cast_like(x, weight.view(-1))
        if self.weighting is Weighting.SUM:
            return self.conv(x, edge_index), _weighted_gin(self.conv, x, edge_index, weight)
        options = {} if edge_attr is None else {"edge_attr": _cast_like(x, edge_attr)}
        ones = {"edge_weight": torch.ones_like(weight)} if self._needs_weight else {}
        return self.conv(x, edge_index, **ones, **options), self.conv(x, edge_index, edge_weight=weight, **options)


def _weighted_gin(conv: GINConv, x: Tensor, edge_index: Tensor, weight: Tensor) -> Tensor:
    """Return the output of PyG's `conv` with weighted messages, by its own network, epsilon and aggregation."""
    source, target = edge_index if conv.flow == "source_to_target" else edge_index.flip(0)
    messages = x.index_select(0, source) * weight.view(-1, 1)
    received = conv.aggr_module(messages, target, dim_size=x.size(0), dim=0)
    result: Tensor = conv.nn(received + (1 + conv.eps) * x)
    return result


def _sums_as_gin(conv: nn.Module) -> bool:
    kind = type(conv)
    return isinstance(conv, GINConv) and kind.forward is GINConv.forward and kind.message is GINConv.message


def _cast_like(x: Tensor, values: Tensor) -> Tensor:
    """Cast values of the arcs to the dtype of x; under autocast, never to a narrower one, since the mantissa of half
    precision is too short for counts."""
    autocast = torch.is_autocast_enabled(x.device.type)
    return values.to(torch.promote_types(values.dtype, x.dtype) if autocast else x.dtype)


def _check_module(conv: object) -> None:
    if isinstance(conv, type):
        raise InputError(f"conv must be a convolution, but it is the class {conv.__name__}; create an instance first.")
    if not isinstance(conv, nn.Module):
        raise InputError(f"conv must be a convolution, a torch module, but {short_repr(conv)} was given.")
    if any(getattr(each, "cached", False) is True for each in conv.modules()):
        raise InputError(
            f"{type(conv).__name__} was created with cached=True and would reuse the result of the plain branch in the "
            "weighted one; create it with cached=False."
        )


def _check_weight(weight: Tensor | None, arcs: int) -> None:
    if weight is None:
        raise InputError("weight is missing; DetourWeighted needs a weight for every arc, see AddDetourWeights.")
    if weight.numel() != arcs:
        raise InputError(
            f"weight must have one value for each of the {arcs} arcs, "
            f"but its shape is {tuple(weight.shape)}; give the sum over all lengths (by_length=False)."
        )


def _further_arguments(conv: nn.Module) -> dict[str, Parameter]:
    """The arguments of a convolution except its first, x, and edge_index, which is its second unless named later.

    PyG's models, such as GIN, take all arguments, but pass on only those that their convolution supports.
    """
    others = list(signature(conv.forward).parameters.items())[1:]
    position = next((position for position, (name, _) in enumerate(others) if name == "edge_index"), 0)
    unused = [name for name in ("edge_weight", "edge_attr") if getattr(conv, f"supports_{name}", True) is False]
    return {name: each for name, each in others[:position] + others[position + 1 :] if name not in unused}


def _check_others(name: str, arguments: Mapping[str, Parameter], supported: set[str]) -> None:
    """Refuse a convolution with other required arguments."""
    others = [each for each in arguments if each not in supported and _is_required(arguments[each])]
    if others:
        raise InputError(
            f"{name} needs {', '.join(others)} in addition to x and edge_index, which cannot be "
            "given here; take a convolution that is called with x, edge_index and edge_weight or edge_attr."
        )


def _is_required(argument: Parameter) -> bool:
    by_name = argument.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return by_name and argument.default is Parameter.empty


def check_width(conv: nn.Module, edge_channels: int, way: Weighting) -> None:
    """Refuse a convolution that was created for edge features of another width than it would get."""
    expected = edge_channels + (way is Weighting.FEATURE)
    argument, width = _width(conv, expected)
    if width != expected:
        why = "it must read k-DeN as one feature per arc" if way is Weighting.FEATURE else f"{edge_channels=}"
        raise InputError(
            f"{type(conv).__name__} has {argument}={width}, but {why}; create it with {argument}={expected}."
        )


def _width(conv: nn.Module, expected: int) -> tuple[str, int | None]:
    """The argument that sets the width of the edge features of a convolution, and this width; if it is unknown, the
    expected one."""
    if isinstance(conv, BasicGNN):
        return _width(conv.convs[0], expected)
    if isinstance(conv, GINEConv):  # stores the layer that it derives from edge_dim, but not edge_dim
        return "edge_dim", None if conv.lin is None else int(conv.lin.weight.size(1))
    if isinstance(conv, GENConv):  # neither does this one, and features as wide as its output need no layer
        layer = getattr(conv, "lin_edge", None)
        width = conv.out_channels if layer is None else int(layer.weight.size(1))
        return "edge_dim", None if layer is None and width != expected else width
    names = ("dim",) if isinstance(conv, CGConv | GMMConv | SplineConv) else ("edge_dim", "in_edge_channels")
    candidates = ((name, getattr(conv, name)) for name in names if isinstance(getattr(conv, name, ""), int | None))
    return next(candidates, ("edge_dim", expected))
