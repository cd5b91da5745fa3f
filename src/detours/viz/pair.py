"""Two graphs coloured round by round, one row of drawings per graph and initial colouring, with rings for differences.

A colour of the refinement is drawn in one colour, the same in both graphs. A black ring marks a node whose colour
occurs more or less often in the other graph: a round without rings does not tell the two graphs apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Bool, Float64, Int64
from detours.graph import Graph
from detours.viz.layout import flatness, stress_layout
from detours.viz.style import new_figure

MAX_ROUNDS = 5  # drawn; the last column is always the stable colouring
SIDE = 2.0  # the width of a drawing, in inches


def pair_figure(first: Graph, second: Graph, colours: Mapping[str, tuple[Int64, Int64]], title: str = "") -> Any:
    """Draw a pair; `colours` maps each initial colouring to the colours of both graphs, [rounds + 1, nodes] each.

    >>> path = Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> triangle = Graph.from_edge_index([[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]])
    >>> colours = {"degree": (np.array([[0, 1, 0]]), np.array([[1, 1, 1]]))}
    >>> len(pair_figure(path, triangle, colours).axes)
    2
    """
    shown = {start: _rounds(len(both[0])) for start, both in colours.items()}
    columns = max(map(len, shown.values()))
    points = stress_layout(first), stress_layout(second)
    height = SIDE * max(flatness(drawn) for drawn in points) + 0.45  # with room for the text above and below
    figure = new_figure(0.6 + SIDE * columns, 0.5 + height * 2 * len(colours))
    grid = figure.add_gridspec(2 * len(colours), columns)
    for row, (start, both) in enumerate(colours.items()):
        for column, number in enumerate(shown[start]):
            current = both[0][number], both[1][number]
            palette, differing = _palette(*current), differing_colours(*current)
            for side, graph in enumerate((first, second)):
                axes = figure.add_subplot(grid[2 * row + side, column])
                _draw(axes, graph, points[side], palette[side], np.isin(current[side], differing))
                axes.set_xlabel(_caption(current[side], differing), size=7, labelpad=2)
                if side == 0:
                    last = number == len(both[0]) - 1
                    axes.set_title(f"round {number}{' (stable)' if last else ''}", size=8, pad=3)
                if column == 0:
                    axes.set_ylabel(f"{'second' if side else 'first'} graph\nfrom {start}", size=8)
    legend = "A ring marks a node whose colour the other graph has more or less often."
    figure.suptitle(f"{title}\n{legend}".strip(), size=9)
    return figure


def differing_colours(first: NDArray[Any], second: NDArray[Any]) -> Int64:
    """Return the colours that occur more often in one of two graphs than in the other.

    >>> differing_colours(np.array([0, 1, 1]), np.array([0, 0, 1])).tolist()
    [0, 1]
    """
    num_colours = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    return np.flatnonzero(np.bincount(first, minlength=num_colours) != np.bincount(second, minlength=num_colours))


def _rounds(count: int) -> list[int]:
    return list(range(count)) if count <= MAX_ROUNDS else [*range(MAX_ROUNDS - 1), count - 1]


def _caption(colours: Int64, differing: Int64) -> str:
    count, ringed = len(np.unique(colours)), int(np.isin(colours, differing).sum())
    return f"{count} colour{'s' * (count != 1)}" + (f", {ringed} ringed" if ringed else "")


def _palette(first: Int64, second: Int64) -> tuple[Any, Any]:
    """Return the RGBA colours of the nodes of both graphs, from dark to light."""
    from matplotlib import colormaps

    present, index = np.unique(np.concatenate([first, second]), return_inverse=True)
    scale = colormaps["viridis"](np.linspace(0.05, 0.97, max(len(present), 2)))[index]
    return scale[: len(first)], scale[len(first) :]


def _draw(axes: Any, graph: Graph, points: Float64, fill: Any, ringed: Bool) -> None:
    from matplotlib.collections import LineCollection

    ends = graph.to_edge_index()
    lines = points[ends[:, ends[0] < ends[1]].T]
    axes.add_collection(LineCollection(list(lines), colors="#b0b0b0", linewidths=0.8, zorder=1))
    widths = np.where(ringed, 1.4, 0.0)
    axes.scatter(*points.T, s=30, c=fill, edgecolors="black", linewidths=widths, zorder=2)
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
