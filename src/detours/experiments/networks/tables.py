"""The tables of networks next to the paper's, from finished records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detours.experiments.networks.comparison import Comparison, ablations, against_baselines
from detours.experiments.networks.entries import DATA, MODELS, PRESETS, Entry, rows_named
from detours.experiments.networks.results import Result
from detours.experiments.paper import paper_tables
from detours.experiments.tables import COUNT, Column, Table, with_spread

TITLES = {
    "graphs": "Graph classification",
    "nodes": "Node classification",
    "ablation": "MDNN GAT with and without φD",
    "zinc": "ZINC, mean absolute error",
    "heterophilous": "Heterophilous graphs",
}
IN_PAPER = {
    "graphs": ("MUTAG", "NCI1", "ENZYMES", "DD", "PTC_FM", "IMDB-BINARY"),
    "nodes": ("Chameleon", "Squirrel", "Actor", "Cornell", "Wisconsin", "Texas"),
    "ablation": ("MUTAG", "Chameleon", "Cornell", "Texas"),
}
"""The data sets in the order of the paper's tables."""
_GROUPS = {"plain": "mpnn", "weighted": "den-weighted", "mdnn": "mdnn"}
MEANING = (
    "Per cent on the test parts, mean ± standard deviation over folds, each fold averaged over its seeds (ZINC: mean "
    "absolute error, over seeds). “ours” and “paper” are presets of this library, both trained here; rows “published” "
    "are the paper's results. paper-small: preset paper with 128 channels and two transformer layers."
)


def data_in_order(table: str) -> tuple[str, ...]:
    """Return the data sets of a table, in the paper's order, or in training order if the table is not in the paper."""
    return IN_PAPER.get(table, DATA[table])


def published(entry: Entry) -> dict[str, float] | None:
    """Return the mean and std that the paper reports for an entry, or None."""
    paper = paper_tables()
    if not entry.use_den:
        found = paper["ablation_gat"]["without_detour_embedding"].get(entry.data)
    else:
        table = paper["graph_classification" if entry.level == "graph" else "node_classification"]
        found = table[_GROUPS[entry.model]][entry.backbone.upper()].get(entry.data)
    return found  # type: ignore[no-any-return]


def best_published(data: str) -> float | None:
    """Return the best mean that the paper reports for a data set, kernels included."""
    paper = paper_tables()
    groups = (group for table in ("graph_classification", "node_classification") for group in paper[table].values())
    means = [row[data]["mean"] for group in groups for row in group.values() if row.get(data) is not None]
    return max(means, default=None)


def written(result: Result | None) -> str | None:
    """Format a result; for an incomplete one, with the number of finished runs."""
    if result is None:
        return None
    if result.mean is None:
        return "diverged"
    text = f"{result.mean:.4f}" if result.lower_is_better else with_spread(result.mean, result.std)
    if result.lower_is_better and result.std is not None:
        text += f" ± {result.std:.4f}"
    return text if result.complete else f"{text} ({result.wanted - result.missing}/{result.wanted})"


def _diverged(results: Iterable[Result]) -> list[str]:
    """Return a remark on the entries with diverged runs, if any."""
    remarks = [
        f"{each.entry.data} {each.entry.row} ({each.entry.preset}): {len(each.failures)} of {each.wanted} runs diverged"
        for each in results
        if each.failures
    ]
    return [f"{'; '.join(remarks)}. The means are over the other runs."] if remarks else []


def _with_other_settings(results: Iterable[Result]) -> list[str]:
    """Return remarks on the entries that were trained with other settings than those of their current recipes."""
    rows_by_change: dict[str, dict[str, list[str]]] = {}
    for each in results:
        for change in {change for record in each.records for change in record.changes()}:
            rows = rows_by_change.setdefault(change, {}).setdefault(f"{each.entry.data}, {each.entry.preset}", [])
            rows.append(each.entry.row)
    listed = {
        change: [f"{data}: {', '.join(rows)}" for data, rows in by_data.items()]
        for change, by_data in rows_by_change.items()
    }
    return [f"Trained with {change}: {'; '.join(listed[change])}." for change in sorted(listed)]


def accuracy_table(table: str, results: Mapping[Entry, Result], rows: Sequence[str] = ()) -> Table:
    """Return a table in the layout of the paper: for each row, our presets and the published result."""
    started = {entry.data for entry in results}
    data = [each for each in data_in_order(table) if table in IN_PAPER or each in started]
    lines: list[list[Any]] = []
    for model, backbone, use_den in rows_named(table, rows):
        name = Entry("", "ours", model, backbone, use_den).row
        for preset in PRESETS:
            found = [results.get(Entry(each, preset, model, backbone, use_den)) for each in data]
            if any(result is not None for result in found):
                lines.append([f"{name}, {preset}", *map(written, found)])
        if table in IN_PAPER:
            theirs = [published(Entry(each, "paper", model, backbone, use_den)) for each in data]
            lines.append([f"{name}, published", *(each and with_spread(each["mean"], each["std"]) for each in theirs)])
    shown = of_table(table, results, rows).values()
    notes = [MEANING, *_diverged(shown), *_with_other_settings(shown)]
    return Table(TITLES[table], [Column("network"), *(Column(each, ".2f") for each in data)], lines, notes)


def detail_table(table: str, results: Mapping[Entry, Result], rows: Sequence[str] = ()) -> Table:
    """Return a table with all details of each entry: distance to the paper, p against its baseline, cost."""
    digits = ".4f" if table == "zinc" else ".2f"  # absolute errors; all others are in per cent
    columns = [
        Column("data"), Column("preset"), Column("network"), Column("test", digits), Column("± folds", digits),
        Column("published", digits), Column("distance", "+" + digits), Column("runs", COUNT), Column("missing", COUNT),
        Column("seeds"), Column("k", "d"), Column("against plain", "+" + digits), Column("p", ".2g"),
        Column("epochs", ".0f"),
        Column("weights", COUNT), Column("minutes", ".1f"), Column("device"), Column("precision"),
        Column("code"),
    ]  # fmt: skip
    against = {each.entry: each for each in against_baselines(results)}
    return Table(
        f"{TITLES[table]}, entry by entry",
        columns,
        [_line(results[entry], against.get(entry)) for entry in of_table(table, results, rows)],
        [
            "Against plain: the mean difference over folds from the plain network of the same backbone and preset, "
            "positive if better, with the p of a two-sided Wilcoxon signed-rank test. Minutes: all runs together."
        ],
    )


def entries_in_order(table: str, results: Mapping[Entry, Result]) -> list[Entry]:
    """Return the entries of a table that have results, in its order."""
    data = data_in_order(table)
    entries = [entry for entry in results if entry.data in data]
    if table == "ablation":
        entries = [entry for entry in entries if (entry.model, entry.backbone) == ("mdnn", "gat")]
    else:
        entries = [entry for entry in entries if entry.use_den]
    models = list(MODELS)
    return sorted(entries, key=lambda e: (data.index(e.data), e.preset, models.index(e.model), e.backbone, e.use_den))


def _line(result: Result, against: Comparison | None) -> list[Any]:
    entry, paper = result.entry, published(result.entry)
    runs = [run for record in result.records for run in record.runs.values()]
    keys = [record.cell.key for record in result.records]
    mean, theirs = result.mean, None if paper is None else paper["mean"]
    return [
        entry.data, entry.preset, entry.row, mean, result.std, theirs,
        None if mean is None or theirs is None else mean - theirs, len(runs), result.missing,
        ", ".join(map(str, result.seeds)), keys[0]["k"] if result.records[0].sees_detours else None,
        against and against.difference, against and against.p,
        sum(run["epochs"] for run in runs) / len(runs) if runs else None,
        runs[0]["parameters"] if runs else None, result.seconds / 60, ", ".join(result.devices),
        ", ".join(dict.fromkeys(key["precision"] for key in keys)),
        ", ".join(dict.fromkeys(key["code"] for key in keys)),
    ]  # fmt: skip


def ablation_table(results: Mapping[Entry, Result]) -> Table:
    """Return the paired comparison of MDNN GAT with φD and without it."""
    lines: list[list[Any]] = []
    for each in ablations(results):
        both = written(results[each.entry]), written(results[each.baseline])
        paper = [published(entry) for entry in (each.entry, each.baseline)]
        theirs = None if None in paper else paper[0]["mean"] - paper[1]["mean"]  # type: ignore[index]
        lines.append([each.entry.data, each.entry.preset, *both, each.difference, each.p, theirs])
    columns = [Column("data"), Column("preset"), Column("with φD", "s"), Column("without", "s")]
    columns += [Column("difference", "+.2f"), Column("p", ".2g"), Column("published difference", "+.2f")]
    return Table("Ablation, paired over folds", columns, sorted(lines, key=lambda line: (line[0], line[1])))


def of_table(table: str, results: Mapping[Entry, Result], rows: Sequence[str] = ()) -> dict[Entry, Result]:
    """Return the results of a table, or of some of its rows, in table order."""
    named = rows_named(table, rows)
    return {e: results[e] for e in entries_in_order(table, results) if (e.model, e.backbone, e.use_den) in named}


def tables(names: Iterable[str], results: Mapping[Entry, Result], rows: Sequence[str] = ()) -> list[Table]:
    """Return the tables of these names, or some of their rows, if they have results."""
    found = []
    for name in names:
        if of_table(name, results, rows):
            of_name = of_table(name, results)  # differences refer to rows that may not be shown
            paired = [ablation_table(of_name)] if name == "ablation" and not rows else []
            found += [accuracy_table(name, of_name, rows), *paired, detail_table(name, of_name, rows)]
    return found
