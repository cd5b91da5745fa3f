"""`detours train`: train a network on the folds of a data set, from raw files to mean ± standard deviation."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.atomic import make_folder
from detours.cli.shared.command import report_errors
from detours.cli.shared.console import escape, plain_table, print_json, show, standard_output
from detours.cli.shared.graphs import notes_unless, quantity
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
    number_list,
    parse_k,
    parse_numbers,
)
from detours.errors import InputError
from detours.training.recipe import as_before, checked, choices_of, parse_setting, read_recipe, recipe, settings

if TYPE_CHECKING:
    from detours.data import GraphSet
    from detours.store import Cell, Store
    from detours.training.loop import Run

NEEDED = ("torch", "torch_geometric", "lightning")
MANY_RUNS = 1_000
"""Above this number of runs, a note says that looking up their results takes a while."""


def check_installed() -> None:
    """Raise `InputError` if a package is missing, before anything slow is imported."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise InputError(f"networks need {', '.join(missing)}; run: pip install 'detours[torch]'")


def _parse_ks(text: str) -> list[int]:
    return [parse_k(k) for k in parse_numbers(text)]


def _parse_or_usage_error(parse: Any, *arguments: Any) -> Any:
    """Call a parser of recipes, and turn its `InputError` into a usage error."""
    try:
        return parse(*arguments)
    except InputError as error:
        raise typer.BadParameter(str(error).removesuffix(".")) from None


def _checked(name: str) -> Callable[[Any], Any]:
    """Return a parser for the values of a setting, as a function: older releases of Typer need its `__name__`."""

    def parse(value: Any) -> Any:
        return _parse_or_usage_error(checked, name, value)

    return parse


def _setting(name: str, metavar: str = "") -> Any:
    """Return an option for a setting of the recipe, with its documentation, choices and checks."""
    help = f"{settings()[name].doc}  [default: from the preset, or the recipe of the data set]"
    return typer.Option(
        metavar=metavar or "|".join(choices_of(name)), parser=_checked(name), help=help, show_default=False
    )


@report_errors
def train(
    data: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|PATH",
            help=f"A data set of `detours data list`, such as MUTAG or rings, or your own: {OWN_DATA}.",
        ),
    ] = None,
    data_file: DataFile = None,
    model: Annotated[Any, _setting("model")] = None,
    backbone: Annotated[Any, _setting("backbone")] = None,
    preset: Annotated[
        Any,
        typer.Option(
            metavar="|".join(choices_of("preset")),
            parser=_checked("preset"),
            help="Settings to start from: ours, or those of the paper.  [default: ours]",
            show_default=False,
        ),
    ] = None,
    k: Annotated[
        Any,
        typer.Option(
            "-k",
            metavar="K",
            parser=_parse_ks,
            help="Maximum length of a detour, in edges: 5 to 7 for molecules. Of several, such as 2-5, the best on "
            "validation is used. Model plain sees no detours, unless edge_den or node_den is true.  "
            "[default: from the preset or the recipe of the data set]",
            show_default=False,
        ),
    ] = None,
    folds: Annotated[
        Any,
        number_list("Folds to train, such as 0-9 or 0,3.  [default: all]"),
    ] = None,
    seeds: Annotated[
        Any,
        number_list("Seeds to train every fold with, such as 0-2.  [default: from the recipe]"),
    ] = None,
    hidden: Annotated[Any, _setting("hidden", "N")] = None,
    epochs: Annotated[Any, _setting("epochs", "N")] = None,
    lr: Annotated[Any, _setting("lr", "X")] = None,
    seed: Annotated[Any, _setting("seed", "N")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change any setting of the recipe (see --show-recipe); repeatable."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--recipe",
            metavar="FILE",
            help="Read settings, and the data set unless --data is given, from a TOML file; --set and other options "
            "override them.",
        ),
    ] = None,
    show_recipe: Annotated[
        bool, typer.Option("--show-recipe", help="Print all settings as a file for --recipe, and train nothing.")
    ] = False,
    root: RawFolder = None,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for finished runs and logs.")] = "results",
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the best models, for `detours predict`.")
    ] = None,
    keep_old: KeepOld = False,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of folds to train as one network; fewer need less memory.  [default: all]",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Number of processes that share the folds.")] = 1,
    device: TorchDevice = "auto",
    devices: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of devices that share each training step.")
    ] = 1,
    checkpoint_every: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Time between checkpoints.")] = 5.0,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write logs for TensorBoard.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    progress: Progress = None,
) -> None:
    """Train a network on the folds of a data set.

    Prints the test score of every fold at its best validation epoch, and their mean. A finished fold is stored in the
    --out folder as a JSON file, with its log as CSV. An interrupted run resumes when the command is repeated.

    Settings come from the preset, the --recipe file, --set and the other options, in this order; later ones override
    earlier ones.

    \b
    Examples:
      detours train --data rings -k 5 --folds 0-2
      detours train --data MUTAG --backbone gat --jobs 4 --set dropout=0.2 --set pe=16
      detours train --data Chameleon --preset paper --root raw --save models
      detours train --data MUTAG --show-recipe > mutag.toml
      detours train --recipe mutag.toml --lr 1e-4
      detours train --data molecules.pt --set task=regression
    """
    check_installed()
    if seed is not None and seeds is not None:
        raise typer.BadParameter("give either --seed or --seeds")
    if tensorboard and find_spec("tensorboard") is None:
        raise InputError("--tensorboard needs TensorBoard, which is not installed; run: pip install tensorboard")
    if data is not None and data_file is not None:
        raise typer.BadParameter("give either --data or --data-file")
    options = {"data": data or data_file, "model": model, "backbone": backbone, "preset": preset}
    options |= {"hidden": hidden, "epochs": epochs, "lr": lr, "seed": seed}
    overrides = merge_settings(file, changes or [], options)
    name, one_k = (overrides.pop(setting, None) for setting in ("data", "k"))
    ks = k or [one_k]

    from detours.cli.shared.scores import fold_table
    from detours.data import splits
    from detours.data.catalogue import source_of
    from detours.store import Store
    from detours.training.devices import chosen_device
    from detours.training.runs import MAX_RUNS, runs_of
    from detours.training.stacks import Resources, finished, run_all

    workplace = Resources(chosen_device(device), devices, jobs, replicas)
    if not name:
        if not show_recipe:
            raise typer.BadParameter("give a data set with --data, in the file of --recipe, or with --data-file")
        print(recipe("", "", "", "graph", k=ks[0], **overrides).to_toml(), end="")
        if not quiet:
            print(
                "note: these are the settings for graph-level data; --data shows those of a data set", file=sys.stderr
            )
        return
    with notes_unless(quiet):
        loaded = _load(name, root, None if data or data_file else file)
    overrides = {"task": loaded.task, **overrides}
    if show_recipe:
        shown = recipe(loaded.name, "", "", loaded.level, k=ks[0], **overrides)
        print(shown.to_toml(source_of(loaded, name, root)), end="")
        return
    store, parts = Store(out, keep_old=keep_old), splits(loaded, root)
    folds, seeds = folds or range(len(parts)), seeds or (None,)
    if not quiet and MANY_RUNS < (num_runs := len(folds) * len(seeds) * len(ks)) <= MAX_RUNS:
        print(f"note: looking up the finished ones of {num_runs:,} runs first", file=sys.stderr)
    runs = runs_of(
        loaded,
        parts,
        store,
        numbers=folds,
        ks=ks,
        seeds=seeds,
        save=save,
        every=checkpoint_every,
        tensorboard=tensorboard,
        **overrides,
    )
    if not quiet:
        _print_notes(store, runs, ks, overrides)
    if save is not None and any(finished(store, run) is None for run in runs):
        make_folder(save)
    is_first = devices == 1 or int(os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or 0) == 0
    show = progress if is_first and not (quiet and progress is None) else False
    with resumable(), fold_table(runs, show=show):
        chosen = _best_k(run_all(store, runs, workplace))
    if is_first and as_json:
        print_json(_summary(chosen, sees_detours=runs[0].recipe.sees_detours))
    elif is_first and not quiet:
        _print_table(chosen, sees_detours=runs[0].recipe.sees_detours, several=len(runs) > len(chosen))
        models = "" if save is None else f" and {save}"
        print(f"Wrote {store.path(runs[0].recipe.key()).parent}{models}", file=sys.stderr)


def _print_notes(store: "Store", runs: "list[Run]", ks: list[int | None], given: dict[str, Any]) -> None:
    """Before training, say how many results come from other code, and which k and settings have no effect."""
    from detours.store import old_results
    from detours.training.runs import idle_k, idle_settings

    first = runs[0].recipe
    old = store.by_other_code((run.recipe.key() for run in runs), as_before(first.preset, first.level))
    of_store = old_results(old, len(runs), store.keep_old) if old else ""
    for note in (of_store, idle_k(first, ks), idle_settings(first, given)):
        if note:
            print(f"note: {note}", file=sys.stderr)


def _best_k(cells: "list[Cell]") -> "list[Cell]":
    """Return the cell of each fold and seed; of several k, the one with the best validation score."""
    from detours.training.runs import best_of

    by_run: dict[tuple[int, int], list[Cell]] = {}
    for cell in cells:
        by_run.setdefault((cell.key["fold"], cell.key["seed"]), []).append(cell)
    return [best_of(each) for each in by_run.values()]


def _load(name: str | Path, root: str | None, file: Path | None) -> "GraphSet":
    """Load a data set; if a recipe file names one that is missing, the error says how to name another."""
    from detours.data import load

    try:
        return load(name, root)
    except InputError as error:
        if file is None:
            raise
        raise InputError(f"{error} The file {file} names it; --data NAME|PATH takes another.") from None


def merge_settings(
    file: Path | None, changes: list[str], options: dict[str, Any], models: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the settings of a recipe file, overridden by --set, then by the other options."""
    changed = dict(_parse_or_usage_error(parse_setting, text) for text in changes)
    changed |= {name: value for name, value in options.items() if value is not None}
    if not models and "model" in changed:
        models = [changed["model"]]
    return changed if file is None else read_recipe(file, models) | changed


def _summary(cells: "list[Cell]", *, sees_detours: bool) -> dict[str, Any]:
    """Return all runs, and mean and standard deviation over folds of the test score (validation, without test parts).

    A fold with several seeds counts with their mean; for a single fold, the deviation is over its seeds. Runs of
    networks without detours have no k.
    """
    import numpy as np

    from detours.training.tasks import score_of

    tested = all(f"test_{cell.value['metric']}" in cell.value for cell in cells)
    by_fold: dict[int, list[float]] = {}
    for cell in cells:
        by_fold.setdefault(cell.key["fold"], []).append(score_of(cell.value, "test" if tested else "val"))
    fold_scores = list(by_fold.values())
    scores = np.array(fold_scores[0] if len(fold_scores) == 1 else [np.mean(each) for each in fold_scores])
    key, seeds = cells[0].key, list(dict.fromkeys(cell.key["seed"] for cell in cells))
    shared = {name: key[name] for name in ("data", "model", "backbone", "preset", "splits", "metric")}
    folds = [
        {
            **{name: cell.key[name] for name in ("fold", "seed")},
            "k": cell.key["k"] if sees_detours else None,
            **cell.value,
            "seconds": cell.seconds,
        }
        for cell in cells
    ]
    return {
        **shared,
        "seed": seeds[0] if len(seeds) == 1 else None,
        "seeds": seeds,
        "part": "test" if tested else "validation",
        "mean": float(scores.mean()),
        "std": float(scores.std(ddof=1)) if len(scores) > 1 else None,
        "folds": folds,
    }


def _print_table(cells: "list[Cell]", *, sees_detours: bool, several: bool) -> None:
    from detours.cli.shared.scores import key_columns, score_text, score_unit

    metric, summary = cells[0].key["metric"], _summary(cells, sees_detours=sees_detours)
    folds, seeds = len({cell.key["fold"] for cell in cells}), len(summary["seeds"])
    names = key_columns(seeds=seeds > 1, k=sees_detours)
    headings = (f"validation {score_unit(metric)}", f"test {score_unit(metric)}")
    table = plain_table(right=(*names, *headings, "best epoch", "epochs", "seconds"))
    for cell in cells:
        value = cell.value
        scores = (score_text(metric, value.get(f"{part}_{metric}")) for part in ("val", "test"))
        row = (*(cell.key[name] for name in names), *scores, value["best_epoch"], value["epochs"])
        table.add_row(*map(str, row), f"{cell.seconds:.1f}")
    console = standard_output()
    show(console, table)
    runs = quantity(folds, "fold")
    if seeds > 1:
        runs += f", over {seeds} seeds" if folds == 1 else f", each the mean of {seeds} seeds"
    k = "" if not sees_detours else "k by validation, " if several else f"k = {cells[0].key['k']}, "
    spread = "" if summary["std"] is None else f" ± {score_text(metric, summary['std'])}"
    console.print(
        f"\n[bold]{score_text(metric, summary['mean'])}{spread} {score_unit(metric)}[/] "
        f"on the {summary['part']} parts of {runs}: "
        f"{escape(summary['data'])}, {summary['model']} {summary['backbone']}, {k}preset {summary['preset']}, "
        f"splits {escape(summary['splits'].split(';')[0])}",
        soft_wrap=True,
    )
