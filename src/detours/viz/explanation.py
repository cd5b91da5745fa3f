"""The features of a graph that a linear kernel model weighs most: a drawing per feature, with its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from detours.graph import Graph
from detours.kernels.explain import Evidence
from detours.viz.style import new_figure
from detours.viz.layout import flatness, stress_layout

FOR, AGAINST, PLAIN = "#0072b2", "#d55e00", "#d0d0d0"
SIDE = 2.6  # of a drawing, in inches
ACROSS = 3


def evidence_figure(graph: Any, evidence: Sequence[Evidence], title: str = "") -> Any:
    """Draw a graph once for each feature that it has; `evidence` is what `detours.kernels.evidence` gives.

    Nodes that carry a feature for the later class are blue, against it orange.
    """
    drawn = Graph.from_any(graph)
    points, ends = stress_layout(drawn), drawn.to_edge_index()
    columns = min(ACROSS, max(1, len(evidence)))
    rows = -(-len(evidence) // columns)
    figure = new_figure(SIDE * columns, 0.5 + (SIDE * flatness(points) + 0.4) * rows)
    for at, (feature, carriers) in enumerate(evidence):
        axes = figure.add_subplot(rows, columns, at + 1)
        axes.plot(*points[ends.reshape(2, -1)].transpose(2, 0, 1), color=PLAIN, linewidth=1.2, zorder=1)
        for pair in carriers.pairs if carriers.pairs is not None else ():
            axes.plot(*points[pair].T, color="black", linewidth=0.5, linestyle=":", zorder=1)
        colours = np.full(drawn.num_nodes, PLAIN, object)
        colours[carriers.nodes] = FOR if feature.weight > 0 else AGAINST
        axes.scatter(*points.T, c=colours.tolist(), s=45, edgecolors="black", linewidths=0.5, zorder=2)
        axes.set_title(fill(f"{feature.weight:+.3g} · {feature.name}", 38), size=7)
        axes.set_aspect("equal")
        axes.axis("off")
    figure.suptitle(f"{title}\nblue speaks for the later class, orange against it".strip(), size=9)
    return figure
