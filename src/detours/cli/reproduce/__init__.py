"""`detours reproduce`: the paper's experiments, from data to tables next to the paper's results."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from detours.cli.reproduce.experiment import experiment
from detours.cli.reproduce.networks import add_network_tables, network_settings
from detours.cli.shared.help import new_app
from detours.cli.shared.options import K, TorchDevice, listed

if TYPE_CHECKING:
    from detours.experiments.environment import Environment, Outcome

app = new_app(help="Run the experiments of the paper.")
LargestK = Annotated[int, typer.Option("-k", metavar="K", min=2, help="Use k-DeN for k = 2 .. K.")]


@experiment(app)
def expressiveness(environment: "Environment", k: LargestK = 6) -> "Iterable[Outcome]":
    """Count the graphs that each test tells apart.

    Graphs are compared under three rules. Without data sets, the tests run on generated hard pairs and all connected
    graphs of up to seven nodes; with data sets, also on EXP, CEXP and six real ones. An interrupted run resumes when
    the command is repeated.

    \b
    Examples:
      detours reproduce expressiveness
      detours reproduce expressiveness --root raw --data EXP,CEXP
    """
    from detours.experiments.runs import run_expressiveness

    yield run_expressiveness(environment, k)


@experiment(app)
def cycles(environment: "Environment") -> "Iterable[Outcome]":
    """Count the cycles of the data sets by length.

    \b
    Examples:
      detours reproduce cycles --root raw
      detours reproduce cycles --root raw --data Squirrel --json
    """
    from detours.experiments.runs import run_cycles

    yield run_cycles(environment)


@experiment(app, one_set=True)
def counting(environment: "Environment") -> "Iterable[Outcome]":
    """Count the cycles of the cycle-counting benchmark.

    Its 5,000 graphs come with their numbers of cycles of 3 to 6 edges, which networks are trained to predict. Here the
    cycles are counted and compared with these targets, next to the published errors of a network.

    \b
    Examples:
      detours reproduce counting --root raw
    """
    from detours.experiments.runs import run_counting

    yield run_counting(environment)


@experiment(app)
def kernels(
    environment: "Environment",
    kernel: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Use only these rows, separated by commas; repeatable.")
    ] = None,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of cross-validations, each with its own seed.")
    ] = 10,
    finished: Annotated[bool, typer.Option("--finished", help="Run nothing; show the finished repeats.")] = False,
) -> "Iterable[Outcome]":
    """Measure the accuracy of graph kernels.

    Runs SP, WL-subtree, WL-SP, WL-DeN, "best without detours" and "best of ours", each with scikit-learn's SVC, on six
    data sets. All of them take hours; an interrupted run resumes when the command is repeated.

    \b
    Examples:
      detours reproduce kernels --root raw
      detours reproduce kernels --root raw --data MUTAG --kernel WL-SP,WL-DeN --repeats 3
      detours reproduce kernels --data downloads/COX2 --repeats 3
      detours reproduce kernels --root raw --finished
    """
    from detours.experiments.runs import run_kernels

    yield run_kernels(environment, names=listed(kernel), repeats=repeats, only_finished=finished)


@experiment(app, without=("root", "data"))
def pairs(
    environment: "Environment",
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="Folder with one .g6 or .npy file per category.", show_default=False)
    ],
    k: K,
) -> "Iterable[Outcome]":
    """Count the pairs of a benchmark that each test tells apart.

    Prints results and times by category. Each file is a category: graph6 with one graph or one pair per line, or an
    .npy array of such strings, flat or n x 2.

    \b
    Examples:
      detours reproduce pairs benchmark -k 7
    """
    from detours.experiments.runs import run_pairs

    yield run_pairs(environment, folder, k)


add_network_tables(app)


@experiment(app, "all", one_set=True)
def everything(
    environment: "Environment",
    k: LargestK = 6,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", min=0, help="Stop training networks after this time.")
    ] = None,
    device: TorchDevice = "auto",
) -> "Iterable[Outcome]":
    """Run all experiments of the paper.

    Without data sets, runs expressiveness only; with data sets, also cycles, kernels and networks.

    Networks take days on a CPU; use --minutes, or the commands of the individual tables.

    \b
    Examples:
      detours reproduce all --root raw --device cuda --minutes 60
    """
    from importlib.util import find_spec

    from detours.checks import check_device
    from detours.experiments.runs import run_cycles, run_expressiveness, run_kernels, run_networks

    if device != "auto":
        check_device(device)  # networks come last, after hours
    yield run_expressiveness(environment, k)
    if not environment.has_data():
        return
    yield run_cycles(environment)
    if find_spec("sklearn") is not None:
        yield run_kernels(environment)
    else:
        environment.notes.append("kernels are skipped: they need scikit-learn; run: pip install 'detours[kernels]'")
    if find_spec("torch") is not None:
        from detours.experiments.networks.entries import DATA

        yield run_networks(environment, list(DATA), **network_settings(minutes=minutes, device=device))
    else:
        environment.notes.append("networks are skipped: they need torch; run: pip install 'detours[torch]'")
