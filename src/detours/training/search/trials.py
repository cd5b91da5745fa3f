"""Trials: settings drawn from a space, several for each structure, so that these are replicas of one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any
from zlib import crc32

import numpy as np

from detours.checks import check_choice, check_integer
from detours.data import GraphSet
from detours.errors import InputError
from detours.training.loop import PER_REPLICA
from detours.training.recipe import DROPOUTS, MODELS, Recipe, recipe, settings, shipped_recipe
from detours.training.recipe.idle import idle
from detours.training.search.space import Domains, Space

ATTEMPTS = 1_000
"""Draws of a structure before a space counts as one without possible, or without other, networks."""

REDRAWS = 20
"""Draws after which a trial may repeat the structure of another, and a structure has no other trials."""

REFUSED_BY_OTHERS = ("use_den", "hop_den")
"""Settings of MDNN that other models refuse."""

TODAY = -1
"""The number of the trial that is not drawn: the current recipe of the data set."""

Settings = dict[str, Any]
Drawn = dict[str, Settings]
"""The settings of a trial for each model."""


@dataclass(frozen=True)
class Trial:
    """Settings to try for a model; trials of one number have the same values of shared settings."""

    model: str
    number: int
    settings: Mapping[str, Any]


class Draws:
    """The trials of a search, which depend only on the seed; no two are the same for all models.

    Every `per_structure` consecutive trials are one structure: they differ only in settings in which replicas of one
    network may differ. A structure has fewer trials if there are no others. The first structures are the known points
    of the space; another one is repeated only if 20 draws gave no new structure.

    Args:
        data: The data set.
        space: The space to draw from.
        fixed: Settings of all trials.
        seed: The seed of the draws.
        per_structure: Trials for each structure.
        models: The models that are searched.
    """

    def __init__(
        self,
        data: GraphSet,
        space: Space,
        fixed: Mapping[str, Any],
        seed: int,
        per_structure: int,
        models: Sequence[str] = MODELS,
    ) -> None:
        for model in models:
            check_choice("model", model, MODELS)
        self.data, self.fixed = data, dict(fixed)
        self.seed = check_integer("seed", seed, minimum=0)
        self.per_structure = check_integer("draws", per_structure, minimum=1)
        self.space, self.models = space.fixed(fixed), tuple(models)
        self._trials: list[Drawn] = []
        self._structure_of: list[int] = []
        self._recipes: set[tuple[Recipe, ...]] = set()
        self._shapes: set[tuple[Any, ...]] = set()
        self._num_structures = 0
        self.exhausted = False
        """Whether the space has no trials besides those drawn so far."""

    @cached_property
    def _directed(self) -> bool:
        return any(graph.directed for graph in self.data.graphs)

    def available(self, number: int) -> int:
        """Return how many of a number of trials there are: fewer if the space has no others."""
        while len(self._trials) < number and not self.exhausted:
            self._add_structure()
        return min(number, len(self._trials))

    def trial(self, model: str, number: int) -> Trial:
        """Return the trial of a model with a number."""
        if number >= self.available(number + 1):
            raise IndexError(f"the space has {len(self._trials)} trials, but trial {number} was requested.")
        settings = self._trials[number][model]
        self.recipe({**settings, **self.fixed})  # raises for fixed settings of another model
        return Trial(model, number, settings)

    def structures(self, numbers: range) -> list[list[int]]:
        """Return the numbers of trials, those of a structure together."""
        return [list(each) for _, each in groupby(numbers, key=self._structure_of.__getitem__)]

    def today(self, model: str) -> Trial:
        """Return the current recipe of the data set, or the preset if it has none, as a trial."""
        return Trial(model, TODAY, self._complete(model, {}))

    def _add_structure(self) -> None:
        """Add the trials of one more structure, if there is one."""
        structure = self._num_structures
        first = self._known(structure) if structure < len(self.space.known) else self._drawn(structure)
        if first is None:
            self.exhausted = True
            return
        self._num_structures += 1
        self._shapes.add(self._shape(first))
        self._add(first)
        for number in range(structure * self.per_structure + 1, (structure + 1) * self.per_structure):
            others = (
                {model: self._varied(model, settings, number, redraw) for model, settings in first.items()}
                for redraw in range(REDRAWS)
            )
            if not any(map(self._add, others)):
                break

    def _add(self, drawn: Drawn) -> bool:
        """Add a trial unless it is there; return whether it was not."""
        if self._seen(drawn):
            return False
        self._recipes.add(self._recipes_of(drawn))
        self._trials.append(drawn)
        self._structure_of.append(self._num_structures)
        return True

    def _seen(self, drawn: Drawn) -> bool:
        return self._recipes_of(drawn) in self._recipes

    def _recipes_of(self, drawn: Drawn) -> tuple[Recipe, ...]:
        return tuple(self.recipe(drawn[model]) for model in self.models)

    def _shape(self, drawn: Drawn) -> tuple[Any, ...]:
        """Return what the replicas of a structure share."""
        recipes = self._recipes_of(drawn)
        shared = [value for each in recipes for name, value in vars(each).items() if name not in PER_REPLICA]
        return (*shared, *(getattr(each, name) > 0 for each in recipes for name in DROPOUTS))

    def _known(self, structure: int) -> Drawn:
        known = self.space.known[structure]
        shared = {name: value for name, value in known.items() if name not in MODELS}
        return {model: self._complete(model, shared | known.get(model, {})) for model in MODELS}

    def _drawn(self, structure: int) -> Drawn | None:
        """Draw a structure that is possible for every model, even for those that are not searched.

        Structures are repeated, with other trials, once the space has no others; `None` if it has no other trials.
        """
        repeated, impossible, possible = None, None, False
        for attempt in range(ATTEMPTS):
            if repeated is not None and attempt >= REDRAWS:
                break
            shared = _draw(self.space.shared, self._generator(structure, attempt))
            try:
                drawn = {model: self._of_model(model, shared, structure, attempt) for model in MODELS}
            except InputError as error:
                impossible = error
                continue
            possible = True
            if self._shape(drawn) not in self._shapes:
                return drawn
            if repeated is None and not self._seen(drawn):
                repeated = drawn
        if not possible:
            raise InputError(f"{ATTEMPTS:,} draws from the space gave no network that is possible: {impossible}")
        return repeated

    def _of_model(self, model: str, shared: Settings, structure: int, attempt: int) -> Settings:
        own = self.space.own[model]
        drawn = _draw(own, self._generator(structure, attempt, 1 + MODELS.index(model)))
        kept = {name for name in own if name in shared and shared[name] in own[name]}
        return self._complete(model, shared | {name: value for name, value in drawn.items() if name not in kept})

    def _varied(self, model: str, settings: Settings, number: int, redraw: int) -> Settings:
        """Redraw the settings in which replicas may differ; a dropout of 0 stays 0, as others need another network.

        Each setting has its own random numbers, so that models draw the same values for those they share.
        """
        base = self.recipe(settings)
        drawn = {}
        for name, domain in {**self.space.shared, **self.space.own[model]}.items():
            kept = getattr(base, name)
            if name not in PER_REPLICA or (name in DROPOUTS and kept == 0):
                continue
            attempts = range(redraw * ATTEMPTS, (redraw + 1) * ATTEMPTS)
            values = (domain.draw(self._generator(number, attempt, crc32(name.encode()))) for attempt in attempts)
            drawn[name] = next((value for value in values if value > 0), kept) if name in DROPOUTS else next(values)
        return self._complete(model, settings | drawn)

    def _complete(self, model: str, drawn: Settings) -> Settings:
        """Add the fixed settings, or raise `InputError` if the result is impossible.

        Settings without effect get the value of the preset, not the drawn one or that of the recipe of the data set.
        """
        fixed = {name: value for name, value in self.fixed.items() if model == "mdnn" or name not in REFUSED_BY_OTHERS}
        complete = {**drawn, **fixed, "model": model}
        preset = complete.get("preset", "ours")
        neutral = {name: each.default(preset, self.data.level) for name, each in settings().items()}
        base = neutral | (shipped_recipe(self.data.name, model) if preset == "ours" else {})
        unused = idle({**base, "level": self.data.level, "task": self.data.task, **complete})
        unused |= set() if self._directed else {"directed", "directions"}
        for name in unused - fixed.keys():
            complete.pop(name, None)
            if base[name] != neutral[name]:
                complete[name] = neutral[name]
        self.recipe(complete)
        return complete

    def recipe(self, settings: Mapping[str, Any]) -> Recipe:
        """Return the recipe of some settings for the data and its task."""
        return recipe(self.data.name, "", "", self.data.level, **{"task": self.data.task, **settings})

    def _generator(self, *numbers: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *numbers])


def _draw(domains: Domains, generator: np.random.Generator) -> Settings:
    return {name: domain.draw(generator) for name, domain in domains.items()}
