"""`detours paths`: the detours between two nodes."""

import sys
from typing import Annotated, Any

import typer

from detours.cli.shared import options
from detours.cli.shared.command import report_errors
from detours.cli.shared.console import print_json
from detours.cli.shared.graphs import number, read_graph
from detours.errors import BudgetExceeded


@report_errors
def paths(
    file: options.File,
    source: Annotated[str, typer.Argument(metavar="I", help="First node of the paths.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="J", help="Last node of the paths.", show_default=False)],
    k: options.K,
    max_paths: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after N paths.")] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Stop after this time.")] = None,
    as_json: options.Json = False,
    directed: options.Directed = False,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
) -> None:
    """List the detours from one node to another.

    These are the simple paths of 2 to K edges from I to J, the shortest first, one per line; I and J need not be
    neighbours. If a limit cuts the list short, the exit code is 1.

    \b
    Examples:
      detours paths roads.txt 17 42 -k 5
      detours paths roads.txt 17 42 -k 12 --max-paths 1000 --time-limit 60
      detours paths people.graphml Ada Grace -k 4 --json
    """
    import detours

    graph = read_graph(file, directed=directed, strict=strict, quiet=quiet)
    i, j = (graph.name(graph.node(text)) for text in (source, target))
    found = detours.paths(graph, i, j, k, max_paths=max_paths, time_limit=time_limit)
    if as_json:
        _print_json(found, {"source": i, "target": j, "k": k, "directed": graph.directed})
        return
    listed = 0
    for listed, path in enumerate(found, 1):  # noqa: B007
        sys.stdout.write(" ".join(map(str, path)) + "\n")
    if not quiet:
        sys.stdout.flush()
        print(f"{number(listed, 'detour')} of 2 to {k} edges from {i} to {j}", file=sys.stderr)


def _print_json(found: Any, head: dict[str, Any]) -> None:
    from detours.cli.shared.summary import plain

    listed: list[list[Any]] = []
    failure: BudgetExceeded | None = None
    try:
        for path in found:
            listed.append([plain(node) for node in path])
    except BudgetExceeded as error:
        failure = error
    print_json({**head, "complete": failure is None, "number": len(listed), "paths": listed})
    if failure is not None:
        raise failure
