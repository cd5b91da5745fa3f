"""The learning rate over the epochs."""

from __future__ import annotations

from math import cos, pi

from detours.training.recipe import Recipe


def rate(recipe: Recipe, epochs: float) -> float:
    """Return the learning rate after a number of epochs.

    It rises linearly (warm-up), then stays ("constant"), or falls linearly ("linear") or as half a cosine ("cosine") to
    0 after the last epoch.
    """
    warmup = recipe.warmup * recipe.epochs
    if epochs < warmup:
        return recipe.lr * epochs / warmup
    if recipe.schedule == "constant":
        return recipe.lr
    left = max(0.0, (recipe.epochs - epochs) / (recipe.epochs - warmup))  # other replicas may train longer
    return recipe.lr * (left if recipe.schedule == "linear" else (1 - cos(pi * left)) / 2)
