"""Comparisons of rows: Wilcoxon signed-rank tests over folds, and a sign test over all entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from detours.experiments.networks.entries import Entry
from detours.experiments.networks.results import Result
from detours.experiments.signed_rank import signed_rank_interval, signed_rank_p


@dataclass(frozen=True)
class Comparison:
    """An entry against its baseline, on the folds that both have finished."""

    entry: Entry
    baseline: Entry
    by_fold: tuple[float, ...]
    """The difference on each fold, in points; positive if the entry is better."""
    difference: float
    """The mean over folds."""
    p: float | None
    """Of a two-sided Wilcoxon signed-rank test; None if no fold differs, or if there is only one."""
    complete: bool
    """Whether no run of either is missing."""
    alike: bool = True
    """Whether both were evaluated in the same way, and the baseline sees no detours; if not, no test counts them."""

    @property
    def folds(self) -> int:
        """The number of folds."""
        return len(self.by_fold)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The differences that the test does not reject (95 %); None if it rejects nothing, as with few folds."""
        return signed_rank_interval(self.by_fold)


def baseline_of(entry: Entry) -> Entry | None:
    """Return the baseline of an entry: the plain network of its backbone, or None for a plain network."""
    if entry.model == "plain" or not entry.use_den:
        return None
    return replace(entry, model="plain")


def compare(better: Result, than: Result) -> Comparison | None:
    """Compare two results over the folds that both have; None if there are none.

    Each fold is averaged over its seeds. If the second entry was trained several times, its result is the one that was
    evaluated like the first.
    """
    than = than.evaluated_like(better)
    one, other = better.by_fold(), than.by_fold()
    shared = [fold for fold in one if fold in other]
    if not shared:
        return None
    difference = np.array([one[fold] - other[fold] for fold in shared]) * (-1 if better.lower_is_better else 1)
    difference = difference.round(9)  # equal numbers of correct predictions compare equal
    mean = round(float(difference.mean()), 9) + 0.0  # no negative zero
    complete = better.complete and than.complete
    by_fold = tuple(difference.tolist())
    sees_detours = than.entry.model == "plain" and any(record.sees_detours for record in than.records)
    alike = better.evaluation == than.evaluation and not sees_detours
    return Comparison(better.entry, than.entry, by_fold, mean, signed_rank_p(by_fold), complete, alike)


def against_baselines(results: Mapping[Entry, Result]) -> list[Comparison]:
    """Compare every weighted network and every MDNN with the plain network of its backbone."""
    pairs = ((results[entry], results.get(base)) for entry in results if (base := baseline_of(entry)) is not None)
    return [found for one, base in pairs if base is not None and (found := compare(one, base)) is not None]


def ablations(results: Mapping[Entry, Result]) -> list[Comparison]:
    """Compare MDNN with φD and without it."""
    pairs = ((results.get(replace(entry, use_den=True)), results[entry]) for entry in results if not entry.use_den)
    return [found for one, base in pairs if one is not None and (found := compare(one, base)) is not None]


def distinct(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Leave out repetitions: networks without layers are one network, whatever their backbone is called."""
    found: dict[object, Comparison] = {}
    for each in comparisons:
        found.setdefault((each.entry.data, each.entry.preset, each.entry.model, each.by_fold), each)
    return list(found.values())


@dataclass(frozen=True)
class Signs:
    """How often entries are better than their baselines."""

    better: int
    equal: int
    worse: int
    p: float | None
    """Of the two-sided sign test, without ties; None if all are equal."""


def sign_test(comparisons: Iterable[Comparison]) -> Signs:
    """Return the sign test over the mean differences of several comparisons, each counted once."""
    from scipy.stats import binomtest

    signs = [int(np.sign(each.difference)) for each in distinct(comparisons)]
    better, worse = signs.count(1), signs.count(-1)
    p = float(binomtest(better, better + worse).pvalue) if better + worse else None
    return Signs(better, signs.count(0), worse, p)
