"""Learning curves: the accuracy of several networks, epoch by epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from detours.viz.style import new_figure, saved


def draw_learning(curves: Mapping[str, Sequence[float]], stem: Path) -> list[Path]:
    """Draw the accuracies (shares of 1) of each network and return the files written."""
    figure = new_figure(6, 3.2)
    axes = figure.subplots()
    for name, accuracies in curves.items():
        axes.plot(range(1, len(accuracies) + 1), [100 * accuracy for accuracy in accuracies], label=name)
    axes.set_xlabel("epoch")
    axes.set_ylabel("validation accuracy, %")
    axes.set_ylim(40, 103)
    axes.legend(loc="center right")
    return saved(figure, stem)
