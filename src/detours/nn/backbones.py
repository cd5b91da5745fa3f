"""Convolutions by name: the backbones GCN, GAT and GIN of the paper, or anybody's own."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from torch import nn
from torch_geometric.nn import GINConv, GINEConv

from detours.errors import InputError, shown
from detours.nn.convolutions import GAT, GCN, GIN
from detours.nn.detour_weighted import Weighting, check_width

Backbone = str | type[nn.Module] | Callable[[int, int], nn.Module]

BACKBONES: dict[str, type[nn.Module]] = {"gcn": GCN, "gat": GAT, "gin": GIN}


def convolution(
    backbone: Backbone, in_channels: int, out_channels: int, *, weighted: bool = False, edge_channels: int = 0
) -> nn.Module:
    """Return a convolution from `in_channels` to `out_channels`.

    Args:
        backbone: "gcn", "gat", "gin", a PyG class made with (in_channels, out_channels), or a function of these two.
        in_channels: Width of the input.
        out_channels: Width of the output.
        weighted: It must be able to take k-DeN of the arcs. Classes with `edge_dim` and no `edge_weight`, as GAT, then
            get one more edge feature; only then, since a parameter that nothing uses stops distributed training.
        edge_channels: Width of the features of the arcs that it must take as `edge_attr`; 0 for none.

    GIN sums, then applies two linear layers with a ReLU between them and no batch norm: its running statistics would
    mix the plain and the weighted branch, which share it. The inner layer is at least half as wide as the input: one as
    wide as two classes is easily dead in all its units.

    >>> convolution("gat", 7, 64, weighted=True).edge_dim
    1
    """
    if isinstance(backbone, nn.Module):
        raise InputError(
            f"backbone is already a module, {shown(backbone)}, and every layer needs one of its own; "
            "give its class, or a function of in_channels and out_channels that makes one."
        )
    made = _made(backbone, in_channels, out_channels, weighted, edge_channels)
    if not isinstance(made, nn.Module):
        raise InputError(f"backbone should give a torch module, but {shown(backbone)} gave {shown(made)}.")
    if weighted:
        Weighting.of(made, edge_channels)
    elif edge_channels:
        if "edge_attr" not in signature(made.forward).parameters:
            raise InputError(
                f"{type(made).__name__} takes no edge_attr, but edge_channels={edge_channels}; "
                "take a convolution that does, or edge_channels=0."
            )
        if not isinstance(made, GINEConv):  # without edge_dim, PyG's wants features as wide as the nodes', and says so
            check_width(made, edge_channels, Weighting.WEIGHT)
    return made


def _made(backbone: Backbone, in_channels: int, out_channels: int, weighted: bool, edge_channels: int) -> Any:
    kind: Any = BACKBONES.get(backbone.lower()) if isinstance(backbone, str) else backbone
    if kind is None or not callable(kind):
        names = ", ".join(f'"{name}"' for name in BACKBONES)
        raise InputError(
            f"There is no backbone {shown(backbone)}; give {names}, a PyG convolution class, "
            "or a function of in_channels and out_channels."
        )
    if not isinstance(kind, type):
        return kind(in_channels, out_channels)
    made: Any = kind
    if issubclass(kind, GIN):
        return made(_two_layers(in_channels, out_channels), in_channels, edge_channels)
    if issubclass(kind, GINConv):
        return made(_two_layers(in_channels, out_channels))
    _check_arguments(kind)
    accepted = signature(made).parameters
    features = edge_channels + (weighted and "edge_weight" not in signature(made.forward).parameters)
    if features and "edge_dim" in accepted:
        # a loop has no detours; PyG would give the loops it adds the mean of the arcs around them
        loops = {"fill_value": 0.0} if "fill_value" in accepted else {}
        return made(in_channels, out_channels, edge_dim=features, **loops)
    return made(in_channels, out_channels)


def _check_arguments(kind: type) -> None:
    """Raise `InputError` unless a class is made with in_channels and out_channels; those not of PyG may rename them."""
    given = signature(kind).parameters.values()
    if any(each.kind is each.VAR_POSITIONAL for each in given):
        return
    needed = [each.name for each in given if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    of_pyg = kind.__module__.startswith("torch_geometric.")
    if len(needed) > 2 or (of_pyg and needed != ["in_channels", "out_channels"]):
        raise InputError(
            f"{kind.__name__} is made with ({', '.join(needed)}), not with (in_channels, out_channels); "
            f"give a function of these two, such as lambda i, o: {kind.__name__}(…)."
        )


def _two_layers(in_channels: int, out_channels: int) -> nn.Sequential:
    inner = max(in_channels // 2, out_channels)
    return nn.Sequential(nn.Linear(in_channels, inner), nn.ReLU(), nn.Linear(inner, out_channels))
