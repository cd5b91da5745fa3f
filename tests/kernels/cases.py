"""What the tests of kernels share: kernels with the oracle's words for them, and batches of labelled graphs."""

from random import Random
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

import detours
from detours.kernels import GraphKernel, Labelled, ShortestPath, WLDetour, WLShortestPath, WLSubtree
from tests.oracles import kernels as oracle
from tests.strategies import SmallGraph, small_graphs

KERNELS: list[tuple[GraphKernel, dict[str, Any]]] = [
    (ShortestPath(), {"base": "pairs"}),
    (ShortestPath(labels="none"), {"base": "pairs", "labels": "none"}),
    (ShortestPath(labels="both"), {"base": "pairs", "labels": "both"}),
    (WLSubtree(0, labels="data"), {"labels": "data"}),
    (WLSubtree(3), {"rounds": 3}),
    (WLSubtree(4, labels="none"), {"rounds": 4, "labels": "none"}),
    (WLShortestPath(2), {"rounds": 2, "base": "pairs"}),
    (WLShortestPath(3, labels="data"), {"rounds": 3, "base": "pairs", "labels": "data"}),
    (WLDetour(2, 2), {"rounds": 2, "base": "pairs", "init": "den", "k": 2}),
    (WLDetour(4, 3, base="subtree"), {"rounds": 3, "init": "den", "k": 4}),
    (
        WLDetour(4, 1, base="subtree", labels="both", init="den-by-length"),
        {"rounds": 1, "labels": "both", "init": "den-by-length", "k": 4},
    ),
    (
        WLDetour(3, 1, labels="data", init="phi"),
        {"rounds": 1, "base": "pairs", "labels": "data", "init": "phi", "k": 3},
    ),
]


def name_of(value: Any) -> str:
    return str(value) if isinstance(value, GraphKernel) else ""


@st.composite
def batches(draw: st.DrawFn, *, directed: bool | None = None, min_size: int = 1) -> list[Labelled]:
    """A few small graphs with labels, all directed or all not."""
    if directed is None:
        directed = draw(st.booleans())
    bare = st.integers(0, 2).map(lambda nodes: SmallGraph(nodes, (), directed))
    some = st.one_of(bare, *[small_graphs(directed=directed, max_nodes=6)] * 5)
    graphs = draw(st.lists(some, min_size=min_size, max_size=5))
    words = draw(st.booleans())
    random = Random(draw(st.integers(0, 1000)))
    labels = [[random.randrange(3) for _ in range(one.num_nodes)] for one in graphs]
    return [
        Labelled(one.graph(), [f"word {label}" for label in own] if words else own)
        for one, own in zip(graphs, labels, strict=True)
    ]


def equal(left: Any, right: Any) -> bool:
    """Whether two matrices, sparse or not, have the same shape and entries."""
    dense = [matrix.toarray() if hasattr(matrix, "toarray") else matrix for matrix in (left, right)]
    return np.array_equal(*dense)


def to_networkx(item: Labelled) -> nx.Graph:
    graph = item.graph.to_networkx()
    nx.set_node_attributes(graph, dict(enumerate(item.labels)), "label")
    return graph


def features(batch: list[Labelled], palette: oracle.Palette, words: dict[str, Any]) -> list[oracle.Features]:
    return [oracle.features(to_networkx(item), palette, **words) for item in batch]


def relabelled(item: Labelled, random: Random) -> Labelled:
    """The same graph with its nodes in another order."""
    new = list(range(item.graph.num_nodes))
    random.shuffle(new)
    arcs = item.graph.to_edge_index()
    for at, (a, b) in enumerate(arcs.T.tolist()):
        arcs[:, at] = new[a], new[b]
    labels = [item.labels[0]] * len(new)
    for old, place in enumerate(new):
        labels[place] = item.labels[old]
    graph = detours.Graph.from_edge_index(arcs, len(new), directed=item.graph.directed)
    return Labelled(graph, labels)
