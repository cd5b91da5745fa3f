"""python -m benchmarks.wl [--data NCI1] [--rounds 10] [-k 5]: colour refinement against NetworkX and GraKeL.

We start from graphs in memory, and our time includes counting the detours. NetworkX and GraKeL get their own graph
objects, built before timing starts; of GraKeL, only the propagation of labels is timed, with a base kernel that does
nothing. Both start from degrees, so our degree colours must partition the nodes as theirs do.

A second table shows how the time until the colours are stable grows with the length of a path, where each round changes
only two nodes.
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
GOAL = 20.0
"""The faster rival should take at least this many times as long as ours."""


class _NoKernel:
    """A base kernel for GraKeL that does nothing, so that only labels are propagated."""

    def __init__(self, **_: Any) -> None: ...

    def fit(self, graphs: Any) -> None: ...


def networkx_hashes(graphs: list[Any], rounds: int) -> list[dict[int, list[str]]]:
    """Hashes of every node of every graph after each round; in NetworkX the first round computes the degrees."""
    import networkx as nx

    return [nx.weisfeiler_lehman_subgraph_hashes(graph, iterations=rounds + 1) for graph in graphs]


def grakel_labels(graphs: list[Any], rounds: int) -> dict[int, dict[str, int]]:
    """GraKeL's table of labels for each round."""
    from grakel import VertexHistogram, WeisfeilerLehman

    kernel = WeisfeilerLehman(n_iter=rounds, base_graph_kernel=VertexHistogram)
    kernel._method_calling = 1  # as in `fit`
    kernel.initialize()
    kernel._base_graph_kernel = _NoKernel
    kernel.parse_input(graphs)
    tables: dict[int, dict[str, int]] = kernel._inv_labels
    return tables


def contenders(graphs: list[detours.Graph], k: int, rounds: int) -> dict[str, Callable[[], Any]]:
    """Ours, NetworkX and, if it is installed, GraKeL, each with its own graph objects."""
    work: dict[str, Callable[[], Any]] = {
        OURS: lambda: wl.refine(graphs, init="den-sum", k=k, rounds=rounds),
        DEGREE: lambda: wl.refine(graphs, init="degree", rounds=rounds),
    }
    nx_graphs = [graph.to_networkx() for graph in graphs]
    work[NETWORKX] = lambda: networkx_hashes(nx_graphs, rounds)
    try:
        import grakel
    except ImportError:
        return work
    grakel_graphs = [
        grakel.Graph(
            {node: dict.fromkeys(graph.neighbors(node), 1.0) for node in graph}, node_labels=dict(graph.degree)
        )
        for graph in nx_graphs
    ]
    work[GRAKEL] = lambda: grakel_labels(grakel_graphs, rounds)
    return work


def agree(results: dict[str, Any], rounds: int) -> dict[str, bool]:
    """Whether each rival has as many colours as we have from degrees, and for NetworkX whether they are the same."""
    ours = results[DEGREE].all_nodes(rounds).tolist()
    num_colours = len(set(ours))
    hashes = list(chain.from_iterable([own[v][-1] for v in range(len(own))] for own in results[NETWORKX]))
    pairs = set(zip(ours, hashes, strict=True))
    same = {NETWORKX: num_colours == len(pairs) == len(set(hashes))}
    if GRAKEL in results:
        same[GRAKEL] = num_colours == len(results[GRAKEL][rounds])
    return same


def sheet(data: str, best: dict[str, Timing], same: dict[str, bool], k: int, rounds: int) -> Sheet:
    """Times, also as multiples of ours."""
    rows = [
        [name, duration(timing.seconds), f"{timing.seconds / best[OURS].seconds:.3g}", _verdict(same.get(name))]
        for name, timing in best.items()
    ]
    seconds, rival = min((timing.seconds, name) for name, timing in best.items() if name in same)
    reached = seconds / best[OURS].seconds
    goal = f"goal: the faster rival ({rival}) takes {GOAL:g} times as long; it takes {reached:.3g} times as long"
    notes = [f"{goal}: {'met' if reached >= GOAL else 'MISSED'}"]
    if GRAKEL not in best:
        notes.append("GraKeL is not installed, so it was skipped")
    title = f"Colour refinement of {data}, {rounds} rounds, k = {k}"
    return Sheet(title, ["", "CPU time", "times ours", "same colours"], rows, notes)


def paths_sheet(lengths: Sequence[int], budget: float) -> Sheet:
    """Times on paths, which take n / 2 rounds for n nodes, and the ratio of each to the row above."""
    graphs = {f"{n:,}": detours.Graph.from_edges([(i, i + 1) for i in range(n - 1)]) for n in lengths}
    contenders = {name: partial(wl.groups, [graph], init="degree") for name, graph in graphs.items()}
    best, _ = race(contenders, budget)
    seconds = [timing.seconds for timing in best.values()]
    ratios = ["", *(f"{longer / shorter:.3g}" for shorter, longer in pairwise(seconds))]
    rows = [[name, duration(own), ratio] for name, own, ratio in zip(best, seconds, ratios, strict=True)]
    return Sheet("Paths until the colours are stable", ["nodes", "CPU time", "times the row above"], rows)


def _verdict(same: bool | None) -> str:
    return "" if same is None else "yes" if same else "DIFFERENT RESULT"


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; return 0 if all results agree."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wl", description="Colour refinement against NetworkX and GraKeL."
    )
    parser.add_argument("--data", default="NCI1", metavar="NAME", help="a TU data set (default NCI1)")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="rounds of refinement (default 10)")
    parser.add_argument("-k", type=int, default=5, help="maximum length of the detours that we count (default 5)")
    options = parser.parse_args(arguments)
    try:
        loaded = cases.tu(options.data)
    except cases.MissingData as error:
        print(f"skipped, {error}", file=sys.stderr)
        return 0
    graphs = [detours.Graph.from_csr(graph.indptr, graph.indices) for graph in loaded]
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # NetworkX warns that its hashes differ from those of older versions
        best, results = race(contenders(graphs, options.k, options.rounds), budget=5.0)
    same = agree(results, options.rounds)
    sheet(options.data, best, same, options.k, options.rounds).show(Console())
    paths_sheet([5_000, 10_000, 20_000, 40_000], budget=2.0).show(Console())
    return 0 if all(same.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
