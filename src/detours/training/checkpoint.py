"""Checkpoints of unfinished runs: written atomically, in a small share of the time, and only for the runs they are of.

A checkpoint is taken between two epochs. The random numbers of an epoch are functions of its index, those of dropout
also of seed and fold, so the index is their complete state.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from detours.atomic import atomic_write
from detours.containers import load_tensors
from detours.errors import FileFormatError, InputError
from detours.training.recipe import Recipe

SHARE = 0.05
"""The share of the time of a run that its checkpoints may take."""
SPEED = 1e9
"""Assumed bytes per second of a disk, before the first checkpoint has been measured."""


class Checkpoint:
    """The checkpoint file of unfinished runs.

    Args:
        path: The file.
        recipes: The recipes of the runs; a checkpoint of other runs is refused.
        every: Seconds between two checkpoints, or more if writing one takes long.
    """

    def __init__(self, path: Path, recipes: Sequence[Recipe], every: float) -> None:
        self.path = path
        self.recipes = recipes
        self.every = every
        self._due = time.monotonic() + every

    def load(self) -> dict[str, Any] | None:
        """Return the saved state; None without a file, or if it is damaged."""
        try:
            saved: dict[str, Any] = load_tensors(self.path)
        except FileFormatError:
            return None
        keys = saved.get("recipes") if isinstance(saved, dict) else None
        if not isinstance(keys, list):
            raise InputError(f"{self.path} is not a checkpoint of training runs; remove it.")
        if len(keys) != len(self.recipes):
            raise InputError(
                f"{self.path} is the checkpoint of {len(keys)} runs, but here are {len(self.recipes)}; move it away."
            )
        for recipe, key in zip(self.recipes, keys, strict=True):
            if differences := recipe.differences(key):
                raise InputError(f"{self.path} is the checkpoint of another run ({differences}); move it away.")
        return saved

    def contents(self) -> tuple[list[dict[str, Any]], list[Path]]:
        """Return the keys of the runs in the file, whichever they are, and the models that are to be saved.

        Both are empty if it is damaged, missing, or not a checkpoint. An unchanged file is read once: it may be large.
        """
        try:
            return _contents(self.path, self.path.stat().st_mtime_ns)
        except (FileFormatError, OSError, LookupError, TypeError, AttributeError):
            return [], []

    def expect(self, state: Mapping[str, Any]) -> None:
        """Delay the first checkpoint until the time to write such a state is a small share of that of the run."""
        self._due = time.monotonic() + max(self.every, _bytes_of(state) / SPEED / SHARE)

    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return time.monotonic() >= self._due

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state of the runs; the previous checkpoint is replaced once this is complete."""
        start = time.monotonic()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self.path) as file:
            torch.save({**state, "recipes": [each.key() for each in self.recipes]}, file)
        now = time.monotonic()
        self._due = now + max(self.every, (now - start) / SHARE)

    def discard(self) -> None:
        """Remove the file, and partial ones that a killed process left."""
        self.path.unlink(missing_ok=True)
        for partial in self.path.parent.glob(f".{self.path.name}.*.part"):
            partial.unlink(missing_ok=True)


def _bytes_of(state: Any) -> int:
    if isinstance(state, Mapping):
        return sum(map(_bytes_of, state.values()))
    return int(state.nbytes) if isinstance(state, torch.Tensor) else 0


@lru_cache
def _contents(path: Path, changed: int) -> tuple[list[dict[str, Any]], list[Path]]:
    saved = load_tensors(path)
    return list(saved["recipes"]), [Path(model) for model in saved.get("models", ())]
