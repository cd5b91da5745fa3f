"""`detours paths`: the detours between two nodes."""

import sys
from typing import Annotated

import typer

from detours.cli.shared import options
from detours.cli.shared.command import report_errors
from detours.cli.shared.graphs import quantity, read_graph
from detours.cli.shared.listing import print_lines, print_listed_json
from detours.errors import escape_control


@report_errors
def paths(
    file: options.File,
    source: Annotated[str, typer.Argument(metavar="I", help="First node of the paths.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="J", help="Last node of the paths.", show_default=False)],
    k: options.K,
    chordless: options.Chordless = False,
    max_paths: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after N paths.")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Stop after this time.")] = None,
    as_json: options.Json = False,
    directed: options.Directed = None,
    strict: options.Strict = False,
    columns: options.Columns = None,
    sep: options.Sep = None,
    format: options.FileFormat = None,
    quiet: options.Quiet = False,
) -> None:
    """List the detours from one node to another.

    Prints the simple paths of 2 to K edges from I to J, shortest first, one per line; I and J need not be adjacent.
    If a limit cuts the list short, the exit code is 1.

    \b
    Examples:
      detours paths roads.txt 17 42 -k 5
      detours paths roads.txt 17 42 -k 12 --max-paths 1000 --time-limit 60
      detours paths people.graphml Ada Grace -k 4 --json
    """
    import detours

    graph = read_graph(file, directed=directed, strict=strict, columns=columns, sep=sep, format=format, quiet=quiet)
    i, j = (graph.name(graph.node(text)) for text in (source, target))
    found = detours.paths(graph, i, j, k, chordless=chordless, max_paths=max_paths, time_limit=time_limit)
    if as_json:
        head = {"source": i, "target": j, "k": k, "directed": graph.directed, "chordless": chordless}
        print_listed_json(found, head, "paths")
        return
    listed = print_lines(found)
    if not quiet:
        what = quantity(listed, "chordless detour" if chordless else "detour")
        print(escape_control(f"{what} of 2 to {k} edges from {i} to {j}"), file=sys.stderr)
