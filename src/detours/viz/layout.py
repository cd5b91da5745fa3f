"""Where to draw the nodes of a small graph: distances on paper as near as can be to those in the graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detours.graph import Graph

Points = NDArray[np.float64]
_STEPS = 300
_GAP = 1.5  # between two components, in edges


def stress_layout(graph: Graph) -> Points:
    """float64 [n, 2]: each component by stress majorisation (Gansner et al., 2004), largest first, in rows.

    The same graph gives the same drawing on every run.
    """
    from scipy.sparse.csgraph import connected_components, shortest_path

    adjacency = graph.to_scipy().astype(np.float64)
    _, component = connected_components(adjacency, directed=False)
    sizes = np.bincount(component)
    parts = [np.flatnonzero(component == c) for c in np.lexsort((np.arange(len(sizes)), -sizes))]
    drawn = [_upright(_majorised(shortest_path(adjacency[part][:, part], unweighted=True))) for part in parts]
    points = np.zeros((graph.num_nodes, 2))
    for part, place in zip(parts, _packed(drawn), strict=True):
        points[part] = place
    return points


def _majorised(distance: Points) -> Points:
    """Weighted majorisation with weights d^-2, from the two main axes of the distances."""
    size = len(distance)
    if size == 1:
        return np.zeros((1, 2))
    with np.errstate(divide="ignore"):
        weight = np.where(distance > 0, distance**-2.0, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    points = _main_axes(distance)
    for _ in range(_STEPS):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        ratio = np.divide(weight * distance, apart, out=np.zeros_like(apart), where=apart > 1e-9)
        points = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ points)
    return points


def _main_axes(distance: Points) -> Points:
    centred = distance**2 - (distance**2).mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-centred / 2)
    points: Points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    # Nodes with equal distances to all others would stay on one spot for ever: a fixed, tiny nudge parts them.
    return points + 1e-3 * np.random.default_rng(0).standard_normal(points.shape)


def _upright(points: Points) -> Points:
    """Turned so that the longer extent lies flat, the lower left corner at the origin."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    if axes.shape == (2, 2):
        centred = centred @ axes.T
    moved: Points = centred - centred.min(axis=0)
    return moved


def _packed(parts: list[Points]) -> list[Points]:
    """Parts in rows from top to bottom, no row wider than makes the whole about square, or than the widest part."""
    extents = [part.max(axis=0) + _GAP for part in parts]
    wide = max(float(np.sqrt(sum(width * height for width, height in extents))), *(e[0] for e in extents), 0.0)
    placed, x, y, tall = [], 0.0, 0.0, 0.0
    for part, (width, height) in zip(parts, extents, strict=True):
        if x and x + width > wide:
            x, y, tall = 0.0, y - tall, 0.0
        placed.append(part + np.array([x, y - height]))
        x, tall = x + width, max(tall, height)
    return placed


def flatness(points: NDArray[np.float64]) -> float:
    """How tall a drawing is for its width, within what looks well."""
    width, height = np.ptp(points, axis=0) + 0.5 if len(points) else (1.0, 1.0)
    return float(np.clip(height / width, 0.4, 1.2))
