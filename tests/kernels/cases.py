"""What the tests of kernels share: kernels with the oracle's words for them, and batches of labelled graphs."""

from collections.abc import Collection
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

import detours
from detours.kernels import GraphKernel, Labelled, ShortestPath, WLDetour, WLShortestPath, WLSubtree
from tests.oracles import kernels as oracle
from tests.strategies import SmallGraph, small_graphs

KERNELS: list[tuple[GraphKernel, dict[str, Any]]] = [
    (ShortestPath(labels="degree"), {"base": "pairs"}),
    (ShortestPath(labels="none"), {"base": "pairs", "labels": "none"}),
    (ShortestPath(labels="both"), {"base": "pairs", "labels": "both"}),
    (WLSubtree(0, labels="data"), {"labels": "data"}),
    (WLSubtree(3), {"rounds": 3, "labels": "data"}),
    (WLSubtree(4, labels="none"), {"rounds": 4, "labels": "none"}),
    (WLShortestPath(2, labels="degree"), {"rounds": 2, "base": "pairs"}),
    (WLShortestPath(3, labels="data"), {"rounds": 3, "base": "pairs", "labels": "data"}),
    (WLDetour.paper(2, 2), {"rounds": 2, "base": "pairs", "init": "den-sum", "k": 2}),
    (WLDetour(4, 3), {"rounds": 3, "init": "den", "k": 4, "labels": "data", "plain": True}),
    (
        WLDetour(3, 2, base="shortest-path", labels="degree"),
        {"rounds": 2, "base": "pairs", "init": "den", "k": 3, "plain": True},
    ),
    (
        WLDetour(4, 1, labels="both", plain=False),
        {"rounds": 1, "labels": "both", "init": "den", "k": 4},
    ),
    (
        WLDetour(3, 1, base="shortest-path", labels="data", init="phi"),
        {"rounds": 1, "base": "pairs", "labels": "data", "init": "phi", "k": 3, "plain": True},
    ),
    (WLSubtree(3, labels="data", edge_labels=True), {"rounds": 3, "labels": "data", "edge_labels": True}),
    (
        WLShortestPath(2, labels="none", edge_labels=True),
        {"rounds": 2, "base": "pairs", "labels": "none", "edge_labels": True},
    ),
    (
        WLDetour(3, 2, labels="degree", init="den-sum", edge_labels=True),
        {"rounds": 2, "init": "den-sum", "k": 3, "edge_labels": True, "plain": True},
    ),
]
ONE_OF_EACH: list[GraphKernel] = [
    ShortestPath(),
    WLSubtree(2),
    WLShortestPath(2),
    WLDetour(3, 2),
    WLDetour.paper(3, 2),
]
each_kind = pytest.mark.parametrize("kernel", ONE_OF_EACH, ids=str)


def name_of(value: Any) -> str:
    return str(value) if isinstance(value, GraphKernel) else ""


@st.composite
def batches(
    draw: st.DrawFn, *, directed: bool | None = None, words: bool | None = None, min_size: int = 1
) -> list[Labelled]:
    """A few small graphs with labels of nodes and edges, all directed or all not, all labels words or all integers."""
    if directed is None:
        directed = draw(st.booleans())
    bare = st.integers(0, 2).map(lambda nodes: SmallGraph(nodes, (), directed))
    some = st.one_of(bare, *[small_graphs(directed=directed, max_nodes=6)] * 5)
    graphs = draw(st.lists(some, min_size=min_size, max_size=5))
    if words is None:
        words = draw(st.booleans())
    random = Random(draw(st.integers(0, 1000)))

    def labels(things: Collection[Any]) -> list[Any]:
        of: dict[Any, int] = {thing: random.randrange(3) for thing in things}
        return [f"word {of[thing]}" if words else of[thing] for thing in things]

    return [
        Labelled(
            one.graph(),
            labels(range(one.num_nodes)),
            labels(one.arcs if directed else [frozenset(arc) for arc in one.arcs]),
        )
        for one in graphs
    ]


def equal(left: Any, right: Any) -> bool:
    """Whether two matrices, sparse or not, have the same shape and entries."""
    dense = [matrix.toarray() if hasattr(matrix, "toarray") else matrix for matrix in (left, right)]
    return np.array_equal(*dense)


def to_networkx(item: Labelled) -> nx.Graph:
    graph = item.graph.to_networkx()
    nx.set_node_attributes(graph, dict(enumerate(item.labels)), "label")
    arcs = map(tuple, item.graph.edge_index.T.tolist())
    nx.set_edge_attributes(graph, dict(zip(arcs, item.edge_labels, strict=True)), "label")
    return graph


def features(batch: list[Labelled], palette: oracle.Palette, words: dict[str, Any]) -> list[oracle.Features]:
    return [oracle.features(to_networkx(item), palette, **words) for item in batch]


def relabelled(item: Labelled, random: Random) -> Labelled:
    """The same graph with its nodes and edges in another order."""
    new = list(range(item.graph.num_nodes))
    random.shuffle(new)
    edges = list(zip(item.graph.edge_index.T.tolist(), item.edge_labels, strict=True))
    random.shuffle(edges)
    arcs = np.array([(new[a], new[b]) for (a, b), _ in edges], dtype=np.int64).reshape(-1, 2).T
    labels = [item.labels[0]] * len(new)
    for old, place in enumerate(new):
        labels[place] = item.labels[old]
    graph = detours.Graph.from_edge_index(arcs, len(new), directed=item.graph.directed)
    return Labelled(graph, labels, [label for _, label in edges])
