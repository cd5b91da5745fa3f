"""Rivals that list every path or cycle, for any k: NetworkX, rustworkx and igraph.

A lister of paths processes *roots* (edges, or nodes with all their neighbours as targets), so that one that would
take hours can be timed on a random sample of roots. Listers of cycles have no roots: they process the entire graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from benchmarks.cases import Array, Csr


class Roots:
    """A graph converted for a lister, with its roots; subclasses define how to list the paths of a root."""

    name: str
    kind = "edges"
    """What the roots are."""

    def __init__(self, graph: Csr) -> None:
        self.graph = graph
        self.ends = list(zip(*(end.tolist() for end in graph.upper), strict=True))
        self.converted = self.build()

    def build(self) -> Any:
        """Return the graph as the lister's own type."""
        raise NotImplementedError

    def num_roots(self) -> int:
        """The number of roots of the graph."""
        return len(self.ends)

    def paths(self, root: int, k: int) -> Iterable[Any]:
        """Every simple path of 2..k edges that belongs to the root; paths of other lengths are ignored."""
        raise NotImplementedError

    def tally(self, root: int, k: int, counts: Array) -> None:
        """List the paths of one root and add them to `counts`, an array [edges, k − 1]."""
        for nodes, count in Counter(map(len, self.paths(root, k))).items():
            if 3 <= nodes <= k + 1:
                counts[root, nodes - 3] += count

    def count(self, k: int) -> Array:
        """The counts of all edges, [edges, k − 1]."""
        counts = np.zeros((len(self.ends), k - 1), np.int64)
        for root in range(self.num_roots()):
            self.tally(root, k, counts)
        return counts


class FromNode(Roots):
    """One call per node, with every neighbour above it as a target: a single search finds the paths to all of them."""

    kind = "nodes"

    def __init__(self, graph: Csr) -> None:
        super().__init__(graph)
        self.offsets = np.searchsorted(graph.upper[0], np.arange(graph.num_nodes + 1)).tolist()

    def num_roots(self) -> int:
        return self.graph.num_nodes

    def targets(self, root: int) -> list[int]:
        """The neighbours above the root."""
        return [j for _, j in self.ends[self.offsets[root] : self.offsets[root + 1]]]

    def tally(self, root: int, k: int, counts: Array) -> None:
        targets = self.targets(root)
        if not targets:
            return
        edge_of = dict(zip(targets, range(self.offsets[root], self.offsets[root + 1]), strict=True))
        for (target, nodes), count in Counter((path[-1], len(path)) for path in self.paths(root, k)).items():
            if 3 <= nodes <= k + 1:
                counts[edge_of[target], nodes - 3] += count


class NetworkxPaths(Roots):
    """all_simple_paths for every edge, as the paper's authors did."""

    name = "NetworkX all_simple_paths"

    def build(self) -> Any:
        return networkx_graph(self.graph)

    def paths(self, root: int, k: int) -> Iterable[Any]:
        import networkx as nx

        return nx.all_simple_paths(self.converted, *self.ends[root], cutoff=k)


class _Rustworkx(Roots):
    def build(self) -> Any:
        import rustworkx as rx

        graph = rx.PyGraph(multigraph=False)
        graph.add_nodes_from(range(self.graph.num_nodes))
        graph.add_edges_from_no_data(self.ends)
        return graph


class RustworkxEdges(_Rustworkx):
    """rustworkx all_simple_paths for every edge."""

    name = "rustworkx all_simple_paths, by edge"

    def paths(self, root: int, k: int) -> Iterable[Any]:
        import rustworkx as rx

        return rx.all_simple_paths(self.converted, *self.ends[root], 3, k + 1)  # rustworkx counts nodes, not edges


class RustworkxNodes(_Rustworkx, FromNode):
    """rustworkx all_simple_paths for every node with all its targets."""

    name = "rustworkx all_simple_paths, by node"

    def paths(self, root: int, k: int) -> Iterable[Any]:
        import rustworkx as rx

        return rx.all_simple_paths(self.converted, root, self.targets(root), 3, k + 1)


class _Igraph(Roots):
    def build(self) -> Any:
        return igraph_graph(self.graph)


class IgraphEdges(_Igraph):
    """igraph get_all_simple_paths for every edge."""

    name = "igraph get_all_simple_paths, by edge"

    def paths(self, root: int, k: int) -> Iterable[Any]:
        i, j = self.ends[root]
        return self.converted.get_all_simple_paths(i, j, minlen=2, maxlen=k)


class IgraphNodes(_Igraph, FromNode):
    """igraph get_all_simple_paths for every node with all its targets."""

    name = "igraph get_all_simple_paths, by node"

    def paths(self, root: int, k: int) -> Iterable[Any]:
        return self.converted.get_all_simple_paths(root, self.targets(root), minlen=2, maxlen=k)


class ManyGraphs(Roots):
    """The same lister for many graphs; each graph is a root, and the edges are concatenated."""

    kind = "graphs"

    def __init__(self, lister: type[Roots], graphs: list[Csr]) -> None:
        self.listers = [lister(graph) for graph in graphs]
        self.ends = [end for lister in self.listers for end in lister.ends]
        self.offsets = np.concatenate([[0], np.cumsum([len(lister.ends) for lister in self.listers])]).tolist()

    def num_roots(self) -> int:
        return len(self.listers)

    def tally(self, root: int, k: int, counts: Array) -> None:
        lister = self.listers[root]
        for inner in range(lister.num_roots()):
            lister.tally(inner, k, counts[self.offsets[root] : self.offsets[root + 1]])


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

    converted = nx.Graph()
    converted.add_nodes_from(range(graph.num_nodes))
    converted.add_edges_from(zip(*(end.tolist() for end in graph.upper), strict=True))
    return converted


def igraph_graph(graph: Csr) -> Any:
    """The graph as igraph.Graph, edges in the order of ``Csr.upper``."""
    import igraph

    return igraph.Graph(n=graph.num_nodes, edges=np.stack(graph.upper, axis=1).tolist())


def networkx_cycles(graph: Any, k: int) -> Iterable[list[int]]:
    """Every simple cycle of at most k + 1 nodes, lazily."""
    import networkx as nx

    return nx.simple_cycles(graph, length_bound=k + 1)


def networkx_cycles_count(graph: Csr, converted: Any, k: int) -> Array:
    """simple_cycles, counted for each edge of each cycle."""
    edge_of = {edge: e for e, edge in enumerate(zip(*(end.tolist() for end in graph.upper), strict=True))}
    counts = np.zeros((graph.num_edges, k - 1), np.int64)
    for cycle in networkx_cycles(converted, k):
        for i, j in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            counts[edge_of[(i, j) if i < j else (j, i)], len(cycle) - 3] += 1
    return counts


def igraph_cycles(graphs: list[Any], k: int) -> list[list[Any]]:
    """simple_cycles of each graph, as edge ids, without counting."""
    return [graph.simple_cycles(min=3, max=k + 1, output="epath") for graph in graphs]


def igraph_cycles_count(graphs: list[Any], k: int) -> Array:
    """simple_cycles, counted for each edge of all graphs."""
    listed = igraph_cycles(graphs, k)
    offsets = np.concatenate([[0], np.cumsum([graph.ecount() for graph in graphs])])
    cycles = list(chain.from_iterable(listed))
    length = np.fromiter(map(len, cycles), np.int64, len(cycles))
    edges = np.fromiter(chain.from_iterable(cycles), np.int64, int(length.sum()))
    shift = np.repeat(offsets[:-1], [sum(map(len, of_graph)) for of_graph in listed])
    keys = (edges + shift) * (k - 1) + np.repeat(length - 3, length)
    return np.bincount(keys, minlength=int(offsets[-1]) * (k - 1)).reshape(-1, k - 1)
