"""What the tests of refinement share: batches of small graphs, and the methods tried on them."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tests.strategies import SmallGraph, small_graphs

METHODS: list[dict[str, Any]] = [
    {"init": "uniform"},
    {"init": "degree"},
    {"init": "phi", "k": 3},
    {"init": "den", "k": 2},
    {"init": "den", "k": 4},
    {"init": "den-sum", "k": 4},
    {"init": "uniform", "edges": "den", "k": 3},
    {"init": "den", "edges": "den-sum", "k": 4},
    {"init": "uniform", "pairs": "den", "k": 3},
    {"init": "den", "pairs": "den", "k": 5},
]

SOME_METHODS = [METHODS[index] for index in (0, 4, 5, 6, 8)]
"""One of each kind, for properties that do not depend on the rest."""


def name_of(method: dict[str, Any]) -> str:
    return " ".join(str(value) for value in method.values())


@st.composite
def batches(draw: st.DrawFn, *, min_size: int = 0, max_nodes: int = 6) -> list[SmallGraph]:
    """A few graphs, all directed or all undirected, some of them isomorphic, empty, or without edges."""
    directed = draw(st.booleans())
    bare = st.integers(0, 3).map(lambda nodes: SmallGraph(nodes, (), directed))
    some = st.one_of(bare, *[small_graphs(directed=directed, max_nodes=max_nodes)] * 4)
    graphs: list[SmallGraph] = draw(st.lists(some, min_size=min_size, max_size=4))
    repeat: bool = draw(st.booleans())
    if graphs and repeat:
        graphs.append(draw(relabelled(draw(st.sampled_from(graphs)))))
    return graphs


@st.composite
def relabelled(draw: st.DrawFn, graph: SmallGraph) -> SmallGraph:
    """The same graph with its nodes renumbered."""
    name: Sequence[int] = draw(st.permutations(range(graph.num_nodes)))
    return SmallGraph(graph.num_nodes, tuple((name[i], name[j]) for i, j in graph.arcs), graph.directed)
