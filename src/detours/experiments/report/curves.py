"""Learning curves as small SVG figures, drawn without a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 420, 240, 44, 26, 110, 30
COLOURS = {"plain": "#8a8a8a", "weighted": "#d98c1f", "mdnn": "#2763a5"}
DASHES = {"GCN": "", "GAT": "5 3", "GIN": "1.5 2.5"}


class Curve(NamedTuple):
    """One line: its name, the model of its network, and its points."""

    name: str
    model: str
    epochs: list[int]
    values: list[float]


def draw_curves(title: str, curves: Sequence[Curve]) -> str:
    """Return a figure with a line per curve; the colour shows the model, the dashes the backbone."""
    longest = max(curve.epochs[-1] for curve in curves)
    low = min(min(curve.values) for curve in curves)
    high = max(max(curve.values) for curve in curves)
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def point(epoch: float, value: float) -> str:
        return f"{LEFT + width * epoch / longest:.1f},{TOP + height * (high - value) / (high - low):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        f'<text x="{LEFT}" y="16" font-weight="bold">{escape(title)}</text>',
        f'<path d="M{LEFT},{TOP}V{TOP + height}H{LEFT + width}" fill="none" stroke="#444"/>',
        f'<text x="{LEFT + width}" y="{HEIGHT - 10}" text-anchor="end">{longest} epochs</text>',
    ]
    for value in (low, high):
        y = TOP + height * (high - value) / (high - low) + 4
        parts.append(f'<text x="{LEFT - 4}" y="{y:.0f}" text-anchor="end">{value:.3g}</text>')
    for index, curve in enumerate(curves):
        dash = DASHES.get(curve.name.split()[-1], "")
        style = f'stroke="{COLOURS[curve.model]}" stroke-dasharray="{dash}" fill="none" stroke-width="1.4"'
        points = " ".join(point(epoch, value) for epoch, value in zip(curve.epochs, curve.values, strict=True))
        y = TOP + 6 + 14 * index
        parts.append(f'<polyline points="{points}" {style}/>')
        parts.append(f'<path d="M{WIDTH - RIGHT + 6},{y}h18" {style}/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 28}" y="{y + 4}">{escape(curve.name)}</text>')
    return "\n".join([*parts, "</svg>"])
