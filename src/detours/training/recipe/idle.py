"""Settings that have no effect, because of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def idle(values: Mapping[str, Any]) -> set[str]:
    """Return the settings that have no effect given the values of all, whatever the data.

    >>> from detours.training.recipe import recipe
    >>> sorted(idle(vars(recipe("MUTAG", "", "", "graph", model="plain", encoder="linear"))))
    ['directions', 'hop_den', 'hops', 'regression_loss']
    """
    found = set()
    if not values["layers"]:
        found |= {"layer_dropout", "gate"}
    if values["encoder"] != "hops":
        found |= {"hops", "hop_den"}
    if values["model"] != "mdnn":
        found.add("hop_den")
    if not values["directed"]:
        found.add("directions")
    if values["pool_of"] == "logits" and "+" in values["pool"]:
        found.add("pool")
    if values["task"] != "regression":
        found.add("regression_loss")
    else:
        found.add("class_weights")
    return found
