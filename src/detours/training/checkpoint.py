"""Checkpoints of a run under way: whole or not at all, in the time that can be spared, for this run and no other.

A checkpoint is taken between two epochs. The random numbers of an epoch are functions of its number, those of dropout
also of seed and fold, so the number is all there is to know about their state.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from detours.atomic import replacing
from detours.containers import load_tensors
from detours.errors import FileFormatError, InputError
from detours.training.recipe import Recipe

SHARE = 0.05
"""At most this share of the time of a run goes into its checkpoints."""
SPEED = 1e9
"""Bytes that a disk writes in a second, before any have been written."""


class Checkpoint:
    """The file of a run under way.

    Args:
        path: The file.
        recipes: What runs; a checkpoint of anything else is refused.
        every: Seconds between two checkpoints, or more where writing one takes long.
    """

    def __init__(self, path: Path, recipes: Sequence[Recipe], every: float) -> None:
        self.path = path
        self.recipes = recipes
        self.every = every
        self._due = time.monotonic() + every

    def load(self) -> dict[str, Any] | None:
        """What was saved last; None if nothing was, or the disk damaged it."""
        try:
            saved: dict[str, Any] = load_tensors(self.path)
        except FileFormatError:
            return None
        found = saved.get("recipes") if isinstance(saved, dict) else None
        if not isinstance(found, list):
            raise InputError(f"{self.path} is no checkpoint of training runs; remove it.")
        if len(found) != len(self.recipes):
            raise InputError(
                f"{self.path} is the checkpoint of {len(found)} runs, but here are {len(self.recipes)}; move it away."
            )
        for recipe, theirs in zip(self.recipes, found, strict=True):
            if differences := recipe.differences(theirs):
                raise InputError(f"{self.path} is the checkpoint of another run ({differences}); move it away.")
        return saved

    def contents(self) -> tuple[list[dict[str, Any]], list[Path]]:
        """The keys of the runs in the file, whatever runs here, and the models that are to be saved.

        None if it is damaged, gone, or no checkpoint. One that has not changed is not read again: it may be large.
        """
        try:
            return _contents(self.path, self.path.stat().st_mtime_ns)
        except (FileFormatError, OSError, LookupError, TypeError, AttributeError):
            return [], []

    def expect(self, state: Mapping[str, Any]) -> None:
        """Put off the first one until the time that such a state takes to write is a small share of the run."""
        self._due = time.monotonic() + max(self.every, _bytes_of(state) / SPEED / SHARE)

    def due(self) -> bool:
        """Whether it is time for the next one."""
        return time.monotonic() >= self._due

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state of the run; until that is done, the checkpoint before it stays."""
        start = time.monotonic()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as file:
            torch.save({**state, "recipes": [each.key() for each in self.recipes]}, file)
        now = time.monotonic()
        self._due = now + max(self.every, (now - start) / SHARE)

    def discard(self) -> None:
        """Remove it, with what a killed process left half written beside it."""
        self.path.unlink(missing_ok=True)
        for left in self.path.parent.glob(f".{self.path.name}.*.part"):
            left.unlink(missing_ok=True)


def _bytes_of(state: Any) -> int:
    if isinstance(state, Mapping):
        return sum(map(_bytes_of, state.values()))
    return int(state.nbytes) if isinstance(state, torch.Tensor) else 0


@lru_cache
def _contents(path: Path, changed: int) -> tuple[list[dict[str, Any]], list[Path]]:
    saved = load_tensors(path)
    return list(saved["recipes"]), [Path(model) for model in saved.get("models", ())]
