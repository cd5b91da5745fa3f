"""Several runs, one after the other or side by side: finished ones are read from the store, others are made."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric

from detours.checks import check_integer
from detours.data import GraphSet, Splits
from detours.errors import DetoursError, InputError
from detours.store import Cell, Store
from detours.training.checkpoint import Checkpoint
from detours.training.devices import chosen_device, fabric_of
from detours.training.loop import Run, train
from detours.training.pool import side_by_side
from detours.training.recipe import recipe


@dataclass(frozen=True)
class Workplace:
    """Where runs are made, and how many at once."""

    device: str = "auto"
    devices: int = 1
    """How many share every step of a run."""
    jobs: int = 1
    """How many runs are made side by side."""

    def __post_init__(self) -> None:
        for name, given in (("devices", self.devices), ("jobs", self.jobs)):
            check_integer(name, given, minimum=1)
        if self.devices > 1 and self.jobs > 1:
            raise InputError("take either several devices for a run or several runs at once, not --devices and --jobs.")


def finished(store: Store, run: Run) -> Cell | None:
    """The finished run, if it is one: its results are there, and its model where one was asked for."""
    cell = store.find(run.recipe.key())
    return None if run.model is not None and not run.model.exists() else cell


def run_all(store: Store, runs: Sequence[Run], place: Workplace | None = None) -> list[Cell]:
    """The cells of all runs, in their order; whatever is finished already is not made again."""
    place = Workplace() if place is None else place
    place = replace(place, device=chosen_device(place.device))
    store = Store(
        store.folder.absolute(), keep_old=store.keep_old
    )  # a process of its own may have another folder to work in
    cells = [finished(store, run) for run in runs]
    missing = [at for at, cell in enumerate(cells) if cell is None]
    for run, cell in zip(runs, cells, strict=True):
        if cell is not None:  # a kill may have come between the results and this
            Checkpoint(run.path.with_suffix(".ckpt"), run.recipe, run.every).discard()
    if place.jobs > 1 and len(missing) > 1:
        tasks = [(place.jobs, store, runs[at], _spread(place.device, turn)) for turn, at in enumerate(missing)]
        made = side_by_side(_made_beside, tasks, place.jobs)
    else:
        made = [_made(store, runs[at], place.device, place.devices) for at in missing]
    for at, cell in zip(missing, made, strict=True):
        cells[at] = cell
    return [cell for cell in cells if cell is not None]


def _made_beside(jobs: int, store: Store, run: Run, device: str) -> Cell:
    """Train one run on its share of the cores."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))
    return _made(store, run, device)


def _made(store: Store, run: Run, device: str, devices: int = 1) -> Cell:
    """Train one run and keep it; the checkpoint goes when the results are there."""
    fabric = fabric_of(device, run.recipe.precision, devices)
    # As part of the function: Lightning takes arguments apart, and a run is not to be changed.
    made = train(fabric, run) if devices == 1 else fabric.launch(partial(_shared, run=run))
    if isinstance(made, str):
        raise DetoursError(made)
    value, seconds = made
    value["commit"] = _commit()
    if not fabric.is_global_zero:  # one of several that were started from outside: the first one writes
        return Cell(run.recipe.key(), value, seconds)
    cell = store.keep(run.recipe.key(), value, seconds)
    Checkpoint(run.path.with_suffix(".ckpt"), run.recipe, run.every).discard()
    return cell


def _shared(fabric: Fabric, run: Run) -> tuple[dict[str, Any], float] | str:
    """What each of several processes does; the sentence it fails with, as torch would make a traceback of an error."""
    try:
        return train(fabric, run)
    except DetoursError as error:
        return str(error)


def _spread(device: str, turn: int) -> str:
    """One GPU after the other, where there are several and none was named."""
    return f"cuda:{turn % torch.cuda.device_count()}" if device == "cuda" else device


@cache
def _commit() -> str | None:
    """The commit of this library, where it runs from a checkout of its own."""
    here = Path(__file__)
    try:
        ask: dict[str, Any] = {"cwd": here.parent, "capture_output": True, "text": True, "timeout": 10, "check": True}
        subprocess.run(["git", "ls-files", "--error-unmatch", here.name], **ask)
        said = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], **ask)
        return said.stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None


def best_of(cells: Sequence[Cell]) -> Cell:
    """Among runs on one fold that differ in k, the one the validation part prefers; the smaller k if it cannot tell."""
    return min(cells, key=lambda cell: (-cell.value["val_accuracy"], cell.value["val_loss"], cell.key["k"]))


def runs_of(
    data: GraphSet,
    folds: Splits,
    store: Store,
    *,
    numbers: Sequence[int],
    ks: Sequence[int | None] = (None,),
    save: Path | None = None,
    every: float = 5.0,
    tensorboard: bool = False,
    compiled: bool = False,
    **changed: Any,
) -> list[Run]:
    """A run for each fold and each k, one fold after the other.

    Args:
        data: The data set.
        folds: Its splits.
        store: Where finished runs are.
        numbers: Which folds.
        ks: Which k; None for that of the preset.
        save: The folder for trained models; None to keep none.
        every: Seconds between two checkpoints.
        tensorboard: Whether TensorBoard's files are written beside the logs.
        compiled: Whether the network is compiled by torch first.
        changed: Whatever else `recipe` takes.
    """
    source = f"{folds.source}; {_digest(folds)}"
    if changed.get("model") == "plain":
        ks = (None,)  # it sees no detours, so they would all be the same run
    runs = []
    for fold in numbers:
        if not 0 <= fold < len(folds):
            raise InputError(f"{data.name} has the folds 0 .. {len(folds) - 1}, but fold {fold} was asked for.")
        for k in ks:
            made = recipe(data.name, data.full_digest, source, data.level, fold=fold, k=k, **changed)
            path = store.path(made.key()).absolute()
            runs.append(
                Run(
                    made,
                    data,
                    folds[fold],
                    path,
                    model=None if save is None else save.absolute() / f"{path.stem}-fold{fold}.pt",
                    every=every,
                    tensorboard=path.parent / "tensorboard" / path.stem if tensorboard else None,
                    compiled=compiled,
                )
            )
    return runs


def _digest(folds: Splits) -> str:
    content = sha256()
    for fold in folds:
        for part in fold:
            content.update(f"{len(part)};".encode() + part.astype("<i8").tobytes())
    return content.hexdigest()[:8]
