"""`detours explain`: how a count would run."""

from detours.cli.shared import options
from detours.cli.shared.command import report_errors
from detours.cli.shared.console import print_json
from detours.cli.shared.graphs import read_graph


@report_errors
def explain(
    file: options.File,
    k: options.K,
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
    quiet: options.Quiet = False,
) -> None:
    """Show how a count would run, and what it would need.

    Prints the part of the graph to count, the engine, and the expected time and memory, without counting.

    \b
    Examples:
      detours explain roads.txt -k 6
      detours explain roads.txt -k 6 --memory 500MB --jobs 1
    """
    import detours
    from detours.checks import parse_bytes
    from detours.containers import reading_within

    with reading_within(parse_bytes(memory)):
        graph = read_graph(file, directed=directed, strict=strict, columns=columns, sep=sep, format=format, quiet=quiet)
    threads = jobs or options.ALL_CORES
    plan = detours.explain(
        graph, k, chordless=chordless, engine=engine.value, n_jobs=threads, device=device, memory_limit=memory
    )
    if as_json:
        seconds = plan.seconds if plan.sure else None  # JSON has no infinity
        print_json({"engine": plan.engine, "seconds": seconds, "bytes": plan.bytes, "reason": plan.reason})
    else:
        print(plan)
