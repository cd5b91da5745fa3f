"""Recipes from presets: the values of a preset, those that the package ships for a data set, and changes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from detours.choices import ABSORBS_SCALE, Level
from detours.training.recipe.choices import METRICS
from detours.training.recipe.definition import Recipe, checked, settings
from detours.training.recipe.texts import of_model

RECIPES = Path(__file__).parents[1] / "recipes"
"""Recipe files of single data sets, for preset "ours"."""


def recipe(
    data: str,
    digest: str,
    splits: str,
    level: Level,
    *,
    fold: int = 0,
    experiment: str = "networks",
    preset: str = "ours",
    **changed: Any,
) -> Recipe:
    """Return the recipe of a preset with some settings changed; None keeps the value of the preset.

    Preset "ours" takes the values of `recipes/<data>.toml` in this package where there is such a file.
    """
    changed = {name: checked(name, value) for name, value in changed.items() if value is not None}
    preset = checked("preset", preset)
    values = {name: each.default(preset, level) for name, each in settings().items()} | {"preset": preset}
    shipped = shipped_recipe(data, changed.get("model", values["model"])) if preset == "ours" else {}
    values |= {"metric": METRICS[changed.get("task", values["task"])][0]} | shipped | changed
    if preset == "ours" and values["model"] == "weighted" and "log" not in shipped | changed:
        values["log"] = values["backbone"] not in ABSORBS_SCALE
    return Recipe(data=data, digest=digest, splits=splits, level=level, fold=fold, experiment=experiment, **values)


@cache
def shipped_recipe(data: str, model: str) -> dict[str, Any]:
    """Return the settings that the package ships for a data set and a model."""
    import tomllib

    file = RECIPES / f"{data}.toml"
    found = tomllib.loads(file.read_text("utf-8")) if data and file.is_file() else {}
    return {name: checked(name, value) for name, value in of_model(found, model).items()}
