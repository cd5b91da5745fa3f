"""The paper's graph kernels: accuracies of SP, WL-subtree, WL-SP and WL-DeN, and of the best kernel we can offer.

A cell is one repeat: a stratified 10-fold cross-validation with its own seed, the same folds for every kernel. The
Gram matrices of a kernel are made once for all rounds and kept in memory while its repeats run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.data import GraphSet
from detours.errors import InputError
from detours.experiments.kernels.selection import FOLDS, HELD_OUT, Fitter, Ladder, cross_validate
from detours.experiments.kernels.svm import Gram, fit, fit_by_sklearn
from detours.experiments.paper import paper_tables
from detours.experiments.tables import SECONDS, Column, Table
from detours.store import Cell, Task, Value, code_digest

ROUNDS = 10
REPEATS = 10
SEED = 271828
"""Of the first repeat; the next ones count on. No choice of ours was made on these folds."""
KS = (2, 3, 4, 5)
DATA = ("MUTAG", "NCI1", "ENZYMES", "DD", "PTC_FM", "IMDB-BINARY")
SOLVERS: dict[str, Fitter] = {"detours": fit, "sklearn": fit_by_sklearn}
OWN = "own"
"""Labels of nodes together with degrees where the data have labels, else degrees."""
PERCENT = ".2f"


class Candidate(NamedTuple):
    """A kernel of `detours.kernels` by its name, and its parameters."""

    kernel: str
    parameters: Mapping[str, Any]

    def ladder(self, data: GraphSet) -> Ladder:
        """Its Gram matrices for every number of rounds."""
        from detours import kernels

        parameters = dict(self.parameters)
        if parameters.get("labels") == OWN:
            parameters["labels"] = "degree" if data.labels is None else "both"
        return [Gram.of(gram) for gram in getattr(kernels, self.kernel)(**parameters).grams(data)]


@dataclass(frozen=True)
class Row:
    """A row of the table: one estimator, which chooses among its candidates inside the training part."""

    name: str
    candidates: Sequence[Candidate]
    unlabelled: Sequence[Candidate] = ()
    """The candidates for data without labels; the same if there are none."""
    held_out: int = 0
    """About how many graphs decide: as many hold-outs as it takes, one at least and ten at most."""

    def candidates_for(self, data: GraphSet) -> Sequence[Candidate]:
        """The candidates on this data set."""
        return self.unlabelled if self.unlabelled and data.labels is None else self.candidates

    def hold_outs(self, graphs: int) -> int:
        """How many hold-outs there are in every fold of a data set."""
        each = HELD_OUT * (1 - 1 / FOLDS) * graphs
        return min(max(1, round(self.held_out / each)), 10)


def _best() -> Row:
    """Detours of each length apart with the data's labels. And, for graphs so large that labels make every node unlike
    all others, triangles and degrees alone."""
    rich: dict[str, Any] = {"n_iter": ROUNDS, "init": "den-by-length", "labels": OWN, "base": "subtree"}
    short = Candidate("WLDetour", {**rich, "k": 3, "normalize": True})
    long = Candidate("WLDetour", {**rich, "k": 5})
    poor = Candidate("WLDetour", {"k": 2, "n_iter": ROUNDS, "labels": "degree"})
    return Row("best of ours", [long, short, poor], unlabelled=[short], held_out=500)


ROWS = {
    row.name: row
    for row in (
        Row("SP", [Candidate("ShortestPath", {"labels": "degree"})]),
        Row("WL-subtree", [Candidate("WLSubtree", {"n_iter": ROUNDS, "labels": "degree"})]),
        Row("WL-SP", [Candidate("WLShortestPath", {"n_iter": ROUNDS, "labels": "degree"})]),
        Row("WL-DeN", [Candidate("WLDetour", {"k": k, "n_iter": ROUNDS, "labels": "degree"}) for k in KS]),
        _best(),
    )
}


def rows_named(names: Sequence[str]) -> list[Row]:
    """The rows of these names, whatever their case; all if there are none."""
    known = {name.lower(): row for name, row in ROWS.items()}
    for name in names:
        if name.lower() not in known:
            raise InputError(f"there is no kernel {name!r} in the table; take one of {', '.join(ROWS)}.")
    return [known[name.lower()] for name in names] or list(ROWS.values())


def tasks(data: GraphSet, row: Row, repeats: int = REPEATS, *, solver: str = "detours", n_jobs: int = 1) -> list[Task]:
    """The repeats of one row on one data set; the matrices are made when the first of them is."""
    if solver not in SOLVERS:
        raise InputError(f"there is no solver {solver!r}; take one of {', '.join(SOLVERS)}.")
    candidates = row.candidates_for(data)
    ladders = cache(lambda: [candidate.ladder(data) for candidate in candidates])
    key = {
        "experiment": "kernels",
        "data": data.name,
        "digest": data.digest,
        "code": code_digest("experiments.kernels", "kernels", "wl"),
        "method": row.name,
        "parameters": {
            "candidates": [[candidate.kernel, dict(candidate.parameters)] for candidate in candidates],
            "hold-outs": row.hold_outs(len(data.graphs)),
            "folds": FOLDS,
            "seed": SEED,
            "solver": solver,
        },
    }
    return [
        Task({**key, "repeat": repeat}, partial(_repeat, data.y, ladders, row, SEED + repeat, SOLVERS[solver], n_jobs))
        for repeat in range(repeats)
    ]


def _repeat(
    y: NDArray[np.int64], ladders: Callable[[], list[Ladder]], row: Row, seed: int, fitter: Fitter, n_jobs: int
) -> Value:
    folds = cross_validate(y, ladders(), seed, hold_outs=row.hold_outs(len(y)), n_jobs=n_jobs, fitter=fitter)
    return {
        "right": [fold.right for fold in folds],
        "tested": [fold.tested for fold in folds],
        "chosen": [[fold.candidate, fold.rounds, fold.cost] for fold in folds],
        "fits": sum(fold.fits for fold in folds),
        "unsolved": sum(fold.unsolved for fold in folds),
    }


@dataclass(frozen=True)
class Accuracy:
    """The accuracies of one row on one data set, in per cent."""

    folds: NDArray[np.float64]
    """[repeats, folds]."""
    seconds: float
    fits: int
    unsolved: int

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Accuracy:
        right = np.array([cell.value["right"] for cell in cells], np.float64)
        tested = np.array([cell.value["tested"] for cell in cells], np.float64)
        totals = (sum(cell.value[name] for cell in cells) for name in ("fits", "unsolved"))
        return cls(100 * right / tested, sum(cell.seconds for cell in cells), *totals)

    @property
    def mean(self) -> float:
        """Over repeats of the mean over folds."""
        return float(self.folds.mean())

    @property
    def over_repeats(self) -> float | None:
        """The standard deviation of the repeats' means, as the paper reports it; None for one repeat."""
        return float(self.folds.mean(axis=1).std(ddof=1)) if len(self.folds) > 1 else None

    @property
    def over_folds(self) -> float:
        """The standard deviation of all folds of all repeats."""
        return float(self.folds.std(ddof=1))


def accuracies(cells: Sequence[Cell]) -> dict[tuple[str, str], Accuracy]:
    """By row and data set, in the order in which they come."""
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        grouped.setdefault((cell.key["method"], cell.key["data"]), []).append(cell)
    return {key: Accuracy.of(sorted(group, key=lambda cell: cell.key["repeat"])) for key, group in grouped.items()}


def signed_rank(better: Accuracy, than: Accuracy) -> float | None:
    """Wilcoxon's two-sided p over the folds both have; None where they do not differ."""
    from scipy.stats import wilcoxon

    repeats = min(len(better.folds), len(than.folds))
    difference = (better.folds[:repeats] - than.folds[:repeats]).ravel()
    return float(wilcoxon(difference).pvalue) if difference.any() else None


def tables(cells: Sequence[Cell]) -> list[Table]:
    """One line per data set beside the paper's numbers, and everything about each cell."""
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
            ours.append(None if accuracy is None else _with_spread(accuracy.mean, accuracy.over_repeats))
            theirs.append(None if paper is None else _with_spread(paper["mean"], paper["std"]))
        lines += [[name, *ours]] + ([[f"{name}, paper", *theirs]] if name in _paper_rows() else [])
    notes = ["Accuracy in per cent, mean ± standard deviation over repeats of stratified 10-fold cross-validation."]
    return Table("Graph kernels", [Column("kernel"), *(Column(data, PERCENT) for data in sets)], lines, notes)


def _paper_rows() -> set[str]:
    return set(paper_tables()["graph_classification"]["kernel"])


def _with_spread(mean: float, spread: float | None) -> str:
    return f"{mean:.2f}" if spread is None else f"{mean:.2f} ± {spread:.2f}"


def _details(found: Mapping[tuple[str, str], Accuracy]) -> Table:
    columns = [
        Column("data"), Column("kernel"), Column("accuracy", PERCENT), Column("± repeats", PERCENT),
        Column("± folds", PERCENT), Column("paper", PERCENT), Column("distance", "+.2f"), Column("repeats", "d"),
        Column("p against WL-SP", ".2g"), Column("fits", ",d"), Column("unsolved", ",d"), Column("seconds", SECONDS),
    ]  # fmt: skip
    lines: list[list[Any]] = []
    for (name, data), own in found.items():
        paper, baseline = _paper(name, data), found.get(("WL-SP", data))
        lines.append([
            data, name, own.mean, own.over_repeats, own.over_folds,
            paper and paper["mean"], paper and own.mean - paper["mean"], len(own.folds),
            signed_rank(own, baseline) if baseline and name == "WL-DeN" else None,
            own.fits, own.unsolved, own.seconds,
        ])  # fmt: skip
    notes = [
        "Rounds, k and C are chosen in each fold on a hold-out of its training part; of equals the fewest rounds, then "
        "the smallest C. p: Wilcoxon signed-rank over folds, the same folds for all kernels. Unsolved: fits that met "
        "the limit of moves before the tolerance of 0.001. Seconds: with the Gram matrices.",
    ]
    return Table("Graph kernels, cell by cell", columns, lines, notes)
