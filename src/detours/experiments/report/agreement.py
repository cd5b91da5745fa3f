"""Which of our results agree with the paper's, and what is known about those that do not."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from detours.errors import FileFormatError
from detours.experiments.networks.entries import MODELS, Entry, entries
from detours.experiments.networks.results import Result
from detours.experiments.networks.tables import published
from detours.experiments.tables import Column, Table

NOTES = "notes.toml"
UNEXPLAINED = "unexplained"
_FIELDS = ("data", "preset", "row", "reason")


class Distance(NamedTuple):
    """A result of the presets "paper" and "paper-small", and its distance from the paper's."""

    result: Result
    published: dict[str, float]
    points: float

    @property
    def within(self) -> bool:
        """Whether it is within one standard deviation of the paper."""
        return abs(self.points) <= self.published["std"]


def distances(results: Mapping[Entry, Result]) -> list[Distance]:
    """Return the distances of all complete results of presets "paper" and "paper-small" that the paper reports."""
    found = []
    for entry, result in results.items():
        paper = published(entry)
        if entry.preset != "ours" and paper is not None and result.complete and result.mean is not None:
            found.append(Distance(result, paper, result.mean - paper["mean"]))
    return found


def within_sentence(found: Sequence[Distance]) -> str:
    """Return a sentence on how many results agree with the paper, out of how many it reports."""
    models = {title: [each for each in found if each.result.entry.model == model] for model, title in MODELS.items()}
    shares = [f"{title} {sum(each.within for each in some)} of {len(some)}" for title, some in models.items() if some]
    within, all_published = sum(each.within for each in found), _num_published()
    return (
        f"Presets paper and paper-small: {within} of {len(found)} entries ({within / len(found):.0%}) are within one "
        f"published standard deviation of the published mean ({', '.join(shares)}); {all_published - len(found)} of "
        f"the {all_published} published entries are not finished."
    )


def _num_published() -> int:
    tables = ("graphs", "nodes", "ablation")
    return len({entry for table in tables for entry in entries(table) if entry.preset != "ours" and published(entry)})


def read_notes(folder: Path) -> list[dict[str, Any]]:
    """Return the notes of a results folder.

    A note has a reason and the entries that it concerns: data, preset, row, each a name or a list; all if omitted.
    """
    path = folder / NOTES
    try:
        notes = tomllib.loads(path.read_text("utf-8")).get("note", [])
    except FileNotFoundError:
        return []
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(f"it should be a TOML file, but it cannot be read as one: {error}.", path) from None
    for note in notes:
        if "reason" not in note or (unknown := set(note) - set(_FIELDS)):
            problem = f"has no {unknown.pop()}" if "reason" in note else "needs a reason"
            raise FileFormatError(f"a note {problem}; its fields are {', '.join(_FIELDS)}.", path)
    return list(notes)


def reason_for(entry: Entry, notes: Sequence[Mapping[str, Any]]) -> str:
    """Return the reasons of all notes on an entry, or "unexplained"."""
    fields = {"data": entry.data, "preset": entry.preset, "row": entry.row}

    def concerns(note: Mapping[str, Any]) -> bool:
        named = {name: [note[name]] if isinstance(note[name], str) else note[name] for name in fields if name in note}
        return all(fields[name] in names for name, names in named.items())

    return " ".join(note["reason"] for note in notes if concerns(note)) or UNEXPLAINED


def disagreement_table(found: Sequence[Distance], notes: Sequence[Mapping[str, Any]]) -> Table:
    """Return the entries more than one of the paper's standard deviations away from its mean."""
    lines: list[list[Any]] = []
    for each in sorted(found, key=lambda each: -abs(each.points) / each.published["std"]):
        if not each.within:
            entry = each.result.entry
            num_deviations = each.points / each.published["std"]
            lines.append([
                entry.data, entry.preset, entry.row, each.result.mean, each.published["mean"], each.published["std"],
                each.points, num_deviations, reason_for(entry, notes),
            ])  # fmt: skip
    columns = [Column("data"), Column("preset"), Column("network"), Column("here", ".2f"), Column("published", ".2f")]
    columns += [Column("± published", ".2f"), Column("distance", "+.2f"), Column("in its ±", "+.1f"), Column("reason")]
    return Table("More than one standard deviation from the paper", columns, lines)
