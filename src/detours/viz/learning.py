"""Learning curves and accuracies of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from detours.viz.style import COLOURS, new_axes, styled


def draw_learning(curves: Mapping[str, Sequence[float]], ax: Any = None) -> Any:
    """Draw the accuracies (shares of 1) of each network, epoch by epoch, and return the axes.

    Limits that were set on given axes stay as they are.

    >>> ax = draw_learning({"plain": [0.5, 0.5], "with detours": [0.7, 0.9]})
    >>> [line.get_label() for line in ax.get_lines()]
    ['plain', 'with detours']
    """
    with styled():
        ax = new_axes(ax, 6, 3.2)
        for colour, (name, accuracies) in zip(_cycle(curves), curves.items(), strict=True):
            percent = [100 * accuracy for accuracy in accuracies]
            ax.plot(range(1, len(percent) + 1), percent, color=colour, label=name)
        ax.set_xlabel("epoch")
        ax.set_ylabel("validation accuracy, %")
        if ax.get_autoscaley_on():
            ax.set_ylim(max(0.0, min(40.0, _lowest(curves) - 3)), 103)
        if curves:
            ax.legend(loc="center right")
    return ax


def draw_accuracies(table: Mapping[str, Mapping[str, tuple[float, float]]], ax: Any = None) -> Any:
    """Draw a table of accuracies: a row per data set, a point with standard deviation per model; return the axes.

    `table` maps a model to the mean and the deviation on each data set, in percent.

    >>> ax = draw_accuracies({"GIN": {"MUTAG": (85.0, 6.0)}, "MDNN": {"MUTAG": (89.0, 5.0), "PTC": (64.0, 7.0)}})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['MUTAG', 'PTC']
    """
    data = list(dict.fromkeys(name for row in table.values() for name in row))
    with styled():
        ax = new_axes(ax, 4.5, 0.8 + 0.35 * len(data))
        for index, (colour, (model, row)) in enumerate(zip(_cycle(table), table.items(), strict=True)):
            shift = 0.5 * ((index + 0.5) / len(table) - 0.5)
            positions = [data.index(name) + shift for name in row]
            means, deviations = zip(*row.values(), strict=True) if row else ((), ())
            ax.errorbar(means, positions, xerr=deviations, fmt="o", color=colour, elinewidth=0.8, label=model)
        ax.set_yticks(range(len(data)), data)
        ax.invert_yaxis()
        ax.set_xlabel("accuracy, %")
        ax.legend(loc="best")
    return ax


def _lowest(curves: Mapping[str, Sequence[float]]) -> float:
    """Return the lowest accuracy in percent; epochs without one are NaN."""
    return min((100 * share for curve in curves.values() for share in curve if not isnan(share)), default=100.0)


def _cycle(names: Mapping[str, Any]) -> list[str]:
    return [COLOURS[index % len(COLOURS)] for index in range(len(names))]
