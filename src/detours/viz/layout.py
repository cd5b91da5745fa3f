"""Positions of the nodes of a drawing, at distances close to those in the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from detours.arrays import Float64
from detours.graph import Graph
from detours.graph.convert import library

_GAP = 1.5  # between two components, in edges
_SMALL, _MEDIUM = 80, 500  # nodes of a component
_SEED = 1


def stress_layout(graph: Graph) -> Float64:
    """Return float64 [n, 2]: each component by the method of Kamada and Kawai (1989), largest first, in rows.

    Components of more than 500 nodes, or 80 where igraph is not installed, are laid out by the forces of Fruchterman
    and Reingold (1991), which is faster; for graphs of more than 80 nodes igraph is used if installed.
    Edges have a mean length of 1. The same graph gives the same drawing on every run.

    >>> first, second = stress_layout(Graph.from_edge_index([[0, 1], [1, 0]]))
    >>> round(float(np.linalg.norm(first - second)), 3)
    1.0
    """
    nx = library("networkx", "networkx")
    drawn = nx.Graph()
    drawn.add_nodes_from(range(graph.num_nodes))
    drawn.add_edges_from(graph.to_edge_index().T.tolist())
    components = sorted(map(sorted, nx.connected_components(drawn)), key=lambda nodes: (-len(nodes), nodes))
    with threadpool_limits(1):  # the matrices are too small to gain from threads
        layouts = [_layout(nx, drawn, nodes) for nodes in components]
    points = np.zeros((graph.num_nodes, 2))
    for nodes, positions in zip(components, _in_rows(layouts), strict=True):
        points[nodes] = positions
    return points


def _layout(nx: Any, graph: Any, nodes: list[int]) -> Float64:
    """Return the positions of a component, rotated to be wide, with the lower left corner at the origin."""
    if len(nodes) == 1:
        return np.zeros((1, 2))
    component = nx.Graph()  # not a subgraph view, whose order of nodes may differ
    component.add_nodes_from(nodes)
    component.add_edges_from(graph.edges(nodes))
    position = dict(zip(nodes, _positions(nx, component, small=len(graph) <= _SMALL), strict=True))
    lengths = [np.linalg.norm(position[i] - position[j]) for i, j in component.edges]
    points = np.stack([position[node] for node in nodes]) / np.mean(lengths)
    points -= points.mean(axis=0)
    points = points @ np.linalg.svd(points, full_matrices=False)[2].T
    corner: Float64 = points - points.min(axis=0)
    return corner


def _positions(nx: Any, component: Any, small: bool) -> Float64:
    """Return the positions of a connected graph, not yet scaled."""
    igraph = None if small else _igraph()
    if small or (igraph is None and len(component) <= _SMALL):
        return np.stack(list(nx.kamada_kawai_layout(component).values()))
    start = np.random.default_rng(_SEED).normal(size=(len(component), 2))
    if igraph is None:
        layout = nx.spring_layout(component, pos=dict(zip(component, start, strict=True)), seed=_SEED)
        return np.stack(list(layout.values()))
    graph = igraph.Graph.from_networkx(component)
    if len(component) <= _MEDIUM:
        start *= np.sqrt(len(component))
        return np.array(graph.layout_kamada_kawai(seed=start.tolist()).coords)
    grid = "grid" if len(component) > 1000 else "nogrid"
    spread = start * np.sqrt(len(component))
    return np.array(graph.layout_fruchterman_reingold(seed=spread.tolist(), niter=500, grid=grid).coords)


def _igraph() -> Any | None:
    try:
        import igraph
    except ImportError:
        return None
    return igraph


def _in_rows(parts: list[Float64]) -> list[Float64]:
    """Arrange the parts in rows from top to bottom, about square in total unless one part is wider."""
    extents = [part.max(axis=0) + _GAP for part in parts]
    widest = max(float(np.sqrt(sum(width * height for width, height in extents))), *(e[0] for e in extents), 0.0)
    placed, x, y, tallest = [], 0.0, 0.0, 0.0
    for part, (width, height) in zip(parts, extents, strict=True):
        if x and x + width > widest:
            x, y, tallest = 0.0, y - tallest, 0.0
        placed.append(part + np.array([x, y - height]))
        x, tallest = x + width, max(tallest, height)
    return placed


def flatness(points: Float64) -> float:
    """Return the ratio of height to width of a drawing, clipped to reasonable values."""
    width, height = np.ptp(points, axis=0) + 0.5 if len(points) else (1.0, 1.0)
    return float(np.clip(height / width, 0.4, 1.2))
