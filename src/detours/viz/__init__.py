"""Pictures: the interactive page, and figures for papers.

The page needs NetworkX, the figures matplotlib too (`pip install "detours[viz]"`); both are imported when something is
drawn.
"""

from detours.viz.interactive import Page, page
from detours.viz.style import new_figure, saved, styled

__all__ = ["Page", "new_figure", "page", "saved", "styled"]
