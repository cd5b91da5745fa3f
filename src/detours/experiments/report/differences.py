"""MDNN minus plain network, data set by data set, as an SVG figure drawn without a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil
from typing import NamedTuple

WIDTH, LEFT, RIGHT, TOP, ROW, BOTTOM = 720, 150, 110, 34, 24, 40
BETTER, WORSE, UNCLEAR = "#2763a5", "#b3372f", "#8a8a8a"
"""Colours of data sets that are significantly better or worse, and of all others."""


class Row(NamedTuple):
    """One data set."""

    name: str
    folds: Sequence[float]
    """The difference on every fold, in points."""
    mean: float
    interval: tuple[float, float] | None
    """The differences that the test does not reject."""
    p: float | None
    significant: bool


def draw_differences(title: str, rows: Sequence[Row]) -> str:
    """Return a figure with a line per data set: dots for folds, a diamond at the mean, a bar for the interval."""
    limit = 5 * ceil(max(1.0, *(abs(value) for row in rows for value in row.folds)) / 5)
    height = TOP + ROW * len(rows) + BOTTOM
    middle, scale = LEFT + (WIDTH - LEFT - RIGHT) / 2, (WIDTH - LEFT - RIGHT) / 2 / limit
    bottom = height - BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for tick in range(-limit, limit + 1, max(5, 5 * round(limit / 20))):
        x, colour = middle + scale * tick, "#444" if tick == 0 else "#ddd"
        parts.append(f'<path d="M{x:.1f},{TOP - 6}V{bottom}" stroke="{colour}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:+d}</text>'.replace("+0<", "0<"))
    parts.append(f'<text x="{middle}" y="{bottom + 33}" text-anchor="middle">points on the test part</text>')
    for index, row in enumerate(rows):
        y = TOP + ROW * (index + 0.5)
        colour = UNCLEAR if not row.significant else BETTER if row.mean > 0 else WORSE
        parts.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(row.name)}</text>')
        for value in row.folds:
            x = middle + scale * value
            parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="3.5" fill="{colour}" fill-opacity="0.35"/>')
        if row.interval:
            low, high = (middle + scale * end for end in row.interval)
            parts.append(f'<path d="M{low:.1f},{y}H{high:.1f}" stroke="{colour}" stroke-width="2.5"/>')
        x = middle + scale * row.mean
        parts.append(f'<path d="M{x - 6:.1f},{y}l6,-6l6,6l-6,6z" fill="{colour}"/>')
        p = "" if row.p is None else f", p = {row.p:.2g}"
        parts.append(f'<text x="{WIDTH - RIGHT + 6}" y="{y + 4}" font-size="10">{row.mean:+.2f}{p}</text>')
    return "\n".join([*parts, "</svg>"])
