"""A graph on paper, with its detours."""

from __future__ import annotations

from typing import Any

import numpy as np

from detours.arrays import Float64
from detours.counting.result import Detours
from detours.viz.layout import stress_layout
from detours.viz.style import EDGES, NODES, new_axes, ramp, styled

NAMED = 40  # nodes up to which they are named


def draw_graph(
    result: Detours, ax: Any = None, *, positions: Float64 | None = None, log: bool = False, names: bool | None = None
) -> Any:
    """Draw a graph, its edges coloured and thickened by k-DeN and its nodes by Φ, and return the axes.

    Args:
        result: What `detours.count` gives.
        ax: The axes to draw on. Default: those of a new figure.
        positions: float64 [nodes, 2]. Default: distances on paper follow those in the graph.
        log: Whether the colours follow the logarithm of the counts.
        names: Whether nodes are named. Default: if there are at most 40.

    >>> import detours, networkx as nx
    >>> ax = draw_graph(detours.count(nx.karate_club_graph(), k=4))
    >>> ax.get_title()
    '4-DeN'
    """
    from matplotlib.collections import LineCollection

    graph = result.graph
    points = stress_layout(graph) if positions is None else np.asarray(positions, np.float64)
    ends, arcs = graph.to_edge_index(), np.arange(graph.num_arcs)
    kept = arcs if graph.directed else arcs[ends[0] < ends[1]]
    den = result.totals(result.arc_by_length[kept]).astype(np.float64)
    order = np.argsort(den, kind="stable")  # the busiest are drawn last, above the others
    with styled():
        ax = new_axes(ax, 4.5, 3.6)
        share = _shares(den[order], log)
        lines: Any = LineCollection(
            list(points[ends[:, kept[order]].T]), array=den[order], cmap=ramp(EDGES), norm=_norm(den, log), zorder=1
        )
        lines.set_linewidths(0.5 + 3 * share)
        ax.add_collection(lines)
        phi = result.node.astype(np.float64)
        sizes = 14 + 50 * _shares(phi, log)
        ax.scatter(*points.T, c=phi, s=sizes, cmap=ramp(NODES), norm=_norm(phi, log), linewidths=0, zorder=2)
        if names if names is not None else graph.num_nodes <= NAMED:
            for node, (x, y) in enumerate(points):
                ax.annotate(_short(graph.name(node)), (x, y), (0, -7), textcoords="offset points", size=6, ha="center")
        if len(den):
            ax.figure.colorbar(lines, ax=ax, shrink=0.6, label="detours of an edge")
        ax.set_title(f"{result.k}-DeN")
        ax.set_aspect("equal")
        ax.margins(0.08)
        ax.axis("off")
    return ax


def _norm(values: Float64, log: bool) -> Any:
    from matplotlib.colors import Normalize, SymLogNorm

    most = max(float(values.max(initial=0)), 1.0)
    return SymLogNorm(1, vmin=0, vmax=most) if log else Normalize(0, most)


def _shares(values: Float64, log: bool) -> Float64:
    read = np.log1p(values) if log else values
    shares: Float64 = read / max(float(read.max(initial=0)), 1.0)
    return shares


def _short(name: Any) -> str:
    text = str(name).replace("$", r"\$")  # matplotlib reads text between dollars as a formula
    return text if len(text) <= 12 else text[:11] + "…"
