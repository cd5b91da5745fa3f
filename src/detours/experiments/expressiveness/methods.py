"""The tests of the experiments: names, options, and the fingerprints that they assign to graphs.

A fingerprint is an integer per graph, equal for graphs that a test does not tell apart. There are three rules of
comparison: "sound" compares multisets of colours from one colour table for all graphs; "paper" and "rounds" compare
only the sorted sizes of the colour classes of each graph, which is weaker. The paper does not say in which rounds it
compares the sizes: "paper" uses the last round, "rounds" every round.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.graph import Graph

ROUNDS = 10  # of the paper's tests, unless it says otherwise
# Maximum steps per round, see `Method.steps`, of a test on tuples on a data set.
TUPLE_STEPS = 1e9


class Fingerprints(NamedTuple):
    """An integer per graph under each rule; graphs with equal integers are not told apart."""

    sound: NDArray[np.int64]
    paper: NDArray[np.int64] | None
    """None for tests on copies with marked nodes, which the paper does not have."""
    rounds: NDArray[np.int64] | None
    """None also for tests on tuples, which keep only their last round."""


@dataclass(frozen=True)
class Method:
    """A test with its options; `dim` > 1 is a test on tuples of `dim` nodes."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    dim: int = 1

    @property
    def parameters(self) -> dict[str, Any]:
        """The definition of the test in the key of a cell."""
        return {"dim": self.dim, **self.options}

    def steps(self, graphs: Iterable[Graph]) -> float:
        """Return the steps of a round on tuples: n^(k+1) for k-FWL, and n^k for k-WL, which is run as (k-1)-FWL."""
        if self.dim == 1:
            return 0.0
        power = self.dim + bool(self.options.get("folklore"))
        return float(sum(float(graph.num_nodes) ** power for graph in graphs))

    def fingerprints(self, graphs: Sequence[Graph], n_jobs: int = 1) -> Fingerprints:
        """Run the test on all graphs together."""
        if "individualise" in self.options:
            return self._by_copies(graphs, n_jobs)
        return self._by_tuples(graphs) if self.dim > 1 else self._by_nodes(graphs, n_jobs)

    def _by_copies(self, graphs: Sequence[Graph], n_jobs: int) -> Fingerprints:
        from detours import wl

        return Fingerprints(_group_index(wl.groups(graphs, **self.options, n_jobs=n_jobs), len(graphs)), None, None)

    def _by_nodes(self, graphs: Sequence[Graph], n_jobs: int) -> Fingerprints:
        from detours import wl

        colors = wl.refine(graphs, **self.options, n_jobs=n_jobs)
        sound = _group_index(colors.groups(), len(graphs))
        by_round = [_class_sizes(colors.all_nodes(index), colors.offsets) for index in range(colors.rounds + 1)]
        return Fingerprints(sound, factorize(by_round[-1]), factorize(zip(*by_round, strict=True)))

    def _by_tuples(self, graphs: Sequence[Graph]) -> Fingerprints:
        from detours.wl.tuples import refinement as tuples

        found = []
        for graph in graphs:  # one by one, as the tuples of all graphs may not fit in memory
            (colors,) = tuples.refine_tuples([graph], self.dim, **self.options)
            found.append((colors.certificate, colors.size_counts))
        return Fingerprints(factorize(name for name, _ in found), factorize(sizes for _, sizes in found), None)


def _group_index(groups: Sequence[Sequence[int]], num_graphs: int) -> NDArray[np.int64]:
    """Return the index of the group of each graph."""
    index = np.empty(num_graphs, np.int64)
    for group, members in enumerate(groups):
        index[members] = group
    return index


def _class_sizes(colour: NDArray[np.int32], offsets: NDArray[np.int64]) -> list[bytes]:
    """Return the sorted sizes of the colour classes of each graph, as bytes."""
    num_graphs = len(offsets) - 1
    graph_of = np.repeat(np.arange(num_graphs), np.diff(offsets))
    num_colours = int(colour.max(initial=0)) + 1
    classes, sizes = np.unique(graph_of * num_colours + colour, return_counts=True)
    graph = classes // num_colours
    sizes = sizes[np.lexsort((sizes, graph))]
    ends = np.searchsorted(graph, np.arange(num_graphs + 1))
    return [sizes[start:end].tobytes() for start, end in pairwise(ends.tolist())]


def factorize(keys: Iterable[Hashable]) -> NDArray[np.int64]:
    """Encode keys as integers from 0, in the order of their first occurrence.

    >>> factorize("abca").tolist()
    [0, 1, 2, 0]
    """
    codes: dict[Hashable, int] = {}
    return np.array([codes.setdefault(key, len(codes)) for key in keys], np.int64)


def warm_up(methods: Iterable[Method]) -> None:
    """Run each test on small graphs, so that later times do not include compilation.

    Which code a count of detours needs depends on the graph: rings are searched, and complete graphs of two sizes use
    closed forms with two integer widths.
    """
    ring = np.arange(8)
    rings = [
        Graph.from_edge_index(np.hstack([[ring, (ring + step) % 8], [(ring + step) % 8, ring]])) for step in (1, 3)
    ]
    complete = [Graph.from_edge_index(np.argwhere(~np.eye(nodes, dtype=bool)).T) for nodes in (12, 40)]
    for method in methods:
        method.fingerprints(rings)
        for graph in complete if method.dim == 1 else ():
            method.fingerprints([graph])


def wl1(rounds: int | None = ROUNDS) -> Method:
    """1-WL from degrees, the paper's baseline; with `rounds=None` until the colours are stable."""
    if rounds is None:
        return Method("1-WL", {"init": "degree"})
    return Method(f"1-WL, {rounds} round{'s' * (rounds != 1)}", {"init": "degree", "rounds": rounds})


def den(k: int, rounds: int | None = ROUNDS) -> Method:
    """1-WL from the multiset of degree and k-DeN, the paper's test."""
    return Method(f"{k}-DeN", {"init": "den-sum", "k": k, **({} if rounds is None else {"rounds": rounds})})


def den_by_length(k: int) -> Method:
    """1-WL from the degree and the detours of every edge, counted separately for each length."""
    return Method(f"{k}-DeN by length", {"init": "den", "k": k})


def den_edges(k: int) -> Method:
    """1-WL from {D, k-DeN} that also uses the k-DeN of the edges in every round."""
    return Method(f"{k}-DeN on edges", {"init": "den-sum", "edges": "den-sum", "k": k})


def den_pairs(k: int) -> Method:
    """1-WL from {D, k-DeN} that uses the detour numbers of all pairs of nodes, adjacent or not, in every round."""
    return Method(f"{k}-DeN on pairs", {"init": "den-sum", "pairs": "den", "k": k})


def den_marked(k: int, depth: int) -> Method:
    """1-WL from {D, k-DeN} on copies of the graph in which `depth` nodes are marked."""
    return Method(f"{k}-DeN, {depth} marked", {"init": "den-sum", "k": k, "individualise": "mark", "depth": depth})


def den_deleted(k: int) -> Method:
    """1-WL from {D, k-DeN} on copies of the graph without one node, whose neighbours are marked."""
    return Method(f"{k}-DeN, 1 deleted", {"init": "den-sum", "k": k, "individualise": "delete"})


WL2 = Method("2-WL", dim=2)
FWL2 = Method("2-FWL", {"folklore": True}, dim=2)
WL3 = Method("3-WL", dim=3)
FWL3 = Method("3-FWL", {"folklore": True}, dim=3)
