"""The learning rate over the epochs."""

from __future__ import annotations

from math import cos, pi

from detours.training.recipe import Recipe


def rate(recipe: Recipe, epochs: float) -> float:
    """Return the learning rate after a number of epochs.

    It rises in a straight line, then stays ("constant"), falls in a straight line ("linear") or as half a cosine
    ("cosine"), to 0 after the last epoch.
    """
    rising = recipe.warmup * recipe.epochs
    if epochs < rising:
        return recipe.lr * epochs / rising
    if recipe.schedule == "constant":
        return recipe.lr
    left = max(0.0, (recipe.epochs - epochs) / (recipe.epochs - rising))  # other replicas may go on for longer
    return recipe.lr * (left if recipe.schedule == "linear" else (1 - cos(pi * left)) / 2)
