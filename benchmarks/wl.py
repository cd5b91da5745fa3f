"""python -m benchmarks.wl [--data NCI1] [--rounds 10] [-k 5]: colour refinement against NetworkX and GraKeL.

Ours starts from graphs in memory and includes counting the detours. NetworkX gets its own graph objects and GraKeL
its own, built before the clock starts; of GraKeL only the propagation of labels is timed, with a base kernel that does
nothing. Both start from degrees, so our degree colours must split the nodes of every graph as theirs do.

A second table shows how the time until the colours are stable grows with the length of a path, where a round changes
two nodes.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

from rich.console import Console

import detours
from benchmarks import cases
from benchmarks.measure import Timing, duration, race
from benchmarks.report import Sheet
from detours import wl

OURS, DEGREE, NETWORKX, GRAKEL = "detours, k-DeN", "detours, degree", "NetworkX", "GraKeL"
BAR = 20.0
"""How many times as long as ours the faster rival should take."""


class _NoKernel:
    """A base kernel for GraKeL that only lets the labels be propagated."""

    def __init__(self, **_: Any) -> None: ...

    def fit(self, graphs: Any) -> None: ...


def networkx_hashes(graphs: list[Any], rounds: int) -> list[dict[int, list[str]]]:
    """Hashes of every node of every graph after each round; NetworkX counts the degrees as the first of its rounds."""
    import networkx as nx

    return [nx.weisfeiler_lehman_subgraph_hashes(graph, iterations=rounds + 1) for graph in graphs]


def grakel_labels(graphs: list[Any], rounds: int) -> dict[int, dict[str, int]]:
    """For each round the table of labels that GraKeL makes."""
    from grakel import VertexHistogram, WeisfeilerLehman

    kernel = WeisfeilerLehman(n_iter=rounds, base_graph_kernel=VertexHistogram)
    kernel._method_calling = 1  # as `fit` sets it
    kernel.initialize()
    kernel._base_graph_kernel = _NoKernel
    kernel.parse_input(graphs)
    tables: dict[int, dict[str, int]] = kernel._inv_labels
    return tables


def contenders(graphs: list[detours.Graph], k: int, rounds: int) -> dict[str, Callable[[], Any]]:
    """Everybody who is installed, each with the graphs it likes best."""
    able: dict[str, Callable[[], Any]] = {
        OURS: lambda: wl.refine(graphs, init="den-sum", k=k, rounds=rounds),
        DEGREE: lambda: wl.refine(graphs, init="degree", rounds=rounds),
    }
    theirs = [graph.to_networkx() for graph in graphs]
    able[NETWORKX] = lambda: networkx_hashes(theirs, rounds)
    try:
        import grakel
    except ImportError:
        return able
    rows = [
        grakel.Graph(
            {node: dict.fromkeys(graph.neighbors(node), 1.0) for node in graph}, node_labels=dict(graph.degree)
        )
        for graph in theirs
    ]
    able[GRAKEL] = lambda: grakel_labels(rows, rounds)
    return able


def agree(answers: dict[str, Any], rounds: int) -> dict[str, bool]:
    """Whether each rival has as many colours as we have from degrees, and for NetworkX whether they are the same."""
    ours: wl.Colors = answers[DEGREE]
    numbers = {len(set(ours.all_nodes(rounds).tolist()))}
    hashes = list(chain.from_iterable([own[v][-1] for v in range(len(own))] for own in answers[NETWORKX]))
    pairs = set(zip(ours.all_nodes(rounds).tolist(), hashes, strict=True))
    found = {NETWORKX: numbers == {len(pairs)} == {len(set(hashes))}}
    if GRAKEL in answers:
        found[GRAKEL] = numbers == {len(answers[GRAKEL][rounds])}
    return found


def sheet(name: str, best: dict[str, Timing], same: dict[str, bool], k: int, rounds: int) -> Sheet:
    """Times, and how many times as long as ours each took."""
    rows = [
        [who, duration(timing.seconds), f"{timing.seconds / best[OURS].seconds:.3g}", _verdict(same.get(who))]
        for who, timing in best.items()
    ]
    fastest = min((timing.seconds, who) for who, timing in best.items() if who in same)
    reached = fastest[0] / best[OURS].seconds
    goal = f"bar: the faster rival ({fastest[1]}) takes {BAR:g} times as long; it takes {reached:.3g} times as long"
    notes = [f"{goal}: {'met' if reached >= BAR else 'MISSED'}"]
    if GRAKEL not in best:
        notes.append("GraKeL is not installed and was left out")
    title = f"Colour refinement of {name}, {rounds} rounds, k = {k}"
    return Sheet(title, ["who", "CPU time", "times ours", "same colours"], rows, notes)


def paths_sheet(lengths: Sequence[int], budget: float) -> Sheet:
    """Times on paths, which take half as many rounds as they have nodes, and the ratio of each to the row above."""
    graphs = {f"{n:,}": detours.Graph.from_edges([(i, i + 1) for i in range(n - 1)]) for n in lengths}
    contenders = {name: partial(wl.groups, [graph], init="degree") for name, graph in graphs.items()}
    best, _ = race(contenders, budget)
    seconds = [timing.seconds for timing in best.values()]
    ratios = ["", *(f"{longer / shorter:.3g}" for shorter, longer in pairwise(seconds))]
    rows = [[name, duration(own), ratio] for name, own, ratio in zip(best, seconds, ratios, strict=True)]
    return Sheet("Paths until the colours are stable", ["nodes", "CPU time", "times the row above"], rows)


def _verdict(same: bool | None) -> str:
    return "" if same is None else "yes" if same else "OTHER ANSWER"


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 0 when all agreed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wl", description="Colour refinement against others.")
    parser.add_argument("--data", default="NCI1", metavar="NAME", help="a TU data set (default NCI1)")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="rounds of refinement (default 10)")
    parser.add_argument("-k", type=int, default=5, help="the longest detour counted by ours (default 5)")
    options = parser.parse_args(arguments)
    try:
        made = cases.tu(options.data)
    except cases.DataAbsent as absent:
        print(f"skipped, {absent}", file=sys.stderr)
        return 0
    graphs = [detours.Graph.from_csr(graph.indptr, graph.indices) for graph in made]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # NetworkX tells that its hashes are not those of older versions
        best, answers = race(contenders(graphs, options.k, options.rounds), budget=5.0)
    same = agree(answers, options.rounds)
    sheet(options.data, best, same, options.k, options.rounds).show(Console())
    paths_sheet([5_000, 10_000, 20_000, 40_000], budget=2.0).show(Console())
    return 0 if all(same.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
