"""What two graphs that are told apart differ in, in words: sizes, degrees, and cycles by length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from detours.arrays import Int64
from detours.counting.count import count
from detours.counting.result import Detours
from detours.graph import Graph

_NUMBERS = "none one two three four five six seven eight nine ten eleven twelve".split()


def describe_difference(first: Graph, second: Graph, k: int | None = None) -> str:
    """Return the simplest difference of two graphs as half a sentence, empty if none of those known here is found.

    Args:
        first: A graph.
        second: Another.
        k: Also compare their cycles of up to k + 1 edges: in all, and through nodes and edges.

    >>> two_triangles = Graph.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    >>> hexagon = Graph.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)])
    >>> describe_difference(two_triangles, hexagon, k=4)
    'the first has two 3-cycles, the second none'
    """
    return next(_differences(first, second, k), "")


def _differences(first: Graph, second: Graph, k: int | None) -> Iterator[str]:
    graphs = (first, second)
    edge = "arc" if first.directed else "edge"
    yield from _compared([graph.num_nodes for graph in graphs], "node")
    yield from _compared([graph.num_edges for graph in graphs], edge)
    degree = "out-degree" if first.directed else "degree"
    yield from _distributed([graph.degree for graph in graphs], f"node{{s}} of {degree} {{value}}")
    if k is None:
        return
    results = [count(graph, k) for graph in graphs]
    cycle = "directed {}-cycle" if first.directed else "{}-cycle"
    for length in range(3, k + 2):
        yield from _compared([result.cycles[length] for result in results], cycle.format(length))
    for length in range(3, k + 2):
        name = f"on {{number}} {cycle.format(length)}{{plural}}"
        yield from _distributed([result.node_cycles[:, length - 3] for result in results], f"node{{s}} {name}")
        yield from _distributed([_of_edges(result, length) for result in results], f"{edge}{{s}} {name}")


def _of_edges(result: Detours, length: int) -> Int64:
    cycles: Int64 = result.arc_cycles[:, length - 3]
    source, target = result.graph.to_edge_index()
    return cycles if result.directed else cycles[source < target]


def _compared(numbers: list[int], thing: str) -> Iterator[str]:
    ours, theirs = numbers
    if ours != theirs:
        first = f"{_number(ours)} {thing}{'s' * (ours != 1)}" if ours else f"no {thing}"
        second = _number(theirs) if ours else f"{_number(theirs)} {thing}{'s' * (theirs != 1)}"
        yield f"the first has {first}, the second {second}"


def _distributed(values: list[Int64], thing: str) -> Iterator[str]:
    ours, theirs = (Counter(each.tolist()) for each in values)
    differing = [value for value in ours | theirs if ours[value] != theirs[value]]
    if differing:
        value = max(differing, key=lambda one: (one > 0, abs(ours[one] - theirs[one]), -one))
        words: dict[str, Any] = {"value": value, "number": _number(value) if value else "no"}
        words |= {"plural": "s" * (value != 1), "s": "s" * (ours[value] != 1)}
        first = _number(ours[value]) if ours[value] else "no"
        yield f"the first has {first} {thing.format(**words)}, the second {_number(theirs[value])}"


def _number(value: int) -> str:
    return _NUMBERS[value] if value < len(_NUMBERS) else f"{value:,}"
