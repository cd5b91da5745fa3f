"""Figures; they need matplotlib and NetworkX (`pip install "detours[viz]"`), imported only when one is drawn."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

from detours.atomic import replacing

__all__ = ["saved"]

DPI = 200


def saved(figure: Any, stem: Path) -> list[Path]:
    """Write a figure as `<stem>.png` and `<stem>.svg`, completely or not at all; equal figures give equal bytes."""
    import matplotlib

    files = []
    with matplotlib.rc_context({"svg.hashsalt": "detours", "svg.fonttype": "none"}):
        for ending, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
            drawn = BytesIO()
            figure.savefig(drawn, format=ending[1:], dpi=DPI, bbox_inches="tight", metadata=metadata)
            files.append(stem.with_name(stem.name + ending))
            with replacing(files[-1]) as target:
                target.write(drawn.getvalue())
    return files


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches, which needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
