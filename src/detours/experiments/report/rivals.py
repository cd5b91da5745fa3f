"""MDNN against plain networks, data set by data set, with a backbone that validation parts choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from detours.experiments.networks.comparison import Comparison, against_baselines, compare
from detours.experiments.networks.entries import HETEROPHILOUS_DATA, Entry
from detours.experiments.networks.results import Result
from detours.experiments.networks.tables import best_published, with_spread
from detours.experiments.report.best import DATA
from detours.experiments.tables import Column, Table

SURE = 0.05
"""Below it, the p of a comparison is called significant."""


@dataclass(frozen=True)
class Rivals:
    """The MDNN and the plain network of a data set, preset ours."""

    data: str
    mdnn: Result
    """Of the backbones, the one with the best mean on validation parts."""
    plain: Result
    """Likewise."""
    detour: Result
    """Likewise, of weighted networks and MDNN."""
    same_backbone: Comparison
    """MDNN with the plain network of its backbone."""
    best_test: Comparison
    """The same for the MDNN with the best mean on test parts."""

    @property
    def in_paper(self) -> bool:
        """Whether the data set is one of the paper's."""
        return self.data in DATA

    @property
    def apart(self) -> Comparison:
        """MDNN with the plain network of whatever backbone suits that one best."""
        return _complete(self.mdnn, self.plain)

    @property
    def any_detour(self) -> Comparison:
        """The same for the network with detours of whatever kind."""
        return _complete(self.detour, self.plain)


def rivals(results: Mapping[Entry, Result]) -> list[Rivals]:
    """Return the rivals of the paper's data sets, then of heterophilous graphs, as far as both are finished."""
    compared = {each.entry: each for each in against_baselines(results) if each.entry.preset == "ours"}

    def validation(entry: Entry) -> float:
        return results[entry].validation

    def test(entry: Entry) -> float:
        return results[entry].mean or 0.0

    found = []
    for data in (*DATA, *HETEROPHILOUS_DATA):
        own = [e for e in compared if (e.data, e.model) == (data, "mdnn") and compared[e].complete]
        if own:
            mdnn, plain = max(own, key=validation), max((compared[entry].baseline for entry in own), key=validation)
            weighted = [e for e in compared if (e.data, e.model) == (data, "weighted") and compared[e].complete]
            detour, best = max([*own, *weighted], key=validation), max(own, key=test)
            found.append(Rivals(data, results[mdnn], results[plain], results[detour], compared[mdnn], compared[best]))
    return found


def _complete(one: Result, other: Result) -> Comparison:
    found = compare(one, other)
    assert found is not None, "complete results share all folds"
    return found


def rivals_sentence(found: Sequence[Rivals]) -> str:
    """Return on how many of the paper's data sets MDNN is better than plain networks; empty if none is finished."""
    found = [each for each in found if each.in_paper]
    if not found:
        return ""
    return (
        "MDNN, preset ours, is better than its own plain baseline with the backbone that the validation parts choose "
        f"{_counts([each.same_backbone for each in found])}; with the backbone that has the best test "
        f"{_counts([each.best_test for each in found])}. With each network's own backbone, as its validation parts "
        f"choose it, MDNN is better than the plain one {_counts([each.apart for each in found])}; so is the weighted "
        f"network or MDNN, whichever they choose, {_counts([each.any_detour for each in found])}."
    )


def _counts(chosen: Sequence[Comparison]) -> str:
    better = [each for each in chosen if each.difference > 0]
    sure = [each for each in chosen if each.p is not None and each.p < SURE]
    worse = [each.entry.data for each in sure if each.difference < 0]
    return (
        f"on {len(better)} of {len(chosen)} data sets, significantly (p < {SURE}) on {len(sure) - len(worse)}, "
        f"significantly worse on {', '.join(worse) or 'none'}"
    )


def rivals_table(found: Sequence[Rivals]) -> Table:
    """Return each network with its own backbone, and the paper's best entry."""
    columns = [Column("data"), Column("plain"), Column("MDNN"), Column("difference", "+.2f"), Column("p", ".2g")]
    columns += [Column("best of the paper", ".2f")]
    lines: list[list[Any]] = []
    for each in found:
        both, apart = (_with_backbone(each.plain), _with_backbone(each.mdnn)), each.apart
        lines.append([each.data, *both, apart.difference, apart.p, best_published(each.data)])
    note = (
        "Per cent on the test parts, mean ± standard deviation over folds; a fold counts with the mean over its seeds; "
        "preset ours. Validation parts choose the backbone, each network's own. p: of Wilcoxon's signed-rank test over "
        "folds."
    )
    return Table("MDNN and plain networks", columns, lines, [note])


def _with_backbone(result: Result) -> str:
    return f"{result.entry.backbone.upper()} {with_spread(result.mean or 0.0, result.std)}"
