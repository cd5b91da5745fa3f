"""Rivals that list every path or cycle: NetworkX, rustworkx and igraph, any k.

A lister works through *roots* (edges, or nodes with all their neighbours as targets), so that one which would
take hours can be timed on a random sample of roots. ``whole`` listers know no roots: they do the whole graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from benchmarks.cases import Array, Csr


class Roots:
    """A graph in a lister's own type, with its roots; subclasses say how one root is listed."""

    name: str
    kind = "edges"
    """What a root is."""

    def __init__(self, graph: Csr) -> None:
        self.graph = graph
        self.ends = list(zip(*(end.tolist() for end in graph.upper), strict=True))
        self.own = self.build()

    def build(self) -> Any:
        """The lister's own graph object."""
        raise NotImplementedError

    def roots(self) -> int:
        """How many roots the whole work has."""
        return len(self.ends)

    def paths(self, root: int, k: int) -> Iterable[Any]:
        """Every simple path of 2..k edges (or more: the rest is ignored) that belongs to the root."""
        raise NotImplementedError

    def tally(self, root: int, k: int, into: Array) -> None:
        """List one root and add what was found to [edges, k − 1]."""
        for nodes, number in Counter(map(len, self.paths(root, k))).items():
            if 3 <= nodes <= k + 1:
                into[root, nodes - 3] += number

    def count(self, k: int) -> Array:
        """The whole answer."""
        into = np.zeros((len(self.ends), k - 1), np.int64)
        for root in range(self.roots()):
            self.tally(root, k, into)
        return into


class FromNode(Roots):
    """One call per node, with every neighbour above it as a target: a single search serves them all."""

    kind = "nodes"

    def __init__(self, graph: Csr) -> None:
        super().__init__(graph)
        self.first = np.searchsorted(graph.upper[0], np.arange(graph.num_nodes + 1)).tolist()

    def roots(self) -> int:
        return self.graph.num_nodes

    def targets(self, root: int) -> list[int]:
        """The neighbours above the root."""
        return [j for _, j in self.ends[self.first[root] : self.first[root + 1]]]

    def tally(self, root: int, k: int, into: Array) -> None:
        targets = self.targets(root)
        if not targets:
            return
        place = dict(zip(targets, range(self.first[root], self.first[root + 1]), strict=True))
        for (last, nodes), number in Counter((path[-1], len(path)) for path in self.paths(root, k)).items():
            if 3 <= nodes <= k + 1:
                into[place[last], nodes - 3] += number


class NetworkxPaths(Roots):
    """all_simple_paths for every edge, as the paper's authors did."""

    name = "NetworkX all_simple_paths"

    def build(self) -> Any:
        return networkx_graph(self.graph)

    def paths(self, root: int, k: int) -> Iterable[Any]:
        import networkx as nx

        return nx.all_simple_paths(self.own, *self.ends[root], cutoff=k)


class _Rustworkx(Roots):
    def build(self) -> Any:
        import rustworkx as rx

        own = rx.PyGraph(multigraph=False)
        own.add_nodes_from(range(self.graph.num_nodes))
        own.add_edges_from_no_data(self.ends)
        return own


class RustworkxEdges(_Rustworkx):
    """rustworkx all_simple_paths for every edge."""

    name = "rustworkx all_simple_paths, by edge"

    def paths(self, root: int, k: int) -> Iterable[Any]:
        import rustworkx as rx

        return rx.all_simple_paths(self.own, *self.ends[root], 3, k + 1)  # depths count nodes there


class RustworkxNodes(_Rustworkx, FromNode):
    """rustworkx all_simple_paths for every node with all its targets."""

    name = "rustworkx all_simple_paths, by node"

    def paths(self, root: int, k: int) -> Iterable[Any]:
        import rustworkx as rx

        return rx.all_simple_paths(self.own, root, self.targets(root), 3, k + 1)


class _Igraph(Roots):
    def build(self) -> Any:
        return igraph_graph(self.graph)


class IgraphEdges(_Igraph):
    """igraph get_all_simple_paths for every edge."""

    name = "igraph get_all_simple_paths, by edge"

    def paths(self, root: int, k: int) -> Iterable[Any]:
        i, j = self.ends[root]
        return self.own.get_all_simple_paths(i, j, minlen=2, maxlen=k)


class IgraphNodes(_Igraph, FromNode):
    """igraph get_all_simple_paths for every node with all its targets."""

    name = "igraph get_all_simple_paths, by node"

    def paths(self, root: int, k: int) -> Iterable[Any]:
        return self.own.get_all_simple_paths(root, self.targets(root), minlen=2, maxlen=k)


class ManyGraphs(Roots):
    """The same lister over many prebuilt graphs; a root is a whole graph, edges follow graph after graph."""

    kind = "graphs"

    def __init__(self, lister: type[Roots], graphs: list[Csr]) -> None:
        self.parts = [lister(graph) for graph in graphs]
        self.ends = [end for part in self.parts for end in part.ends]
        self.offsets = np.concatenate([[0], np.cumsum([len(part.ends) for part in self.parts])]).tolist()

    def roots(self) -> int:
        return len(self.parts)

    def tally(self, root: int, k: int, into: Array) -> None:
        part, own = self.parts[root], into[self.offsets[root] : self.offsets[root + 1]]
        for inner in range(part.roots()):
            part.tally(inner, k, own)


ROOTED: list[type[Roots]] = [
    NetworkxPaths,
    RustworkxEdges,
    RustworkxNodes,
    IgraphEdges,
    IgraphNodes,
]


def networkx_graph(graph: Csr) -> Any:
    """The graph as nx.Graph."""
    import networkx as nx

    own = nx.Graph()
    own.add_nodes_from(range(graph.num_nodes))
    own.add_edges_from(zip(*(end.tolist() for end in graph.upper), strict=True))
    return own


def igraph_graph(graph: Csr) -> Any:
    """The graph as igraph.Graph, edges in the order of ``Csr.upper``."""
    import igraph

    return igraph.Graph(n=graph.num_nodes, edges=np.stack(graph.upper, axis=1).tolist())


def networkx_cycles(own: Any, k: int) -> Iterable[list[int]]:
    """Every simple cycle of at most k + 1 nodes, lazily."""
    import networkx as nx

    return nx.simple_cycles(own, length_bound=k + 1)


def networkx_cycles_count(graph: Csr, own: Any, k: int) -> Array:
    """simple_cycles, tallied on the edges of each cycle."""
    place = {edge: e for e, edge in enumerate(zip(*(end.tolist() for end in graph.upper), strict=True))}
    into = np.zeros((graph.num_edges, k - 1), np.int64)
    for cycle in networkx_cycles(own, k):
        for i, j in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            into[place[(i, j) if i < j else (j, i)], len(cycle) - 3] += 1
    return into


def igraph_cycles(own: list[Any], k: int) -> list[list[Any]]:
    """simple_cycles of each prebuilt graph, as edge ids: listing alone."""
    return [graph.simple_cycles(min=3, max=k + 1, output="epath") for graph in own]


def igraph_cycles_count(own: list[Any], k: int) -> Array:
    """simple_cycles, tallied on the edges of all graphs in one go."""
    listed = igraph_cycles(own, k)
    offsets = np.concatenate([[0], np.cumsum([graph.ecount() for graph in own])])
    cycles = list(chain.from_iterable(listed))
    length = np.fromiter(map(len, cycles), np.int64, len(cycles))
    edges = np.fromiter(chain.from_iterable(cycles), np.int64, int(length.sum()))
    shift = np.repeat(offsets[:-1], [sum(map(len, found)) for found in listed])
    keys = (edges + shift) * (k - 1) + np.repeat(length - 3, length)
    return np.bincount(keys, minlength=int(offsets[-1]) * (k - 1)).reshape(-1, k - 1)
