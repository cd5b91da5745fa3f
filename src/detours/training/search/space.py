"""The space of a search: choices or a range for each setting of a recipe, and known good points.

A space is a TOML file::

    [space]                                  # the same draws for every model
    hidden = [32, 64]
    lr = {low = 1e-3, high = 1e-2, log = true}

    [space.mdnn]                             # for one model, in addition to or instead of those above
    k = [4, 5, 6]

    [[known]]                                # tried first; an empty one is the preset
    hidden = 64
    [known.mdnn]
    k = 6
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from detours.checks import check_number
from detours.errors import FileFormatError, InputError, short_repr
from detours.training.recipe import MODELS, checked, setting_type

SPACES = Path(__file__).with_name("spaces")
"""The default space of each level."""


@dataclass(frozen=True)
class Choices:
    """A choice among values, uniformly."""

    values: tuple[Any, ...]

    def draw(self, generator: np.random.Generator) -> Any:
        """Return a random choice."""
        return self.values[generator.integers(len(self.values))]

    def __contains__(self, value: object) -> bool:
        return value in self.values


@dataclass(frozen=True)
class Range:
    """A number from `low` to `high`, uniform or uniform in the logarithm, optionally an integer."""

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def draw(self, generator: np.random.Generator) -> float | int:
        """Return a random number of the range, rounded to four digits if it stays inside."""
        low, high = (self.low, self.high + 1) if self.integer else (self.low, self.high)
        drawn = np.exp(generator.uniform(np.log(low), np.log(high))) if self.log else generator.uniform(low, high)
        if self.integer:
            return min(int(drawn), int(self.high))
        return min(max(float(f"{drawn:.4g}"), self.low), self.high)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


Domain = Choices | Range
Domains = Mapping[str, Domain]


@dataclass(frozen=True)
class Space:
    """The domains that settings are drawn from."""

    shared: Domains
    """Domains of all models."""
    own: Mapping[str, Domains]
    """Domains of single models."""
    known: tuple[Mapping[str, Any], ...] = ()
    """Settings to try first; the value for the name of a model has settings for that model only."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Space:
        """Return a space from the dictionaries of its TOML file."""
        if unknown := sorted(given.keys() - {"space", "known"}):
            raise InputError(f"a space has the tables space and known, but {short_repr(unknown[0])} was given.")
        table, known = given.get("space", {}), given.get("known", [])
        if not isinstance(table, Mapping) or not isinstance(known, list):
            raise InputError("a space is a table [space] and any number of tables [[known]].")
        domains = {name: _domain(name, value) for name, value in table.items() if name not in MODELS}
        own = {
            model: {name: _domain(name, value) for name, value in _subtable(model, table).items()} for model in MODELS
        }
        if not domains and not any(own.values()) and not known:
            raise InputError("the space is empty; give choices such as lr = [1e-3, 1e-2] in [space].")
        return cls(domains, own, tuple(map(_known, known)))

    @classmethod
    def read(cls, path: Path) -> Space:
        """Read a space from a file."""
        import tomllib

        try:
            return cls.of(tomllib.loads(path.read_text("utf-8-sig")))
        except FileNotFoundError:
            raise FileFormatError("there is no such space file.", path) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileFormatError(f"a space is a TOML file, but it cannot be read as one: {error}.", path) from None
        except InputError as error:
            raise FileFormatError(str(error), path) from None

    @classmethod
    def default(cls, level: str) -> Space:
        """Return the default space of a level."""
        return cls.read(SPACES / f"{level}.toml")

    def fixed(self, settings: Mapping[str, Any]) -> Space:
        """Return the space without these settings, which are the same in all trials."""

        def without(table: Mapping[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in table.items() if name not in settings}

        known = tuple(
            {name: without(value) if name in MODELS else value for name, value in without(each).items()}
            for each in self.known
        )
        return Space(without(self.shared), {model: without(own) for model, own in self.own.items()}, known)


def _subtable(model: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    found = table.get(model, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{model} must be a table of settings for that model, but it is {short_repr(found)}.")
    return found


def _known(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"a known point must be a table of settings, but it is {short_repr(given)}.")
    values = {name: _checked(name, value) for name, value in given.items() if name not in MODELS}
    own = {
        model: {name: _checked(name, value) for name, value in _subtable(model, given).items()}
        for model in MODELS
        if model in given
    }
    return values | own


def _checked(name: str, value: Any) -> Any:
    if name == "model":
        raise InputError("a space has no setting model, as each model is searched on its own; leave it out.")
    return checked(name, value)


def _domain(name: str, given: Any) -> Domain:
    """Return the domain of a setting from its value in a space, or raise `InputError`."""
    if isinstance(given, list):
        if not given:
            raise InputError(f"{name} has no choices; give at least one.")
        return Choices(tuple(_checked(name, each) for each in given))
    if not isinstance(given, Mapping) or not {"low", "high"} <= given.keys() <= {"low", "high", "log"}:
        raise InputError(f"{name} must be a list of choices or {{low = …, high = …}}, but it is {short_repr(given)}.")
    low, high, log = _checked(name, given["low"]), _checked(name, given["high"]), given.get("log", False)
    if setting_type(name) not in (int, float):
        raise InputError(f"{name} is not a number, so it has no range; give a list of choices.")
    check_number(f"high of {name}", high, above=low)
    if not isinstance(log, bool) or (log and low <= 0):
        raise InputError(f"{name}: log must be true or false, and low above 0 with log = true, but low is {low}.")
    return Range(low, high, log, setting_type(name) is int)
