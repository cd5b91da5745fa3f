"""Neighbourhoods of nodes from NetworkX, for the subgraphs that are extracted from a graph on disk."""

from collections.abc import Iterable

import networkx as nx


def ball(graph: nx.Graph, roots: Iterable[int], radius: int) -> dict[int, int]:
    """The nodes within `radius` steps of the roots, in any direction of the arcs, and their distances."""
    both = nx.Graph(graph.to_undirected(as_view=False))
    found = nx.multi_source_dijkstra_path_length(both, set(roots), cutoff=radius, weight=None)
    return {node: int(steps) for node, steps in found.items()}
