"""Differences of two graphs in words: sizes, degrees, and cycles by length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from detours.arrays import Int64
from detours.counting.count import count
from detours.counting.result import Detours
from detours.graph import Graph
from detours.wl.words import count_in_words


def describe_difference(first: Graph, second: Graph, k: int | None = None) -> str:
    """Return the simplest difference of two graphs as a clause, or an empty string if no difference is found.

    Args:
        first: A graph.
        second: The other graph.
        k: Also compare their cycles of up to k + 1 edges: in total, and through nodes and edges.

    >>> two_triangles = Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    >>> hexagon = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])
    >>> describe_difference(two_triangles, hexagon, k=4)
    'the first has two 3-cycles, the second none'
    """
    with suppress(OverflowError):  # the cycles through a node may exceed 2^63 although no count of an edge does
        return next(_differences(first, second, k), "")
    return ""


def _differences(first: Graph, second: Graph, k: int | None) -> Iterator[str]:
    graphs = (first, second)
    edge = "arc" if first.directed else "edge"
    yield from _compare_sizes([graph.num_nodes for graph in graphs], "node")
    yield from _compare_sizes([graph.num_edges for graph in graphs], edge)
    degree = "out-degree" if first.directed else "degree"
    yield from _compare_histograms([graph.degree for graph in graphs], f"node{{s}} of {degree} {{value}}")
    if k is None:
        return
    results = [count(graph, k) for graph in graphs]
    cycle = "directed {}-cycle" if first.directed else "{}-cycle"
    for length in range(3, k + 2):
        yield from _compare_sizes([result.cycles[length] for result in results], cycle.format(length))
    for length in range(3, k + 2):
        name = f"on {{count}} {cycle.format(length)}{{plural}}"
        yield from _compare_histograms([result.node_cycles[:, length - 3] for result in results], f"node{{s}} {name}")
        yield from _compare_histograms([_edge_cycles(result, length) for result in results], f"{edge}{{s}} {name}")


def _edge_cycles(result: Detours, length: int) -> Int64:
    cycles: Int64 = result.arc_cycles[:, length - 3]
    source, target = result.graph.to_edge_index()
    return cycles if result.directed else cycles[source < target]


def _compare_sizes(sizes: list[int], noun: str) -> Iterator[str]:
    ours, theirs = sizes
    if ours != theirs:
        first, second = (f"{count_in_words(size)} {noun}{'s' * (size > 1)}" for size in sizes)
        yield f"the first has {first}, the second {_count_or_none(theirs) if ours else second}"


def _compare_histograms(values: list[Int64], template: str) -> Iterator[str]:
    ours, theirs = (Counter(each.tolist()) for each in values)
    differing = [value for value in ours | theirs if ours[value] != theirs[value]]
    if differing:
        value = max(differing, key=lambda v: (v > 0, abs(ours[v] - theirs[v]), -v))
        words: dict[str, Any] = {"value": value, "count": count_in_words(value)}
        words |= {"plural": "s" * (value != 1), "s": "s" * (ours[value] != 1)}
        first, second = count_in_words(ours[value]), _count_or_none(theirs[value])
        yield f"the first has {first} {template.format(**words)}, the second {second}"


def _count_or_none(count: int) -> str:
    return count_in_words(count) if count else "none"
