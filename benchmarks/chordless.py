"""python -m benchmarks.chordless [--data NCI1] [-k 5]: chordless cycles against NetworkX.

We start from graphs in memory; NetworkX gets its own graph objects, built before timing starts, and only lists the
cycles, while we count them by edge, node and length. We also list them, in one union of all graphs, and compare the two
lists cycle by cycle.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

import detours
from benchmarks import cases
from benchmarks.measure import Timing, duration, race
from benchmarks.report import Sheet

OURS, LISTED, NETWORKX = "detours, counted", "detours, listed", "NetworkX, listed"
GOAL = 50.0
"""NetworkX should take at least this many times as long as our count."""


def contenders(graphs: list[detours.Graph], k: int) -> dict[str, Callable[[], Any]]:
    """Ours and NetworkX, each with its own graph objects."""
    import networkx as nx

    theirs = [graph.to_networkx() for graph in graphs]
    union, _ = detours.Graph.disjoint_union(graphs)
    return {
        OURS: lambda: detours.count_many(graphs, k, chordless=True),
        LISTED: lambda: list(detours.cycles(union, k, chordless=True)),
        NETWORKX: lambda: [list(nx.chordless_cycles(graph, length_bound=k + 1)) for graph in theirs],
    }


def agree(graphs: list[detours.Graph], results: dict[str, Any]) -> dict[str, bool]:
    """Whether NetworkX lists the same cycles as we do, and as many of each length as we count."""
    offsets = np.cumsum([0, *(graph.num_nodes for graph in graphs)]).tolist()
    theirs = [
        [node + offset for node in cycle]
        for offset, cycles in zip(offsets, results[NETWORKX], strict=False)
        for cycle in cycles
    ]
    lengths = Counter(map(len, theirs))
    same_lengths = all(lengths[length] == count for length, count in results[OURS].cycles.items())
    return {
        OURS: same_lengths and sum(lengths.values()) == sum(results[OURS].cycles.values()),
        LISTED: Counter(map(frozenset, theirs)) == Counter(map(frozenset, results[LISTED])),
    }


def sheet(name: str, best: dict[str, Timing], same: dict[str, bool], k: int) -> Sheet:
    """Times, also as multiples of our count."""
    rows = [
        [name, duration(timing.seconds), f"{timing.seconds / best[OURS].seconds:.3g}", _verdict(same.get(name))]
        for name, timing in best.items()
    ]
    reached = best[NETWORKX].seconds / best[OURS].seconds
    goal = f"goal: NetworkX takes {GOAL:g} times as long as counting; it takes {reached:.3g} times as long"
    title = f"Chordless cycles of {name}, k = {k} (up to {k + 1} edges)"
    notes = [f"{goal}: {'met' if reached >= GOAL else 'MISSED'}"]
    return Sheet(title, ["", "CPU time", "times ours", "same as NetworkX"], rows, notes)


def _verdict(same: bool | None) -> str:
    return "" if same is None else "yes" if same else "DIFFERENT RESULT"


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; return 0 if all results agree."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.chordless", description="Chordless cycles against NetworkX."
    )
    parser.add_argument("--data", default="NCI1", metavar="NAME", help="a TU data set (default NCI1)")
    parser.add_argument("-k", type=int, default=5, help="longest detour (default 5: cycles of up to 6 edges)")
    options = parser.parse_args(arguments)
    try:
        loaded = cases.tu(options.data)
    except cases.MissingData as error:
        print(f"skipped, {error}", file=sys.stderr)
        return 0
    graphs = [detours.Graph.from_csr(graph.indptr, graph.indices) for graph in loaded]
    work = contenders(graphs, options.k)
    work[OURS](), work[LISTED]()  # compiles, or loads from the cache
    best, results = race(work, budget=5.0)
    same = agree(graphs, results)
    sheet(options.data, best, same, options.k).show(Console())
    return 0 if all(same.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
