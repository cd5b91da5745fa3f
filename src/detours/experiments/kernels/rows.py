"""The rows of the kernel table: the paper's SP, WL-subtree, WL-SP and WL-DeN, and our best with and without detours.

A finished cell is one fold of one repeat: a stratified 10-fold cross-validation with its own seed and the same folds
for all kernels. The Gram matrices of a kernel are computed once for all rounds and kept in memory while its folds run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.data import GraphSet
from detours.errors import InputError
from detours.experiments.kernels.selection import FOLDS, HELD_OUT, Ladder, run_fold, split
from detours.store import Task, Value, code_digest

ROUNDS = 10
REPEATS = 10
SEED = 271828
"""Of the first repeat; later ones count up. These folds were not used for any decision about the kernels."""
KS = (2, 3, 4, 5)
DATA = ("MUTAG", "PTC_FM", "ENZYMES", "IMDB-BINARY", "DD", "NCI1")
COUNTS: Mapping[str, Any] = {"labels": "degree", "normalize": False}
"""Parameters of the paper's kernels."""
WL_DEN: Mapping[str, Any] = {
    **COUNTS,
    "n_iter": ROUNDS,
    "base": "shortest-path",
    "init": "den-sum",
    "plain": False,
}
"""The parameters of `WLDetour.paper`, written out: keys of finished cells have every relevant parameter."""
OWN = "own"
"""Node labels together with degrees if the data have labels, else degrees."""


class Candidate(NamedTuple):
    """A kernel of `detours.kernels`, by name, and its parameters."""

    kernel: str
    parameters: Mapping[str, Any]

    def ladder(self, data: GraphSet) -> Ladder:
        """Compute its Gram matrices for every number of rounds, with counts in the smallest sufficient dtype."""
        from detours import kernels

        parameters = dict(self.parameters)
        if parameters.get("labels") == OWN:
            parameters["labels"] = "degree" if data.labels is None else "both"
        return [_smallest_type(gram) for gram in getattr(kernels, self.kernel)(**parameters).grams(data)]


def _smallest_type(gram: NDArray[Any]) -> NDArray[Any]:
    return gram.astype(np.min_scalar_type(int(gram.max()))) if gram.dtype.kind == "i" else gram


@dataclass(frozen=True)
class Row:
    """A row of the table: an estimator that selects one of its candidates inside the training part."""

    name: str
    candidates: Sequence[Candidate]
    unlabelled: Sequence[Candidate] = ()
    """The candidates for data without labels; if empty, the same as for other data."""
    held_out: int = 0
    """Approximate number of held-out graphs used for selection; it takes one to ten hold-outs."""

    def candidates_for(self, data: GraphSet) -> Sequence[Candidate]:
        """Return the candidates for this data set."""
        return self.unlabelled if self.unlabelled and data.labels is None else self.candidates

    def hold_outs(self, graphs: int) -> int:
        """Return the number of hold-outs in every fold of a data set."""
        each = HELD_OUT * (1 - 1 / FOLDS) * graphs
        return min(max(1, round(self.held_out / each)), 10)


def _best() -> Row:
    """Return the row of our best kernel: detours by length with the data's labels; and for graphs so large that labels
    make every node unique, triangles and degrees only."""
    rich: dict[str, Any] = {"n_iter": ROUNDS, "init": "den", "labels": OWN, "base": "subtree", "plain": False}
    short = Candidate("WLDetour", {**rich, "k": 3, "normalize": True})
    long = Candidate("WLDetour", {**rich, "k": 5, "normalize": False})
    poor = Candidate("WLDetour", {**WL_DEN, "k": 2})
    return Row("best of ours", [long, short, poor], unlabelled=[short], held_out=500)


def _best_without_detours() -> Row:
    """Return the row of the same kernels, in the same order, without their detours."""
    rich: dict[str, Any] = {"n_iter": ROUNDS, "labels": OWN}
    cosine, counts = (Candidate("WLSubtree", {**rich, "normalize": normalize}) for normalize in (True, False))
    poor = Candidate("WLShortestPath", {**COUNTS, "n_iter": ROUNDS})
    return Row("best without detours", [counts, cosine, poor], unlabelled=[cosine], held_out=500)


ROWS = {
    row.name: row
    for row in (
        Row("SP", [Candidate("ShortestPath", COUNTS)]),
        Row("WL-subtree", [Candidate("WLSubtree", {**COUNTS, "n_iter": ROUNDS})]),
        Row("WL-SP", [Candidate("WLShortestPath", {**COUNTS, "n_iter": ROUNDS})]),
        Row("WL-DeN", [Candidate("WLDetour", {**WL_DEN, "k": k}) for k in KS]),
        _best_without_detours(),
        _best(),
    )
}


def rows_named(names: Sequence[str]) -> list[Row]:
    """Return the rows with these names, in upper or lower case; all by default."""
    known = {name.lower(): row for name, row in ROWS.items()}
    for name in names:
        if name.lower() not in known:
            raise InputError(f"there is no kernel {name!r} in the table; take one of {', '.join(ROWS)}.")
    return [known[name.lower()] for name in names] or list(ROWS.values())


def tasks(data: GraphSet, rows: Sequence[Row], repeats: int = REPEATS) -> list[Task]:
    """Return one task per repeat, fold and row.

    Folds come before rows, so that threads that start together compute the Gram matrices of different kernels.
    """
    folds = [split(data.y, SEED + repeat) for repeat in range(repeats)]
    ladders = {row.name: Ladders(data, row.candidates_for(data)) for row in rows}
    return [
        Task(_key(data, row, repeat, fold), partial(_run, data.y, ladders[row.name], row, *parts, repeat, fold))
        for repeat, folds_of_repeat in enumerate(folds)
        for fold, parts in enumerate(folds_of_repeat)
        for row in rows
    ]


def _key(data: GraphSet, row: Row, repeat: int, fold: int) -> dict[str, Any]:
    return {
        "experiment": "kernels",
        "data": data.name,
        "digest": data.digest,
        # Gram matrices are exact and determined by the parameters, so their code is not part of the digest.
        "code": code_digest("experiments.kernels", without=("experiments.kernels.table",)),
        "method": row.name,
        "parameters": {
            "candidates": [[candidate.kernel, dict(candidate.parameters)] for candidate in row.candidates_for(data)],
            "hold-outs": row.hold_outs(len(data.graphs)),
            "folds": FOLDS,
            "seed": SEED,
            "machine": "SVC",
            "costs": "relative to the mean diagonal",
        },
        "repeat": repeat,
        "fold": fold,
    }


class Ladders:
    """The Gram matrices of several candidates, computed on first use, in parallel by the threads that need them."""

    def __init__(self, data: GraphSet, candidates: Sequence[Candidate]) -> None:
        self._work: list[Callable[[], Ladder]] = [partial(candidate.ladder, data) for candidate in candidates]
        self._ladders: list[Ladder | None] = [None] * len(candidates)
        self._locks = [Lock() for _ in candidates]

    def __call__(self) -> list[Ladder]:
        # First the ones that no other thread is computing, then wait for the others.
        for wait in (False, True):
            for at in range(len(self._work)):
                self._compute(at, wait)
        return [ladder for ladder in self._ladders if ladder is not None]

    def _compute(self, at: int, wait: bool) -> None:
        if self._locks[at].acquire(blocking=wait):
            try:
                self._ladders[at] = self._ladders[at] or self._work[at]()
            finally:
                self._locks[at].release()


def _run(
    y: NDArray[np.int64],
    ladders: Ladders,
    row: Row,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    repeat: int,
    fold: int,
) -> Value:
    grams = ladders()
    start = time.thread_time()
    result = run_fold(y, grams, train, test, FOLDS * (SEED + repeat) + fold, row.hold_outs(len(y)))
    return {**result._asdict(), "cpu_seconds": round(time.thread_time() - start, 3)}
