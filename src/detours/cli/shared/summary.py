"""The summary of a count: totals by length, and the edges and nodes with the most detours; as tables or as JSON."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from detours.arrays import Int64
from detours.cli.shared.console import escape, json_name, plain_table, show, side_by_side
from detours.cli.shared.graphs import quantity
from detours.counting.export import ROWS
from detours.counting.sums import sum_columns

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from detours.counting.result import Detours

Summary = dict[str, Any]


class _Totals(NamedTuple):
    """Sums and maxima over all edges by length, the edges with the most detours, and the number without any."""

    sums: list[int]
    maxima: list[int]
    busiest: list[tuple[int, int, int]]
    """(source, target, detours)."""
    without: int


def summarise(result: "Detours", top: int = 10) -> Summary:
    """Return the summary as data for JSON; all counts are exact integers."""
    sums, maxima, busiest, without = _scan(result, top)
    lengths = [
        {
            "length": length,
            "detours": total,
            "most_on_an_edge": most,
            "cycle_length": length + 1,
            "cycles": int(result.cycles[length + 1]),
        }
        for length, (total, most) in enumerate(zip(sums, maxima, strict=True), 2)
    ]

    def name(node: int) -> int | str:
        return json_name(result.graph.name(node))

    edges = [{"source": name(u), "target": name(v), "detours": den} for u, v, den in busiest]
    nodes = []
    with suppress(OverflowError):  # the sum over a node may exceed 2^63 although no count does
        nodes = [{"node": name(v), "detours": int(result.node[v])} for v in largest(result.node, top)]
    return {
        "k": result.k,
        "directed": result.directed,
        "chordless": result.chordless,
        "nodes": result.graph.num_nodes,
        "edges": result.graph.num_edges,
        "dropped": result.graph.dropped._asdict(),
        "detours": sum(sums),
        "cycles": sum(row["cycles"] for row in lengths),
        "by_length": lengths,
        "edges_without_detours": without,
        "busiest_edges": edges,
        "busiest_nodes": nodes,
    }


def _scan(result: "Detours", top: int) -> _Totals:
    """Scan each edge once, in chunks: the counts may not fit in memory."""
    indptr, arcs = result.graph.indptr, result.graph.num_arcs
    sums, maxima = [0] * (result.k - 1), [0] * (result.k - 1)
    ends, dens, fits = np.empty((2, 0), np.int64), np.empty(0, np.int64), True
    without = 0
    for start in range(0, arcs, ROWS):
        rows = slice(start, min(start + ROWS, arcs))
        source = np.searchsorted(indptr, np.arange(rows.start, rows.stop), side="right") - 1
        target = np.asarray(result.graph.indices[rows], np.int64)
        once = np.ones(len(source), np.bool_) if result.directed else source < target
        counts = np.asarray(result.arc_by_length[rows])[once]
        sums = [a + b for a, b in zip(sums, sum_columns(counts), strict=True)]
        maxima = [max(a, b) for a, b in zip(maxima, counts.max(axis=0, initial=0).tolist(), strict=True)]
        without += int((~counts.any(axis=1)).sum())
        try:
            dens = np.concatenate([dens, result.totals(counts)])
        except OverflowError:  # a sum over lengths may exceed 2^63 although no count does
            fits = False
            continue
        best = largest(dens, top)
        ends = np.concatenate([ends, np.stack([source[once], target[once]])], axis=1)[:, best]
        dens = dens[best]
    busiest = list(zip(*ends.tolist(), dens.tolist(), strict=True)) if fits else []
    return _Totals(sums, maxima, busiest, without)


def largest(values: Int64, top: int) -> Int64:
    """Return the indices of the `top` largest positive values, largest first, ties in order of index.

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


def print_summary(summary: Summary, console: "Console", title: str) -> None:
    """Print the summary as tables."""
    kind = "directed" if summary["directed"] else "undirected"
    edges = quantity(summary["edges"], "arc" if summary["directed"] else "edge")
    size = f"{quantity(summary['nodes'], 'node')}, {edges}, {kind}"
    what = "chordless detours" if summary["chordless"] else "detours"
    console.print(f"[bold]{escape(title)}[/]: {size}; {what} of at most {summary['k']} edges\n")
    show(console, lengths_table(summary))
    if 0 < (without := summary["edges_without_detours"]) < summary["edges"]:
        console.print(f"{without:,} of {edges} {'has' if without == 1 else 'have'} no detours.")
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
