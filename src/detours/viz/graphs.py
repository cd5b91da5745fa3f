"""A graph on paper, with its detours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from detours.arrays import Float64
from detours.counting.result import Detours, den_name
from detours.errors import InputError, short_repr
from detours.graph import Graph
from detours.viz.layout import stress_layout
from detours.viz.style import EDGES, NODES, new_axes, ramp, styled

MAX_NAMED = 40  # larger graphs are drawn without names


def draw_graph(
    result: Detours,
    ax: Any = None,
    *,
    positions: Float64 | Mapping[Any, Any] | None = None,
    log: bool = False,
    names: bool | None = None,
) -> Any:
    """Draw a graph, its edges coloured and thickened by k-DeN and its nodes by Φ, and return the axes.

    Args:
        result: What `detours.count` gives.
        ax: The axes to draw on. Default: those of a new figure.
        positions: float64 [nodes, 2], or a dict from the name of every node to its position, such as the layouts of
            NetworkX. Default: a layout whose distances follow those in the graph.
        log: Whether the colours follow the logarithm of the counts.
        names: Whether to draw the names of nodes. Default: if there are at most 40.

    >>> import detours, networkx as nx
    >>> ax = draw_graph(detours.count(nx.karate_club_graph(), k=4))
    >>> ax.get_title()
    '4-DeN'
    """
    from matplotlib.ticker import MaxNLocator

    points = stress_layout(result.graph) if positions is None else _checked(positions, result.graph)
    with styled():
        ax = new_axes(ax, 4.5, 3.6)
        lines = _draw_edges(ax, result, points, log)
        _draw_nodes(ax, result, points, log)
        if names if names is not None else result.graph.num_nodes <= MAX_NAMED:
            for node, (x, y) in enumerate(points):
                label = _short(result.graph.name(node))
                ax.annotate(label, (x, y), (0, -7), textcoords="offset points", size=6, ha="center")
        if result.graph.num_edges:
            ticks = None if log else MaxNLocator(integer=True)
            ax.figure.colorbar(lines, ax=ax, shrink=0.6, label="detours of an edge", ticks=ticks)
        ax.set_title(den_name(result))
        ax.set_aspect("equal")
        ax.margins(0.08)
        ax.axis("off")
    return ax


def _checked(positions: Any, graph: Graph) -> Float64:
    """Return the given positions by index, or raise `InputError`."""
    allowed = f"positions must be two finite numbers for each of the {graph.num_nodes:,} nodes"
    given = positions
    if isinstance(positions, Mapping):
        names = graph.name_list()
        if missing := [name for name in names if name not in positions]:
            raise InputError(f"{allowed}, but it has none for {short_repr(missing[0])}.")
        given = [positions[name] for name in names]
    try:
        points = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{allowed}, but it is {short_repr(positions)}.") from None
    if not graph.num_nodes and not points.size:
        return points.reshape(0, 2)
    if points.shape != (graph.num_nodes, 2):
        raise InputError(f"{allowed}, but it is an array of shape {points.shape}.")
    if not np.isfinite(points).all():
        raise InputError(f"{allowed}, but it has numbers that are not finite.")
    return points


def _draw_edges(ax: Any, result: Detours, points: Float64, log: bool) -> Any:
    """Draw every edge once and return the lines; the busiest are drawn last, above the others."""
    from matplotlib.collections import LineCollection

    ends, arcs = result.graph.to_edge_index(), np.arange(result.graph.num_arcs)
    selected = arcs if result.directed else arcs[ends[0] < ends[1]]
    den = result.totals(result.arc_by_length[selected]).astype(np.float64)
    order = np.argsort(den, kind="stable")
    lines: Any = LineCollection(
        list(points[ends[:, selected[order]].T]), array=den[order], cmap=ramp(EDGES), norm=_norm(den, log), zorder=1
    )
    lines.set_linewidths(0.5 + 3 * _shares(den[order], log))
    ax.add_collection(lines)
    return lines


def _draw_nodes(ax: Any, result: Detours, points: Float64, log: bool) -> None:
    phi = result.node.astype(np.float64)
    sizes = 14 + 50 * _shares(phi, log)
    ax.scatter(*points.T, c=phi, s=sizes, cmap=ramp(NODES), norm=_norm(phi, log), linewidths=0, zorder=2)


def _norm(values: Float64, log: bool) -> Any:
    from matplotlib.colors import Normalize, SymLogNorm

    largest = max(float(values.max(initial=0)), 1.0)
    return SymLogNorm(1, vmin=0, vmax=largest) if log else Normalize(0, largest)


def _shares(values: Float64, log: bool) -> Float64:
    scaled = np.log1p(values) if log else values
    shares: Float64 = scaled / max(float(scaled.max(initial=0)), 1.0)
    return shares


def _short(name: Any) -> str:
    text = str(name).replace("$", r"\$")  # matplotlib reads text between dollars as a formula
    return text if len(text) <= 12 else text[:11] + "…"
