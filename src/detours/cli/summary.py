"""What a count says on a screen: totals by length, the busiest edges and nodes; for people and programs."""

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from detours.counting.sums import sum_columns

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from detours.counting.result import Detours
    from detours.graph import Dropped

Ints = npt.NDArray[np.int64]
Summary = dict[str, Any]


def summarise(result: "Detours", top: int = 10) -> Summary:
    """The summary as plain Python data that `json` can write: every number an exact integer."""
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
        "nodes": result.graph.num_nodes,
        "edges": result.graph.num_edges,
        "dropped": result.graph.dropped._asdict(),
        "detours": sum(row["detours"] for row in lengths),
        "cycles": sum(row["cycles"] for row in lengths),
        "by_length": lengths,
        "busiest_edges": edges,
        "busiest_nodes": nodes,
    }


def _edges_once(result: "Detours") -> tuple[Ints, Ints, Ints]:
    """Ends and counts of every edge of the graph once, whatever the caller repeated."""
    ends, counts = result.graph.to_edge_index(), result.arc_by_length
    if not result.directed:
        once = ends[0] < ends[1]
        ends, counts = ends[:, once], counts[once]
    return ends[0], ends[1], counts


def _length_row(result: "Detours", length: int, counts: Ints) -> Summary:
    return {
        "length": length,
        "detours": sum_columns(counts[:, None])[0],
        "most_on_an_edge": int(counts.max(initial=0)),
        "cycle_length": length + 1,
        "cycles": int(result.cycles[length + 1]),
    }


def largest(values: Ints, top: int) -> Ints:
    """Positions of the `top` largest values above zero, largest first, equal ones in their own order.

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
    order: Ints = chosen[np.argsort(-values[chosen], kind="stable")][:top]
    return order


def name(result: "Detours", node: int) -> Any:
    """The caller's name of a node, as something `json` can write."""
    return plain(result.graph.name(node))


def plain(given: Any) -> Any:
    """A node's name as an integer where it is one, else as a string."""
    return int(given) if isinstance(given, int | np.integer) else str(given)


def dropped_note(dropped: "Dropped") -> str:
    """One sentence on what was not counted as it stood in the file; empty when everything was.

    >>> from detours.graph import Dropped
    >>> dropped_note(Dropped(loops=2, duplicates=1, one_way=0))
    'dropped 2 loops, merged 1 repeated edge'
    """
    parts = []
    if dropped.loops:
        parts.append(f"dropped {_number(dropped.loops, 'loop')}")
    if dropped.duplicates:
        parts.append(f"merged {_number(dropped.duplicates, 'repeated edge')}")
    if dropped.one_way:
        parts.append(f"took {_number(dropped.one_way, 'one-way arc')} as undirected")
    return ", ".join(parts)


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def print_summary(summary: Summary, console: "Console", title: str) -> None:
    """The summary as tables."""
    kind = "directed" if summary["directed"] else "undirected"
    size = f"{_number(summary['nodes'], 'node')}, {_number(summary['edges'], 'edge')}, {kind}"
    console.print(f"[bold]{_escape(title)}[/]: {size}; detours of at most {summary['k']} edges\n")
    show(console, lengths_table(summary))
    busiest: list[Table] = []
    if summary["busiest_edges"]:
        rows = [(f"{row['source']} - {row['target']}", row["detours"]) for row in summary["busiest_edges"]]
        busiest.append(_ranking("busiest edges", "edge", rows))
    if summary["busiest_nodes"]:
        rows = [(str(row["node"]), row["detours"]) for row in summary["busiest_nodes"]]
        busiest.append(_ranking("busiest nodes", "node", rows))
    if busiest:
        console.print()
        show(console, side_by_side(busiest))


def lengths_table(summary: Summary) -> "Table":
    """Detours and cycles by length, and in all."""
    table = plain_table()
    for heading in ("length", "detours", "most on an edge", "cycle length", "cycles"):
        table.add_column(heading, justify="right")
    longest = max((row["length"] for row in summary["by_length"] if row["detours"]), default=2)
    for row in summary["by_length"][: longest - 1]:
        most = f"{row['most_on_an_edge']:,}"
        table.add_row(str(row["length"]), f"{row['detours']:,}", most, str(row["cycle_length"]), f"{row['cycles']:,}")
    if longest < summary["k"]:
        table.add_row(f"{longest + 1}+", "0", "0", f"{longest + 2}+", "0")
    table.add_row("all", f"{summary['detours']:,}", "", "all", f"{summary['cycles']:,}", style="bold")
    return table


def _ranking(title: str, heading: str, rows: list[tuple[str, int]]) -> "Table":
    table = plain_table(title)
    table.add_column(heading)
    table.add_column("detours", justify="right")
    for label, count in rows:
        table.add_row(_escape(label), f"{count:,}")
    return table


def side_by_side(tables: Iterable["Table"]) -> "Table":
    """Tables next to each other, their tops in line."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 4))
    grid.add_row(*tables)
    return grid


def show(console: "Console", table: "Table") -> None:
    """Print a table as wide as it is: on a narrow screen a line may wrap, but no number loses its digits."""
    screen = console.width
    needed = console.measure(table, options=console.options.update(width=10_000)).maximum
    console.width = max(screen, needed)  # a width given to `print` cannot pass that of the console
    console.print(table)
    console.width = screen


def plain_table(title: str | None = None) -> "Table":
    """A table with a line under its heading and no other frame."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.show_edge = table.pad_edge = False
    return table


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
