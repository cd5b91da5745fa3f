"""Pictures: the interactive page, and figures for papers.

A function takes matplotlib axes, or makes them, and returns them; one that is named `…_figure` has several drawings and
returns a whole figure. `saved` writes a figure as PNG and SVG. The page needs NetworkX, the figures matplotlib too
(`pip install "detours[viz]"`); both are imported when something is drawn.
"""

from detours.viz.explanation import evidence_figure
from detours.viz.graphs import draw_graph
from detours.viz.interactive import Page, page
from detours.viz.learning import draw_accuracies, draw_learning
from detours.viz.matrix import ratio_matrix
from detours.viz.measures import draw_against, draw_lengths
from detours.viz.pair import pair_figure
from detours.viz.style import new_figure, saved, styled

__all__ = [
    "Page",
    "draw_accuracies",
    "draw_against",
    "draw_graph",
    "draw_learning",
    "draw_lengths",
    "evidence_figure",
    "new_figure",
    "page",
    "pair_figure",
    "ratio_matrix",
    "saved",
    "styled",
]
