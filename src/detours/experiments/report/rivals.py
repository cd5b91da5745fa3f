"""MDNN against plain networks, by data set, with backbones chosen on the validation parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from detours.experiments.networks.comparison import Comparison, against_baselines, compare
from detours.experiments.networks.entries import HETEROPHILOUS_DATA, Entry
from detours.experiments.networks.results import Result
from detours.experiments.networks.tables import best_published
from detours.experiments.report.best import DATA
from detours.experiments.report.differences import Row, draw_differences
from detours.experiments.tables import Column, Table, with_spread

SIGNIFICANT = 0.05
"""Comparisons with a smaller p are called significant."""


@dataclass(frozen=True)
class Rivals:
    """The MDNN and the plain network of a data set, preset ours."""

    data: str
    mdnn: Result
    """With the backbone that is best on the validation parts."""
    plain: Result
    """Likewise."""
    detour: Result
    """Likewise, among weighted networks and MDNN."""
    same_backbone: Comparison
    """`mdnn` against the plain network of its backbone."""

    @property
    def in_paper(self) -> bool:
        """Whether the data set is one of the paper's."""
        return self.data in DATA

    @property
    def own_backbones(self) -> Comparison:
        """`mdnn` against `plain`, each with its own backbone."""
        return _complete(self.mdnn, self.plain)

    @property
    def any_detour(self) -> Comparison:
        """`detour` against `plain`, each with its own backbone."""
        return _complete(self.detour, self.plain)


def rivals(results: Mapping[Entry, Result]) -> list[Rivals]:
    """Return the rivals on the paper's data sets, then on heterophilous graphs, if both are finished."""
    compared = {each.entry: each for each in against_baselines(results) if each.entry.preset == "ours"}

    def validation(entry: Entry) -> float:
        return results[entry].validation

    found = []
    for data in (*DATA, *HETEROPHILOUS_DATA):
        mdnns = [e for e in compared if (e.data, e.model) == (data, "mdnn") and compared[e].complete]
        if mdnns:
            mdnn, plain = max(mdnns, key=validation), max((compared[entry].baseline for entry in mdnns), key=validation)
            weighted = [e for e in compared if (e.data, e.model) == (data, "weighted") and compared[e].complete]
            detour = max([*mdnns, *weighted], key=validation)
            found.append(Rivals(data, results[mdnn], results[plain], results[detour], compared[mdnn]))
    return found


def _complete(one: Result, other: Result) -> Comparison:
    comparison = compare(one, other)
    assert comparison is not None, "complete results share all folds"
    return comparison


def rivals_sentence(found: Sequence[Rivals]) -> str:
    """Return a sentence on how many of the paper's data sets MDNN beats plain networks; empty if none is finished."""
    found = [each for each in found if each.in_paper]
    if not found:
        return ""
    return (
        "MDNN (preset ours) beats the plain network, each with the backbone that validation chooses for it, "
        f"{_counts([each.own_backbones for each in found])}. Both with the backbone that validation chooses for MDNN, "
        f"it does {_counts([each.same_backbone for each in found])}. If validation also chooses between the weighted "
        f"network and MDNN, the chosen one does {_counts([each.any_detour for each in found])}."
    )


def _counts(chosen: Sequence[Comparison]) -> str:
    better = [each for each in chosen if each.difference > 0]
    significant = [each for each in chosen if _is_significant(each)]
    worse = [each.entry.data for each in significant if each.difference < 0]
    strict = sum(holm([each.p for each in chosen]))
    return (
        f"on {len(better)} of {len(chosen)} data sets (p < {SIGNIFICANT}: better on {len(significant) - len(worse)}, "
        f"worse on {', '.join(worse) or 'none'}; with Holm's correction for {len(chosen)} tests: {strict})"
    )


def holm(ps: Sequence[float | None]) -> list[bool]:
    """Return which tests are significant together, by the method of Holm; None counts as a p of 1.

    >>> holm([0.03, 0.01, None, 0.002])
    [False, True, False, True]
    """
    values = [1.0 if p is None else p for p in ps]
    order = sorted(range(len(values)), key=values.__getitem__)
    passed = [values[index] * (len(values) - rank) < SIGNIFICANT for rank, index in enumerate(order)]
    accepted = order[: passed.index(False)] if False in passed else order
    return [index in accepted for index in range(len(values))]


def rivals_table(found: Sequence[Rivals]) -> Table:
    """Return the table of both networks, each with its own backbone, and the paper's best entry."""
    columns = [Column("data"), Column("plain"), Column("MDNN"), Column("difference", "+.2f"), Column("p", ".2g")]
    columns += [Column("interval"), Column("best of the paper", ".2f")]
    lines: list[list[Any]] = []
    for each in found:
        both, comparison = (_with_backbone(each.plain), _with_backbone(each.mdnn)), each.own_backbones
        test = [comparison.difference, comparison.p, _written(comparison.interval)]
        lines.append([each.data, *both, *test, best_published(each.data)])
    note = (
        "Per cent on the test parts, mean ± standard deviation over folds, each fold averaged over its seeds; preset "
        "ours. The backbone of each network is chosen on the validation parts. p: Wilcoxon signed-rank test over "
        "folds; interval: the differences that it does not reject (95 %)."
    )
    return Table("MDNN and plain networks", columns, lines, [note])


def rivals_figure(found: Sequence[Rivals]) -> str:
    """Return the same comparisons as a figure."""
    rows = []
    for each in found:
        comparison = each.own_backbones
        rows.append(
            Row(
                each.data,
                comparison.by_fold,
                comparison.difference,
                comparison.interval,
                comparison.p,
                _is_significant(comparison),
            )
        )
    return draw_differences("MDNN minus plain network, fold by fold", rows)


def _is_significant(comparison: Comparison) -> bool:
    return comparison.p is not None and comparison.p < SIGNIFICANT


def _written(interval: tuple[float, float] | None) -> str | None:
    return interval and f"{interval[0]:+.2f} to {interval[1]:+.2f}"


def _with_backbone(result: Result) -> str:
    return f"{result.entry.backbone.upper()} {with_spread(result.mean or 0.0, result.std)}"
