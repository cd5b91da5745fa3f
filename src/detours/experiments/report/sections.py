"""The sections of the report, from finished results only; `SECTIONS`, at the end, lists them in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from statistics import fmean
from typing import Any

from detours.experiments.networks.comparison import Comparison, ablations, against_baselines, sign_test
from detours.experiments.networks.entries import DATA, PRESETS, Entry, cost
from detours.experiments.networks.records import Record, plain_settings
from detours.experiments.networks.results import Result
from detours.experiments.networks.tables import TITLES, data_in_order, of_table, published, written
from detours.experiments.networks.tables import tables as network_tables
from detours.experiments.report.agreement import disagreement_table, distances, within_sentence
from detours.experiments.report.best import best_models, best_network, best_sentence, best_table
from detours.experiments.report.curves import Curve, draw_curves
from detours.experiments.report.finished import Finished, Networks
from detours.experiments.report.rivals import Rivals, rivals, rivals_figure, rivals_sentence, rivals_table
from detours.experiments.tables import COUNT, Column, Table


@dataclass(frozen=True)
class Section:
    """A heading and what is below it."""

    title: str
    text: list[str] = field(default_factory=list)
    """Paragraphs."""
    tables: list[Table] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    """As SVG."""
    points: list[str] = field(default_factory=list)
    """A bulleted list above everything else."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing below the heading; the report omits such sections."""
        return not (self.points or self.text or self.tables or self.figures)


def summary_section(finished: Finished) -> Section:
    """One sentence on each of the paper's claims, as far as they were measured."""
    networks = finished.networks
    ours = [each for each in against_baselines(networks) if each.entry.preset == "ours" and each.complete]
    sentences = [best_sentence(best_models(networks, finished.kernels)), rivals_sentence(rivals(networks))]
    for name in ("graphs", "nodes", "heterophilous"):
        found = [each for each in ours if each.entry.data in data_in_order(name) and each.entry.model == "mdnn"]
        if found:
            better = sum(each.difference > 0 for each in found)
            sentences.append(
                f"{TITLES[name]}, preset ours: MDNN beats its plain baseline in {better} of {len(found)} entries"
                f"{_exceptions(found)}."
            )
    sentences += [within_sentence(away)] if (away := distances(networks)) else []
    sentences += [_gains_sentence(networks)]
    for preset in PRESETS:
        if found := [each for each in ablations(networks) if each.entry.preset == preset and each.complete]:
            better = sum(each.difference >= 0 for each in found)
            sentences.append(
                f"Ablation, preset {preset}: with φD, MDNN is at least as good as without on {better} of {len(found)} "
                "data sets."
            )
    return Section("In short", points=[sentence for sentence in sentences if sentence])


def _gains_sentence(networks: Networks) -> str:
    """Return a sentence on what detours add to plain networks under the paper's settings, here and in the paper."""
    found = [
        (each.difference, one["mean"] - other["mean"])
        for each in against_baselines(networks)
        if each.entry.preset != "ours" and each.entry.model == "mdnn" and each.complete and each.alike
        if (one := published(each.entry)) and (other := published(each.baseline))
    ]
    if not found:
        return ""
    here, there = (
        f"{sum(gain > 0 for gain in gains)}, by {fmean(gains):+.2f} points" for gains in zip(*found, strict=True)
    )
    return (
        f"Presets paper and paper-small, {len(found)} comparable entries of MDNN and its plain baseline: MDNN is "
        f"better in {here} on average; as published in {there}."
    )


def _exceptions(comparisons: Sequence[Comparison]) -> str:
    worse = [each for each in comparisons if each.difference <= 0]
    listed = ", ".join(f"{each.entry.data} {each.entry.row} {each.difference:+.2f}" for each in worse)
    return f"; exceptions: {listed}" if worse else ""


def best_section(finished: Finished) -> Section:
    """The best detour networks and kernels next to the paper's best entries."""
    found = best_models(finished.networks, finished.kernels)
    return Section("Best models", [], [best_table(found)] if found else [])


def table_section(name: str, finished: Finished) -> Section:
    """One of the paper's tables, or of the additional ones."""
    results = of_table(name, finished.networks)
    if not results:
        return Section(TITLES[name])
    text = []
    if name == "nodes":
        text.append(
            "Chameleon and Squirrel contain duplicated nodes, some of them in both training and test parts "
            "(Platonov et al., 2023); these are the versions that the paper used."
        )
    text += _remarks(results)
    return Section(TITLES[name], text, network_tables([name], results))


def _remarks(networks: Networks) -> list[str]:
    """Remarks on the recipes behind a table."""
    records = [record for result in networks.values() for record in result.records]
    remarks = []
    if seeing := {each.entry.data for each in records if each.entry.model == "plain" and each.sees_detours}:
        remarks.append(
            f"On {', '.join(sorted(seeing))}, preset ours gives plain networks detour numbers as arc or node features: "
            "they are not a baseline without detours there."
        )
    plain = [each for each in records if (each.entry.model, each.entry.preset) == ("plain", "ours")]
    if single := {each.entry.data for each in plain} - {each.entry.data for each in plain if each.layers}:
        remarks.append(
            f"On {', '.join(sorted(single))}, plain networks of preset ours have no layers, so those of all backbones "
            "are one network."
        )
    if not all(entry.use_den for entry in networks):
        remarks.append("MDNN without φD has no encoder hops weighted by detour numbers either (preset ours).")
    older = [entry for entry, result in networks.items() if not is_current(result)]
    if older:
        listed = ", ".join(dict.fromkeys(f"{entry.data} {entry.row} ({entry.preset})" for entry in older))
        remarks.append(f"Trained with settings that differ from the current recipes: {listed}.")
    return remarks


def is_current(result: Result) -> bool:
    """Whether a result was trained with the settings of the current recipe."""
    settings = plain_settings(result.entry.recipe().key())
    return all(record.made_by(settings, None) for record in result.records)


def baselines_section(finished: Finished) -> Section:
    """Every detour network against its baseline, and the sign tests."""
    title, comparisons = "Detour networks against baselines", against_baselines(finished.networks)
    if not comparisons:
        return Section(title)
    text = (
        "Each weighted network and each MDNN is compared with the plain network of the same backbone, preset and data, "
        "on the same folds. Each fold is averaged over its seeds, so that folds are the only repetitions. p of an "
        "entry: two-sided Wilcoxon signed-rank test over folds (which share training data, so p is too small). p over "
        "entries: two-sided sign test of the mean differences of complete entries, which are not independent either: "
        "backbones share data, and the filtered graphs are parts of Chameleon and Squirrel. Entries that agree in "
        "every fold are one network (without layers, the backbone makes no difference) and count once. Sign tests "
        "leave out entries whose baseline sees detours, or was evaluated in another way (on the whole graph instead of "
        "samples of neighbourhoods, or the reverse)."
    )
    chosen = rivals(finished.networks)
    tables = [rivals_table(chosen)] if chosen else []
    if complete := [each for each in comparisons if each.complete]:
        tables.append(_sign_tests(complete, chosen))
    return Section(title, [text], [*tables, _differences(comparisons)], [rivals_figure(chosen)] if chosen else [])


def _differences(comparisons: Sequence[Comparison]) -> Table:
    lines: list[list[Any]] = []
    for each in comparisons:
        remarks = [*([] if each.complete else ["incomplete"]), *([] if each.alike else ["not counted"])]
        folds = ", ".join([str(each.folds), *remarks])
        lines.append([each.entry.data, each.entry.preset, each.entry.row, each.difference, folds, each.p])
    columns = [Column("data"), Column("preset"), Column("network"), Column("against plain", "+.2f")]
    columns += [Column("folds", "d"), Column("p", ".2g")]
    return Table("Detour networks against their baselines", columns, sorted(lines, key=lambda line: line[:3]))


def _sign_tests(complete: Sequence[Comparison], chosen: Sequence[Rivals]) -> Table:
    own = [each.own_backbones for each in chosen if each.in_paper]
    groups: dict[str, Sequence[Comparison]] = {"MDNN, ours, one entry per data set of the paper": own}
    for preset in PRESETS:
        for model, name in (("weighted", "weighted"), ("mdnn", "MDNN")):
            group = [
                each for each in complete if (each.entry.preset, each.entry.model) == (preset, model) and each.alike
            ]
            groups[f"{name}, {preset}"] = group
    tests = {name: sign_test(group) for name, group in groups.items() if group}
    lines: list[list[Any]] = [[name, test.better, test.equal, test.worse, test.p] for name, test in tests.items()]
    columns = [Column(""), Column("better", "d"), Column("equal", "d"), Column("worse", "d"), Column("p", ".2g")]
    return Table("Sign tests", columns, lines)


def agreement_section(finished: Finished) -> Section:
    """How many entries of presets "paper" and "paper-small" agree with the paper, and those that do not."""
    found = distances(finished.networks)
    if not found:
        return Section("Agreement with the paper")
    text = [
        f"{within_sentence(found)} Means of ten folds that differ by chance only would agree this well in about 95 % "
        "of all entries. Those that do not are listed below, with the reason from `notes.toml` where one is known."
    ]
    return Section("Agreement with the paper", text, [disagreement_table(found, finished.notes)])


@cache
def other_numbers() -> dict[str, Any]:
    """Results of other papers, see `others.json`."""
    numbers: dict[str, Any] = json.loads(files("detours.experiments.report").joinpath("others.json").read_text("utf-8"))
    return numbers


def others_section(finished: Finished) -> Section:
    """Our best networks next to results that others published for the same splits."""
    tables = []
    for name in ("graphs", "nodes", "heterophilous"):
        data = [each for each in data_in_order(name) if any(each in row for row in other_numbers()[name].values())]
        rows: list[list[Any]] = []
        for model, title in (("plain", "best plain"), ("weighted", "best weighted"), ("mdnn", "best MDNN")):
            best = [best_network(finished.networks, each, model) for each in data]
            if any(best):
                rows.append([f"{title}, ours", *map(written, best)])
        if rows:
            rows += [[f"theirs: {who}", *map(numbers.get, data)] for who, numbers in other_numbers()[name].items()]
            columns = [Column("network"), *(Column(each, ".2f") for each in data)]
            tables.append(Table(f"{TITLES[name]}: results of others", columns, rows))
    text = [
        "Rows “theirs” are means published by other papers for the same splits, as far as they are known to us; "
        "nothing was run again, and features, tuning and model selection differ. “No structure” uses node features "
        "only: where it is ahead, the data set says little about structure. Two versions of Cornell are in use, one of "
        "them with the features of Texas; published results may be based on either."
    ]
    return Section("Other published results", text if tables else [], tables)


def learning_section(finished: Finished) -> Section:
    """A figure for each data set and preset: the mean validation score of every network by epoch."""
    figures = []
    for data in dict.fromkeys(each for names in DATA.values() for each in names):
        for preset in PRESETS:
            entries = (entry for entry in finished.networks if (entry.data, entry.preset) == (data, preset))
            recorded = ((entry, finished.networks[entry].records) for entry in entries if entry.use_den)
            curves = [curve for entry, records in recorded if (curve := _curve(entry, records)) is not None]
            if curves:
                figures.append(draw_curves(f"{data}, {preset}", curves))
    text = ["Mean validation score over folds; a fold that has ended keeps the score of its last epoch."]
    return Section("Learning curves", text if figures else [], [], figures)


def _curve(entry: Entry, records: Sequence[Record]) -> Curve | None:
    curve = max((record.cell.value["curve"] for record in records), key=lambda curve: curve["runs"])
    values = next((curve[name] for name in ("val_score", "val_accuracy") if name in curve), "")
    if not values:
        return None
    return Curve(entry.row, entry.model, [*map(int, curve["epoch"].split())], [*map(float, values.split())])


def costs_section(finished: Finished) -> Section:
    """The training time of every data set and preset."""
    totals: dict[tuple[str, str, str], list[float]] = {}
    for entry, result in finished.networks.items():
        for device in result.devices[:1]:
            total = totals.setdefault((entry.data, entry.preset, device), [0, 0, 0.0])
            total[0] += 1
            total[1] += sum(len(record.runs) for record in result.records)
            total[2] += result.seconds / 60
    lines: list[list[Any]] = [[*key, *total] for key, total in sorted(totals.items())]
    columns = [Column("data"), Column("preset"), Column("device"), Column("entries", COUNT), Column("runs", COUNT)]
    text = ["The times of individual entries are in the tables entry by entry."] if lines else []
    table = Table("Minutes of training", [*columns, Column("minutes", ".1f")], lines)
    return Section("Cost", text, [table, *_full_size(finished.networks)] if lines else [])


def _full_size(networks: Networks) -> list[Table]:
    """The estimated cost of the entries of paper-small at the full size of the paper."""
    totals: dict[str, list[float]] = {}
    for entry, result in networks.items():
        if entry.preset == "paper-small":
            ratio = cost(replace(entry, preset="paper")) / cost(entry)
            total = totals.setdefault(entry.data, [0.0, 0.0])
            total[0] += result.seconds / 60
            total[1] += ratio * result.seconds / 3600
    lines: list[list[Any]] = [[data, *total] for data, total in totals.items()]
    columns = [Column("data"), Column("minutes, paper-small", ".1f"), Column("hours, paper, at most about", ".0f")]
    note = "Scaled by the multiplications per epoch; a GPU is better utilised at the full size."
    return [Table("Estimated cost of the paper's size", columns, lines, [note])] if lines else []


def kernels_section(finished: Finished) -> Section:
    """The tables of graph kernels."""
    from detours.experiments.kernels.table import tables

    return Section("Graph kernels", [], tables(finished.cells))


def expressiveness_section(finished: Finished) -> Section:
    """The finished tables of expressive power, without times, which the benchmarks measure."""
    from detours.experiments.expressiveness import hard, ratios

    shown: list[Table] = []
    for experiment, tables in (("expressiveness", ratios.tables), ("hard", hard.tables)):
        if cells := [cell for cell in finished.cells if cell.key["experiment"] == experiment]:
            shown += [table for table in tables(cells) if "econds" not in table.title]
    text = [
        "Rule “sound” compares colours; rule “paper” compares only the sizes of colour classes, which is weaker. The "
        "tables show the results under each rule."
    ]
    return Section("Expressive power", text if shown else [], shown)


SECTIONS: dict[str, Callable[[Finished], Section]] = {
    "summary": summary_section,
    "best": best_section,
    **{name: partial(table_section, name) for name in DATA},
    "baselines": baselines_section,
    "agreement": agreement_section,
    "others": others_section,
    "learning": learning_section,
    "costs": costs_section,
    "kernels": kernels_section,
    "expressiveness": expressiveness_section,
}
"""The full report, in order. `documents.py` inserts a section into a document by its name; for the names in `DATA` and
for "kernels", it has tables of its own."""
