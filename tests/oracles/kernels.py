"""Graph kernels straight from the definitions: colours by a dictionary, distances by NetworkX, products by counters."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from tests.oracles.brute import by_subsets

Features = Counter[Hashable]


class Palette(dict[Hashable, int]):
    """Maps every colour to an integer that is the same in all graphs."""

    def number(self, meaning: Hashable) -> int:
        return self.setdefault(meaning, len(self))


def features(
    graph: nx.Graph,
    palette: Palette,
    *,
    rounds: int = 0,
    base: str = "subtree",
    labels: str = "degree",
    edge_labels: bool = False,
    plain: bool = False,
    **detours: Any,
) -> Features:
    """The features of a graph; labels of nodes and edges are their attribute "label", `detours` is init= and k=.

    With `plain`, the features without detours are added under separate keys.
    """
    if plain:
        options: dict[str, Any] = {"rounds": rounds, "base": base, "labels": labels, "edge_labels": edge_labels}
        without = features(graph, palette, **options)
        return features(graph, palette, **options, **detours) + Counter(
            {("plain", *key): count for key, count in without.items()}  # type: ignore[misc]  # keys are tuples
        )
    found: Features = Counter()
    colours = _start(graph, palette, labels, **detours)
    for round in range(rounds + 1):
        if round > 0:
            colours = _refined(graph, palette, round, colours, edge_labels)
        if base == "subtree":
            found.update((round, colour) for colour in colours.values())
            continue
        for source, distances in nx.all_pairs_shortest_path_length(graph):
            for target, distance in distances.items():
                if source != target:
                    found[round, colours[source], colours[target], distance] += 1
    return found


def gram(rows: Sequence[Features], columns: Sequence[Features], normalize: bool = False) -> NDArray[Any]:
    """The products of all pairs."""
    products = np.array([[product(left, right) for right in columns] for left in rows])
    if not normalize:
        return products
    norms = [[product(one, one) ** 0.5 or 1.0 for one in side] for side in (rows, columns)]
    return products / np.outer(*norms)


def product(left: Features, right: Features) -> int:
    return sum(count * right[feature] for feature, count in left.items())


def _start(graph: nx.Graph, palette: Palette, labels: str, init: str | None = None, k: int = 2) -> dict[Hashable, int]:
    arcs = list(graph.edges) if graph.is_directed() else [*graph.edges, *((b, a) for a, b in graph.edges)]
    counts = by_subsets(len(graph), arcs, k) if init else {}

    def number(arc: tuple[int, int]) -> Hashable:
        return tuple(counts[arc]) if init == "den" else sum(counts[arc])

    colours = {}
    for node in graph:
        parts: list[Hashable] = []
        if labels in ("degree", "both"):
            parts.append((graph.out_degree(node), graph.in_degree(node)) if graph.is_directed() else graph.degree(node))
        if labels in ("data", "both"):
            parts.append(graph.nodes[node]["label"])
        if init == "phi":
            parts.append(sum(sum(counts[arc]) for arc in arcs if arc[0] == node))
        elif init:
            parts.append(_seen(graph, node, lambda arc, other: number(arc)))
        colours[node] = palette.number((0, *parts))
    return colours


def _refined(
    graph: nx.Graph, palette: Palette, round: int, colours: dict[Hashable, int], edge_labels: bool
) -> dict[Hashable, int]:
    def what(arc: tuple[Hashable, Hashable], other: Hashable) -> Hashable:
        return (graph.edges[arc]["label"], colours[other]) if edge_labels else colours[other]

    def number(node: Hashable) -> int:
        return palette.number((round, colours[node], _seen(graph, node, what)))

    return {node: number(node) for node in graph}


def _seen(graph: nx.Graph, node: Any, what: Any) -> Hashable:
    """The sorted multiset of values along the outgoing arcs of a node, and along incoming ones if directed."""
    out = sorted(what((node, other), other) for other in graph.adj[node])
    if not graph.is_directed():
        return tuple(out)
    return tuple(out), tuple(sorted(what((other, node), other) for other in graph.pred[node]))
