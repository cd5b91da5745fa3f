"""Finished entries: one small file per entry and seed, with the results of all folds.

While an entry is trained, every fold has its own file in a working store, with its log and checkpoints next to it.
`pack` puts the folds of a seed and their mean learning curve into a record, a cell of experiment "tables" in the store;
it can be repeated at any time, so nothing is lost when a process is killed between two folds. Records from several
machines are merged by copying their files into one folder, if the machines train other entries, seeds or `--folds`: a
part of the folds has a file of its own. Reading records needs neither the data nor torch.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from detours.experiments.networks.entries import Entry
from detours.store import Cell, Key, Store
from detours.training.cost import seconds_of
from detours.training.recipe import as_before

EXPERIMENT = "tables"
POINTS = 100
"""Points of a learning curve, at most."""
SOURCE = ("digest", "splits")
"""The names in a key that identify the data."""
COMMON = ("device", "processes", "replicas", "parameters", "commit", "metric")
"""Results that the folds of a seed usually share; if so, they are stored once."""
Failures = Sequence[tuple[Key, str]]
"""The keys of runs that will not be finished, and why."""


@dataclass(frozen=True)
class Record:
    """The finished folds of an entry with one seed."""

    cell: Cell

    @property
    def entry(self) -> Entry:
        """The table entry that this record belongs to."""
        key = self.cell.key
        return Entry(key["data"], key["preset"], key["model"], key["backbone"], key["use_den"])

    @property
    def seed(self) -> int:
        """The seed of all folds."""
        return int(self.cell.key["seed"])

    @property
    def layers(self) -> int:
        """The number of layers; without any, the backbone makes no difference."""
        return int(self.cell.key["layers"])

    @property
    def evaluation(self) -> str:
        """How its network was evaluated: "sampled" neighbourhoods of nodes, or the "whole" graph."""
        return str(self._settings()["evaluation"])

    @property
    def sees_detours(self) -> bool:
        """Whether its network can use detour numbers."""
        key = self.cell.key
        return self.entry.recipe(edge_den=key["edge_den"], node_den=key["node_den"]).sees_detours

    @cached_property
    def runs(self) -> dict[int, dict[str, Any]]:
        """The results of every finished fold."""
        common = self.cell.value["common"]
        return {run["fold"]: {**common, **run} for run in self.cell.value["runs"]}

    @property
    def failed(self) -> dict[int, str]:
        """The folds that could not be finished, and why."""
        return {int(fold): why for fold, why in self.cell.value["failed"].items()}

    @property
    def seconds(self) -> float:
        """The time of its runs; see `detours.training.cost`."""
        return seconds_of(list(self.runs.values()))

    @property
    def finished(self) -> str:
        """When it was written, as a sortable timestamp."""
        return str(self.cell.value["finished"])

    def settled(self) -> set[tuple[int, int]]:
        """Return fold and seed of the runs that need no more training."""
        return {(fold, self.seed) for fold in (*self.runs, *self.failed)}

    def made_by(self, settings: Mapping[str, Any], code: str | None) -> bool:
        """Whether the record comes from these settings, and from this code unless it is None.

        Settings that did not exist then have the value that reproduces the earlier behaviour.
        """
        recorded = self._settings()
        same = all(recorded.get(name, value) == value for name, value in settings.items())
        return same and code in (None, self.cell.key["code"])

    def changes(self) -> list[str]:
        """Return the settings that differ from the entry's current recipe, each with both values."""
        old, current = self._settings(), self.entry.recipe().key()
        names = [*plain_settings(current), "precision"]
        return [f"{name}={old[name]} (current recipe: {current[name]})" for name in names if old[name] != current[name]]

    def settings_key(self) -> str:
        """Return a string that records have in common if data and settings agree, whatever their seed and code."""
        others = {name: self.cell.key[name] for name in (*SOURCE, "precision")}
        return repr(sorted({**plain_settings(self._settings()), **others}.items()))

    @property
    def source(self) -> tuple[str, ...]:
        """The digests of the data and their splits."""
        return tuple(self.cell.key[name] for name in SOURCE)

    def _settings(self) -> dict[str, Any]:
        """The key; settings that it lacks have the value that reproduces the earlier behaviour."""
        key = self.cell.key
        return as_before(key["preset"], key["level"]) | key


def plain_settings(key: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a recipe's key that identifies its settings: no digests, fold, seed, code or precision."""
    excluded = ("experiment", "method", *SOURCE, "fold", "folds", "seed", "preset", "code", "precision")
    return {name: value for name, value in key.items() if name not in excluded}


def read_records(store: Store) -> list[Record]:
    """Return all records of a store, in the order of their file names."""
    return [Record(cell) for cell in store if cell.key.get("experiment") == EXPERIMENT]


def pack(
    store: Store,
    entry: Entry,
    cells: Iterable[Cell],
    work: Store,
    failed: Failures = (),
    folds: Sequence[int] | None = None,
) -> None:
    """Write the records of an entry from its finished folds, merged with existing records.

    Args:
        store: The store of records.
        entry: The entry.
        cells: The finished folds.
        work: The store of these folds and their logs.
        failed: The keys of runs that will not be finished, and why.
        folds: The folds that this process trains; None for all.
    """
    parts: dict[str, tuple[dict[str, Any], list[Cell], dict[int, str]]] = {}

    def part_of(key: Key) -> tuple[dict[str, Any], list[Cell], dict[int, str]]:
        record_key = _record_key(entry, key, folds)
        return parts.setdefault(repr(record_key), (record_key, [], {}))

    for cell in cells:
        part_of(cell.key)[1].append(cell)
    for key, why in failed:
        part_of(key)[2][key["fold"]] = why
    for key, finished, reasons in parts.values():
        _write(store, key, finished, work, reasons)


def _record_key(entry: Entry, key: Mapping[str, Any], folds: Sequence[int] | None) -> dict[str, Any]:
    kept = {name: value for name, value in key.items() if name != "fold"}
    method = f"{entry.preset} {entry.model} {entry.backbone}{'' if entry.use_den else ' without den'}"
    part = {} if folds is None or len(set(folds)) == entry.folds else {"folds": sorted(set(folds))}
    return {**kept, **part, "experiment": EXPERIMENT, "method": method, "preset": entry.preset}


def _write(store: Store, key: dict[str, Any], cells: Sequence[Cell], work: Store, failed: Mapping[int, str]) -> None:
    before = Store(store.folder).find(key)
    runs, failures = ({}, {}) if before is None else (dict(Record(before).runs), Record(before).failed)
    runs |= {cell.key["fold"]: _run(cell) for cell in cells}
    curve = mean_curve([work.path(cell.key).with_suffix(".csv") for cell in cells], key["epochs"])
    if before is not None and before.value["curve"]["runs"] > curve["runs"]:
        curve = before.value["curve"]
    ordered = [runs[fold] for fold in sorted(runs)]
    common = {name: ordered[0][name] for name in COMMON if ordered and _shared(ordered, name)}
    value = {
        "common": common,
        "runs": [{name: run[name] for name in run if name not in common} for run in ordered],
        "failed": {str(fold): why for fold, why in {**failures, **failed}.items() if fold not in runs},
        "curve": curve,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    store.keep(key, value, seconds_of(ordered))


def _run(cell: Cell) -> dict[str, Any]:
    # scores are not rounded: those of equal numbers of correct predictions must compare equal
    return {"fold": cell.key["fold"], **cell.value, "seconds": round(cell.seconds, 1)}


def _shared(runs: Sequence[Mapping[str, Any]], name: str) -> bool:
    return name in runs[0] and all(run.get(name) == runs[0][name] for run in runs)


def mean_curve(logs: Sequence[Path], epochs: int) -> dict[str, Any]:
    """Return the mean learning curve of several runs, at `POINTS` epochs or fewer, as strings of numbers.

    A run that has ended keeps the values of its last epoch. Logs that are missing, or lack epochs, since the run was
    trained in several stacks that were interrupted, are skipped; "runs" counts the others.
    """
    logged = [rows for log in logs if (rows := _read_log(log)) and int(rows[-1]["epoch"]) == len(rows)]
    step = -(-epochs // POINTS)
    longest = max((len(rows) for rows in logged), default=0)
    epochs_shown = range(step, longest + 1, step)
    curve: dict[str, Any] = {"runs": len(logged), "epoch": " ".join(map(str, epochs_shown))}
    for name in [name for name in (logged[0][0] if logged else ()) if name not in ("epoch", "seconds")]:
        if not name.startswith("test"):
            means = (
                np.mean([float(rows[min(epoch, len(rows)) - 1][name]) for rows in logged]) for epoch in epochs_shown
            )
            curve[name] = " ".join(f"{mean:.4g}" for mean in means)
    return curve


def joined_curve(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mean learning curve of all runs of two curves, as `mean_curve` would from their logs, but without a
    curve that has no points."""
    first, second = sorted((one, other), key=lambda curve: len(curve["epoch"].split()), reverse=True)
    if not second["epoch"]:  # no runs, or too short ones
        return dict(first)
    shares = np.array([first["runs"], second["runs"]]) / (first["runs"] + second["runs"])
    curve: dict[str, Any] = {"runs": first["runs"] + second["runs"], "epoch": first["epoch"]}
    for name in [name for name in first if name not in curve and name in second]:
        longer, shorter = ([float(value) for value in each[name].split()] for each in (first, second))
        shorter += shorter[-1:] * (len(longer) - len(shorter))
        curve[name] = " ".join(f"{mean:.4g}" for mean in shares @ np.array([longer, shorter]))
    return curve


def _read_log(path: Path) -> list[dict[str, str]]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if None not in row.values()]
    except OSError:
        return []
