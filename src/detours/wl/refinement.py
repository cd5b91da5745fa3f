"""`refine`: colours for the nodes of many graphs, round by round, from one table shared by all of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from detours.counting.count import count
from detours.counting.pairs import count_pairs
from detours.counting.result import Detours
from detours.errors import InputError, shown
from detours.graph import Graph
from detours.graph.build import check_csr
from detours.graph.union import many
from detours.wl.colors import Colors
from detours.wl.neighbourhood import Neighbourhood, all_pairs, neighbours
from detours.wl.options import Method, check_method
from detours.wl.rounds import refinements
from detours.wl.rows import Int32, Int64, rank_vectors
from detours.wl.start import Start, by_degree, by_label, uniform


@dataclass(frozen=True, slots=True)
class Refined:
    """All there is to know about a refinement; `Colors` is the part of it that callers see."""

    method: Method
    start: Start
    first: Neighbourhood | None
    """What the nodes saw to get their colours of round 0, where these are more than `start`."""
    around: Neighbourhood
    """What the nodes see in every later round."""
    colors: Colors


def refine(
    graphs: Iterable[Any],
    *,
    init: str = "den",
    k: int = 4,
    rounds: int | None = None,
    edges: str | None = None,
    pairs: str | None = None,
    labels: Any = None,
    n_jobs: int = 1,
) -> Colors:
    """Colour the nodes of all graphs and refine the colours: 1-WL, and beyond it by what detours show.

    A node's colour in round 0 is made as `init` says. In every round it becomes the pair of its own colour and the
    multiset of its neighbours' colours. Equal colours mean equal pairs in all graphs alike: nothing is hashed. In a
    directed graph successors and predecessors are two multisets.

    Args:
        graphs: A list of graphs, each whatever `detours.count` takes, all directed or all not.
        init: "uniform" (all nodes alike), "degree", "labels" (see `labels`), "den" (the degree and the multiset of
            k-DeN of the node's edges), "phi" (their sum), or "den-by-length" (as "den", with counts of each length).
        k: The longest detour counted, where any are.
        rounds: At most so many rounds; None to go on until no round would find more colours.
        edges: "den" or "den-by-length" makes the counts of an edge its colour, seen with each neighbour's colour in
            every round.
        pairs: "den" lets a node see all other nodes in every round, each with the colour of the pair: whether the two
            are joined, and the numbers of simple paths of each length 2 .. k between them (`detours.count_pairs`).
            Time and memory grow with the square of the nodes of each graph.
        labels: For init="labels": for each graph one integer or string per node.
        n_jobs: Threads for counting; the colours do not depend on it.

    >>> colors = refine([[(0, 1), (1, 2)], [(0, 1, 2), (1, 2, 0)]], init="uniform")  # a path and a triangle
    >>> colors
    Colors(2 graphs, 6 nodes; stable after 2 rounds; colours by round: 1, 2, 3)
    >>> colors[0].tolist(), colors[1].tolist()
    ([[0, 0, 0], [0, 1, 0], [0, 1, 0]], [[0, 0, 0], [1, 1, 1], [2, 2, 2]])
    """
    return run(graphs, init=init, k=k, rounds=rounds, edges=edges, pairs=pairs, labels=labels, n_jobs=n_jobs).colors


def run(
    graphs: Iterable[Any],
    *,
    init: str = "den",
    k: int = 4,
    rounds: int | None = None,
    edges: str | None = None,
    pairs: str | None = None,
    labels: Any = None,
    n_jobs: int = 1,
) -> Refined:
    """What `refine` does, with all that it made on the way."""
    method = check_method(init, k, rounds, edges, pairs, labels)
    given = _checked_graphs(graphs)
    union, offsets = Graph.disjoint_union(given)
    counts = count(union, method.k, n_jobs=n_jobs) if method.k is not None and method.counts_arcs else None
    start, first = _start(method, given, union, counts, labels)
    around = _around(method, given, union, counts)
    colour = start.colour if first is None else next(refinements(start.colour, first), start.colour)
    history, stable = _history(colour, around, method.rounds)
    return Refined(method, start, first, around, Colors(given, offsets, history, stable))


def _checked_graphs(graphs: Iterable[Any]) -> list[Graph]:
    if isinstance(graphs, str | os.PathLike | Graph) or hasattr(graphs, "adj"):
        raise InputError(f"refine takes a list of graphs, but it was given one: {shown(graphs)}; put it into a list.")
    given = many(graphs)
    for graph in given:
        if graph.path is not None:
            check_csr(graph)
    if len({graph.directed for graph in given}) > 1:
        raise InputError(
            "Some of the graphs are directed and some are not; make them alike with to_directed() or to_undirected()."
        )
    return given


def _start(
    method: Method, graphs: list[Graph], union: Graph, counts: Detours | None, labels: Any
) -> tuple[Start, Neighbourhood | None]:
    """The colours of round 0, or those before it and what nodes must see once to get them."""
    if method.init == "degree":
        return by_degree(union), None
    if method.init == "labels":
        return by_label(graphs, labels), None
    if method.init == "phi" and counts is not None:
        return Start(*rank_vectors(counts.node[:, None])), None
    if method.init != "uniform" and counts is not None:
        return uniform(union), neighbours(union, _arc_values(counts, method.init))
    return uniform(union), None


def _around(method: Method, graphs: list[Graph], union: Graph, counts: Detours | None) -> Neighbourhood:
    """What the nodes see in every round."""
    if method.pairs is not None and method.k is not None:
        k = method.k
        return all_pairs(graphs, (count_pairs(graph, k) for graph in graphs))
    if method.edges is not None and counts is not None:
        return neighbours(union, _arc_values(counts, method.edges))
    return neighbours(union)


def _arc_values(counts: Detours, kind: str) -> Int64:
    """k-DeN of every arc, or its counts of each length."""
    if kind == "den-by-length":
        return counts.arc_by_length
    total = np.zeros(len(counts.arc_by_length), np.int64)
    for of_length in counts.arc_by_length.T:
        total += of_length
        if total.min(initial=0) < 0:  # two counts below 2^63 that pass it together show as a negative number
            raise OverflowError(
                f"the detours of an edge up to k = {counts.k} pass 2^63 when added up; "
                'use "den-by-length" or a smaller k'
            )
    return total[:, None]


def _history(colour: Int32, around: Neighbourhood, rounds: int | None) -> tuple[list[Int32], bool]:
    """The colours of every round, and whether another round is known to find no more of them."""
    history = [colour]
    coming = refinements(colour, around)
    while rounds is None or len(history) <= rounds:
        finer = next(coming, None)
        if finer is None:
            return history, True
        history.append(finer)
    return history, False
