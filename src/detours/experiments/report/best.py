"""The best detour networks and kernels, next to the best entries of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from detours.experiments.kernels.table import Accuracy
from detours.experiments.networks.entries import Entry
from detours.experiments.networks.results import Result
from detours.experiments.networks.tables import IN_PAPER, best_published
from detours.experiments.tables import Column, Table, with_spread

DATA = (*IN_PAPER["graphs"], *IN_PAPER["nodes"])
"""The paper's twelve data sets."""
DETOUR_KERNELS = ("WL-DeN", "best of ours")
"""The rows of the kernel table whose kernels all use detours."""


@dataclass(frozen=True)
class Best:
    """The best models for a data set; at least one of `network` and `kernel` is given."""

    data: str
    paper: float
    """The best mean of the paper's networks and kernels."""
    network: Result | None
    kernel: tuple[str, Accuracy] | None
    plain: Result | None
    """The best network without detours, for comparison."""

    @property
    def of_network(self) -> float:
        """The mean of the best network; minus infinity if there is none."""
        mean = None if self.network is None else self.network.mean
        return -float("inf") if mean is None else mean

    @property
    def ours(self) -> float:
        """The mean of the better one."""
        return max(self.of_network, -float("inf") if self.kernel is None else self.kernel[1].mean)


def best_network(results: Mapping[Entry, Result], data: str, *models: str) -> Result | None:
    """Return the complete result of preset ours with the best test mean on a data set, among these models."""
    candidates = (
        result
        for entry, result in results.items()
        if (entry.data, entry.preset) == (data, "ours") and entry.model in models and entry.use_den and result.complete
    )
    return max(candidates, key=lambda result: result.mean or 0.0, default=None)


def best_models(results: Mapping[Entry, Result], kernels: Mapping[tuple[str, str], Accuracy]) -> list[Best]:
    """Return the best detour networks of preset ours and the best detour kernels, by test mean."""
    found = []
    for data in DATA:
        network = best_network(results, data, "weighted", "mdnn")
        rows = [(row, kernels[row, data]) for row in DETOUR_KERNELS if (row, data) in kernels]
        kernel = max(rows, key=lambda each: each[1].mean, default=None)
        paper = best_published(data)
        if paper is not None and (network is not None or kernel is not None):
            found.append(Best(data, paper, network, kernel, best_network(results, data, "plain")))
    return found


def best_sentence(found: Sequence[Best]) -> str:
    """Return a sentence on how many data sets our best model beats the paper's; empty if nothing is finished."""
    if not found:
        return ""
    above = _counted([(each.data, each.ours > each.paper) for each in found])
    sentence = f"The best detour model (network of preset ours, or kernel) beats the paper's best entry on {above}"
    if any(each.kernel is not None for each in found):
        networks = [(each.data, each.of_network > each.paper) for each in found if each.network is not None]
        sentence += f"; networks alone do on {_counted(networks)}"
    plain = [(each.data, (each.plain.mean or 0.0) > each.paper) for each in found if each.plain is not None]
    if plain:
        sentence += f"; plain networks of preset ours, without detours, do on {_counted(plain)}"
    return sentence + ". Each best is the best mean on the test parts, as in the paper."


def _counted(found: Sequence[tuple[str, bool]]) -> str:
    below = [data for data, above in found if not above]
    complete = len(found) == len(DATA)
    remarks = [] if complete else [f"{len(DATA)} in total"]
    remarks += [f"not on {', '.join(below)}"] if below else []
    counted = f"{len(found) - len(below)} of {len(found)} {'data sets' if complete else 'finished data sets'}"
    return counted + (f" ({'; '.join(remarks)})" if remarks else "")


def best_table(found: Sequence[Best]) -> Table:
    """Return our best models next to the paper's, by data set."""
    columns = [Column("data"), Column("paper's best", ".2f"), Column("network"), Column("test, ± folds")]
    columns += [Column("kernel"), Column("test, ± repeats"), Column("distance", "+.2f")]
    lines: list[list[Any]] = []
    for each in found:
        line: list[Any] = [each.data, each.paper]
        network, kernel = each.network, each.kernel
        line += [None, None]
        if network is not None and network.mean is not None:
            line[-2:] = [network.entry.row, with_spread(network.mean, network.std)]
        line += [None, None] if kernel is None else [kernel[0], with_spread(kernel[1].mean, kernel[1].over_repeats)]
        lines.append([*line, each.ours - each.paper])
    note = (
        "The best entry is the one with the best mean on the test parts, as in the paper's tables. Networks: weighted "
        "or MDNN, preset ours, ten folds. Kernels: repeated ten-fold cross-validation, as in the paper; rounds, k and "
        "C are chosen inside each training part. Distance: the better of the two minus the paper's best."
    )
    return Table("The best detour models", columns, lines, [note])
