"""Runs to train: one for each fold, seed and k of a data set, checked before any of them starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from detours.data import GraphSet, Split, Splits
from detours.errors import InputError
from detours.store import Cell, Store
from detours.training.loop import Run
from detours.training.recipe import Recipe, recipe
from detours.training.recipe.idle import ONLY_MDNN, idle
from detours.training.tasks import check_scores, rank_of, targets_of

MAX_RUNS = 100_000
"""Runs of one call at most: each is looked up before the first is trained."""


def runs_of(
    data: GraphSet,
    folds: Splits,
    store: Store,
    *,
    numbers: Sequence[int],
    ks: Sequence[int | None] = (None,),
    seeds: Iterable[int | None] = (None,),
    save: Path | None = None,
    every: float = 5.0,
    tensorboard: bool = False,
    logged: bool = True,
    **changed: Any,
) -> list[Run]:
    """Return a run for each fold, seed and k, one fold after the other.

    Args:
        data: The data set.
        folds: Its splits.
        store: The store of finished runs.
        numbers: The indices of the folds.
        ks: Values of k; None for that of the preset.
        seeds: The seeds; None for that of the preset, or of `changed`.
        save: The folder for trained models; None to save none.
        every: Seconds between two checkpoints.
        tensorboard: Whether TensorBoard files are written, in addition to the logs.
        logged: Whether logs are written.
        changed: Other arguments of `recipe`.
    """
    source = f"{folds.source}; {_digest(folds)}"
    if changed.get("task") is None:
        changed["task"] = data.task
    data.check_graphs()
    data.check_targets()
    targets = targets_of(data, changed["task"])
    if not recipe(data.name, "", "", data.level, **changed).sees_detours:
        ks = (None,)  # they would all be the same run
    seeds = tuple(seeds)
    check_num_runs(len(numbers), len(seeds), len(ks))
    runs = []
    for fold in numbers:
        if not 0 <= fold < len(folds):
            raise InputError(f"{data.name} has the folds 0 .. {len(folds) - 1}, but fold {fold} was asked for.")
        check_split(data, fold, folds[fold])
        for seed, k in product(seeds, ks):
            settings = changed if seed is None else {**changed, "seed": seed}
            run_recipe = recipe(data.name, data.full_digest, source, data.level, fold=fold, k=k, **settings)
            check_scores(data, targets, fold, folds[fold], run_recipe)
            path = store.path(run_recipe.key()).absolute()
            runs.append(
                Run(
                    run_recipe,
                    data,
                    folds[fold],
                    path,
                    model=None if save is None else save.absolute() / f"{path.stem}-{_label(run_recipe)}.pt",
                    every=every,
                    tensorboard=path.parent / "tensorboard" / path.stem if tensorboard else None,
                    logged=logged,
                )
            )
    return runs


def _label(recipe: Recipe) -> str:
    """Return what distinguishes the models of one command: k, seed and fold."""
    k = f"k{recipe.k}-" if recipe.sees_detours else ""
    return f"{k}seed{recipe.seed}-fold{recipe.fold}"


def check_num_runs(folds: int, seeds: int, ks: int = 1) -> None:
    """Raise `InputError` if there are more runs than can be looked up.

    >>> check_num_runs(10, 20_000)
    Traceback (most recent call last):
        ...
    detours.errors.InputError: 10 folds × 20,000 seeds × 1 k are 200,000 runs; ask for at most 100,000 at once.
    """
    if (count := folds * seeds * ks) > MAX_RUNS:
        factors = f"{folds:,} folds × {seeds:,} seeds × {ks:,} k"
        raise InputError(f"{factors} are {count:,} runs; ask for at most {MAX_RUNS:,} at once.")


def check_split(data: GraphSet, fold: int, split: Split) -> None:
    """Raise `InputError` for an index out of range, twice or without a target, or nothing to train or validate on."""
    indices = np.concatenate(split)
    count = len(data.y)
    if indices.size and not 0 <= indices.min() <= indices.max() < count:
        low, high = indices.min(), indices.max()
        raise InputError(f"fold {fold} of {data.name} names {low} .. {high}, but there are 0 .. {count - 1}.")
    if len(np.unique(indices)) < len(indices):
        twice = np.flatnonzero(np.bincount(indices) > 1)[0]
        raise InputError(f"fold {fold} of {data.name} has {data.level} {twice} twice; its parts must not overlap.")
    if data.unknown is not None and (unknown := indices[data.unknown[indices]]).size:
        raise InputError(
            f"fold {fold} of {data.name} names {data.level} {unknown[0]}, whose target is unknown; leave it out."
        )
    if not len(split.train) or not len(split.val):
        raise InputError(f"fold {fold} of {data.name} has an empty training or validation part; both are needed.")


def _digest(folds: Splits) -> str:
    content = sha256()
    for fold in folds:
        for part in fold:
            content.update(f"{len(part)};".encode() + part.astype("<i8").tobytes())
    return content.hexdigest()[:8]


def idle_k(recipe: Recipe, ks: Sequence[int | None]) -> str:
    """Return a note that these k have no effect on a network that sees no detours; empty if they have."""
    given = ", ".join(str(k) for k in ks if k not in (None, recipe.k))
    if not given or recipe.sees_detours:
        return ""
    if recipe.model == "plain":
        return f"k = {given} has no effect: model plain sees no detours, unless edge_den or node_den is true"
    return f"k = {given} has no effect: model {recipe.model} sees no detours with these settings"


def idle_settings(recipe: Recipe, given: Iterable[str]) -> str:
    """Return a note on those of these settings that have no effect given the others; empty if there are none."""
    given, unused = list(given), idle(vars(recipe))
    of_mdnn = [name for name in given if name in ONLY_MDNN and recipe.model != "mdnn"]
    others = [name for name in given if name in unused and name not in of_mdnn]
    notes = [
        f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no effect{why}"
        for names, why in ((of_mdnn, ": only model mdnn has such settings"), (others, " with the other settings"))
        if names
    ]
    return "; ".join(notes)


def best_of(cells: Sequence[Cell]) -> Cell:
    """Return the run with the best validation result among runs of a fold that differ in k; of equals the smaller k."""
    return min(cells, key=lambda cell: (*rank_of(cell.value), cell.key["k"]))
