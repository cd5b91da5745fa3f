"""`detours tune`: search for good settings of networks on the validation parts of data sets."""

import sys
import time
from itertools import product
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from detours.atomic import atomic_write, make_folder
from detours.cli.shared.command import report_errors
from detours.cli.shared.console import print_json
from detours.cli.shared.graphs import notes_unless
from detours.cli.shared.interrupt import resumable
from detours.cli.shared.options import (
    OWN_DATA,
    DataFile,
    Json,
    KeepOld,
    Progress,
    Quiet,
    RawFolder,
    TorchDevice,
    listed,
    number_list,
)
from detours.cli.shared.targets import check_different, check_writable
from detours.cli.train import check_installed, merge_settings
from detours.cli.tune.printed import reporting, show_trials, summary
from detours.errors import DetoursError, InputError


@report_errors
def tune(
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help=f"Data sets of `detours data list`, separated by commas, or your own, {OWN_DATA}; repeatable.",
        ),
    ] = None,
    data_file: DataFile = None,
    models: Annotated[
        str,
        typer.Option("--models", "--model", metavar="LIST", help="Networks to search for, such as plain,mdnn."),
    ] = "mdnn",
    space: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML file of the search space.  [default: see --show-space]"),
    ] = None,
    show_space: Annotated[
        bool, typer.Option("--show-space", help="Print the default search space of the data as a file for --space.")
    ] = False,
    trials: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Number of settings to try for each network; fewer if the space has no others."
        ),
    ] = 54,
    draws: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of consecutive trials that share a structure and are trained together.",
        ),
    ] = 6,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="MINUTES", help="Time after which no training starts, shared equally by the data sets."
        ),
    ] = None,
    halving: Annotated[
        bool,
        typer.Option(
            "--halving/--no-halving", help="Train on a third of the folds and epochs first, then the best third on all."
        ),
    ] = True,
    inner: Annotated[
        bool,
        typer.Option(
            "--inner", help="Choose epochs on a tenth of each training part; validation parts only compare trials."
        ),
    ] = False,
    confirm: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Train the best N trials of each network again, for every network, with three new seeds, next to the "
            "current recipe, and choose by these runs; on the folds not in --folds, if any.  [default: none]",
            show_default=False,
        ),
    ] = 0,
    folds: Annotated[
        Any,
        number_list("Folds whose validation parts are used.  [default: all]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the draws.")] = 0,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Fix a setting in all trials; repeatable."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--recipe", metavar="FILE", help="Read settings for all trials from a TOML file.")
    ] = None,
    root: RawFolder = None,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for finished trials.")] = "results",
    keep_old: KeepOld = False,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write the chosen recipe to this file, or several as <data>-<model>.toml to this folder.",
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of networks to train as one; fewer need less memory.  [default: 100 for node data, else 40]",
            show_default=False,
        ),
    ] = None,
    device: TorchDevice = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
    progress: Progress = None,
) -> None:
    """Search for good settings of networks on validation parts.

    Draws settings from a search space, trains those of one structure together, and chooses the best mean validation
    score over folds; test parts are removed first. Every network gets the same number of trials, of the same
    structures. Finished trials are stored in the --out folder: a search that was interrupted, or whose budget is
    spent, resumes when the command is repeated.

    \b
    Examples:
      detours tune --data MUTAG --models plain,mdnn --budget 10 --write recipes
      detours tune --data PTC_FM --models plain,mdnn --trials 30 --inner --confirm 3
      detours tune --data Texas,Cornell --trials 18 --set epochs=100 --device cuda
      detours tune --data Texas --show-space > space.toml
      detours tune --data Texas --space space.toml --write texas.toml
      detours train --recipe texas.toml
    """
    check_installed()
    data_names: list[str | Path] = [*dict.fromkeys(listed(data))]
    data_names += [] if data_file is None else [data_file]
    if not data_names:
        raise typer.BadParameter("give a data set with --data")
    model_names = list(dict.fromkeys(model.strip() for model in models.split(",")))
    fixed = merge_settings(file, changes or [], {}, model_names)
    if wrong := {"data", "model"} & fixed.keys():
        raise typer.BadParameter(f"{min(wrong)} has its own option; it cannot be given by --set or --recipe")

    from detours.data import load, splits
    from detours.data.catalogue import source_of
    from detours.store import Store
    from detours.training.devices import chosen_device
    from detours.training.search.search import Search
    from detours.training.search.space import SPACES
    from detours.training.search.trials import Draws
    from detours.training.search.tune import chosen, space_of

    if show_space:
        print((SPACES / f"{load(data_names[0], root).level}.toml").read_text("utf-8"), end="")
        return
    device = chosen_device(device)
    single = len(data_names) == len(model_names) == 1
    if write is not None:
        make_folder(write.parent if single else write)
        if single:
            check_writable(write)
    store, searches = Store(out, keep_old=keep_old), []
    for name in data_names:  # load all before the first search, which may take hours
        with notes_unless(quiet):
            loaded = load(name, root)
        parts = splits(loaded, root)
        search = Search(
            Draws(loaded, space_of(space, loaded.level), fixed, seed, draws, model_names),
            parts,
            folds or range(len(parts)),
            store,
            device=device,
            replicas=replicas,
            halving=halving,
            inner=inner,
        )
        search.check(trials, confirm)
        searches.append(search)
    files = {} if write is None else _recipe_files(write, [search.data.name for search in searches], model_names)
    check_different("--data, --recipe, --space and --write", [*data_names, file, space], *files.values())
    results, failed = [], []
    start, seconds = time.monotonic(), inf if budget is None else 60 * budget
    for turn, (name, search) in enumerate(zip(data_names, searches, strict=True), 1):
        loaded = search.data
        with resumable(), reporting(search, trials, show=False if quiet and progress is None else progress):
            search.go_on(trials, seconds * turn / len(data_names) - (time.monotonic() - start), confirm)
        for model in model_names:
            try:
                tuned = chosen(search, model)
            except DetoursError as error:
                failed.append(str(error))
                continue
            results.append({"data": loaded.name, "model": model, **summary(search, tuned)})
            if write is not None:
                with atomic_write(files[loaded.name, model]) as target:
                    target.write(search.recipe(tuned.best.trial).to_toml(source_of(loaded, name, root)).encode())
            if not quiet and not as_json:
                show_trials(search, tuned, model)
    if as_json:
        print_json(results)
    if results and write is not None and not quiet:
        print(f"Wrote {write}", file=sys.stderr)
    if failed:
        raise DetoursError(" ".join(failed))


def _recipe_files(write: Path, data: list[str], models: list[str]) -> dict[tuple[str, str], Path]:
    """Return the recipe file of each data set and network: --write itself for a single one, else a file in that
    folder. Raise `InputError` if one cannot be written."""
    if len(data) == len(models) == 1:
        return {(data[0], models[0]): write}
    if repeated := [name for index, name in enumerate(data) if name in data[:index]]:
        raise InputError(
            f"two data sets are called {repeated[0]}, whose recipes would be one file; take one at a time."
        )
    files = {(name, model): write / f"{name}-{model}.toml" for name, model in product(data, models)}
    for path in files.values():
        check_writable(path)
    return files
