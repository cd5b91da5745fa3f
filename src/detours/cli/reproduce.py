"""`detours reproduce`: the paper's experiments, from data to tables beside the paper's numbers."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.checks import check_jobs
from detours.cli.shared.command import report_errors
from detours.cli.shared.console import escape, plain_table, print_json, show, standard_output
from detours.cli.shared.help import new_app
from detours.cli.shared.options import ALL_CORES, Jobs, Json, K, KeepOld, Progress, RawFolder, TorchDevice, listed
from detours.cli.train import parse_numbers
from detours.errors import InputError

if TYPE_CHECKING:
    from detours.experiments.environment import Environment, Outcome
    from detours.experiments.tables import Table

app = new_app(help="Run the experiments of the paper.")


_OldData = Annotated[list[str] | None, typer.Option("--data", metavar="DIR", hidden=True)]
"""The former name of --root, where no data sets are chosen."""


def _environment(
    root: RawFolder = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", "--only", metavar="NAMES", help="Use these data sets only, separated by commas; repeatable."
        ),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder of finished results, tables and figures.")
    ] = "results",
    keep_old: KeepOld = False,
    jobs: Jobs = None,
    progress: Progress = None,
) -> "Environment":
    """The options of every experiment."""
    from detours.cli.shared.progress import progress_bar
    from detours.experiments.environment import Environment
    from detours.store import Store

    store, watch = Store(out, keep_old=keep_old), functools.partial(progress_bar, show=progress)
    root, only = _named_sets(root, listed(data))
    return Environment(store, watch, root, only, check_jobs(jobs or ALL_CORES), _say)


def _named_sets(root: str | None, data: list[str]) -> tuple[str | None, list[str]]:
    """Return the folder of data sets and the names of those to use; --data was the name of --root."""
    from pathlib import Path

    from detours.data.catalogue import own_path

    folders = [name for name in data if Path(name).is_dir() and own_path(name) is None]
    if folders and root is None:
        _say(f"note: --data {folders[0]} is taken for --root, as it is a folder of data sets")
        root = folders[0]
    return root, [name for name in data if name not in folders]


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def experiment(
    *, without: Sequence[str] = (), one_set: bool = False
) -> Callable[[Callable[..., "Iterable[Outcome]"]], Callable[..., None]]:
    """Make a command of a function that takes a `Environment` and its own options, and gives outcomes.

    The command has the options of every experiment, but for those named in `without`; with `one_set` its data sets
    cannot be chosen. It shows the tables of each outcome as soon as it is finished.
    """
    common = [each for name, each in inspect.signature(_environment).parameters.items() if name not in without]
    if one_set:
        common = [each.replace(annotation=_OldData) if each.name == "data" else each for each in common]
    common.append(inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json))

    def command_of(work: Callable[..., "Iterable[Outcome]"]) -> Callable[..., None]:
        own = list(inspect.signature(work).parameters.values())[1:]

        def command(as_json: bool, **given: Any) -> None:
            environment = _environment(**{each.name: given.pop(each.name) for each in common[:-1]})
            if one_set and environment.only:
                raise InputError(f"--data {environment.only[0]}: this experiment has its own data sets; leave it out.")
            _show_outcomes(work(environment, **given), environment, as_json)

        functools.update_wrapper(command, work)
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *common)]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads both
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return report_errors(command)

    return command_of


LargestK = Annotated[int, typer.Option("-k", metavar="K", min=2, help="Use k-DeN for k = 2 .. K.")]


@app.command()
@experiment()
def expressiveness(environment: "Environment", k: LargestK = 6) -> "Iterable[Outcome]":
    """Count the graphs that each test tells apart.

    There are three rules of comparison. Without data: hard pairs made in code and all connected graphs of up to seven
    nodes. With data: also EXP, CEXP and six real data sets. An interrupted run continues when the command is repeated.

    \b
    Examples:
      detours reproduce expressiveness
      detours reproduce expressiveness --root raw --data EXP,CEXP
    """
    from detours.experiments.runs import run_expressiveness

    yield run_expressiveness(environment, k)


@app.command()
@experiment()
def cycles(environment: "Environment") -> "Iterable[Outcome]":
    """Count the cycles of the data sets by their length.

    \b
    Examples:
      detours reproduce cycles --root raw
      detours reproduce cycles --root raw --data Squirrel --json
    """
    from detours.experiments.runs import run_cycles

    yield run_cycles(environment)


@app.command()
@experiment(one_set=True)
def counting(environment: "Environment") -> "Iterable[Outcome]":
    """Count the cycles of the cycle-counting benchmark.

    Its 5,000 graphs come with the numbers of their cycles of 3 to 6 edges, which networks are trained to predict; here
    they are counted and compared, beside the published errors of a network.

    \b
    Examples:
      detours reproduce counting --root raw
    """
    from detours.experiments.runs import run_counting

    yield run_counting(environment)


@app.command()
@experiment()
def kernels(
    environment: "Environment",
    kernel: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Use these rows only, separated by commas; repeatable.")
    ] = None,
    repeats: Annotated[int, typer.Option(metavar="N", min=1, help="Cross-validations, each with its own seed.")] = 10,
    finished: Annotated[bool, typer.Option("--finished", help="Run nothing; show the finished repeats.")] = False,
) -> "Iterable[Outcome]":
    """Measure the accuracy of graph kernels.

    Six data sets; rows: SP, WL-subtree, WL-SP, WL-DeN and "best of ours", each with scikit-learn's SVC. Takes hours for
    all of them; an interrupted run continues when the command is repeated.

    \b
    Examples:
      detours reproduce kernels --root raw
      detours reproduce kernels --root raw --data MUTAG --kernel WL-SP,WL-DeN --repeats 3
      detours reproduce kernels --data downloads/COX2 --repeats 3
      detours reproduce kernels --root raw --finished
    """
    from detours.experiments.runs import run_kernels

    yield run_kernels(environment, names=listed(kernel), repeats=repeats, only_finished=finished)


@app.command()
@experiment(without=("root", "data"))
def pairs(
    environment: "Environment",
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="Folder with a .g6 or .npy file per category.", show_default=False)
    ],
    k: K,
) -> "Iterable[Outcome]":
    """Count the pairs of a benchmark that each test tells apart.

    The tables are by category, with times. A file is a category: graph6 with one graph or one pair per line, or an
    .npy array of such strings, flat or n x 2.

    \b
    Examples:
      detours reproduce pairs benchmark -k 7
    """
    from detours.experiments.runs import run_pairs

    yield run_pairs(environment, folder, k)


def _preset(text: str) -> str:
    if text not in ("ours", "paper", "paper-small"):
        raise typer.BadParameter(f"there is no preset {text!r}; give ours, paper or paper-small")
    return text


def _network_settings(
    preset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            parser=_preset,
            help="ours, paper, or paper-small (128 channels, two transformer layers); repeatable.  "
            "[default: ours, and paper on the paper's data, paper-small on large ones]",
            show_default=False,
        ),
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help='Train, or show, these rows only, such as "MDNN GIN,MDNN GCN"; repeatable.'),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="LIST", help="Seeds, such as 0-2.  [default: 0-2 for ours, 0 for paper]")
    ] = None,
    folds: Annotated[str | None, typer.Option(metavar="LIST", help="Folds, such as 0-4.  [default: all]")] = None,
    minutes: Annotated[
        float | None,
        typer.Option(metavar="M", min=0, help="Stop training after this time; the same command goes on from there."),
    ] = None,
    finished: Annotated[bool, typer.Option("--finished", help="Train nothing; show what is finished.")] = False,
    device: TorchDevice = "auto",
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="32-true, bf16-mixed or 64-true.  [default: 32-true]",
        ),
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs to train as one network, at most.  [default: all]")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting everywhere.", hidden=True)
    ] = None,
) -> dict[str, Any]:
    """The options of every table of networks, as arguments of `run_networks`."""
    from detours.experiments.networks.queue import Wanted
    from detours.training.recipe import checked, parse_setting

    if finished and (seeds or folds):
        raise typer.BadParameter("--finished shows all seeds and folds of an entry; leave out --seeds and --folds")
    wanted = Wanted(
        seeds=None if seeds is None else parse_numbers(seeds),
        folds=None if folds is None else parse_numbers(folds),
        device=device,
        precision=None if precision is None else checked("precision", precision),
        replicas=replicas,
        changes=dict(parse_setting(text) for text in changes or []),
    )
    limit = {} if minutes is None else {"minutes": minutes}
    return {"wanted": wanted, "presets": preset or (), "rows": listed(row), "only_finished": finished, **limit}


def _network_command(name: str, names: Sequence[str], summary: str, examples: str) -> None:
    """Register the command of one table of networks."""

    def work(environment: "Environment", **options: Any) -> "Iterable[Outcome]":
        from detours.experiments.runs import run_networks

        yield run_networks(environment, names, **_network_settings(**options))

    own = inspect.signature(_network_settings).parameters.values()
    first = next(iter(inspect.signature(work).parameters.values()))
    work.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    work.__name__ = name
    rows = "Nine rows: plain, weighted and MDNN with GCN, GAT and GIN."
    if name == "ablation":
        rows = 'Two rows, "MDNN GAT" and "MDNN GAT without φD".'
    work.__doc__ = f"""{summary}

    {rows} All folds and seeds of an entry are trained together;
    cheap entries come first. A finished entry is one small file for each seed in the folder of --out. An interrupted
    run continues when the command is repeated.

    \b
    Examples:
{examples}
    """
    app.command(name)(experiment(without=("jobs", "progress"))(work))


_network_command(
    "nodes",
    ["nodes"],
    "Train the networks for node classification.",
    """      detours reproduce nodes --root raw --device cuda --minutes 30
      detours reproduce nodes --root raw --preset ours --data Texas --row "MDNN GIN" --seeds 0""",
)
_network_command(
    "graphs",
    ["graphs"],
    "Train the networks for graph classification.",
    """      detours reproduce graphs --root raw --data MUTAG --preset paper --device cuda
      detours reproduce graphs --finished""",
)
_network_command(
    "ablation",
    ["ablation"],
    "Train MDNN GAT with and without detour numbers.",
    """      detours reproduce ablation --root raw --device cuda""",
)
_network_command(
    "zinc",
    ["zinc"],
    "Train networks on ZINC, not in the paper.",
    """      detours reproduce zinc --root raw --device cuda --minutes 30""",
)
_network_command(
    "heterophilous",
    ["heterophilous"],
    "Train networks on heterophilous graphs.",
    """      detours reproduce heterophilous --root raw --data Minesweeper --device cuda""",
)


@app.command("all")
@experiment(one_set=True)
def everything(
    environment: "Environment",
    k: LargestK = 6,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", min=0, help="Stop training networks after this time.")
    ] = None,
    device: TorchDevice = "auto",
) -> "Iterable[Outcome]":
    """Run all experiments of the paper.

    Without data: expressiveness only; with data also cycles, kernels and networks.

    Networks take days on a CPU; give --minutes, or use the commands of the single tables.

    \b
    Examples:
      detours reproduce all --root raw --device cuda --minutes 60
    """
    from importlib.util import find_spec

    from detours.experiments.runs import run_cycles, run_expressiveness, run_kernels, run_networks

    yield run_expressiveness(environment, k)
    if not environment.has_data():
        return
    yield run_cycles(environment)
    if find_spec("sklearn") is not None:
        yield run_kernels(environment)
    else:
        environment.notes.append("kernels are left out: they need scikit-learn; run: pip install 'detours[kernels]'")
    if find_spec("torch") is not None:
        from detours.experiments.networks.entries import DATA

        yield run_networks(environment, list(DATA), **_network_settings(minutes=minutes, device=device))
    else:
        environment.notes.append("networks are left out: they need torch; run: pip install 'detours[torch]'")


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
