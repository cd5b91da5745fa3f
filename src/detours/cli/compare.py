"""`detours compare`: are two graphs isomorphic, and which test distinguishes them?"""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.cli.shared.command import report_errors
from detours.cli.shared.console import json_name, print_json, standard_output
from detours.cli.shared.graphs import check_one_input, quantity, read_graph
from detours.cli.shared.options import ENDINGS, Columns, Directed, FileFormat, Json, Quiet, Sep, Strict, parse_k
from detours.cli.shared.progress import progress_bar

if TYPE_CHECKING:
    from detours.graph import Graph
    from detours.wl import Comparison, Separation


class Init(StrEnum):
    uniform = "uniform"
    degree = "degree"
    den = "den"
    den_sum = "den-sum"
    phi = "phi"


class OnEdges(StrEnum):
    den = "den"
    den_sum = "den-sum"


class OnPairs(StrEnum):
    den = "den"
    fwl = "fwl"


class Individualise(StrEnum):
    mark = "mark"
    delete = "delete"


@report_errors
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=ENDINGS, show_default=False)],
    second: Annotated[
        str, typer.Argument(metavar="B", help="The other graph, in any of these formats.", show_default=False)
    ],
    budget: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Time limit; 0 for none.  [default: 60]")
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="K",
            parser=parse_k,
            help="Run one test, with detours of at most K edges; 5 to 7 for molecules.  [default for one test: 4]",
        ),
    ] = None,
    init: Annotated[
        Init | None,
        typer.Option(help="Run one test, from these initial colours of the nodes.  [default for one test: den]"),
    ] = None,
    edges: Annotated[
        OnEdges | None,
        typer.Option(help="Use the detour numbers of edges in every round."),
    ] = None,
    pairs: Annotated[
        OnPairs | None,
        typer.Option(
            help="Use the detour numbers of all pairs of nodes; fwl also refines the pairs.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Stop after N rounds.  [default: when the colours are stable]",
        ),
    ] = None,
    individualise: Annotated[
        Individualise | None,
        typer.Option(help="Compare copies of each graph with one node marked or deleted."),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of nodes to individualise together."),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Decide by an isomorphism algorithm if the colours cannot."),
    ] = False,
    as_json: Json = False,
    directed: Directed = None,
    strict: Strict = False,
    columns: Columns = None,
    sep: Sep = None,
    format: FileFormat = None,
    quiet: Quiet = False,
) -> None:
    """Tell two graphs apart, or find an isomorphism.

    Runs tests from the cheapest to the most expensive and lists their times. Any option from -k to --exact runs a
    single test instead, which reports “not isomorphic”, with the round and a colour that one graph has more often, or
    “not told apart”. Node labels, such as the elements of molecules, are not compared.

    \b
    Examples:
      detours compare a.g6 b.g6
      detours compare a.txt b.txt -k 6 --pairs den --exact
      detours compare a.txt b.txt -k 6 --individualise delete
    """
    check_one_input((first, second))
    if depth is not None and individualise is None:
        raise typer.BadParameter("--depth needs --individualise mark or delete")
    if rounds is not None and individualise is not None:
        raise typer.BadParameter("--rounds and --individualise exclude each other: nodes are marked in stable colours")
    if k is not None and not quiet and not _counts_detours(init, edges, pairs):
        print(f"note: -k {k} has no effect, as --init {init} alone counts no detours", file=sys.stderr)
    settings = {
        "k": k,
        "init": init,
        "edges": edges,
        "pairs": pairs,
        "rounds": rounds,
        "individualise": individualise,
        "depth": depth,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    single = bool(settings) or exact
    if budget is not None and single and not quiet:
        print("note: --budget has no effect on a single test", file=sys.stderr)
    reading: dict[str, Any] = {"directed": directed, "strict": strict, "quiet": quiet}
    reading |= {"columns": columns, "sep": sep, "format": format}
    graphs = [read_graph(file, **reading) for file in (first, second)]
    if single:
        result = _run_test(graphs, settings, exact)
    else:
        result = _run_ladder(graphs, 60.0 if budget is None else budget, quiet)
    if as_json:
        print_json({"first": first, "second": second, **result})
    elif not quiet:
        show = _show_rungs if "rungs" in result else _show_test
        show(result)


def _run_ladder(graphs: "list[Graph]", budget: float, quiet: bool) -> dict[str, Any]:
    from detours import wl

    with progress_bar("Comparing copies", show=False if quiet else None) as report:
        separation = wl.separate(*graphs, budget=budget or None, progress=report)
    return _separation_as_json(separation)


def _separation_as_json(separation: "Separation") -> dict[str, Any]:
    from detours.wl.separation import LABELS_HINT

    verdicts = {"different": "not isomorphic", "undecided": "not told apart"}
    mapping = separation.mapping
    return {
        "verdict": verdicts.get(separation.verdict, separation.verdict),
        "isomorphic": separation.same,
        "rung": separation.rung,
        "witness": separation.witness.removesuffix(LABELS_HINT),
        "milliseconds": 1000 * separation.seconds,
        "rungs": [
            {
                "test": rung.name,
                "told_apart": rung.told_apart,
                "milliseconds": None if rung.told_apart is None else 1000 * rung.seconds,
                "note": rung.note,
            }
            for rung in separation.rungs
        ],
        "mapping": None if mapping is None else [[json_name(i), json_name(j)] for i, j in mapping.items()],
    }


def _show_rungs(result: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading, justify in (("test", "left"), ("verdict", "left"), ("milliseconds", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for rung in result["rungs"]:
        verdict = {True: "not isomorphic", False: "not told apart", None: rung["note"]}[rung["told_apart"]]
        if result["isomorphic"] and rung["test"] == result["rung"]:
            verdict = "isomorphic"
        milliseconds = rung["milliseconds"]
        table.add_row(rung["test"], verdict, "" if milliseconds is None else f"{milliseconds:,.1f}")
    console = standard_output()
    console.print(table)
    if result["isomorphic"] is None:
        console.print(f"Undecided: {result['witness']}; they may be isomorphic or not.", style="bold")
    else:
        console.print(f"{result['verdict'].capitalize()}: {result['witness']}.", style="bold")


def _run_test(graphs: "list[Graph]", settings: dict[str, Any], exact: bool) -> dict[str, Any]:
    from detours import wl
    from detours.wl.difference import describe_difference

    options: dict[str, Any] = {"init": "den", "k": 4, "edges": None, "pairs": None}
    options |= {name: getattr(value, "value", value) for name, value in settings.items()}
    counted = _counts_detours(options["init"], options["edges"], options["pairs"])
    comparison = wl.compare(*graphs, **options)
    difference = ""
    if not comparison.same:
        difference = describe_difference(graphs[0], graphs[1], options["k"] if counted else None)
    result = {**options, **_comparison_as_json(comparison), "difference": difference or None}
    return result | (_decide(*graphs, told_apart=not comparison.same) if exact else {})


def _counts_detours(init: str | None, edges: str | None, pairs: str | None) -> bool:
    return init not in (Init.uniform, Init.degree) or edges is not None or pairs is not None


def _comparison_as_json(comparison: "Comparison") -> dict[str, Any]:
    return {
        "verdict": comparison.verdict,
        "told_apart": not comparison.same,
        "round": comparison.round,
        "rounds": comparison.rounds,
        "stable": comparison.stable,
        "witness": comparison.witness,
        "meaning": comparison.meaning,
        "counts": None if comparison.same else list(comparison.counts),
        "nodes": None if comparison.same else [list(map(json_name, nodes)) for nodes in comparison.nodes],
    }


def _decide(first: "Graph", second: "Graph", *, told_apart: bool) -> dict[str, Any]:
    from detours.wl.isomorphism import isomorphic, solver
    from detours.wl.nodes.labels import has_labels

    if told_apart:  # colour refinement is sound: nothing is left to decide
        return {"isomorphic": False, "settled_by": "colour refinement"}
    same = isomorphic(first, second)
    result = {"verdict": "isomorphic" if same else "not isomorphic", "isomorphic": same, "settled_by": solver()}
    return result | {"labels_not_compared": same and any(map(has_labels, (first, second)))}


def _show_test(result: dict[str, Any]) -> None:
    console = standard_output()
    console.print(result["verdict"], style="bold")
    if result["told_apart"]:
        if result["difference"]:
            console.print(result["difference"])
        first, second = result["counts"]
        colour = result["meaning"] or f"colour {result['witness']}"
        nodes = f"{quantity(first, 'node')} of the first graph, {second:,} of the second"
        console.print(f"in round {result['round']}: {colour}: {nodes}", style="dim", markup=False)
    elif "settled_by" in result:
        more = "; labels of nodes were not compared" if result["labels_not_compared"] else ""
        console.print(f"not told apart by the colours; settled by {result['settled_by']}{more}", style="dim")
    else:
        more = "" if result["stable"] or result.get("rounds") is None else f" in {result['rounds']} rounds"
        console.print(f"by this test{more}; they may be isomorphic or not (--exact decides)", style="dim")
