"""The values that options of networks may take, shared by `detours.nn` and by recipes, which do not load torch."""

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

DROPOUTS = ("dropout", "input_dropout", "layer_dropout")
"""Options that draw random bits in training, unless they are 0: replicas draw them for every graph in a batch."""

ABSORBS_SCALE: tuple[Backbone, ...] = ("gcn",)
"""Backbones whose normalisation cancels the scale of the arc weights."""
