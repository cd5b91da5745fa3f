"""Settings from texts: recipe files, and name=value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from detours.errors import FileFormatError, InputError
from detours.training.recipe.definition import checked


def read_recipe(path: Path) -> dict[str, Any]:
    """Read the settings, and the data set if it is named, of a recipe file such as `Recipe.to_toml` makes."""
    import tomllib

    try:
        found = tomllib.loads(path.read_text("utf-8-sig"))  # editors of Windows begin files with a mark
        data = {"data": found.pop("data")} if isinstance(found.get("data"), str) else {}
        return data | {name: checked(name, value) for name, value in found.items()}
    except FileNotFoundError:
        raise FileFormatError("there is no such recipe file.", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"a recipe is a TOML file, but it cannot be read as one: {error}.", path) from None
    except InputError as error:
        raise FileFormatError(str(error), path) from None


def parse_setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of "name=value".

    >>> parse_setting("neighbours=15,10")
    ('neighbours', (15, 10))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} is not of the form name=value, such as lr=1e-4.")
    return name.strip(), checked(name.strip(), value.strip())
