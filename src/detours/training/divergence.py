"""Advice about a loss that is not finite: the data may be the cause, or the learning rate."""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor

from detours.training.batches.inputs import ArcColumns
from detours.training.batches.packed import Packed
from detours.training.recipe import Recipe

LARGE = 1e4
"""Inputs above this value are a likelier cause than the learning rate."""


def advice(packed: Packed, recipe: Recipe, scaling: tuple[Tensor, Tensor] | None = None) -> str:
    """Return the likelier cause, and what to do about it.

    Args:
        packed: The inputs of the network.
        recipe: Its recipe.
        scaling: Shift and scale of every feature of nodes, if they are not scaled in `packed`.
    """
    if packed.y.is_floating_point() and bool(torch.isinf(packed.y).any()):
        return f"some targets are too large for {8 * packed.y.element_size()} bits, so scale them"
    x = packed.x if scaling is None else (packed.x - scaling[0]) / scaling[1]
    start = ArcColumns.of(recipe).edges.start
    scale_them = "scale them" if recipe.standardise else "scale them, as standardise=true does"
    size, name, remedy = max(
        (_largest(x), "features of nodes", scale_them),
        (_largest(packed.arc_features[:, :start]), "detour numbers", "take log=true or a smaller k"),
        (_largest(packed.arc_features[:, start:]), "features of edges", "scale them"),
    )
    lr = "take a smaller lr"
    return f"the network sees {name} up to {size:.3g}, so {remedy}, or {lr}" if size > LARGE else lr


def _largest(values: Tensor) -> float:
    return float(values.abs().nan_to_num(nan=inf, posinf=inf).max()) if values.numel() else 0.0
