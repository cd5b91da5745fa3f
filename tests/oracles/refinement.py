"""Colour refinement straight from its definition: tuples in one dictionary, node by node."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import permutations
from typing import Any, Protocol

from tests.oracles.brute import Arc, by_subsets

Colours = list[list[list[int]]]
"""For each round, for each graph, an integer for each node."""


class SomeGraph(Protocol):
    @property
    def num_nodes(self) -> int: ...
    @property
    def arcs(self) -> tuple[Arc, ...]: ...
    @property
    def directed(self) -> bool: ...


def refined(
    graphs: Sequence[SomeGraph],
    *,
    init: str,
    k: int = 4,
    rounds: int | None = None,
    edges: str | None = None,
    pairs: str | None = None,
    labels: Sequence[Sequence[Hashable]] | None = None,
    edge_labels: Sequence[dict[Arc, Hashable]] | None = None,
) -> Colours:
    """The colours of every round up to the last one that finds new colours, at most `rounds`."""
    detours = [by_subsets(graph.num_nodes, graph.arcs, k, _everywhere(graph)) for graph in graphs]
    start: list[list[Hashable]] = [
        [
            (own[node], _initial(graph, detour, init, node, own))
            for own in [[0] * graph.num_nodes if labels is None else labels[g]]
            for node in range(graph.num_nodes)
        ]
        for g, (graph, detour) in enumerate(zip(graphs, detours, strict=True))
    ]
    history = [_numbered(start)]
    while rounds is None or len(history) <= rounds:
        colours = history[-1]

        def seen(g: int, node: int, colours: list[list[int]] = colours) -> Hashable:
            graph, detour = graphs[g], detours[g]
            if pairs:
                others = [other for other in range(graph.num_nodes) if other != node]
                return colours[g][node], _sorted((*_pair(graph, detour, node, j), colours[g][j]) for j in others)
            label = dict.fromkeys(graph.arcs, 0) if edge_labels is None else edge_labels[g]
            out = _sorted((label[i, j], _value(detour[i, j], edges), colours[g][j]) for i, j in graph.arcs if i == node)
            back = _sorted(
                (label[i, j], _value(detour[i, j], edges), colours[g][i]) for i, j in graph.arcs if j == node
            )
            return colours[g][node], out, back

        finer = _numbered([[seen(g, node) for node in range(graph.num_nodes)] for g, graph in enumerate(graphs)])
        if _count(finer) == _count(colours):
            break
        history.append(finer)
    return history


def same(history: Colours, g: int, h: int) -> bool:
    """Whether two of the graphs have equal colour multisets in every round."""
    return all(sorted(colours[g]) == sorted(colours[h]) for colours in history)


def _everywhere(graph: SomeGraph) -> list[Arc]:
    return list(permutations(range(graph.num_nodes), 2))


def _value(counts: list[int], kind: str | None) -> tuple[int, ...]:
    return () if kind is None else (sum(counts),) if kind == "den-sum" else tuple(counts)


def _initial(graph: SomeGraph, detour: dict[Arc, list[int]], init: str, node: int, labels: Sequence[Any]) -> Hashable:
    out = [arc for arc in graph.arcs if arc[0] == node]
    back = [arc for arc in graph.arcs if arc[1] == node]
    if init in ("uniform", "labels"):
        return 0
    if init == "degree":
        return len(out), len(back)
    if init == "phi":
        return sum(sum(detour[arc]) for arc in out)
    return (
        _sorted((_value(detour[i, j], init), labels[j]) for i, j in out),
        _sorted((_value(detour[i, j], init), labels[i]) for i, j in back),
    )


def _pair(graph: SomeGraph, detour: dict[Arc, list[int]], i: int, j: int) -> tuple[object, ...]:
    arcs = set(graph.arcs)
    return (i, j) in arcs, (j, i) in arcs, tuple(detour[i, j]), tuple(detour[j, i])


def _sorted(values: Iterable[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(sorted(values))


def _numbered(values: list[list[Hashable]]) -> list[list[int]]:
    table: dict[Hashable, int] = {}
    return [[table.setdefault(value, len(table)) for value in row] for row in values]


def _count(colours: list[list[int]]) -> int:
    return len({colour for row in colours for colour in row})
