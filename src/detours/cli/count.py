"""`detours count`: detours and cycles of every edge and node."""

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from detours.cli.shared import options
from detours.cli.shared.command import report_errors
from detours.cli.shared.console import print_json, standard_output
from detours.cli.shared.graphs import notes_unless, read_graph, title
from detours.cli.shared.interrupt import resumable
from detours.cli.shared.targets import check_different, check_name
from detours.errors import InputError

if TYPE_CHECKING:
    from detours.compiled import CompileClock
    from detours.counting.result import Detours
    from detours.graph import Graph

FEW_EDGES = 1_000_000  # up to this size the search for bridges takes negligible time


@report_errors
def count(
    file: options.File,
    k: options.K,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write one row per edge to a .csv, .parquet or .npz file, the graph with its counts to a .gexf or "
            ".graphml file, or arrays to a folder. An interrupted count into a folder resumes when the command is "
            "repeated.",
        ),
    ] = None,
    out_nodes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one row per node to a .csv, .parquet or .npz file.")
    ] = None,
    once: Annotated[
        bool,
        typer.Option("--once", help="Write each edge once, however often the input lists it."),
    ] = False,
    as_json: options.Json = False,
    chordless: options.Chordless = False,
    directed: options.Directed = None,
    strict: options.Strict = False,
    columns: options.Columns = None,
    sep: options.Sep = None,
    format: options.FileFormat = None,
    engine: options.EngineChoice = options.AUTO,
    jobs: options.Jobs = None,
    memory: options.Memory = None,
    device: options.Device = None,
    cluster: options.Cluster = None,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of edges and nodes with the most detours to show.")
    ] = 10,
    quiet: options.Quiet = False,
    progress: options.Progress = None,
) -> None:
    """Count the detours of every edge and node.

    A detour of an edge is a simple path of 2 to K edges between its ends. Together with the edge it forms a cycle, so
    this also counts the cycles of 3 to K+1 edges: through every edge, through every node, and in total.

    \b
    Examples:
      detours count roads.txt -k 4
      detours count roads.csv.gz -k 6 --out counts.parquet
      detours count links.mtx -k 4 --directed --json
      detours count people.csv -k 4 --columns person,friend --sep ';'
      zcat links.txt.gz | detours count - -k 4
      detours count molecule.gml -k 7 --chordless
      detours count people.graphml -k 4 --out people.gexf
      detours count saved-graph -k 4 --out counts --memory 4GB
      detours count roads.txt -k 6 --cluster tcp://scheduler:8786
    """
    from detours.checks import parse_bytes
    from detours.cli.shared.output import write_result
    from detours.containers import reading_within

    targets = _check_targets(file, out, out_nodes, once=once, in_parts=memory is not None and device is None)
    show = False if quiet and progress is None else progress
    reading = {"columns": columns, "sep": sep, "format": format}
    with reading_within(parse_bytes(memory)):
        graph = read_graph(file, directed=directed, strict=strict, quiet=quiet, progress=show, **reading)
    with notes_unless(quiet), resumable() if targets.while_counting else nullcontext():
        result, times = _timed_count(
            graph,
            k,
            show,
            chordless=chordless,
            engine=engine.value,
            n_jobs=jobs or options.ALL_CORES,
            device=device,
            memory_limit=memory,
            out=targets.while_counting,
            cluster=cluster,
        )
    failure = None
    try:
        write_result(result, edges=targets.edges, nodes=targets.nodes, once=once)
    except Exception as error:  # such as a full disk: print the counts before failing
        failure = error
    if as_json:
        _print_json(file, result, top, targets.folder, times)
    elif not quiet:
        _print_tables(file, result, top, times)
    if failure is not None:
        raise failure
    if not (as_json or quiet):
        for path in filter(None, (out, out_nodes)):
            print(f"Wrote {path}{_blocks(result) if path == targets.folder else ''}", file=sys.stderr)


class _Targets(NamedTuple):
    """Where the result is written to."""

    while_counting: Path | None
    """A folder, or a Parquet file that is written in parts."""
    folder: Path | None
    """The same, if it is a folder."""
    edges: Path | None
    """A file that is written after the count, like `nodes`."""
    nodes: Path | None


class _Times(NamedTuple):
    seconds: float
    loading_seconds: float
    """For loading compiled code; not part of `seconds`."""


def _check_targets(file: str, out: Path | None, out_nodes: Path | None, *, once: bool, in_parts: bool) -> _Targets:
    """Return the files to write, or raise `InputError`; with ``in_parts``, Parquet is written during the count."""
    from detours.cli.shared.output import ONE_ROW_PER_EDGE, TABLES, check_output, is_folder

    for path in filter(None, (out, out_nodes)):
        check_name(path)
    check_different("the graph, --out and --out-nodes", [file], out, out_nodes)
    folder = out if is_folder(out) else None
    edges = None if folder or out is None else check_output(out)
    nodes = None if out_nodes is None else check_output(out_nodes, TABLES)
    parts = edges if in_parts and edges and edges.suffix.lower() == ".parquet" else None
    if once and (parts or edges is None or edges.suffix.lower() not in ONE_ROW_PER_EDGE):
        raise InputError("--once needs --out FILE.csv or, without --memory, --out FILE.parquet")
    return _Targets(folder or parts, folder, None if parts else edges, nodes)


def _timed_count(graph: "Graph", k: int, show: bool | None, **settings: Any) -> "tuple[Detours, _Times]":
    import detours
    from detours.cli.shared.progress import progress_bar

    start = time.perf_counter()
    clock = _load_engines()
    loaded = time.perf_counter()
    with clock, progress_bar(f"Counting, k = {k}", show=show) as report:
        result = detours.count(graph, k, progress=report, **settings)
    loading = loaded - start + clock.seconds
    return result, _Times(time.perf_counter() - start - loading, loading)


def _print_json(file: str, result: "Detours", top: int, folder: Path | None, times: _Times) -> None:
    from detours.cli.shared.summary import summarise

    about = {} if folder is None or result.run is None else {"folder": str(folder), **result.run._asdict()}
    rounded = {name: round(seconds, 6) for name, seconds in times._asdict().items()}
    print_json({"file": file, **summarise(result, top), **about, **rounded})


def _print_tables(file: str, result: "Detours", top: int, times: _Times) -> None:
    from detours.cli.shared.summary import print_summary, summarise
    from detours.counting.plan import readable_seconds

    console = standard_output()
    print_summary(summarise(result, top), console, title(file))
    if suggestion := _suggest_k(result):
        console.print(suggestion)
    counted, loading = map(readable_seconds, times)
    console.print(f"Counted in {counted}; loading compiled code took {loading}.", style="dim")


def _load_engines() -> "CompileClock":
    """Import the engines, and return a clock for the code that is compiled or loaded during the count."""
    from importlib import import_module

    from detours.compiled import CompileClock

    for name in ("count", "engines.rows.loops_numba", "engines.search.count", "engines.dense.count"):
        import_module(f"detours.counting.{name}")
    return CompileClock()


def _suggest_k(result: "Detours") -> str:
    """Return a hint if k was too small for any cycle of the graph."""
    if result.directed or result.chordless or any(result.cycles.values()) or result.graph.num_edges > FEW_EDGES:
        return ""
    if result.bridges[result.graph.edge_arc >= 0].all():  # loops are not cycles
        return "The graph has no cycles."
    return f"No cycle has up to {result.k + 1} edges, but there are longer ones: try a larger k (5 to 7 for molecules)."


def _blocks(result: "Detours") -> str:
    """Return the number of blocks of a count into a folder, and how many were resumed or repeated."""
    run = result.run
    assert run is not None
    blocks = f": {run.blocks:,} block{'s' * (run.blocks != 1)}"
    blocks += f", {run.resumed:,} of an earlier run" if run.resumed else ""
    return blocks + (f", {run.redone:,} started more than once" if run.redone else "")
