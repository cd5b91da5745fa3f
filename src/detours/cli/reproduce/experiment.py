"""Turns experiments into commands: their common options, and how their tables are printed."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.checks import check_device, check_jobs
from detours.cli.shared.command import report_errors
from detours.cli.shared.console import escape, plain_table, print_json, show, standard_output
from detours.cli.shared.interrupt import resumable
from detours.cli.shared.options import ALL_CORES, Jobs, Json, KeepOld, Progress, RawFolder, listed
from detours.errors import InputError

if TYPE_CHECKING:
    from detours.experiments.environment import Environment, Outcome
    from detours.experiments.tables import Table

Work = Callable[..., "Iterable[Outcome]"]
"""A function of an `Environment` and options, which yields outcomes."""

_OldData = Annotated[list[str] | None, typer.Option("--data", metavar="DIR", hidden=True)]
"""The former name of --root, where no data sets are chosen."""


def experiment(
    app: typer.Typer, name: str | None = None, *, without: Sequence[str] = (), one_set: bool = False
) -> Callable[[Work], Work]:
    """Register a function as a command; its parameters after `environment` are options, its docstring is the help."""

    def register(work: Work) -> Work:
        command, help = name or work.__name__, inspect.getdoc(work) or ""
        add_experiment(app, command, help, work, parameters(work)[1:], without=without, one_set=one_set)
        return work

    return register


def add_experiment(
    app: typer.Typer,
    name: str,
    help: str,
    work: Work,
    options: Sequence[Parameter],
    *,
    without: Sequence[str] = (),
    one_set: bool = False,
) -> None:
    """Add a command that shows the tables of each outcome as soon as it is finished.

    Args:
        app: The group of commands.
        name: The name of the command.
        help: What its help says.
        work: The function to run.
        options: The options of this command only, passed to `work`.
        without: Common options that it does not have.
        one_set: Whether its data sets are fixed.
    """
    own = {each.name for each in options}
    common = [each for each in parameters(_environment) if each.name not in own.union(without)]
    if one_set:
        common = [each.replace(annotation=_OldData) if each.name == "data" else each for each in common]

    def command(as_json: bool, **arguments: Any) -> None:
        environment = _environment(**{each.name: arguments.pop(each.name) for each in common})
        if one_set and environment.only:
            raise InputError(f"--data {environment.only[0]}: this experiment has its own data sets; leave it out.")
        with resumable():
            _show_outcomes(work(environment, **arguments), environment, as_json)

    as_json = Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    _set_parameters(command, [*options, *common, as_json])
    app.command(name, help=help)(report_errors(command))


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function, which Typer turns into options."""
    return list(inspect.signature(function).parameters.values())


def _set_parameters(command: Callable[..., None], options: Sequence[Parameter]) -> None:
    """Give a command these options, collected from several functions; Typer reads both attributes."""
    found = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in options]
    command.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in found}


def _environment(
    root: RawFolder = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", "--only", metavar="NAMES", help="Use only these data sets, separated by commas; repeatable."
        ),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder for finished results, tables and figures.")
    ] = "results",
    keep_old: KeepOld = False,
    jobs: Jobs = None,
    progress: Progress = None,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Device: auto or cpu; this experiment uses no GPU.")
    ] = "auto",
) -> "Environment":
    """The options of every experiment; those that train networks have a `device` of their own."""
    from detours.cli.shared.progress import progress_bar
    from detours.experiments.environment import Environment
    from detours.store import Store

    if device not in ("auto", "cpu") and check_device(device) != "cpu":
        _say(f"note: --device {device} has no effect on this experiment, which runs on the CPU")
    store, watch = Store(out, keep_old=keep_old), functools.partial(progress_bar, show=progress)
    root, only = _root_and_names(root, listed(data))
    return Environment(store, watch, root, only, check_jobs(jobs or ALL_CORES), _say)


def _root_and_names(root: str | None, data: list[str]) -> tuple[str | None, list[str]]:
    """Return the folder of data sets and the names of those to use; --data was once the name of --root."""
    from pathlib import Path

    from detours.data.catalogue import own_path

    folders = [name for name in data if Path(name).is_dir() and own_path(name) is None]
    if folders and root is None:
        _say(f"note: --data {folders[0]} is taken as --root, as it is a folder of data sets")
        root = folders[0]
    return root, [name for name in data if name not in folders]


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _show_outcomes(outcomes: "Iterable[Outcome]", environment: "Environment", as_json: bool) -> None:
    tables, files = [], []
    for outcome in outcomes:
        tables += outcome.tables
        files += [f"Wrote {', '.join(map(str, outcome.files))}"] if outcome.files else []
        if not as_json:
            _show_tables(outcome.tables)
    if as_json:
        print_json([table.plain() for table in tables])
    for line in (*(f"note: {note}" for note in dict.fromkeys(environment.notes)), *files):
        print(line, file=sys.stderr)


def _show_tables(tables: "Sequence[Table]") -> None:
    console = standard_output()
    for table in tables:
        console.print(table.title, style="bold", markup=False)
        shown = plain_table()
        for column in table.columns:
            shown.add_column(escape(column.name), justify="right" if column.form else "left")
        for row in table.written():
            shown.add_row(*map(escape, row))
        show(console, shown)
        for note in table.notes:
            console.print(note, style="dim", markup=False)
        console.print()
