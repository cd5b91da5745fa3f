"""The style of all figures: sizes, colours that colour-blind readers can tell apart, and atomic writing of files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from detours.atomic import atomic_write

DPI = 200
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7f7f7f")
"""For categories: the colours of Okabe and Ito (2008)."""
EDGES = ("#d3dae2", "#8fbbdc", "#2f7ebc", "#08306b")
"""From few to many detours of an edge, distinguishable by lightness alone; the interactive page uses the same."""
NODES = ("#fde3c8", "#fdae6b", "#e6550d", "#7f2704")
"""From few detours around a node to many."""

_SETTINGS = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 3,
    "svg.hashsalt": "detours",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


@contextmanager
def styled() -> Iterator[None]:
    """Use this style for axes created in the block.

    >>> with styled():
    ...     figure = new_figure(3, 2)
    """
    import matplotlib
    from cycler import cycler

    with matplotlib.rc_context({**_SETTINGS, "axes.prop_cycle": cycler(color=COLOURS)}):
        yield


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches, without a display.

    >>> new_figure(3, 2).get_size_inches().tolist()
    [3.0, 2.0]
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_axes(ax: Any, width: float = 4.0, height: float = 3.0) -> Any:
    """Return `ax`, or the axes of a new figure if it is None.

    >>> new_axes(None).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    return new_figure(width, height).add_subplot() if ax is None else ax


def ramp(stops: tuple[str, ...]) -> Any:
    """Return a matplotlib colour map through these colours."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("detours", list(stops))


def saved(figure: Any, stem: Path) -> list[Path]:
    """Write a figure as `<stem>.png` and `<stem>.svg`, completely or not at all; equal figures give equal bytes.

    >>> from tempfile import mkdtemp
    >>> [file.name for file in saved(new_figure(2, 2), Path(mkdtemp(), "empty"))]
    ['empty.png', 'empty.svg']
    """
    files = []
    with styled():
        for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
            buffer = BytesIO()
            figure.savefig(buffer, format=suffix[1:], dpi=DPI, bbox_inches="tight", metadata=metadata)
            files.append(stem.with_name(stem.name + suffix))
            with atomic_write(files[-1]) as target:
                target.write(buffer.getvalue())
    return files
