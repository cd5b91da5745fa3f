"""The choices that options of networks have, stated once for `detours.nn` and for recipes, which load no torch."""

from __future__ import annotations

from typing import Literal

Level = Literal["graph", "node"]
Backbone = Literal["gcn", "gat", "gin"]
Encoder = Literal["conv", "linear", "mlp", "hops"]
Decoder = Literal["conv", "none"]
Norm = Literal["batch", "layer", "none"]
Jump = Literal["last", "cat", "max", "mean"]
PoolOf = Literal["logits", "states"]
Head = Literal["linear", "mlp"]
Directions = Literal["in", "out", "both"]

ABSORBS_SCALE: tuple[Backbone, ...] = ("gcn",)
"""Backbones whose normalisation absorbs the scale of the weights of arcs."""
