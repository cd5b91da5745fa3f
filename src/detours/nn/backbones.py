"""Convolutions by name: the backbones GCN, GAT and GIN of the paper, or custom ones."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from torch import nn
from torch_geometric.nn import GINConv, GINEConv

from detours.errors import InputError, short_repr
from detours.nn.convolutions import GAT, GCN, GIN
from detours.nn.detour_weighted import Weighting, check_width

Backbone = str | type[nn.Module] | Callable[[int, int], nn.Module]

BACKBONES: dict[str, type[nn.Module]] = {"gcn": GCN, "gat": GAT, "gin": GIN}


def convolution(
    backbone: Backbone, in_channels: int, out_channels: int, *, weighted: bool = False, edge_channels: int = 0
) -> nn.Module:
    """Return a convolution from `in_channels` to `out_channels`.

    Args:
        backbone: "gcn", "gat", "gin", a PyG class built with (in_channels, out_channels), or a function of these two.
        in_channels: Width of the input.
        out_channels: Width of the output.
        weighted: Whether it must accept k-DeN of the arcs. Classes with `edge_dim` and without `edge_weight`, such as
            GAT, then get one more edge feature; only then, since an unused parameter stops distributed training.
        edge_channels: Width of the features of the arcs that it must accept as `edge_attr`; 0 for none.

    GIN sums, then applies two linear layers with a ReLU between them, but no batch norm: its running statistics would
    mix the plain and the weighted branch, which share it. The inner layer is at least half as wide as the input: with
    the width of two classes, all its units easily die.

    >>> convolution("gat", 7, 64, weighted=True).edge_dim
    1
    """
    if isinstance(backbone, nn.Module):
        raise InputError(
            f"backbone is already a module, {short_repr(backbone)}, but every layer needs a new one; "
            "give its class, or a function of in_channels and out_channels that returns one."
        )
    conv = _build(backbone, in_channels, out_channels, weighted, edge_channels)
    if not isinstance(conv, nn.Module):
        raise InputError(
            f"backbone should return a torch module, but {short_repr(backbone)} returned {short_repr(conv)}."
        )
    if getattr(conv, "concat", False) and getattr(conv, "heads", 1) * getattr(conv, "out_channels", 0) > out_channels:
        raise InputError(
            f"backbone should return {out_channels} columns, but {short_repr(conv)} returns {conv.heads} heads of "
            f"{conv.out_channels} columns; divide out_channels by heads, or set concat=False."
        )
    if weighted:
        Weighting.of(conv, edge_channels)
    else:
        _check_features(conv, in_channels, edge_channels)
    return conv


def _build(backbone: Backbone, in_channels: int, out_channels: int, weighted: bool, edge_channels: int) -> Any:
    kind: Any = BACKBONES.get(backbone.lower()) if isinstance(backbone, str) else backbone
    if kind is None or not callable(kind):
        names = ", ".join(f'"{name}"' for name in BACKBONES)
        raise InputError(
            f"There is no backbone {short_repr(backbone)}; give {names}, a PyG convolution class, "
            "or a function of in_channels and out_channels."
        )
    if not isinstance(kind, type):
        return kind(in_channels, out_channels)
    build: Any = kind
    if issubclass(kind, GIN):
        return build(_two_layers(in_channels, out_channels), in_channels, edge_channels)
    if issubclass(kind, GINConv):
        return build(_two_layers(in_channels, out_channels))
    _check_arguments(kind)
    accepted = signature(build).parameters
    features = edge_channels + (weighted and "edge_weight" not in signature(build.forward).parameters)
    if features and "edge_dim" in accepted:
        # a loop has no detours; by default, PyG fills the features of added loops with the mean over incoming arcs
        options = {"fill_value": 0.0} if "fill_value" in accepted else {}
        return build(in_channels, out_channels, edge_dim=features, **options)
    return build(in_channels, out_channels)


def _check_features(conv: nn.Module, in_channels: int, edge_channels: int) -> None:
    """Raise `InputError` unless a convolution works with features of the arcs of this width; 0 for none."""
    kind = type(conv)
    if edge_channels and "edge_attr" not in signature(conv.forward).parameters:
        raise InputError(
            f"{kind.__name__} takes no edge_attr, but edge_channels={edge_channels}; "
            "take a convolution that does, or edge_channels=0."
        )
    if isinstance(conv, GINEConv):
        if (kind.forward, kind.message) != (GINEConv.forward, GINEConv.message):  # a subclass with needs of its own
            return
        if not edge_channels:
            raise InputError(
                f"{kind.__name__} needs edge_attr, but edge_channels=0; "
                "give the number of edge features, or take a convolution without them."
            )
        if conv.lin is None and edge_channels == in_channels:  # without edge_dim, they must be as wide as x
            return
    if edge_channels:
        check_width(conv, edge_channels, Weighting.WEIGHT)


def _check_arguments(kind: type) -> None:
    """Raise `InputError` unless a class is built with in_channels and out_channels; outside PyG, names may differ."""
    parameters = signature(kind).parameters.values()
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return
    required = [each.name for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    from_pyg = kind.__module__.startswith("torch_geometric.")
    if len(required) > 2 or (from_pyg and required != ["in_channels", "out_channels"]):
        raise InputError(
            f"{kind.__name__} is built with ({', '.join(required)}), not with (in_channels, out_channels); "
            f"give a function of these two, such as lambda i, o: {kind.__name__}(…)."
        )


def _two_layers(in_channels: int, out_channels: int) -> nn.Sequential:
    inner = max(in_channels // 2, out_channels)
    return nn.Sequential(nn.Linear(in_channels, inner), nn.ReLU(), nn.Linear(inner, out_channels))
