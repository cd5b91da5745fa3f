"""The ratio matrix: the share of each data set that each test tells apart, tests sorted by cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from detours.arrays import Float64
from detours.viz.style import EDGES, new_axes, ramp, styled

MIN_WIDTH = 5.5  # inches, for the title


def percent(value: float) -> str:
    """Return a share as a percentage that is 100 only for 1, and 0 only for 0.

    >>> [percent(share) for share in (1.0, 0.9999, 0.5, 0.0004, 0.0, float("nan"))]
    ['100', '99.9', '50', '0.1', '0', '–']
    """
    if np.isnan(value):
        return "–"
    if value in (0.0, 1.0):
        return f"{value:.0%}"[:-1]
    text = f"{min(max(100 * value, 0.1), 99.9):.1f}"
    return text.removesuffix(".0")


def ratio_matrix(tests: Sequence[str], data: Sequence[str], values: Float64, ax: Any = None, *, title: str = "") -> Any:
    """Draw the shares `values` [tests, data sets], dark for pairs told apart, and return the axes.

    Every cell shows its percentage. NaN marks a test that was not run. Tests are sorted by cost, cheapest first.

    >>> ax = ratio_matrix(["1-WL", "4-DeN"], ["EXP"], np.array([[0.0], [1.0]]))
    >>> [text.get_text() for text in ax.texts]
    ['0', '100']
    """
    with styled():
        axes = new_axes(ax, max(1.9 + 0.78 * len(data), MIN_WIDTH), 1.3 + 0.27 * len(tests))
        _draw_cells(axes, values)
        _draw_headings(axes, tests, data)
        _family_lines(axes, tests)
        if title:
            axes.set_title(title, loc="left", pad=10)
    return axes


def _draw_cells(axes: Any, values: Float64) -> None:
    colours = ramp(("#f7fbff", *EDGES[1:3])).with_extremes(bad="#eeeeee")
    axes.imshow(np.ma.masked_invalid(values), cmap=colours, vmin=0, vmax=1, aspect="auto")
    for row, column in np.ndindex(*values.shape):
        value = float(values[row, column])
        dark = not np.isnan(value) and value > 0.7
        axes.text(column, row, percent(value), ha="center", va="center", size=8, color="white" if dark else "black")


def _draw_headings(axes: Any, tests: Sequence[str], data: Sequence[str]) -> None:
    axes.set_xticks(range(len(data)), data, rotation=30, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(tests)), tests)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.set_xticks(np.arange(len(data) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(tests) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0, top=False)
    axes.spines[:].set_visible(False)
    axes.set_ylabel("more expensive   ←   cost   →   cheaper", color="#555555")


def _family_lines(axes: Any, tests: Sequence[str]) -> None:
    """Draw a line between tests of different kinds: 1-WL, k-DeN, tests on tuples."""
    kinds = ["DeN" if "DeN" in test else test[:4] if test.startswith("1-WL") else "tuples" for test in tests]
    for row in range(1, len(kinds)):
        if kinds[row] != kinds[row - 1]:
            axes.axhline(row - 0.5, color="black", linewidth=1)
