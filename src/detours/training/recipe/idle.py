"""Settings that have no effect, because of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OF_TOKENS = ("use_den", "den_bias", "transformer_layers", "heads", "token_norm", "detour_gate", "pe")
"""Settings of the tokens of MDNN."""
ONLY_MDNN = (*OF_TOKENS, "hop_den")
"""Settings that other models do not have."""


def idle(values: Mapping[str, Any]) -> set[str]:
    """Return the settings that have no effect given the values of all and the level, whatever the data.

    >>> from detours.training.recipe import recipe
    >>> graphs = recipe("MUTAG", "", "", "graph", model="weighted", encoder="linear")
    >>> sorted(idle(vars(graphs)) - {*ONLY_MDNN})
    ['by_length', 'cycle_features', 'directions', 'evaluation', 'hops', 'regression_loss']
    """
    layers, mdnn = values["layers"] > 0, values["model"] == "mdnn"
    convolutions = layers or "conv" in (values["encoder"], values["decoder"])
    hops, tokens = values["encoder"] == "hops", mdnn and layers
    weights = values["model"] == "weighted" and (convolutions or hops)
    features = (values["edge_den"] and convolutions) or (values["use_den"] and tokens)
    nodes, sampled = values["level"] == "node", bool(values["neighbours"])
    regression, hop_den = values["task"] == "regression", values["hop_den"] and hops and mdnn
    rules = (
        (not (weights or features or values["node_den"] or hop_den), ("k",)),
        (not (weights or features), ("log",)),
        (not features, ("by_length", "cycle_features")),
        (not tokens, OF_TOKENS),
        (not (values["use_den"] or values["edge_features"]), ("den_bias",)),
        (not hops, ("hops",)),
        (not (hops and mdnn), ("hop_den",)),
        (not layers, ("layer_dropout", "gate", "jump")),
        (not convolutions, ("backbone", "edge_den", "edge_features")),
        (not ((convolutions or hops) and values["directed"]), ("directions",)),
        (nodes or (values["pool_of"] == "logits" and "+" in values["pool"]), ("pool",)),
        (nodes, ("pool_of",)),
        (nodes and not sampled, ("batch_size",)),
        (not sampled, ("evaluation",)),
        (regression, ("class_weights",)),
        (not regression, ("regression_loss",)),
    )
    return {name for applies, names in rules if applies for name in names}
