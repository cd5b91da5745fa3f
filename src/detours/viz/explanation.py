"""The features of a graph that a linear kernel model weights most: a drawing per feature, with its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from detours.graph import Graph
from detours.viz.layout import flatness, stress_layout
from detours.viz.style import COLOURS, new_figure

if TYPE_CHECKING:
    from detours.kernels.explain import Evidence  # needs scikit-learn, which a page does not

FOR, AGAINST, PLAIN = COLOURS[0], COLOURS[5], "#d0d0d0"
SIDE = 2.6  # width of a drawing, in inches
COLUMNS = 3


def evidence_figure(graph: Any, evidence: Sequence[Evidence], title: str = "") -> Any:
    """Draw a graph once for each feature that it has; `evidence` is what `detours.kernels.evidence` gives.

    Nodes are blue if their feature is evidence for the later class, orange if against it.

    >>> from sklearn.svm import LinearSVC
    >>> from detours.data import rings
    >>> from detours.kernels import WLDetour, evidence, explain
    >>> task, kernel = rings(20), WLDetour(k=3, n_iter=0, base="subtree")
    >>> model = LinearSVC().fit(kernel.fit_transform(task.graphs), task.y)
    >>> found = evidence(kernel, explain(kernel, model, top=10), task.graphs[0])
    >>> len(evidence_figure(task.graphs[0], found).axes) == len(found)
    True
    """
    graph = Graph.from_any(graph)
    points, ends = stress_layout(graph), graph.to_edge_index()
    columns = min(COLUMNS, max(1, len(evidence)))
    rows = -(-len(evidence) // columns)
    figure = new_figure(SIDE * columns, 0.5 + (SIDE * flatness(points) + 0.4) * rows)
    for index, (feature, carriers) in enumerate(evidence):
        axes = figure.add_subplot(rows, columns, index + 1)
        axes.plot(*points[ends.reshape(2, -1)].transpose(2, 0, 1), color=PLAIN, linewidth=1.2, zorder=1)
        for pair in carriers.pairs if carriers.pairs is not None else ():
            axes.plot(*points[pair].T, color="black", linewidth=0.5, linestyle=":", zorder=1)
        colours = np.full(graph.num_nodes, PLAIN, object)
        colours[carriers.nodes] = FOR if feature.weight > 0 else AGAINST
        axes.scatter(*points.T, c=colours.tolist(), s=45, edgecolors="black", linewidths=0.5, zorder=2)
        axes.set_title(fill(f"{feature.weight:+.3g} · {feature.meaning or feature.name}", 38), size=7)
        axes.set_aspect("equal")
        axes.axis("off")
    figure.suptitle(f"{title}\nblue speaks for the later class, orange against it".strip(), size=9)
    return figure
