"""`detours reproduce`: the paper's experiments, from data to tables beside the paper's numbers."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from detours.cli.command import print_json, reported, standard_output
from detours.cli.options import ALL_CORES, Jobs, Json, K, Progress

if TYPE_CHECKING:
    from detours.experiments.runs import Outcome, Setting
    from detours.experiments.tables import Table

app = typer.Typer(
    help="Run the paper's experiments; tables and figures go to the folder of --out.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)

Data = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="The folder of the raw data sets.  [default: $DETOURS_DATA]", show_default=False),
]
Out = Annotated[str, typer.Option(metavar="DIR", help="The folder of finished cells, tables and figures.")]
Only = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Take this data set only; may be given several times.")
]
LargestK = Annotated[int, typer.Option("-k", metavar="K", min=2, help="Take k-DeN for k = 2 .. K.")]
Folder = Annotated[
    str, typer.Argument(metavar="DIR", help="A folder with a .g6 or .npy file per category.", show_default=False)
]

Kernels = Annotated[
    list[str] | None, typer.Option("--kernel", metavar="NAME", help="Take this row only; may be given several times.")
]
Repeats = Annotated[int, typer.Option(metavar="N", min=1, help="Cross-validations, each with its own seed.")]
Finished = Annotated[bool, typer.Option("--finished", help="Run nothing; show the table of the finished repeats.")]


@app.command()
@reported
def expressiveness(
    k: LargestK = 6,
    data: Data = None,
    out: Out = "results",
    only: Only = None,
    jobs: Jobs = None,
    as_json: Json = False,
    progress: Progress = None,
) -> None:
    """What each test tells apart, under three rules of comparison.

    Without data: hard pairs made in code and every connected graph of up to seven nodes. With data: also EXP, CEXP
    and six real data sets. Stopped at any moment, it goes on when run again.

    \b
    Examples:
      detours reproduce expressiveness
      detours reproduce expressiveness --data raw --only EXP --only CEXP
    """
    from detours.experiments.runs import run_expressiveness

    _reproduce(lambda setting: [run_expressiveness(setting, k)], data, out, only, jobs, as_json, progress)


@app.command()
@reported
def cycles(
    data: Data = None,
    out: Out = "results",
    only: Only = None,
    jobs: Jobs = None,
    as_json: Json = False,
    progress: Progress = None,
) -> None:
    """How many cycles the data sets have, and of which lengths.

    \b
    Examples:
      detours reproduce cycles --data raw
      detours reproduce cycles --data raw --only Squirrel --json
    """
    from detours.experiments.runs import run_cycles

    _reproduce(lambda setting: [run_cycles(setting)], data, out, only, jobs, as_json, progress)


@app.command()
@reported
def kernels(
    kernel: Kernels = None,
    repeats: Repeats = 10,
    finished: Finished = False,
    data: Data = None,
    out: Out = "results",
    only: Only = None,
    jobs: Jobs = None,
    as_json: Json = False,
    progress: Progress = None,
) -> None:
    """Accuracies of the graph kernels on six data sets, beside the paper's.

    Rows: SP, WL-subtree, WL-SP, WL-DeN and "best of ours", each with scikit-learn's SVC. Stopped at any moment, it
    loses only the folds under way and goes on when run again.

    \b
    Examples:
      detours reproduce kernels --data raw
      detours reproduce kernels --data raw --only MUTAG --kernel WL-SP --kernel WL-DeN --repeats 3
      detours reproduce kernels --data raw --finished
    """
    from detours.experiments.runs import run_kernels

    work = partial(run_kernels, names=kernel or (), repeats=repeats, only_finished=finished)
    _reproduce(lambda setting: [work(setting)], data, out, only, jobs, as_json, progress)


@app.command()
@reported
def pairs(
    folder: Folder,
    k: K,
    out: Out = "results",
    jobs: Jobs = None,
    as_json: Json = False,
    progress: Progress = None,
) -> None:
    """A benchmark of graph pairs: told apart by category and test, with times.

    A file is a category: graph6, one graph or a pair to a line, or an .npy array of such texts, flat or n x 2.

    \b
    Examples:
      detours reproduce pairs benchmark -k 7
    """
    from detours.experiments.runs import run_pairs

    _reproduce(lambda setting: [run_pairs(setting, folder, k)], None, out, None, jobs, as_json, progress)


@app.command("all")
@reported
def everything(
    k: LargestK = 6,
    data: Data = None,
    out: Out = "results",
    jobs: Jobs = None,
    as_json: Json = False,
    progress: Progress = None,
) -> None:
    """Every experiment that needs no more than the data sets.

    \b
    Examples:
      detours reproduce all --data raw
    """
    from detours.experiments.runs import run_cycles, run_expressiveness

    def work(setting: "Setting") -> "list[Outcome]":
        first = run_expressiveness(setting, k)
        return [first, run_cycles(setting)] if setting.has_data() else [first]

    _reproduce(work, data, out, None, jobs, as_json, progress)


def _reproduce(
    work: "Callable[[Setting], list[Outcome]]",
    data: str | None,
    out: str,
    only: Sequence[str] | None,
    jobs: int | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    from detours.cli.progress import progress_bar
    from detours.experiments.runs import Setting
    from detours.store import Store

    watch = partial(progress_bar, show=progress)
    setting = Setting(Store(out), watch, data, list(only or ()), jobs or ALL_CORES)
    outcomes = work(setting)
    tables = [table for outcome in outcomes for table in outcome.tables]
    if as_json:
        print_json([table.plain() for table in tables])
    else:
        _show(tables)
    for note in dict.fromkeys(setting.notes):
        print(f"note: {note}", file=sys.stderr)
    for outcome in outcomes:
        print(f"Wrote {', '.join(map(str, outcome.files))}", file=sys.stderr)


def _show(tables: "Sequence[Table]") -> None:
    from rich.markup import escape

    from detours.cli.summary import plain_table, show

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
