"""`detours compare`: are two graphs isomorphic, and which test tells?"""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.cli.shared.command import report_errors
from detours.cli.shared.console import json_name, print_json, standard_output
from detours.cli.shared.graphs import check_one_input, number, read_graph
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


_ONE_TEST = "One test"


@report_errors
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=ENDINGS, show_default=False)],
    second: Annotated[
        str, typer.Argument(metavar="B", help="The other graph, in the same formats.", show_default=False)
    ],
    budget: Annotated[float, typer.Option(min=0, metavar="SECONDS", help="Time limit; 0 for none.")] = 60.0,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="K",
            parser=parse_k,
            help="Maximum length of a detour, in edges; 5 to 7 for molecules.  [default: 4]",
            rich_help_panel=_ONE_TEST,
        ),
    ] = None,
    init: Annotated[
        Init | None,
        typer.Option(help="Initial colours of the nodes.  [default: den]", rich_help_panel=_ONE_TEST),
    ] = None,
    edges: Annotated[
        OnEdges | None,
        typer.Option(help="Use detour numbers of edges in every round.", rich_help_panel=_ONE_TEST),
    ] = None,
    pairs: Annotated[
        OnPairs | None,
        typer.Option(
            help="Use detour numbers of all pairs of nodes; fwl refines pairs too.",
            rich_help_panel=_ONE_TEST,
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Stop after N rounds.  [default: when the colours are stable]",
            rich_help_panel=_ONE_TEST,
        ),
    ] = None,
    individualise: Annotated[
        Individualise | None,
        typer.Option(help="Compare copies with a node marked or deleted.", rich_help_panel=_ONE_TEST),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Nodes individualised together.", rich_help_panel=_ONE_TEST),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Decide by an isomorphism algorithm if the colours cannot.", rich_help_panel=_ONE_TEST
        ),
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

    Runs tests from the cheapest to the most expensive and lists their times. An option of “One test” runs that test
    alone: its answer is “not isomorphic”, with the round and a colour that one graph has more often, or “not told
    apart”. Labels of nodes, such as the elements of molecules, are not compared.

    \b
    Examples:
      detours compare a.g6 b.g6
      detours compare a.txt b.txt -k 6 --pairs den --exact
      detours compare a.txt b.txt -k 6 --individualise delete
    """
    check_one_input((first, second))
    if k is not None and not quiet and not _counts_detours(init, edges, pairs):
        print(f"note: -k {k} changes nothing, as --init {init} alone counts no detours", file=sys.stderr)
    reading: dict[str, Any] = {"directed": directed, "strict": strict, "quiet": quiet}
    reading |= {"columns": columns, "sep": sep, "format": format}
    graphs = [read_graph(file, **reading) for file in (first, second)]
    given = {
        "k": k,
        "init": init,
        "edges": edges,
        "pairs": pairs,
        "rounds": rounds,
        "individualise": individualise,
        "depth": depth,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    answer = _run_test(graphs, chosen, exact) if chosen or exact else _climb(graphs, budget, quiet)
    if as_json:
        print_json({"first": first, "second": second, **answer})
    elif not quiet:
        _show_rungs(answer) if "rungs" in answer else _show(answer)


def _climb(graphs: "list[Graph]", budget: float, quiet: bool) -> dict[str, Any]:
    from detours import wl

    with progress_bar("Comparing copies", show=False if quiet else None) as report:
        found = wl.separate(*graphs, budget=budget or None, progress=report)
    return _rungs(found)


def _rungs(found: "Separation") -> dict[str, Any]:
    from detours.wl.separation import NOT_GIVEN

    return {
        "verdict": {"different": "not isomorphic", "undecided": "not told apart"}.get(found.verdict, found.verdict),
        "isomorphic": found.same,
        "rung": found.rung,
        "witness": found.witness.removesuffix(NOT_GIVEN),
        "milliseconds": 1000 * found.seconds,
        "rungs": [
            {
                "test": rung.name,
                "told_apart": rung.told_apart,
                "milliseconds": None if rung.told_apart is None else 1000 * rung.seconds,
                "note": rung.note,
            }
            for rung in found.rungs
        ],
        "mapping": None if found.mapping is None else [[json_name(i), json_name(j)] for i, j in found.mapping.items()],
    }


def _show_rungs(answer: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading, side in (("test", "left"), ("verdict", "left"), ("milliseconds", "right")):
        table.add_column(heading, justify=side)  # type: ignore[arg-type]
    for rung in answer["rungs"]:
        verdict = {True: "not isomorphic", False: "not told apart", None: rung["note"]}[rung["told_apart"]]
        if answer["isomorphic"] and rung["test"] == answer["rung"]:
            verdict = "isomorphic"
        spent = rung["milliseconds"]
        table.add_row(rung["test"], verdict, "" if spent is None else f"{spent:,.1f}")
    console = standard_output()
    console.print(table)
    if answer["isomorphic"] is None:
        console.print(f"Undecided: {answer['witness']}; they may be isomorphic or not.", style="bold")
    else:
        console.print(f"{answer['verdict'].capitalize()}: {answer['witness']}.", style="bold")


def _run_test(graphs: "list[Graph]", chosen: dict[str, Any], exact: bool) -> dict[str, Any]:
    from detours import wl
    from detours.wl.difference import describe_difference

    options: dict[str, Any] = {"init": "den", "k": 4, "edges": None, "pairs": None}
    options |= {name: getattr(value, "value", value) for name, value in chosen.items()}
    counted = _counts_detours(options["init"], options["edges"], options["pairs"])
    found = wl.compare(*graphs, **options)
    difference = "" if found.same else describe_difference(graphs[0], graphs[1], options["k"] if counted else None)
    answer = {**options, **_answer(found), "difference": difference or None}
    return answer | (_settled(*graphs, told_apart=not found.same) if exact else {})


def _counts_detours(init: str | None, edges: str | None, pairs: str | None) -> bool:
    return init not in (Init.uniform, Init.degree) or edges is not None or pairs is not None


def _answer(found: "Comparison") -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "told_apart": not found.same,
        "round": found.round,
        "rounds": found.rounds,
        "stable": found.stable,
        "witness": found.witness,
        "meaning": found.meaning,
        "counts": None if found.same else list(found.counts),
        "nodes": None if found.same else [list(map(json_name, nodes)) for nodes in found.nodes],
    }


def _settled(first: "Graph", second: "Graph", *, told_apart: bool) -> dict[str, Any]:
    from detours.wl.isomorphism import isomorphic, solver
    from detours.wl.nodes.labels import has_labels

    if told_apart:  # the refinement is sound: there is nothing left to settle
        return {"isomorphic": False, "settled_by": "colour refinement"}
    same = isomorphic(first, second)
    answer = {"verdict": "isomorphic" if same else "not isomorphic", "isomorphic": same, "settled_by": solver()}
    return answer | {"labels_not_compared": same and any(map(has_labels, (first, second)))}


def _show(answer: dict[str, Any]) -> None:
    console = standard_output()
    console.print(answer["verdict"], style="bold")
    if answer["told_apart"]:
        if answer["difference"]:
            console.print(answer["difference"])
        ours, theirs = answer["counts"]
        colour = answer["meaning"] or f"colour {answer['witness']}"
        nodes = f"{number(ours, 'node')} of the first graph, {theirs:,} of the second"
        console.print(f"in round {answer['round']}: {colour}: {nodes}", style="dim", markup=False)
    elif "settled_by" in answer:
        more = "; labels of nodes were not compared" if answer["labels_not_compared"] else ""
        console.print(f"not told apart by the colours; settled by {answer['settled_by']}{more}", style="dim")
    else:
        more = "" if answer["stable"] or answer.get("rounds") is None else f" in {answer['rounds']} rounds"
        console.print(f"by this test{more}; they may be isomorphic or not (--exact decides)", style="dim")
