"""Pictures: the interactive page, and figures for papers.

Functions take matplotlib axes, or create them, and return them; those named `…_figure` have several drawings and return
a figure. `saved` writes a figure as PNG and SVG. The page needs NetworkX, the figures also matplotlib
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
