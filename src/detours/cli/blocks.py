"""`detours count` into a folder or on a cluster."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detours.cli.command import print_json
from detours.cli.output import FORMATS

if TYPE_CHECKING:
    from detours.counting.result import Detours


def is_folder(out: Path | None) -> bool:
    """Whether counts are to be written to a folder: the name of a file has an ending."""
    return out is not None and (not out.suffix or (out.is_dir() and out.suffix.lower() not in FORMATS))


def print_run(result: "Detours", head: dict[str, Any], as_json: bool, quiet: bool) -> None:
    """What can be said of counts in a folder without holding them: totals, and how the blocks went."""
    graph, run = result.graph, result.run
    assert run is not None
    if as_json:
        about = {"k": result.k, "directed": graph.directed, "nodes": graph.num_nodes, "edges": graph.num_edges}
        cycles = {str(length): total for length, total in result.cycles.items()}
        print_json({**head, **about, "cycles": cycles, **run._asdict()})
    elif not quiet:
        print(result)
        print(f"Wrote {head['folder']} in {head['seconds']:.2f} s: {_told(run)}.", file=sys.stderr)


def _told(run: Any) -> str:
    told = f"{run.blocks:,} block{'s' * (run.blocks != 1)}"
    if run.resumed:
        told += f", {run.resumed:,} of an earlier run"
    if run.redone:
        told += f", {run.redone:,} begun more than once"
    return told
