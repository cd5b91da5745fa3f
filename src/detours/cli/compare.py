"""`detours compare`: two graphs compared by colour refinement."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.cli.shared.command import report_errors
from detours.cli.shared.console import print_json, standard_output
from detours.cli.shared.graphs import read_graph
from detours.cli.shared.options import Directed, Json, K, Quiet, Strict

if TYPE_CHECKING:
    from detours.graph import Graph
    from detours.wl import Comparison


class Init(StrEnum):
    uniform = "uniform"
    degree = "degree"
    den = "den"
    phi = "phi"
    den_by_length = "den-by-length"


class OnEdges(StrEnum):
    den = "den"
    den_by_length = "den-by-length"


class OnPairs(StrEnum):
    den = "den"


_ENDINGS = "Edge list, .mtx, .graphml, .gml, .g6, .s6 or .npz."


@report_errors
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=_ENDINGS, show_default=False)],
    second: Annotated[
        str, typer.Argument(metavar="B", help="The other graph, in the same formats.", show_default=False)
    ],
    k: K = 4,
    init: Annotated[Init, typer.Option(help="Initial colours of the nodes.")] = Init.den,
    edges: Annotated[
        OnEdges | None, typer.Option(help="Use detour numbers of edges in every round.", show_default=False)
    ] = None,
    pairs: Annotated[
        OnPairs | None,
        typer.Option(help="Use detour numbers of all pairs of nodes in every round.", show_default=False),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Stop after N rounds.  [default: when the colours are stable]"),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Decide by an isomorphism algorithm if the colours cannot.")
    ] = False,
    as_json: Json = False,
    directed: Directed = False,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """Compare two graphs by colour refinement.

    The answer is “not isomorphic”, with the round and a colour that one graph has more often, or “not told apart”.
    Graphs that are not told apart may be isomorphic or not; --exact decides.

    \b
    Examples:
      detours compare a.g6 b.g6 -k 4
      detours compare a.txt b.txt -k 6 --pairs den --exact
    """
    from detours import wl

    graphs = [read_graph(file, directed=directed, strict=strict, quiet=quiet) for file in (first, second)]
    on_edges, on_pairs = (None if seen is None else seen.value for seen in (edges, pairs))
    found = wl.compare(*graphs, init=init.value, k=k, rounds=rounds, edges=on_edges, pairs=on_pairs)
    answer = _answer(found)
    if exact:
        answer |= _settled(*graphs, told_apart=not found.same)
    if as_json:
        print_json(
            {
                "first": first,
                "second": second,
                "k": k,
                "init": init.value,
                "edges": on_edges,
                "pairs": on_pairs,
                **answer,
            }
        )
    elif not quiet:
        _show(answer)


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
        "nodes": None if found.same else [list(map(_plain, nodes)) for nodes in found.nodes],
    }


def _plain(name: Any) -> Any:
    return name.item() if hasattr(name, "item") else name  # NumPy's integers are none to JSON


def _settled(first: "Graph", second: "Graph", *, told_apart: bool) -> dict[str, Any]:
    from detours.wl.isomorphism import isomorphic, solver

    if told_apart:  # the refinement is sound: there is nothing left to settle
        return {"isomorphic": False, "settled_by": "colour refinement"}
    same = isomorphic(first, second)
    return {"verdict": "isomorphic" if same else "not isomorphic", "isomorphic": same, "settled_by": solver()}


def _show(answer: dict[str, Any]) -> None:
    console = standard_output()
    console.print(answer["verdict"], style="bold")
    if answer["told_apart"]:
        ours, theirs = answer["counts"]
        colour = answer["meaning"] or f"colour {answer['witness']}"
        console.print(f"in round {answer['round']}: {colour}: {ours:,} and {theirs:,} nodes", style="dim")
    elif "settled_by" in answer:
        console.print(f"not told apart by the colours; settled by {answer['settled_by']}", style="dim")
    else:
        rounds = "" if answer["stable"] else f" in {answer['rounds']} rounds, more may tell"
        console.print(f"by this refinement{rounds}; they may be isomorphic or not (--exact decides)", style="dim")
