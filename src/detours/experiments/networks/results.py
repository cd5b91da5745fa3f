"""Results of table entries: their records, one per seed, with mean and standard deviation over folds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.experiments.networks.entries import Entry
from detours.experiments.networks.records import Record, joined_curve
from detours.store import Cell
from detours.training.cost import seconds_of
from detours.training.recipe import LOWER_IS_BETTER, merit


@dataclass(frozen=True)
class Result:
    """The result of an entry: its records, one per seed."""

    entry: Entry
    records: Sequence[Record]
    older: Sequence[Result] = ()
    """Results of the same entry with other settings, which are not shown."""

    @property
    def evaluation(self) -> str:
        """How the networks were evaluated: "sampled" neighbourhoods of nodes, or the "whole" graph."""
        return self.records[0].evaluation

    def evaluated_like(self, other: Result) -> Result:
        """Return the complete result of this entry that was evaluated like another; this one if there is none."""
        alike = (each for each in (self, *self.older) if each.complete and each.evaluation == other.evaluation)
        return next(alike, self)

    @property
    def metric(self) -> str:
        """The metric: "accuracy", "roc_auc" or "mae"."""
        return next((str(run["metric"]) for run in self._runs() if "metric" in run), "accuracy")

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower value is better."""
        return self.metric in LOWER_IS_BETTER

    def _runs(self) -> Iterator[dict[str, Any]]:
        for record in self.records:
            yield from record.runs.values()

    def by_fold(self) -> dict[int, float]:
        """Return the test result of each fold, the mean over its seeds; accuracies and ROC-AUC in per cent."""
        scale = 1 if self.lower_is_better else 100
        values: dict[int, list[float]] = {}
        for record in self.records:
            for fold, run in record.runs.items():
                values.setdefault(fold, []).append(scale * run[f"test_{self.metric}"])
        return {fold: float(np.mean(values[fold])) for fold in sorted(values)}

    @property
    def values(self) -> NDArray[np.float64]:
        """The values whose mean and standard deviation are reported: by fold, or by seed if there is only one fold."""
        if self.entry.folds > 1:
            return np.array(list(self.by_fold().values()))
        scale = 1 if self.lower_is_better else 100
        return np.array([scale * run[f"test_{self.metric}"] for run in self._runs()])

    @property
    def mean(self) -> float | None:
        """The mean over folds, of the mean over seeds; None if no run could be finished."""
        return float(self.values.mean()) if len(self.values) else None

    @property
    def validation(self) -> float:
        """The mean validation score over all runs, where higher is better; minus infinity without runs."""
        scores = [run[f"val_{self.metric}"] for run in self._runs()]
        return merit(self.metric, float(np.mean(scores))) if scores else -float("inf")

    @property
    def std(self) -> float | None:
        """The standard deviation over folds, as the paper reports it; None for a single value."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else None

    @property
    def seeds(self) -> list[int]:
        """The seeds, in order."""
        return sorted(record.seed for record in self.records)

    @property
    def seconds(self) -> float:
        """The time of all runs."""
        return sum(record.seconds for record in self.records)

    @property
    def devices(self) -> list[str]:
        """The devices used for training."""
        return sorted({str(run.get("device")) for run in self._runs()})

    @property
    def wanted(self) -> int:
        """The number of runs of a complete result: all folds with every seed."""
        return self.entry.folds * len(self.records)

    @property
    def missing(self) -> int:
        """The number of missing runs, not yet trained or diverged."""
        return self.wanted - sum(len(record.runs) for record in self.records)

    @property
    def complete(self) -> bool:
        """Whether no run is missing; incomplete results are shown, but not counted."""
        return not self.missing

    @property
    def failures(self) -> list[str]:
        """Why runs could not be finished."""
        return [why for record in self.records for why in record.failed.values()]


def results(records: Iterable[Record]) -> dict[Entry, Result]:
    """Return the results by entry, from the latest settings that have finished all folds with some seed.

    If there are none, the settings with the most folds are used. The code is not a setting; each record stores its own.
    """
    by_entry: dict[Entry, list[Record]] = {}
    for record in records:
        by_entry.setdefault(record.entry, []).append(record)
    return {entry: _result(entry, found) for entry, found in by_entry.items()}


def _result(entry: Entry, records: Sequence[Record]) -> Result:
    groups: dict[str, dict[int, Record]] = {}
    for record in sorted(records, key=lambda record: record.finished, reverse=True):  # the newest folds win
        seeds = groups.setdefault(record.settings_key(), {})
        before = seeds.get(record.seed)
        seeds[record.seed] = record if before is None else _merged(before, record)

    def rank(seeds: Mapping[int, Record]) -> tuple[int, str]:
        num_folds = max(len(record.runs) for record in seeds.values())
        return min(num_folds, entry.folds), max(record.finished for record in seeds.values())

    best, *others = (
        Result(entry, [seeds[seed] for seed in sorted(seeds)])
        for seeds in sorted(groups.values(), key=rank, reverse=True)
    )
    return replace(best, older=others)


def _merged(one: Record, other: Record) -> Record:
    """Return the record with more folds, with the folds of the other added: newer code may resume a run."""
    first, second = sorted((one, other), key=lambda record: (len(record.runs), record.finished), reverse=True)
    added = [run for fold, run in second.runs.items() if fold not in first.runs]
    if not added:
        return first
    cell = first.cell
    key = {**cell.key, "code": ", ".join(dict.fromkeys((cell.key["code"], second.cell.key["code"])))}
    runs = sorted((*first.runs.values(), *added), key=lambda run: run["fold"])
    reasons = {**second.failed, **first.failed}
    failed = {str(fold): reasons[fold] for fold in reasons if fold not in first.runs and fold not in second.runs}
    value = {**cell.value, "common": {}, "runs": runs, "failed": failed, "finished": max(one.finished, other.finished)}
    if len(added) == len(second.runs):
        value["curve"] = joined_curve(cell.value["curve"], second.cell.value["curve"])
    return Record(Cell(key, value, seconds_of(runs)))
