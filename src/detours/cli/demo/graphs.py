"""The first parts of `detours demo`: the paper's three graphs, pairs that are hard to tell apart, and a graph with more
cycles than can be listed."""

import time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from detours.graph import Graph

# Figure 2 of the paper: two cycles that overlap, touch, or are disjoint. Each word is an edge, each letter a node.
PAPER_GRAPHS = {
    "G1": "ab ac bd cd ce cf de df",
    "G2": "ab ac bd cd ce df ef",
    "G3": "ab ac bc cd de df ef",
}
PAPER_K = 3
HUBS = {"nodes": 5_000, "links": 40}
HUBS_K = 5
LISTED_PER_SECOND = 1_000_000  # a generous estimate for a program that lists cycles one by one


def paper_graph(name: str) -> "Graph":
    """Return one of the paper's graphs; a, b, c … are nodes 0, 1, 2 …

    >>> paper_graph("G2")
    Graph(6 nodes, 7 edges)
    """
    ends = np.array([[ord(letter) - ord("a") for letter in edge] for edge in PAPER_GRAPHS[name].split()])
    return undirected(ends.T)


def hub_graph(nodes: int, links: int, seed: int = 1) -> "Graph":
    """Return a graph grown by preferential attachment: few hubs and many small nodes, as in social networks.

    Each node links to `links` endpoints of earlier edges, and thus to nodes in proportion to their degrees (Batagelj
    and Brandes, 2005).

    >>> hub_graph(nodes=100, links=2).num_nodes
    100
    """
    sources = np.repeat(np.arange(nodes), links)
    # Slot 2e holds the source of edge e, slot 2e + 1 its target, which is a copy of any earlier slot. Copies of
    # copies are followed back to their origin, for all edges at once.
    copied = np.random.default_rng(seed).integers(0, 2 * np.arange(len(sources)) + 1)
    while (odd := copied % 2 == 1).any():
        copied[odd] = copied[copied[odd] // 2]
    return undirected(np.stack([sources, sources[copied // 2]]))


def undirected(ends: npt.NDArray[np.int64]) -> "Graph":
    """Return the undirected graph of these pairs of nodes, without loops and repeated edges."""
    from detours.graph import Graph

    low, high = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    return Graph.from_edge_index(np.stack([np.r_[low, high], np.r_[high, low]]))


def detour_lists(name: str) -> dict[str, list[str]]:
    """Return the detours of every edge of a graph of the paper, in the notation and order of its appendix.

    >>> detour_lists("G1")["cd"]
    ['cabd', 'ced', 'cfd']
    """
    import detours

    graph = paper_graph(name)
    lists = {}
    for edge in PAPER_GRAPHS[name].split():
        source, target = (ord(letter) - ord("a") for letter in edge)
        found = detours.paths(graph, source, target, PAPER_K)
        lists[edge] = sorted("".join(chr(ord("a") + node) for node in path) for path in found)
    return lists


def show_graphs(console: "Console", progress: bool | None = None) -> None:
    """Show the detours of small graphs, hard pairs, and a large graph; progress goes to standard error."""
    _show_paper(console)
    _show_pairs(console, progress)
    _show_hubs(console, progress)


def _show_paper(console: "Console") -> None:
    from detours.cli.shared.console import show, side_by_side

    console.rule("[bold]Three small graphs", align="left")
    console.print(
        "A detour of an edge is another way from one of its ends to the other that visits\n"
        f"no node twice. All detours of at most {PAPER_K} edges in the paper's graphs:\n"
    )
    lists = {name: detour_lists(name) for name in PAPER_GRAPHS}
    show(console, side_by_side(_list_table(name, lists[name]) for name in lists))
    console.print(
        f"\nTheir number is the edge's {PAPER_K}-DeN. G2 and G3 have the same degrees, and message\n"
        "passing cannot tell them apart; the detours of edge cd can:\n"
    )
    show(console, _den_table())


def _list_table(name: str, lists: dict[str, list[str]]) -> "Table":
    from detours.cli.shared.console import plain_table

    table = plain_table(name, ["edge", "detours"])
    for edge, detours in lists.items():
        paths = " ".join(f"[dim]#{index}[/] {path}" for index, path in enumerate(detours, 1))
        table.add_row(edge, paths or "[dim]none[/]", style="bold green" if edge == "cd" else None)
    return table


def _den_table() -> "Table":
    import detours
    from detours.cli.shared.console import plain_table

    counts: dict[str, dict[str, int]] = {}
    for name in PAPER_GRAPHS:
        result = detours.count(paper_graph(name), PAPER_K)
        sources, targets = result.graph.edge_index
        for source, target, den in zip(sources, targets, result.edge, strict=True):
            counts.setdefault(chr(97 + source) + chr(97 + target), {})[name] = int(den)
    table = plain_table(f"{PAPER_K}-DeN", ["edge"])
    for edge in (edges := sorted({edge for words in PAPER_GRAPHS.values() for edge in words.split()})):
        table.add_column(edge, justify="right", style="bold green" if edge == "cd" else None)
    for name in PAPER_GRAPHS:
        table.add_row(name, *(str(counts[edge].get(name, "[dim]·[/]")) for edge in edges))
    return table


def _show_pairs(console: "Console", progress: bool | None) -> None:
    from detours.cli.shared.console import plain_table, show
    from detours.cli.shared.progress import progress_bar
    from detours.data import hard
    from detours.experiments.expressiveness.methods import FWL3, WL3, Method, wl1

    console.print()
    console.rule("[bold]Hard to tell apart", align="left")
    den = [Method(f"{k}-DeN", {"init": "den", "k": k}) for k in (4, 7)]  # by length, where the paper sums over lengths
    tests = [wl1(None), *den, Method("7-DeN on pairs", {"init": "den", "pairs": "den", "k": 7}), WL3, FWL3]
    pairs = {
        "two triangles, a hexagon": hard.cycle_unions(3),
        "two cycles of 8, a 16": hard.cycle_unions(8),
        "CSL(41, 2), CSL(41, 3)": (hard.csl(41, 2), hard.csl(41, 3)),
        "rook's, Shrikhande's": (hard.rook(4), hard.shrikhande()),
        "CFI over the prism": hard.cfi_pair(hard.cfi_bases()["prism"]),
    }
    with progress_bar("Compiling (first run only)", show=progress):
        for test in tests:
            for pair in pairs.values():
                test.fingerprints(pair)
    table = plain_table("Told apart by", ["pair"], [test.name for test in tests])
    seconds = dict.fromkeys((test.name for test in tests), 0.0)
    for name, pair in pairs.items():
        marks = []
        for test in tests:
            start = time.perf_counter()
            one, other = test.fingerprints(pair).sound
            seconds[test.name] += time.perf_counter() - start
            marks.append("[dim]no[/]" if one == other else "[bold green]yes[/]")
        table.add_row(name, *marks)
    table.add_section()
    table.add_row("[dim]milliseconds[/]", *(f"[dim]{1000 * spent:.0f}[/]" for spent in seconds.values()))
    console.print("Colour refinement (1-WL) does not see cycles; initialised with detours, it does:\n")
    show(console, table)


def _show_hubs(console: "Console", progress: bool | None) -> None:
    import detours
    from detours.cli.shared.console import show
    from detours.cli.shared.progress import progress_bar
    from detours.cli.shared.summary import lengths_table, summarise

    console.print()
    console.rule("[bold]A graph with hubs", align="left")
    with progress_bar("Compiling (first run only)", show=progress):
        # A small graph whose counts need 64 bits, as below, so that the time shown is that of counting only.
        detours.count(undirected(np.stack(np.triu_indices(300, 1))), HUBS_K, engine="rows")
    graph = hub_graph(**HUBS)
    size = f"{graph.num_nodes:,} nodes and {graph.num_edges:,} edges"
    console.print(f"{size}, grown by preferential attachment; {HUBS_K}-DeN of every edge:\n")
    start = time.perf_counter()
    with progress_bar(f"Counting, k = {HUBS_K}", show=progress) as report:
        result = detours.count(graph, HUBS_K, n_jobs=-1, progress=report)
    seconds = time.perf_counter() - start
    summary = summarise(result, top=0)
    show(console, lengths_table(summary))
    days = summary["cycles"] / LISTED_PER_SECOND / 86_400
    console.print(
        f"\n[bold]{summary['cycles']:,} cycles[/] in [bold green]{seconds:.1f} s[/], each counted on every "
        f"edge it runs through.\nListing them, a million a second, would take {days:,.0f} days."
    )
