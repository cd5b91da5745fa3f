"""The summary of a count: totals by length, and the edges and nodes with most detours; as tables or as JSON."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from detours.arrays import Int64
from detours.cli.shared.console import escape, plain_table, show, side_by_side
from detours.cli.shared.graphs import number
from detours.counting.sums import sum_columns

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from detours.counting.result import Detours

Summary = dict[str, Any]


def summarise(result: "Detours", top: int = 10) -> Summary:
    """Return the summary as data for JSON: every number is an exact integer."""
    sources, targets, counts = _edges_once(result)
    lengths = [_length_row(result, length, counts[:, length - 2]) for length in range(2, result.k + 1)]
    edges, nodes = [], []
    with suppress(OverflowError):  # a sum over lengths, or around a node, may pass 2^63 where no count does
        per_edge = result.totals(counts)
        edges = [
            {"source": name(result, sources[e]), "target": name(result, targets[e]), "detours": int(per_edge[e])}
            for e in largest(per_edge, top)
        ]
        nodes = [{"node": name(result, v), "detours": int(result.node[v])} for v in largest(result.node, top)]
    return {
        "k": result.k,
        "directed": result.directed,
        "chordless": result.chordless,
        "nodes": result.graph.num_nodes,
        "edges": result.graph.num_edges,
        "dropped": result.graph.dropped._asdict(),
        "detours": sum(row["detours"] for row in lengths),
        "cycles": sum(row["cycles"] for row in lengths),
        "by_length": lengths,
        "busiest_edges": edges,
        "busiest_nodes": nodes,
    }


def _edges_once(result: "Detours") -> tuple[Int64, Int64, Int64]:
    """Return the ends and counts of every edge of the graph, each edge once."""
    ends, counts = result.graph.to_edge_index(), result.arc_by_length
    if not result.directed:
        once = ends[0] < ends[1]
        ends, counts = ends[:, once], counts[once]
    return ends[0], ends[1], counts


def _length_row(result: "Detours", length: int, counts: Int64) -> Summary:
    return {
        "length": length,
        "detours": sum_columns(counts[:, None])[0],
        "most_on_an_edge": int(counts.max(initial=0)),
        "cycle_length": length + 1,
        "cycles": int(result.cycles[length + 1]),
    }


def largest(values: Int64, top: int) -> Int64:
    """Return the positions of the `top` largest values above zero, largest first, equal ones in their own order.

    >>> largest(np.array([1, 5, 0, 5, 2]), 3).tolist()
    [1, 3, 4]
    """
    if 0 < top < len(values):
        bound = np.partition(values, len(values) - top)[len(values) - top]
        above = np.flatnonzero(values > bound)
        chosen = np.concatenate([above, np.flatnonzero(values == bound)[: top - len(above)]])
    else:
        chosen = np.arange(len(values))
    chosen = chosen[values[chosen] > 0]
    order: Int64 = chosen[np.argsort(-values[chosen], kind="stable")][:top]
    return order


def name(result: "Detours", node: int) -> Any:
    """Return the caller's name of a node as JSON can hold it."""
    return plain(result.graph.name(node))


def plain(given: Any) -> Any:
    """Return a name as an integer if it is one, else as a string."""
    return int(given) if isinstance(given, int | np.integer) else str(given)


def print_summary(summary: Summary, console: "Console", title: str) -> None:
    """Print the summary as tables."""
    kind = "directed" if summary["directed"] else "undirected"
    edges = number(summary["edges"], "arc" if summary["directed"] else "edge")
    size = f"{number(summary['nodes'], 'node')}, {edges}, {kind}"
    what = "chordless detours" if summary["chordless"] else "detours"
    console.print(f"[bold]{escape(title)}[/]: {size}; {what} of at most {summary['k']} edges\n")
    show(console, lengths_table(summary))
    busiest: list[Table] = []
    if summary["busiest_edges"]:
        edge, sign = ("arc", "→") if summary["directed"] else ("edge", "-")
        rows = [(f"{row['source']} {sign} {row['target']}", row["detours"]) for row in summary["busiest_edges"]]
        busiest.append(_ranking(f"busiest {edge}s", edge, rows))
    if summary["busiest_nodes"]:
        rows = [(str(row["node"]), row["detours"]) for row in summary["busiest_nodes"]]
        busiest.append(_ranking("busiest nodes", "node", rows))
    if busiest:
        console.print()
        show(console, side_by_side(busiest))


def lengths_table(summary: Summary) -> "Table":
    """Return the table of detours and cycles by length, with their totals."""
    table = plain_table(right=("length", "detours", "most on an edge", "cycle length", "cycles"))
    longest = max((row["length"] for row in summary["by_length"] if row["detours"]), default=2)
    for row in summary["by_length"][: longest - 1]:
        most = f"{row['most_on_an_edge']:,}"
        table.add_row(str(row["length"]), f"{row['detours']:,}", most, str(row["cycle_length"]), f"{row['cycles']:,}")
    if longest < summary["k"]:
        table.add_row(f"{longest + 1}+", "0", "0", f"{longest + 2}+", "0")
    table.add_row("all", f"{summary['detours']:,}", "", "all", f"{summary['cycles']:,}", style="bold")
    return table


def _ranking(title: str, heading: str, rows: list[tuple[str, int]]) -> "Table":
    table = plain_table(title, [heading], ["detours"])
    for label, count in rows:
        table.add_row(escape(label), f"{count:,}")
    return table
