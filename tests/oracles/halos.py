"""Surroundings of nodes by NetworkX, for what is cut out of a graph on disk."""

from collections.abc import Iterable

import networkx as nx


def ball(graph: nx.Graph, roots: Iterable[int], radius: int) -> dict[int, int]:
    """The nodes within `radius` steps of the roots, whichever way the arcs point, and their distance."""
    both = nx.Graph(graph.to_undirected(as_view=False))
    found = nx.multi_source_dijkstra_path_length(both, set(roots), cutoff=radius, weight=None)
    return {node: int(steps) for node, steps in found.items()}
