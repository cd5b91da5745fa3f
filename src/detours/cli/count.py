"""`detours count`: detours and cycles of every edge and node."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from detours.cli.shared import options
from detours.cli.shared.command import report_errors
from detours.cli.shared.console import print_json, standard_output
from detours.cli.shared.graphs import read_graph
from detours.errors import InputError

if TYPE_CHECKING:
    from detours.counting.result import Detours


@report_errors
def count(
    file: options.File,
    k: options.K,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a row per edge to a .csv, .parquet or .npz file, the graph with its counts to a .gexf or "
            ".graphml file, or arrays to a folder; an interrupted count into a folder continues when the command is "
            "repeated.",
        ),
    ] = None,
    out_nodes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a row per node to a .csv, .parquet or .npz file.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="One row per edge, where a file lists both directions or repeats.")
    ] = False,
    as_json: options.Json = False,
    chordless: options.Chordless = False,
    directed: options.Directed = None,
    strict: options.Strict = False,
    engine: options.EngineChoice = options.Engine.auto,
    jobs: options.Jobs = None,
    memory: options.Memory = None,
    device: options.Device = None,
    cluster: options.Cluster = None,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of edges and nodes with most detours to show.")
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
      detours count molecule.gml -k 7 --chordless
      detours count people.graphml -k 4 --out people.gexf
      detours count saved-graph -k 4 --out counts --memory 4GB
      detours count roads.txt -k 6 --cluster tcp://scheduler:8786
    """
    import detours
    from detours.cli.shared.output import TABLES, check_target, is_folder, write_result
    from detours.cli.shared.progress import progress_bar
    from detours.cli.shared.summary import print_summary, summarise

    targets = [path.resolve() for path in (out, out_nodes) if path is not None]
    if len({*targets, Path(file).resolve()}) <= len(targets):
        raise InputError("the graph, --out and --out-nodes must be different files")
    folder = out if is_folder(out) else None
    edges = None if folder or out is None else check_target(out)
    nodes = None if out_nodes is None else check_target(out_nodes, TABLES)
    # With a memory limit a Parquet file is written part by part, while counting.
    within = edges if memory is not None and device is None and edges and edges.suffix.lower() == ".parquet" else None
    show = False if quiet and progress is None else progress
    graph = read_graph(file, directed=directed, strict=strict, quiet=quiet, progress=show)
    start = time.perf_counter()
    with progress_bar(f"Counting, k = {k}", show=show) as report:
        result = detours.count(
            graph,
            k,
            chordless=chordless,
            engine=engine.value,
            n_jobs=jobs or options.ALL_CORES,
            device=device,
            memory_limit=memory,
            out=folder or within,
            cluster=cluster,
            progress=report,
        )
    seconds = time.perf_counter() - start
    write_result(result, edges=None if within else edges, nodes=nodes, once=once)
    if folder is not None:
        _print_folder(result, {"file": file, "folder": str(folder), "seconds": round(seconds, 6)}, as_json, quiet)
    elif as_json:
        print_json({"file": file, **summarise(result, top), "seconds": round(seconds, 6)})
    elif not quiet:
        console = standard_output()
        print_summary(summarise(result, top), console, Path(file).name)
        console.print(f"Counted in {seconds:.2f} s.", style="dim")
        for path in filter(None, (out, out_nodes)):
            print(f"Wrote {path}", file=sys.stderr)


def _print_folder(result: "Detours", head: dict[str, Any], as_json: bool, quiet: bool) -> None:
    """Print the totals of counts in a folder, which need not fit in memory, and how the blocks went."""
    graph, run = result.graph, result.run
    assert run is not None
    if as_json:
        about = {"k": result.k, "directed": graph.directed, "nodes": graph.num_nodes, "edges": graph.num_edges}
        cycles = {str(length): total for length, total in result.cycles.items()}
        print_json({**head, **about, "cycles": cycles, **run._asdict()})
    elif not quiet:
        print(result)
        blocks = f"{run.blocks:,} block{'s' * (run.blocks != 1)}"
        blocks += f", {run.resumed:,} of an earlier run" if run.resumed else ""
        blocks += f", {run.redone:,} started more than once" if run.redone else ""
        print(f"Wrote {head['folder']} in {head['seconds']:.2f} s: {blocks}.", file=sys.stderr)
