"""The command line: `detours count`, `paths`, `explain`, `compare`, `train`, `predict`, `data`, `reproduce`,
`demo`, `bench`.

Exit codes: 0 done, 1 the input or the work failed, 2 wrong usage, 130 interrupted. A failure is one sentence
on standard error (a traceback instead when DETOURS_TRACEBACK is set). Only what was asked for goes to
standard output.
"""

import io
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from detours.cli.command import (
    FAILED,
    PIPE_CLOSED,
    USAGE,
    UsageError,
    print_json,
    read_graph,
    reported,
    say,
    standard_output,
)
from detours.cli.compare import compare
from detours.cli.data import app as data
from detours.cli.interrupt import INTERRUPTED, leave, prompt_exit
from detours.cli.options import (
    ALL_CORES,
    Cluster,
    Device,
    Directed,
    Engine,
    EngineChoice,
    File,
    Jobs,
    Json,
    K,
    Memory,
    Progress,
    Quiet,
    Strict,
)
from detours.cli.predict import predict
from detours.cli.reproduce import app as reproduce
from detours.cli.train import train
from detours.errors import BudgetExceeded, InputError

__all__ = ["PIPE_CLOSED", "app", "main", "run"]

app = typer.Typer(
    name="detours",
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
@reported
def count(
    file: File,
    k: K,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a row per edge to a .csv, .parquet or .npz file, or arrays to a folder: a count that was "
            "stopped then goes on where it was.",
        ),
    ] = None,
    out_nodes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a row per node, in the same formats.")
    ] = None,
    as_json: Json = False,
    directed: Directed = False,
    strict: Strict = False,
    engine: EngineChoice = Engine.auto,
    jobs: Jobs = None,
    memory: Memory = None,
    device: Device = None,
    cluster: Cluster = None,
    top: Annotated[int, typer.Option(min=0, help="Busiest edges and nodes to show.")] = 10,
    quiet: Quiet = False,
    progress: Progress = None,
) -> None:
    """Count the detours of every edge and node.

    A detour of an edge is a simple path of 2 to K edges between its ends. It closes a cycle with the edge, so
    this also counts the cycles of 3 to K+1 edges through every edge and node, and in all.

    \b
    Examples:
      detours count roads.txt -k 4
      detours count roads.csv.gz -k 6 --out counts.parquet
      detours count links.mtx -k 4 --directed --json
      detours count saved-graph -k 4 --out counts --memory 4GB
      detours count roads.txt -k 6 --cluster tcp://scheduler:8786
    """
    import detours
    from detours.cli.blocks import is_folder, print_run
    from detours.cli.output import check_target, write_result
    from detours.cli.progress import progress_bar
    from detours.cli.summary import print_summary, summarise

    targets = [path.resolve() for path in (out, out_nodes) if path is not None]
    if len({*targets, Path(file).resolve()}) <= len(targets):
        raise InputError("the graph, --out and --out-nodes must be different files")
    folder = out if is_folder(out) else None
    edges, nodes = (path and check_target(path) for path in (None if folder else out, out_nodes))
    within = edges if memory is not None and device is None and edges and edges.suffix.lower() == ".parquet" else None
    show = False if quiet and progress is None else progress
    graph = read_graph(file, directed=directed, strict=strict, quiet=quiet, progress=show)
    start = time.perf_counter()
    with progress_bar(f"Counting, k = {k}", show=show) as report:
        result = detours.count(
            graph,
            k,
            engine=engine.value,
            n_jobs=jobs or ALL_CORES,
            device=device,
            memory_limit=memory,
            out=folder or within,
            cluster=cluster,
            progress=report,
        )
    seconds = time.perf_counter() - start
    write_result(result, edges=None if within else edges, nodes=nodes)
    if folder is not None:
        print_run(result, {"file": file, "folder": str(folder), "seconds": round(seconds, 6)}, as_json, quiet)
    elif as_json:
        print_json({"file": file, **summarise(result, top), "seconds": round(seconds, 6)})
    elif not quiet:
        console = standard_output()
        print_summary(summarise(result, top), console, Path(file).name)
        console.print(f"Counted in {seconds:.2f} s.", style="dim")
        for path in filter(None, (out, out_nodes)):
            print(f"Wrote {path}", file=sys.stderr)


@app.command()
@reported
def paths(
    file: File,
    source: Annotated[str, typer.Argument(metavar="I", help="The node to start from.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="J", help="The node to reach.", show_default=False)],
    k: K,
    max_paths: Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop after N paths.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Stop after so many seconds.")
    ] = None,
    as_json: Json = False,
    directed: Directed = False,
    strict: Strict = False,
    quiet: Quiet = False,
) -> None:
    """List the detours from one node to another.

    These are the simple paths of 2 to K edges from I to J, shortest first, one a line; I and J need not be
    neighbours. A limit that cuts the list short is an error (exit code 1) after what was found.

    \b
    Examples:
      detours paths roads.txt 17 42 -k 5
      detours paths roads.txt 17 42 -k 12 --max-paths 1000 --time-limit 60
      detours paths people.graphml Ada Grace -k 4 --json
    """
    import detours

    graph = read_graph(file, directed=directed, strict=strict, quiet=quiet, progress=None)
    i, j = (graph.name(graph.node(text)) for text in (source, target))
    found = detours.paths(graph, i, j, k, max_paths=max_paths, time_limit=time_limit)
    if as_json:
        _paths_json(found, {"source": i, "target": j, "k": k, "directed": graph.directed})
        return
    number = 0
    for number, path in enumerate(found, 1):  # noqa: B007
        sys.stdout.write(" ".join(map(str, path)) + "\n")
    if not quiet:
        sys.stdout.flush()
        are = "detour" if number == 1 else "detours"
        print(f"{number:,} {are} of 2 to {k} edges from {i} to {j}", file=sys.stderr)


def _paths_json(found: Any, head: dict[str, Any]) -> None:
    from detours.cli.summary import plain

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


@app.command()
@reported
def explain(
    file: File,
    k: K,
    as_json: Json = False,
    directed: Directed = False,
    strict: Strict = False,
    engine: EngineChoice = Engine.auto,
    jobs: Jobs = None,
    memory: Memory = None,
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Say how a count would be done, and what it needs.

    Prints the engine, the blocks, and the time and memory to expect; counts nothing.

    \b
    Examples:
      detours explain roads.txt -k 6
      detours explain roads.txt -k 6 --memory 500MB --jobs 1
    """
    import detours

    graph = read_graph(file, directed=directed, strict=strict, quiet=quiet, progress=None)
    threads = jobs or ALL_CORES
    plan = detours.explain(graph, k, engine=engine.value, n_jobs=threads, device=device, memory_limit=memory)
    if as_json:
        seconds = plan.seconds if plan.sure else None  # JSON has no infinity
        print_json({"engine": plan.engine, "seconds": seconds, "bytes": plan.bytes, "reason": plan.reason})
    else:
        print(plan)


app.command()(compare)
app.command()(train)
app.command()(predict)
app.add_typer(data, name="data")
app.add_typer(reproduce, name="reproduce")


@app.command()
@reported
def demo(progress: Progress = None) -> None:
    """Count small and large graphs, tell hard pairs apart, train a network.

    Needs no data and about a minute; the network only where torch is installed. Its learning curve is drawn in
    results/demo.

    \b
    Examples:
      detours demo
    """
    from detours.cli.demo import run

    run(standard_output(), progress)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@reported
def bench(context: typer.Context) -> None:
    """Measure against other libraries, on this machine.

    Works in a checkout of the source; options are those of benchmarks/run.py.

    \b
    Examples:
      detours bench
      detours bench --quick
      detours bench -- --help
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / "benchmarks" / "run.py").is_file():
        raise InputError(
            "the benchmarks come with the source, not with the installed package; "
            "run `detours bench` or `make bench` in a checkout"
        )
    import importlib

    sys.path.insert(0, str(root))
    code = importlib.import_module("benchmarks.run").main(context.args)
    raise typer.Exit(code or 0)


@app.callback(invoke_without_command=True)
@reported
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Count the detours and short cycles through every edge and node of a graph, exactly.

    \b
    Examples:
      detours demo
      detours count roads.txt -k 4
      detours paths roads.txt 17 42 -k 5
      detours train --data rings -k 5 --folds 0
    """
    if version:
        from detours import __version__

        print(f"detours {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """The `detours` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A node's name must not break a terminal that lacks the letter.
            stream.reconfigure(errors="backslashreplace")
    with prompt_exit(_discard_unfinished):
        code = leave(run(sys.argv[1:]))
    sys.exit(code)


def _discard_unfinished() -> None:
    # What was never imported has written nothing.
    names = ("atomic", "counting.on_disk.scratch")
    atomic, scratch = (sys.modules.get(f"detours.{name}") for name in names)
    if atomic is not None:
        atomic.discard_unfinished()
    if scratch is not None:
        scratch.discard_scratch()


def run(arguments: list[str]) -> int:
    """Run the command with these arguments, in this process; the exit code."""
    try:
        return app(arguments, prog_name="detours", standalone_mode=False) or 0
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "detours"
        print(f"{command}: {error.format_message()} (see `{command} --help`)", file=sys.stderr)
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except SystemExit as end:  # SIGTERM
        return end.code if isinstance(end.code, int) else FAILED
