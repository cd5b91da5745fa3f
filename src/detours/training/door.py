"""`fit`: train networks on a data set of any origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import numpy as np

from detours.data import GraphSet, Split, Splits, graph_set_of, splits
from detours.errors import InputError, short_repr, warn_caller
from detours.progress import Report, as_report, watched
from detours.store import Cell, Store
from detours.training.logs import LogReader
from detours.training.loop import Run
from detours.training.recipe import checked
from detours.training.recipe import settings as known_settings
from detours.training.runs import idle_k, runs_of
from detours.training.stacks import Resources, run_all

POLL = 0.5
"""Seconds between two reads of the logs."""


def fit(
    dataset: Any,
    *,
    folds: Sequence[int] | Splits | Sequence[Split | tuple[Sequence[int], ...]] | None = None,
    seeds: Sequence[int] | None = None,
    out: str | Path | None = None,
    save: str | Path | None = None,
    device: str = "auto",
    jobs: int = 1,
    replicas: int | None = None,
    name: str = "data",
    progress: Report | bool | None = None,
    **settings: Any,
) -> list[Cell]:
    """Train a network on folds of a data set, all folds and seeds together, and return a cell for each.

    A cell has the settings in `key`, the results in `value` ("val_accuracy", "test_accuracy", "best_epoch", …; for
    other metrics "test_mae" and so on), and the time in `seconds`.

    Args:
        dataset: A `GraphSet`, or PyG data, see `detours.data.graph_set_of`: a `Data` whose nodes have targets `y`, or a
            data set or list of `Data` with one each.
        folds: The indices of the folds, or the folds themselves: for each the indices of the graphs (or nodes) for
            training, validation and test. Default: all folds of `detours.data.splits`; those of the masks of a `Data`.
        seeds: The seeds to train each fold with. Default: the setting `seed`, which is 0 unless it is given.
        out: The folder of finished runs, from which an interrupted call resumes. Default: none is kept.
        save: The folder to save the best models in.
        device: "auto", "cpu", "cuda" or "cuda:0".
        jobs: Processes among which the runs are divided. A script must then call `fit` below
            ``if __name__ == "__main__":``, since each process imports it again.
        replicas: The most runs that are trained as one network. Default: all.
        name: A name for PyG data.
        progress: True prints the progress; a function is called as progress(done, total), in epochs, from another
            thread. A run that its patience ends early counts with all its epochs.
        settings: Settings of the recipe, such as ``model="mdnn"``, ``hidden=32`` (`detours train --show-recipe`).

    >>> from detours.data import rings
    >>> cells = fit(rings(40, sizes=(3, 4)), folds=[0, 1], epochs=2, hidden=8, layers=1, device="cpu")
    >>> [(cell.key["fold"], cell.value["epochs"]) for cell in cells]
    [(0, 2), (1, 2)]
    """
    check_settings(settings)
    report = as_report(progress, "Training")
    chosen = read_folds(folds)
    data = data_of(dataset, name, chosen)
    indices, parts = folds_of(data, chosen)
    seed = settings.get("seed")
    if seeds is not None and seed is not None:
        raise InputError(f"give either seeds or seed, but both were given: {short_repr(seeds)} and {short_repr(seed)}.")
    if seeds is not None and (isinstance(seeds, str) or not isinstance(seeds, Iterable)):
        raise InputError(
            f"seeds must be a list, such as [0, 1, 2], but it is {short_repr(seeds)}; a single seed is seed=…."
        )
    place = Resources(device, jobs=jobs, replicas=replicas)
    with TemporaryDirectory() as folder:
        store = Store(folder if out is None else out)
        models = None if save is None else Path(save)
        ks = (settings.pop("k", None),)
        all_seeds = (None,) if seeds is None else seeds
        runs = runs_of(data, parts, store, numbers=indices, ks=ks, seeds=all_seeds, save=models, **settings)
        if runs and (note := idle_k(runs[0].recipe, ks)):
            warn_caller(f"{note}.", UserWarning)
        with _reported(runs, report):
            return run_all(store, runs, place)


@contextmanager
def _reported(runs: Sequence[Run], report: Report | None) -> Iterator[None]:
    """Report the completed epochs while the block trains. They are read from the logs, so any process may train."""
    if report is None:
        yield
        return
    total = sum(run.recipe.epochs for run in runs)
    logs = [LogReader(run.path.with_suffix(".csv")) for run in runs]

    def watch(stopped: Event) -> None:
        while not stopped.wait(POLL):
            report(sum(map(_epochs, runs, logs)), total)

    with watched(watch):
        yield
    report(total, total)


def _epochs(run: Run, log: LogReader) -> int:
    """Return the completed epochs of a run; all of them once it has finished."""
    return run.recipe.epochs if run.path.exists() else len(log.read())


def check_settings(given: Mapping[str, Any]) -> None:
    """Raise `InputError` for an unknown setting of a recipe, or a wrong value; None is that of the preset."""
    for name, value in given.items():
        if value is not None or name not in known_settings():
            checked(name, value)


def read_folds(folds: Any) -> Sequence[int] | Splits | None:
    """Return the indices of folds, or folds that are given themselves; None for all."""
    if folds is None or isinstance(folds, Splits):
        return folds
    if not isinstance(folds, Iterable) or isinstance(folds, str | Split):
        raise InputError(
            f"folds must be a list, such as [0] or [Split(train, val, test)], but it is {short_repr(folds)}."
        )
    listed = list(folds)
    if all(isinstance(each, Integral) for each in listed):
        return listed
    return Splits("given", [_split(index, fold) for index, fold in enumerate(listed)])


def data_of(dataset: Any, name: str, folds: Sequence[int] | Splits | None) -> GraphSet:
    """Return the data as a `GraphSet`; a target in none of the given folds may be a placeholder for unknown."""
    if isinstance(dataset, GraphSet):
        return dataset
    return graph_set_of(dataset, name, folds=[(*each,) for each in folds] if isinstance(folds, Splits) else None)


def folds_of(data: GraphSet, folds: Sequence[int] | Splits | None) -> tuple[Sequence[int], Splits]:
    """Return the indices of the folds to train, and the splits that they index."""
    if isinstance(folds, Splits):
        return range(len(folds)), folds
    parts = splits(data)
    return range(len(parts)) if folds is None else folds, parts


def _split(index: int, fold: Any) -> Split:
    """Return a fold as arrays of integers."""
    try:
        parts = [np.asarray(part) for part in fold]
    except (TypeError, ValueError):
        parts = []
    parts = [part if part.size else part.astype(np.int64) for part in parts]
    if len(parts) != 3 or any(part.ndim != 1 or part.dtype.kind not in "iu" for part in parts):
        raise InputError(
            f"fold {index} must be three lists of integers, for training, validation and test, but it is "
            f"{short_repr(fold)}."
        )
    return Split(*(part.astype(np.int64) for part in parts))
