"""The rows of the paper's kernel table: SP, WL-subtree, WL-SP and WL-DeN, and the best kernel we can offer.

A finished cell is one fold of one repeat: a stratified 10-fold cross-validation with its own seed, the same folds for
every kernel. The Gram matrices of a kernel are computed once for all rounds and kept in memory while its folds run.
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
"""Of the first repeat; the next ones count on. No choice of ours was made on these folds."""
KS = (2, 3, 4, 5)
DATA = ("MUTAG", "PTC_FM", "ENZYMES", "IMDB-BINARY", "DD", "NCI1")
COUNTS: Mapping[str, Any] = {"labels": "degree", "normalize": False}
"""Of the paper's kernels."""
WL_DEN: Mapping[str, Any] = {
    **COUNTS,
    "n_iter": ROUNDS,
    "base": "shortest-path",
    "init": "den-sum",
    "plain": False,
}
"""What `WLDetour.paper` gives, written out: keys of finished cells name every parameter that matters."""
OWN = "own"
"""Labels of nodes together with degrees where the data have labels, else degrees."""


class Candidate(NamedTuple):
    """A kernel of `detours.kernels` by its name, and its parameters."""

    kernel: str
    parameters: Mapping[str, Any]

    def ladder(self, data: GraphSet) -> Ladder:
        """Its Gram matrices for every number of rounds, counts in the smallest type that holds them."""
        from detours import kernels

        parameters = dict(self.parameters)
        if parameters.get("labels") == OWN:
            parameters["labels"] = "degree" if data.labels is None else "both"
        return [_smallest_type(gram) for gram in getattr(kernels, self.kernel)(**parameters).grams(data)]


def _smallest_type(gram: NDArray[Any]) -> NDArray[Any]:
    return gram.astype(np.min_scalar_type(int(gram.max()))) if gram.dtype.kind == "i" else gram


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
    rich: dict[str, Any] = {"n_iter": ROUNDS, "init": "den", "labels": OWN, "base": "subtree", "plain": False}
    short = Candidate("WLDetour", {**rich, "k": 3, "normalize": True})
    long = Candidate("WLDetour", {**rich, "k": 5, "normalize": False})
    poor = Candidate("WLDetour", {**WL_DEN, "k": 2})
    return Row("best of ours", [long, short, poor], unlabelled=[short], held_out=500)


ROWS = {
    row.name: row
    for row in (
        Row("SP", [Candidate("ShortestPath", COUNTS)]),
        Row("WL-subtree", [Candidate("WLSubtree", {**COUNTS, "n_iter": ROUNDS})]),
        Row("WL-SP", [Candidate("WLShortestPath", {**COUNTS, "n_iter": ROUNDS})]),
        Row("WL-DeN", [Candidate("WLDetour", {**WL_DEN, "k": k}) for k in KS]),
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


def tasks(data: GraphSet, rows: Sequence[Row], repeats: int = REPEATS) -> list[Task]:
    """One task for every repeat, fold and row.

    Folds come before rows, so that threads that begin together compute the Gram matrices of different kernels.
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
        # Gram matrices are exact and fixed by the parameters, so their code does not count.
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
    """The Gram matrices of several candidates, computed when first needed, by as many threads as ask for them."""

    def __init__(self, data: GraphSet, candidates: Sequence[Candidate]) -> None:
        self._work: list[Callable[[], Ladder]] = [partial(candidate.ladder, data) for candidate in candidates]
        self._ladders: list[Ladder | None] = [None] * len(candidates)
        self._locks = [Lock() for _ in candidates]

    def __call__(self) -> list[Ladder]:
        # First what no other thread computes, then wait for the others.
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
