"""`detours reproduce nodes`, `graphs` and so on: tables of networks, which share their options."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from detours.cli.reproduce.experiment import Work, add_experiment, parameters
from detours.cli.shared.options import TorchDevice, listed, number_list

if TYPE_CHECKING:
    from detours.experiments.environment import Environment, Outcome


class NetworkTable(NamedTuple):
    """A table of networks, with the help of its command."""

    name: str
    summary: str
    examples: tuple[str, ...]
    """Arguments of example commands."""
    rows: str = "Nine rows: plain, weighted and MDNN with GCN, GAT and GIN."


TABLES = (
    NetworkTable(
        "nodes",
        "Train the networks for node classification.",
        (
            "--root raw --device cuda --minutes 30",
            '--root raw --preset ours --data Texas --row "MDNN GIN" --seeds 0',
        ),
    ),
    NetworkTable(
        "graphs",
        "Train the networks for graph classification.",
        ("--root raw --data MUTAG --preset paper --device cuda", "--finished"),
    ),
    NetworkTable(
        "ablation",
        "Train MDNN GAT with and without detour numbers.",
        ("--root raw --device cuda",),
        rows='Two rows, "MDNN GAT" and "MDNN GAT without φD".',
    ),
    NetworkTable("zinc", "Train networks on ZINC, not in the paper.", ("--root raw --device cuda --minutes 30",)),
    NetworkTable(
        "heterophilous",
        "Train networks on heterophilous graphs.",
        ("--root raw --data Minesweeper --device cuda",),
    ),
)
_HELP = """{summary}

{rows} All folds and seeds of an entry are trained together,
cheap entries first. A finished entry is stored in the --out folder, as one small file per seed. An interrupted
run resumes when the command is repeated.

\b
Examples:
{examples}
"""


def add_network_tables(app: typer.Typer) -> None:
    """Add a command for each table."""
    for table in TABLES:
        examples = "\n".join(f"  detours reproduce {table.name} {each}" for each in table.examples)
        help = _HELP.format(summary=table.summary, rows=table.rows, examples=examples)
        options = parameters(network_settings)
        add_experiment(app, table.name, help, _training(table.name), options, without=("jobs", "progress"))


def _training(name: str) -> Work:
    def work(environment: "Environment", **options: Any) -> "Iterable[Outcome]":
        from detours.experiments.runs import run_networks

        yield run_networks(environment, [name], **network_settings(**options))

    return work


def _preset(text: str) -> str:
    if text not in ("ours", "paper", "paper-small"):
        raise typer.BadParameter(f"there is no preset {text!r}; give ours, paper or paper-small")
    return text


def network_settings(
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
        typer.Option(metavar="NAMES", help='Train or show only these rows, such as "MDNN GIN,MDNN GCN"; repeatable.'),
    ] = None,
    seeds: Annotated[
        Any,
        number_list("Seeds, such as 0-2.  [default: 0-2 for ours, 0 for paper]"),
    ] = None,
    folds: Annotated[
        Any,
        number_list("Folds, such as 0-4.  [default: all]"),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(metavar="M", min=0, help="Stop training after this time; repeat the command to resume."),
    ] = None,
    finished: Annotated[bool, typer.Option("--finished", help="Train nothing; show finished entries.")] = False,
    device: TorchDevice = "auto",
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="32-true, bf16-mixed or 64-true.  [default: 32-true]",
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of runs to train as one network.  [default: as many as fit on the disk]",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting everywhere.", hidden=True)
    ] = None,
) -> dict[str, Any]:
    """Convert the options of every table of networks to arguments of `run_networks`."""
    from detours.experiments.networks.queue import RunSelection
    from detours.training.recipe import checked, parse_setting

    if finished and (seeds or folds):
        raise typer.BadParameter("--finished shows all seeds and folds of an entry; leave out --seeds and --folds")
    wanted = RunSelection(
        seeds=seeds,
        folds=folds,
        device=device,
        precision=None if precision is None else checked("precision", precision),
        replicas=replicas,
        changes=dict(parse_setting(text) for text in changes or []),
    )
    limit = {} if minutes is None else {"minutes": minutes}
    return {"wanted": wanted, "presets": preset or (), "rows": listed(row), "only_finished": finished, **limit}
