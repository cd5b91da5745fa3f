"""`detours cycles`: the cycles of a graph."""

import sys
from typing import Annotated

import typer

from detours.cli.shared import options
from detours.cli.shared.command import report_errors
from detours.cli.shared.graphs import quantity, read_graph
from detours.cli.shared.listing import print_lines, print_listed_json
from detours.errors import escape_control


@report_errors
def cycles(
    file: options.File,
    k: options.K,
    chordless: options.Chordless = False,
    through: Annotated[
        list[str] | None, typer.Option(metavar="NODE", help="List only the cycles through this node; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after N cycles.")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Stop after this time.")] = None,
    as_json: options.Json = False,
    directed: options.Directed = None,
    strict: options.Strict = False,
    columns: options.Columns = None,
    sep: options.Sep = None,
    format: options.FileFormat = None,
    quiet: options.Quiet = False,
) -> None:
    """List the cycles of a graph.

    Prints every simple cycle of 3 to K+1 edges (an edge and a detour of at most K edges) once, one per line. If a limit
    cuts the list short, the exit code is 1.

    \b
    Examples:
      detours cycles molecule.gml -k 5
      detours cycles molecule.gml -k 7 --chordless --through C1 --through C2
      detours cycles roads.txt -k 9 --limit 1000 --json
    """
    import detours

    graph = read_graph(file, directed=directed, strict=strict, columns=columns, sep=sep, format=format, quiet=quiet)
    nodes = [graph.name(graph.node(text)) for text in through or ()]
    found = detours.cycles(graph, k, chordless=chordless, nodes=nodes, limit=limit, time_limit=time_limit)
    if as_json:
        head = {"through": nodes, "k": k, "directed": graph.directed, "chordless": chordless}
        print_listed_json(found, head, "cycles")
        return
    listed = print_lines(found)
    if not quiet:
        what = quantity(listed, "chordless cycle" if chordless else "cycle")
        where = f" through {' and '.join(map(str, nodes))}" if nodes else ""
        print(escape_control(f"{what} of 3 to {k + 1} edges{where}"), file=sys.stderr)
