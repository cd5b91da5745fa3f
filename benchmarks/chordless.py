"""python -m benchmarks.chordless [--data NCI1] [-k 5]: chordless cycles against NetworkX.

Ours starts from graphs in memory; NetworkX gets its own graph objects, built before the clock starts, and only lists
its cycles, while we count them by edge, node and length. We list them too, in one union of all graphs, and compare them
with those of NetworkX one by one.
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
BAR = 50.0
"""How many times as long as our count NetworkX should take."""


def contenders(graphs: list[detours.Graph], k: int) -> dict[str, Callable[[], Any]]:
    """Ours and NetworkX, each with the graphs it likes best."""
    import networkx as nx

    theirs = [graph.to_networkx() for graph in graphs]
    union, _ = detours.Graph.disjoint_union(graphs)
    return {
        OURS: lambda: detours.count_many(graphs, k, chordless=True),
        LISTED: lambda: list(detours.cycles(union, k, chordless=True)),
        NETWORKX: lambda: [list(nx.chordless_cycles(graph, length_bound=k + 1)) for graph in theirs],
    }


def agree(graphs: list[detours.Graph], answers: dict[str, Any]) -> dict[str, bool]:
    """Whether NetworkX lists the same cycles, and as many of each length as we count."""
    offsets = np.cumsum([0, *(graph.num_nodes for graph in graphs)]).tolist()
    theirs = [
        [node + first for node in cycle]
        for first, own in zip(offsets, answers[NETWORKX], strict=False)
        for cycle in own
    ]
    lengths = Counter(map(len, theirs))
    counted = all(lengths[length] == number for length, number in answers[OURS].cycles.items())
    return {
        OURS: counted and sum(lengths.values()) == sum(answers[OURS].cycles.values()),
        LISTED: Counter(map(frozenset, theirs)) == Counter(map(frozenset, answers[LISTED])),
    }


def sheet(name: str, best: dict[str, Timing], same: dict[str, bool], k: int) -> Sheet:
    """Times, and how many times as long as our count each took."""
    rows = [
        [who, duration(timing.seconds), f"{timing.seconds / best[OURS].seconds:.3g}", _verdict(same.get(who))]
        for who, timing in best.items()
    ]
    reached = best[NETWORKX].seconds / best[OURS].seconds
    goal = f"bar: NetworkX takes {BAR:g} times as long as counting; it takes {reached:.3g} times as long"
    title = f"Chordless cycles of {name}, k = {k} (up to {k + 1} edges)"
    notes = [f"{goal}: {'met' if reached >= BAR else 'MISSED'}"]
    return Sheet(title, ["who", "CPU time", "times ours", "same as NetworkX"], rows, notes)


def _verdict(same: bool | None) -> str:
    return "" if same is None else "yes" if same else "OTHER ANSWER"


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 0 when all agreed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chordless", description="Chordless cycles.")
    parser.add_argument("--data", default="NCI1", metavar="NAME", help="a TU data set (default NCI1)")
    parser.add_argument("-k", type=int, default=5, help="the longest detour (default 5: cycles of up to 6 edges)")
    options = parser.parse_args(arguments)
    try:
        made = cases.tu(options.data)
    except cases.DataAbsent as absent:
        print(f"skipped, {absent}", file=sys.stderr)
        return 0
    graphs = [detours.Graph.from_csr(graph.indptr, graph.indices) for graph in made]
    able = contenders(graphs, options.k)
    able[OURS](), able[LISTED]()  # compiled, or loaded from the cache
    best, answers = race(able, budget=5.0)
    same = agree(graphs, answers)
    sheet(options.data, best, same, options.k).show(Console())
    return 0 if all(same.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
