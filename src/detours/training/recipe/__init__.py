"""Everything that defines a training run: `Recipe` has the settings, `recipe` creates one from a preset."""

from detours.choices import DROPOUTS, Backbone, Level
from detours.training.recipe.choices import LOWER_IS_BETTER, METRICS, MODELS, RANKED, Model, merit
from detours.training.recipe.definition import (
    Recipe,
    as_before,
    checked,
    choices_of,
    setting_type,
    settings,
)
from detours.training.recipe.presets import RECIPES, recipe, shipped_recipe
from detours.training.recipe.texts import parse_setting, read_recipe

__all__ = [
    "DROPOUTS",
    "LOWER_IS_BETTER",
    "METRICS",
    "MODELS",
    "RANKED",
    "RECIPES",
    "Backbone",
    "Level",
    "Model",
    "Recipe",
    "as_before",
    "checked",
    "choices_of",
    "merit",
    "parse_setting",
    "read_recipe",
    "recipe",
    "setting_type",
    "settings",
    "shipped_recipe",
]
