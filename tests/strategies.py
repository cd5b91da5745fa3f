"""Hypothesis strategies: small graphs of the kinds that break counting engines."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, compress, pairwise, permutations
from random import Random

import networkx as nx
import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import detours
from detours.counting.plan import engines as all_engines
from tests import oracles

Arc = tuple[int, int]


@dataclass(frozen=True)
class SmallGraph:
    """Arcs without loops or duplicates, in the caller's order; both arcs of every edge when undirected."""

    num_nodes: int
    arcs: tuple[Arc, ...]
    directed: bool

    @property
    def edge_index(self) -> NDArray[np.int64]:
        return np.array(self.arcs, dtype=np.int64).reshape(-1, 2).T

    def graph(self) -> detours.Graph:
        return detours.Graph.from_edge_index(self.edge_index, num_nodes=self.num_nodes, directed=self.directed)

    def table(self, k: int) -> NDArray[np.int64]:
        """The expected `by_length`, in the order of the arcs."""
        counts = oracles.by_subsets(self.num_nodes, self.arcs, k)
        return np.array([counts[arc] for arc in self.arcs], dtype=np.int64).reshape(-1, k - 1)

    def to_networkx(self) -> nx.Graph:
        graph = nx.DiGraph() if self.directed else nx.Graph()
        graph.add_nodes_from(range(self.num_nodes))
        graph.add_edges_from(self.arcs)
        return graph


@st.composite
def small_graphs(draw: st.DrawFn, *, directed: bool | None = None, max_nodes: int = 9) -> SmallGraph:
    """Any graph: random of every density, chains and glued blocks; the arcs in a random order."""
    if directed is None:
        directed = draw(st.booleans())
    num_nodes, arcs = draw(
        st.one_of(
            random_arcs(directed, max_nodes),
            seeded_arcs(directed, max_nodes),
            seeded_arcs(directed, max_nodes),
            subdivided_arcs(directed, max_nodes),
            glued_arcs(directed, max_nodes),
        )
    )
    return SmallGraph(num_nodes, tuple(draw(st.permutations(sorted(arcs)))), directed)


@st.composite
def random_arcs(draw: st.DrawFn, directed: bool, max_nodes: int) -> tuple[int, set[Arc]]:
    """Draw each pair separately: mostly sparse graphs, but they shrink to the smallest that fails."""
    num_nodes = draw(st.integers(1, max_nodes))
    pairs = _pairs(num_nodes, directed)
    present = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return num_nodes, _oriented(compress(pairs, present), directed)


@st.composite
def seeded_arcs(draw: st.DrawFn, directed: bool, max_nodes: int) -> tuple[int, set[Arc]]:
    """Every density equally often, unlike drawing each pair separately."""
    num_nodes = draw(st.integers(max(1, max_nodes - 3), max_nodes))
    density = draw(st.sampled_from([0.3, 0.45, 0.6, 0.8, 1.0]))
    random = Random(draw(st.integers(0, 2**32 - 1)))
    return num_nodes, _oriented((pair for pair in _pairs(num_nodes, directed) if random.random() < density), directed)


@st.composite
def subdivided_arcs(draw: st.DrawFn, directed: bool, max_nodes: int) -> tuple[int, set[Arc]]:
    """A few nodes connected by chains, some in parallel: thetas, ladders, long cycles with chords."""
    num_nodes = draw(st.integers(2, min(4, max_nodes)))
    hubs = _pairs(num_nodes, directed)
    arcs: set[Arc] = set()
    for tail, head in draw(st.lists(st.sampled_from(hubs), min_size=1, max_size=7)):
        inner = draw(st.integers(0, min(4, max_nodes - num_nodes)))
        chain = [tail, *range(num_nodes, num_nodes + inner), head]
        num_nodes += inner
        arcs |= set(pairwise(chain))
    return num_nodes, _oriented(arcs, directed)


@st.composite
def glued_arcs(draw: st.DrawFn, directed: bool, max_nodes: int) -> tuple[int, set[Arc]]:
    """Two graphs that share a node or are connected by a bridge, with interleaved node indices."""
    left_nodes, left = draw(random_arcs(directed, max(2, max_nodes // 2)))
    right_nodes, right = draw(random_arcs(directed, max(2, (max_nodes + 1) // 2)))
    share = draw(st.booleans())
    num_nodes = left_nodes + right_nodes - share
    new_name = draw(st.permutations(range(num_nodes)))
    arcs = left | {(tail + left_nodes - share, head + left_nodes - share) for tail, head in right}
    if not share:
        arcs |= _oriented([(left_nodes - 1, left_nodes)], directed)
    return num_nodes, {(new_name[tail], new_name[head]) for tail, head in arcs}


def _pairs(num_nodes: int, directed: bool) -> list[Arc]:
    return list((permutations if directed else combinations)(range(num_nodes), 2))


def _oriented(pairs: Iterable[Arc], directed: bool) -> set[Arc]:
    arcs = set(pairs)
    return arcs if directed else arcs | {(head, tail) for tail, head in arcs}


def engines(k: int) -> list[str]:
    """The engines that can count up to k."""
    return ["auto", *(engine.name for engine in all_engines() if engine.longest is None or k <= engine.longest)]
