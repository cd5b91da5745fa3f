"""`tune`: search for good settings on the validation parts of a data set of any origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from detours.checks import check_number
from detours.data import Split, Splits
from detours.errors import DetoursError, InputError, short_repr
from detours.store import Store
from detours.training.door import check_settings, data_of, folds_of, read_folds
from detours.training.search.scores import Scored
from detours.training.search.search import Search
from detours.training.search.space import Space
from detours.training.search.trials import Draws

DRAWS = 6
"""Trials for each structure by default."""
TRIALS = 54
"""Trials of a search by default: three rounds."""


@dataclass(frozen=True)
class Tuned:
    """The result of a search."""

    settings: dict[str, Any]
    """The settings that were chosen, as `fit` takes them."""
    best: Scored
    """The trial they come from."""
    trials: list[Scored]
    """The trials that were compared, the best first."""
    again: list[Scored] = field(default_factory=list)
    """The trials that were trained again, if any, the best first; they decide. They are those that were best for any of
    the models, and the current recipe of the data set (trial -1)."""


def tune(
    dataset: Any,
    *,
    model: str = "mdnn",
    space: Space | Mapping[str, Any] | str | Path | None = None,
    trials: int = TRIALS,
    budget: float | None = None,
    folds: Sequence[int] | Splits | Sequence[Split] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    halving: bool = True,
    inner: bool = False,
    confirm: int = 0,
    out: str | Path | None = None,
    device: str = "auto",
    replicas: int | None = None,
    name: str = "data",
    **settings: Any,
) -> Tuned:
    """Search for the settings with the best mean validation result; test parts are not looked at.

    Args:
        dataset: As `fit` takes it.
        model: "plain", "weighted" or "mdnn".
        space: A `Space`, the same as dictionaries, or its TOML file. Default: that of the level of the data.
        trials: The number of settings to try; all of them are different, and fewer if the space has no more.
        budget: Minutes after which no training is started. Default: no limit.
        folds: As `fit` takes them; their test parts are left out.
        seed: The seed of the draws.
        draws: At most this many trials for each structure, which are trained together.
        halving: Whether all trials are first trained on a third of the folds and epochs, and only the best on all.
        inner: Whether a tenth of each training part chooses the epoch, and the validation part only compares trials:
            for validation parts so small that the best of many epochs is a lucky one.
        confirm: The number of best trials to train again with three other seeds, together with the current recipe of
            the data set; the best of these is chosen. They are trained on the folds that are not in `folds`, if there
            are any. Of a budget, the time that they will take is kept for them, at most half of it.
        out: The folder of finished trials, from which an interrupted search resumes. Default: none is kept.
        device: "auto", "cpu", "cuda" or "cuda:0".
        replicas: The most networks that are trained as one.
        name: A name for PyG data.
        settings: Settings of all trials, such as ``epochs=100``.

    >>> from detours.data import rings
    >>> space = {"space": {"hidden": [4, 8], "lr": {"low": 1e-3, "high": 1e-2, "log": True}}}
    >>> tuned = tune(rings(40), space=space, trials=2, draws=1, folds=[0, 1], epochs=2, layers=1, device="cpu")
    >>> sorted(tuned.settings), len(tuned.trials)
    (['epochs', 'hidden', 'layers', 'lr', 'model'], 1)
    """
    check_settings(settings)
    if budget is not None:
        check_number("budget", budget, minimum=0, otherwise="None for no limit")
    chosen_folds = read_folds(folds)
    data = data_of(dataset, name, chosen_folds)
    indices, parts = folds_of(data, chosen_folds)
    with TemporaryDirectory() as folder:
        store = Store(folder if out is None else out)
        search = Search(
            Draws(data, space_of(space, data.level), settings, seed, draws, [model]),
            parts,
            indices,
            store,
            device=device,
            replicas=replicas,
            halving=halving,
            inner=inner,
        )
        search.go_on(trials, inf if budget is None else 60 * budget, confirm)
    return chosen(search, model)


def chosen(search: Search, model: str) -> Tuned:
    """Return the choice of a search for a model."""
    trials = search.candidates(model)
    if not trials or trials[0].diverged:
        of_all = " for all models" if len(search.models) > 1 else ""
        unfinished = f"no trial was finished within the budget{of_all}; give it more time"
        raise DetoursError(f"{search.data.name}, {model}: {'every trial has diverged' if trials else unfinished}.")
    again = search.again(model)
    best = again[0] if again and not again[0].diverged else trials[0]
    return Tuned(dict(best.trial.settings), best, trials, again)


def space_of(given: Space | Mapping[str, Any] | str | Path | None, level: str) -> Space:
    """Return a space from any of its forms; by default that of the level."""
    if given is None:
        return Space.default(level)
    if isinstance(given, Space):
        return given
    if isinstance(given, Mapping):
        return Space.of(given)
    if not isinstance(given, str | PathLike):
        raise InputError(
            f"space must be a Space, a mapping, the path of a TOML file, or None, but it is {short_repr(given)}."
        )
    return Space.read(Path(given))
