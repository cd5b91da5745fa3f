"""The learning rate over the epochs."""

from __future__ import annotations

from detours.training.recipe import Recipe


def rate(recipe: Recipe, epochs: float) -> float:
    """Return the learning rate after a number of epochs: rising in a straight line, then constant."""
    rising = recipe.warmup * recipe.epochs
    return recipe.lr * (min(1.0, epochs / rising) if rising else 1.0)
