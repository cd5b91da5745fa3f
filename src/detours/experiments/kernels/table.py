"""The table of kernel accuracies next to the paper's, from finished folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.experiments.kernels.rows import DATA, ROWS
from detours.experiments.kernels.selection import FOLDS
from detours.experiments.paper import paper_tables
from detours.experiments.tables import Column, Table, with_spread
from detours.store import Cell

PERCENT = ".2f"
WITHOUT_DETOURS = {"WL-DeN": "WL-SP", "best of ours": "best without detours"}
"""The rows that see detours, and the same kernels without them."""


@dataclass(frozen=True)
class Accuracy:
    """The accuracies of one row on one data set, in per cent."""

    repeats: Sequence[int]
    """Indices of the complete repeats."""
    folds: NDArray[np.float64]
    """[repeats, folds]."""
    cpu_seconds: float
    """CPU time of selection and fits, without the Gram matrices."""
    fits: int
    skipped: int
    unconverged: int

    @classmethod
    def of(cls, repeats: Mapping[int, Sequence[Cell]]) -> Accuracy:
        """Collect the cells of complete repeats."""
        cells = [cell for repeat in repeats.values() for cell in repeat]
        folds = np.array([100 * cell.value["right"] / cell.value["tested"] for cell in cells])
        names = ("cpu_seconds", "fits", "skipped", "unconverged")
        totals = {name: sum(cell.value[name] for cell in cells) for name in names}
        return cls(list(repeats), folds.reshape(len(repeats), FOLDS), **totals)

    @property
    def mean(self) -> float:
        """The mean over repeats and folds."""
        return float(self.folds.mean())

    @property
    def over_repeats(self) -> float | None:
        """The standard deviation of the means of the repeats, as the paper reports it; None for a single repeat."""
        return float(self.folds.mean(axis=1).std(ddof=1)) if len(self.folds) > 1 else None

    @property
    def over_folds(self) -> float:
        """The standard deviation of all folds of all repeats."""
        return float(self.folds.std(ddof=1))


def accuracies(cells: Sequence[Cell]) -> dict[tuple[str, str], Accuracy]:
    """Return the accuracies of all kernel cells by row and data set, without incomplete repeats.

    If there are several data sets of one name, or several grids, the one with the most complete repeats counts.
    """
    grouped: dict[tuple[str, str], dict[str, dict[int, dict[int, Cell]]]] = {}
    for cell in cells:
        if (key := cell.key)["experiment"] == "kernels":
            variants = grouped.setdefault((key["method"], key["data"]), {})
            repeats = variants.setdefault(f"{key['digest']} {key['parameters']}", {})
            repeats.setdefault(key["repeat"], {})[key["fold"]] = cell
    found = {}
    for row in sorted(grouped, key=_order):
        if complete := max(map(_complete, grouped[row].values()), key=len):
            found[row] = Accuracy.of(complete)
    return found


def _complete(repeats: Mapping[int, Mapping[int, Cell]]) -> dict[int, list[Cell]]:
    """Return the complete repeats, each with its folds, in order."""
    return {
        repeat: [cell for _, cell in sorted(repeats[repeat].items())]
        for repeat in sorted(repeats)
        if set(repeats[repeat]) == set(range(FOLDS))
    }


def _order(key: tuple[str, str]) -> tuple[int, int]:
    """Return the place of a row and a data set; those of other versions are the last."""
    row, data = key
    rows = list(ROWS)
    return rows.index(row) if row in rows else len(rows), DATA.index(data) if data in DATA else len(DATA)


def resampled_p(better: Accuracy, than: Accuracy) -> float | None:
    """Return the two-sided p of the corrected resampled t-test over the folds that both have.

    Repeats use every graph again, so their folds are not independent. The test (Nadeau and Bengio, 2003) adds to the
    variance of the mean over J folds, s² / J, what they share: s² times the ratio of test and training graphs. None if
    all folds differ by the same amount, or if none is shared.
    """
    from scipy.stats import t

    shared = [repeat for repeat in better.repeats if repeat in than.repeats]
    first, second = (each.folds[[list(each.repeats).index(repeat) for repeat in shared]] for each in (better, than))
    differences = (first - second).ravel()
    if not len(differences) or np.ptp(differences) < 1e-9:
        return None
    error = np.sqrt((1 / len(differences) + 1 / (FOLDS - 1)) * differences.var(ddof=1))
    return float(2 * t.sf(abs(differences.mean()) / error, len(differences) - 1))


def tables(cells: Sequence[Cell]) -> list[Table]:
    """Return the accuracies next to the paper's, and the details of each cell."""
    found = accuracies(cells)
    return [_overview(found), _details(found)] if found else []


def _paper(row: str, data: str) -> dict[str, float] | None:
    return paper_tables()["graph_classification"]["kernel"].get(row, {}).get(data)  # type: ignore[no-any-return]


def _overview(found: Mapping[tuple[str, str], Accuracy]) -> Table:
    names, sets = list(dict.fromkeys(row for row, _ in found)), list(dict.fromkeys(data for _, data in found))
    lines: list[list[Any]] = []
    for name in names:
        ours, theirs = [], []
        for data in sets:
            accuracy, paper = found.get((name, data)), _paper(name, data)
            ours.append(None if accuracy is None else with_spread(accuracy.mean, accuracy.over_repeats))
            theirs.append(None if paper is None else with_spread(paper["mean"], paper["std"]))
        lines += [[name, *ours]] + ([[f"{name}, paper", *theirs]] if name in _paper_rows() else [])
    notes = ["Accuracy in per cent, mean ± standard deviation over repeats of stratified 10-fold cross-validation."]
    return Table("Graph kernels", [Column("kernel"), *(Column(data, PERCENT) for data in sets)], lines, notes)


def _paper_rows() -> set[str]:
    return set(paper_tables()["graph_classification"]["kernel"])


def _details(found: Mapping[tuple[str, str], Accuracy]) -> Table:
    columns = [
        Column("data"), Column("kernel"), Column("accuracy", PERCENT), Column("± repeats", PERCENT),
        Column("± folds", PERCENT), Column("paper", PERCENT), Column("distance", "+.2f"), Column("repeats", "d"),
        Column("p against plain", ".2g"), Column("fits", ",d"), Column("skipped", ",d"), Column("unconverged", ",d"),
        Column("CPU minutes", ".1f"),
    ]  # fmt: skip
    lines: list[list[Any]] = []
    for (name, data), accuracy in found.items():
        paper, plain = _paper(name, data), found.get((WITHOUT_DETOURS.get(name, ""), data))
        lines.append([
            data, name, accuracy.mean, accuracy.over_repeats, accuracy.over_folds,
            paper and paper["mean"], paper and accuracy.mean - paper["mean"], len(accuracy.folds),
            resampled_p(accuracy, plain) if plain else None,
            accuracy.fits, accuracy.skipped, accuracy.unconverged, accuracy.cpu_seconds / 60,
        ])  # fmt: skip
    notes = [
        "Rounds, k and C are chosen in each fold on a hold-out of its training part; ties go to the fewest rounds, "
        "then the smallest C. p: corrected resampled t-test over all folds, of WL-DeN against WL-SP and of the best "
        "with detours against the best without. Skipped: values of C whose solution follows from another fit. CPU "
        "minutes: without the Gram matrices.",
    ]
    return Table("Graph kernels, cell by cell", columns, lines, notes)
