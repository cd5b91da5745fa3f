"""`detours tune`: search for good settings of networks on the validation parts of data sets."""

import sys
import time
from contextlib import contextmanager
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.cli.shared.command import report_errors
from detours.cli.shared.console import escape, plain_table, print_json, show, standard_output
from detours.cli.shared.graphs import notes_unless, number
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
)
from detours.cli.shared.progress import progress_bar
from detours.cli.shared.scores import score_text, score_unit
from detours.cli.train import check_installed, make_folder, merge_settings, parse_numbers
from detours.errors import DetoursError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from detours.training.search.search import Scored, Search, Stage
    from detours.training.search.tune import Tuned

SHOWN = 5
"""Rows of the table of trials."""


@report_errors
def tune(
    data: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help=f"Data sets of `detours data list`, separated by commas, or own data, {OWN_DATA}; repeatable.",
        ),
    ] = None,
    data_file: DataFile = None,
    models: Annotated[
        str,
        typer.Option("--models", "--model", metavar="LIST", help="Networks to search for, such as plain,mdnn."),
    ] = "mdnn",
    space: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML file with the settings to draw from.  [default: see --show-space]"),
    ] = None,
    show_space: Annotated[
        bool, typer.Option("--show-space", help="Print the default space of the data as a file for --space.")
    ] = False,
    trials: Annotated[int, typer.Option(min=1, metavar="N", help="Settings to try for each network.")] = 54,
    draws: Annotated[
        int, typer.Option(min=1, metavar="N", help="Settings in a row that share a structure and are trained together.")
    ] = 6,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="MINUTES", help="Time after which no training is started, shared equally by the data sets."
        ),
    ] = None,
    halving: Annotated[
        bool,
        typer.Option(
            "--halving/--no-halving", help="First train on a third of folds and epochs, then the best third on all."
        ),
    ] = True,
    inner: Annotated[
        bool,
        typer.Option(
            "--inner", help="Let a tenth of each training part choose the epoch; validation parts only compare trials."
        ),
    ] = False,
    confirm: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Train the best N of each network again with three other seeds, beside the recipe of today, and let "
            "these choose; on the folds that --folds leaves out, if any.  [default: none]",
            show_default=False,
        ),
    ] = 0,
    folds: Annotated[
        str | None, typer.Option(metavar="LIST", help="Folds whose validation parts decide.  [default: all]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the draws.")] = 0,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting that is the same in all trials; repeatable."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--recipe", metavar="FILE", help="Read settings for all trials from a TOML file.")
    ] = None,
    root: RawFolder = None,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder of finished trials.")] = "results",
    keep_old: KeepOld = False,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write the chosen recipe to this file; of several, to <data>-<model>.toml in this folder.",
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Networks to train as one; fewer take less memory.  [default: 100 for node data, else 40]",
            show_default=False,
        ),
    ] = None,
    device: TorchDevice = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
    progress: Progress = None,
) -> None:
    """Search for good settings of networks on validation parts.

    Draws settings from a space, trains those of one structure together, and chooses the best mean validation
    result over the folds; test parts are taken away first. Every network gets the same number of trials, of the
    same structures. Finished trials are in the folder of --out: a search that is interrupted, or whose budget is
    spent, continues when the command is repeated.

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
    names: list[str | Path] = [*listed(data)]
    names += [] if data_file is None else [data_file]
    if not names:
        raise typer.BadParameter("give a data set with --data")
    given = merge_settings(file, changes or [], {})
    if wrong := {"data", "model"} & given.keys():
        raise typer.BadParameter(f"{min(wrong)} is given by an option of its own, not by --set or --recipe")

    from detours.data import load, splits
    from detours.data.catalogue import source_of
    from detours.store import Store
    from detours.training.devices import chosen_device
    from detours.training.search.search import Search
    from detours.training.search.space import SPACES
    from detours.training.search.trials import Draws
    from detours.training.search.tune import chosen, space_of

    if show_space:
        print((SPACES / f"{load(names[0], root).level}.toml").read_text("utf-8"), end="")
        return
    device = chosen_device(device)
    wanted = [model.strip() for model in models.split(",")]
    single = len(names) == len(wanted) == 1
    if write is not None:
        make_folder(write.parent if single else write)
    loaded_sets = []
    for name in names:  # all of them before the first search, which may take hours
        with notes_unless(quiet):
            loaded_sets.append(load(name, root))
    store, found, failed = Store(out, keep_old=keep_old), [], []
    start, seconds = time.monotonic(), inf if budget is None else 60 * budget
    for turn, (name, loaded) in enumerate(zip(names, loaded_sets, strict=True), 1):
        parts = splits(loaded, root)
        search = Search(
            Draws(loaded, space_of(space, loaded.level), given, seed, draws),
            parts,
            range(len(parts)) if folds is None else parse_numbers(folds),
            wanted,
            store,
            device=device,
            replicas=replicas,
            halving=halving,
            inner=inner,
        )
        with _reporting(search, trials, show=False if quiet and progress is None else progress):
            search.go_on(trials, seconds * turn / len(names) - (time.monotonic() - start), confirm)
        for model in wanted:
            try:
                tuned = chosen(search, model)
            except DetoursError as error:
                failed.append(str(error))
                continue
            found.append({"data": loaded.name, "model": model, **_summary(search, tuned)})
            if write is not None:
                path = write if single else write / f"{loaded.name}-{model}.toml"
                path.write_text(search.recipe(tuned.best.trial).to_toml(source_of(loaded, name, root)), "utf-8")
            if not quiet and not as_json:
                _show(search, tuned, model)
    if as_json:
        print_json(found)
    if found and write is not None and not quiet:
        print(f"Wrote {write}", file=sys.stderr)
    if failed:
        raise DetoursError(" ".join(failed))


@contextmanager
def _reporting(search: "Search", trials: int, *, show: bool | None) -> "Iterator[None]":
    """Show the progress of a search while the block runs: a bar on a terminal, lines in a log if asked for."""
    if not sys.stderr.isatty():
        search.report = partial(_line, search) if show else search.report
        yield
        return
    with progress_bar(f"{search.data.name}, {len(search.models)} × {trials} trials", show=show) as bar:

        def report(stage: "Stage") -> None:
            if bar is not None:
                bar(sum(map(partial(_tried, search), search.models)), trials * len(search.models))

        search.report = report
        yield


def _line(search: "Search", stage: "Stage") -> None:
    """Print a line about a stack, unless all of it was finished before."""
    if not stage.replicas:
        return
    best = "" if stage.best is None else f"; best so far {_score(stage.best)} (trial {_name(stage.best.trial.number)})"
    part = ("on first folds", "on all folds", "again with other seeds")[stage.effort]
    numbers = ", ".join(map(_name, stage.trials)) or "–"
    print(
        f"{search.data.name}, {stage.model}: trials {numbers} {part}, {stage.replicas} replicas in "
        f"{stage.seconds:.0f} s{best}",
        file=sys.stderr,
        flush=True,
    )


def _score(scored: "Scored") -> str:
    metric = scored.metric
    return f"{score_text(metric, scored.score)} ± {score_text(metric, scored.error)} {score_unit(metric)}"


def _tried(search: "Search", model: str) -> int:
    """Return how many trials of a model the search has made."""
    return len({number for name, number, _ in search.results if name == model and number >= 0})


def _name(number: int) -> str:
    return str(number) if number >= 0 else "today"


def _summary(search: "Search", tuned: "Tuned") -> dict[str, Any]:
    """Return the choice and the trials it was among, as data for JSON."""

    def plain(scored: "Scored") -> dict[str, Any]:
        kept = {name: value for name, value in scored._asdict().items() if name not in ("trial", "effort")}
        return {"trial": scored.trial.number, "settings": dict(scored.trial.settings), **kept}

    return {
        "chosen": plain(tuned.best),
        "complete": search.ended,
        "tried": _tried(search, tuned.best.trial.model),
        "trials": [plain(each) for each in tuned.trials],
        "again": [plain(each) for each in tuned.again],
    }


def _show(search: "Search", tuned: "Tuned", model: str) -> None:
    """Print the best trials, and the one that was chosen."""
    console, summary = standard_output(), _summary(search, tuned)
    title = f"{search.data.name}, {model}"
    show(console, _table(title, tuned.trials[:SHOWN]))
    if tuned.again:
        show(console, _table(f"{title}, again with other seeds", tuned.again))
    more = "" if summary["complete"] else "; the budget is spent, so repeat the command to go on"
    short = "" if tuned.best.full else f", after {tuned.best.epochs} epochs"
    epoch = "; epochs chosen by a tenth of each training part" if search.inner else ""
    best, tried = tuned.best.trial.number, summary["tried"]
    trial = f"Trial {best}[/] of {tried}" if best >= 0 else f"The recipe of today[/], no trial of {tried}"
    console.print(
        f"\n[bold]{trial}: {_score(tuned.best)} on the validation "
        f"parts of {number(tuned.best.folds, 'fold')}{short}{epoch}{more}\n",
        soft_wrap=True,
    )


def _table(title: str, trials: "Sequence[Scored]") -> "Table":
    """Return the results and settings of trials."""
    metric = trials[0].metric
    columns = ("trial", f"validation {score_unit(metric)}", "s.e.", "loss", "folds", "epochs")
    table = plain_table(title, right=columns)
    table.add_column("settings")
    for each in trials:
        settings = " ".join(f"{name}={_text(value)}" for name, value in each.trial.settings.items() if name != "model")
        scores = (score_text(metric, found) for found in (each.score, each.error))
        numbers = (*scores, f"{each.loss:.4f}", each.folds, each.epochs)
        table.add_row(_name(each.trial.number), *map(str, numbers), escape(settings or "those of the preset"))
    return table


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
