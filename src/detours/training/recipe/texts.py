"""Settings from text: recipe files, and name=value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from detours.errors import FileFormatError, InputError, short_repr
from detours.training.recipe.choices import MODELS
from detours.training.recipe.definition import checked, settings


def read_recipe(path: Path, models: Sequence[str] = ()) -> dict[str, Any]:
    """Read the settings of a recipe file, such as `Recipe.to_toml` writes, and its data set if it names one.

    Args:
        path: The file.
        models: The models that the settings are for; by default that of the file, or of the presets.
    """
    import tomllib

    try:
        found = tomllib.loads(path.read_text("utf-8-sig"))  # editors on Windows write a byte order mark
        data = {"data": found.pop("data")} if isinstance(found.get("data"), str) else {}
        if (tables := [name for name in MODELS if name in found]) and len(models) > 1:
            raise InputError(f"the table [{tables[0]}] is of one model, but the settings are for {', '.join(models)}.")
        model = models[0] if models else found.get("model", settings()["model"].default("ours", "graph"))
        return data | {name: checked(name, value) for name, value in of_model(found, model).items()}
    except FileNotFoundError:
        raise FileFormatError("there is no such recipe file.", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"a recipe is a TOML file, but it cannot be read as one: {error}.", path) from None
    except InputError as error:
        raise FileFormatError(str(error), path) from None


def of_model(found: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the settings of a recipe file for a model: those for all models, updated by the table of the model."""
    for name in MODELS:
        if not isinstance(found.get(name, {}), Mapping):
            raise InputError(f"{name} is the table of a model, but it is {short_repr(found[name])}.")
    shared = {name: value for name, value in found.items() if name not in MODELS}
    return {**shared, **(found.get(model, {}) if model in MODELS else {})}


def parse_setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of "name=value".

    >>> parse_setting("neighbours=15,10")
    ('neighbours', (15, 10))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} is not of the form name=value, such as lr=1e-4.")
    return name.strip(), checked(name.strip(), value.strip())
