"""Definitions of settings, and checks of their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple, get_args, get_origin

from detours.checks import check_choice, check_integer, check_number
from detours.errors import InputError, short_repr


class ByLevel(NamedTuple):
    """A value that differs between data sets of graphs and of nodes."""

    graph: Any
    node: Any


class Setting(NamedTuple):
    """The definition of a setting, without its name and type."""

    doc: str
    ours: Any
    paper: Any
    before: Any
    """The value that stands for the time before the setting existed; None for that of the preset."""
    bounds: Mapping[str, Any]
    """Arguments of `check_integer` or `check_number`: minimum, maximum, above, below."""

    def default(self, preset: str, level: str) -> Any:
        """Return the value in a preset."""
        value = self.ours if preset == "ours" else self.paper
        return getattr(value, level) if isinstance(value, ByLevel) else value

    def as_before(self, preset: str, level: str) -> Any:
        """Return the value of runs of a preset from before the setting existed."""
        return self.default(preset, level) if self.before is None else self.before


def setting(doc: str, ours: Any, paper: Any = None, *, before: Any = None, **bounds: float) -> Any:
    """Declare a setting of `Recipe`: its documentation, its value in both presets, and its bounds.

    Args:
        doc: One sentence, shown by `detours train --show-recipe`.
        ours: The value in the preset "ours"; a `ByLevel` if it depends on the kind of data.
        paper: The value in the preset "paper". Default: the same.
        before: The value of finished runs and saved models from before the setting existed. Default: that of their
            preset.
        bounds: Arguments of `check_integer` or `check_number`: `minimum`, `maximum`, `above`, `below`.
    """
    return field(metadata={"setting": Setting(doc, ours, ours if paper is None else paper, before, bounds)})


def in_type(name: str, value: Any, kind: Any, bounds: Mapping[str, Any]) -> Any:
    """Return a value in the type of its setting, given as such or as a string, or raise `InputError`."""
    if get_origin(kind) is Literal:
        check_choice(name, value, get_args(kind))
        return value
    if isinstance(value, str):
        value = _from_text(kind, value)
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{name} must be true or false, but it is {short_repr(value)}.")
        return value
    if kind is int:
        return check_integer(name, value, **bounds)
    if kind is float:
        return check_number(name, value, **bounds)
    if not isinstance(value, list | tuple):
        raise InputError(f"{name} must be integers separated by commas, but it is {short_repr(value)}.")
    return tuple(check_integer(f"each of {name}", each, **bounds) for each in value)


def _from_text(kind: Any, text: str) -> Any:
    """Return the value that a string represents, or the string itself if it represents none."""
    try:
        if kind is bool:
            return {"true": True, "false": False}.get(text.lower(), text)
        if kind in (int, float):
            return kind(text)
        listed = text.strip("[] ")
        return tuple(map(int, listed.split(","))) if listed else ()
    except ValueError:
        return text
