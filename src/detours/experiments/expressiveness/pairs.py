"""Pairs that are hard to tell apart: how many of them each test tells apart, by category, with times.

The pairs come from a folder of graph6 files, or are made in code: the built-in hard pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from detours.data import GraphSet
from detours.experiments.expressiveness import ratios as expressiveness
from detours.experiments.expressiveness.methods import (
    TUPLE_STEPS,
    WL3,
    Method,
    den,
    den_deleted,
    den_edges,
    den_marked,
    den_pairs,
    wl1,
)
from detours.experiments.tables import COUNT, SECONDS, Column, Table
from detours.store import Cell, Task, Value, code_digest

EXPERIMENT = "pairs"


LADDER = "separate"
PAIR_SECONDS = 60.0
"""The budget of `detours.wl.separate` for one pair."""


def methods(k: int) -> list[Method]:
    """The tests of `reproduce pairs`: 1-WL, 3-WL, the uses of k-DeN, and copies with deleted and marked nodes."""
    marked = [den_marked(k, depth) for depth in (1, 2, 3)]
    return [wl1(None), WL3, den(k, None), den_edges(k), den_pairs(k), den_deleted(k), *marked]


def tasks(categories: Sequence[GraphSet], k: int, *, n_jobs: int = 1, limit: float = TUPLE_STEPS) -> list[Task]:
    """Return a task per category and test, and one for `detours.wl.separate` on each pair of a category."""
    made = []
    for data in categories:
        made += expressiveness.tasks(data, methods(k), experiment=EXPERIMENT, n_jobs=n_jobs, limit=limit)
        code = code_digest("experiments.expressiveness", "wl")
        key = {"experiment": EXPERIMENT, "data": data.name, "method": LADDER, "parameters": {"budget": PAIR_SECONDS}}
        made.append(Task({**key, "digest": data.digest, "code": code}, partial(_separate, data, n_jobs)))
    return made


def _separate(data: GraphSet, n_jobs: int) -> Value:
    """Return how many pairs each rung told apart, and the milliseconds that `separate` took for these pairs."""
    from detours import wl

    assert data.pairs is not None
    rungs: dict[str, list[float]] = {}
    told = 0
    for i, j in data.pairs:
        found = wl.separate(data.graphs[i], data.graphs[j], budget=PAIR_SECONDS, n_jobs=n_jobs)
        told += found.same is False
        rungs.setdefault(found.rung or found.verdict, []).append(1000 * found.seconds)
    of = len(data.pairs)
    sound = {"told_apart": told, "of": of, "ratio": told / of if of else 1.0, "pairs_confused": of - told}
    return {"sound": sound, "rungs": {rung: {"pairs": len(ms), "ms": sum(ms)} for rung, ms in rungs.items()}}


def tables(cells: Sequence[Cell]) -> list[Table]:
    """Return the tables of pairs told apart, and of seconds, by category and test."""
    told = matrix(cells, "Pairs told apart", COUNT, told_apart)
    told.notes.append("In the heading: how many pairs there are. “–”: beyond the limit of work for a test on tuples.")
    seconds = matrix(cells, "Seconds", SECONDS, lambda cell: None if "skipped" in cell.value else cell.seconds)
    return [_with_total(told), _with_total(seconds), _ladder(cells)] if told.rows else []


def _ladder(cells: Sequence[Cell]) -> Table:
    """Return a table of the rungs of `separate`: how many pairs of each category each of them decided."""
    of_ladder = {cell.key["data"]: cell.value["rungs"] for cell in cells if cell.key["method"] == LADDER}
    names = sorted({rung for rungs in of_ladder.values() for rung in rungs}, key=_rung_order)
    rows = []
    for name in names:
        found = [rungs.get(name, {"pairs": 0, "ms": 0.0}) for rungs in of_ladder.values()]
        pairs = sum(one["pairs"] for one in found)
        rows.append([name, *(one["pairs"] for one in found), pairs, sum(one["ms"] for one in found) / pairs])
    columns = [Column("rung"), *(Column(name, COUNT) for name in of_ladder), Column("in all", COUNT)]
    notes = ["The cheapest rung that decides each pair, and the mean time of `separate` up to it, for a pair."]
    return Table("The rung each pair needs", [*columns, Column("ms a pair", ",.1f")], rows, notes)


def _rung_order(name: str) -> tuple[int, str]:
    known = ("1-WL", "4-DeN", "7-DeN", "7-DeN on pairs", "individualised")
    return next((at for at, one in reversed(list(enumerate(known))) if name.startswith(one)), len(known)), name


def told_apart(cell: Cell) -> int | None:
    """Return how many pairs were told apart, or None if the test was not run."""
    return None if "skipped" in cell.value else int(cell.value["sound"]["told_apart"])


def matrix(cells: Sequence[Cell], title: str, form: str, number: Callable[[Cell], Any]) -> Table:
    """Return a table with a row per test and a column per category."""
    found = {(cell.key["method"], cell.key["data"]): cell for cell in cells}
    sizes = {cell.key["data"]: cell.value["sound"]["of"] for cell in cells if "sound" in cell.value}
    columns = [Column("test"), *(Column(f"{name} ({of})", form) for name, of in sizes.items())]
    rows = []
    for method in dict.fromkeys(cell.key["method"] for cell in cells):
        of_method = [found.get((method, name)) for name in sizes]
        rows.append([method, *(None if cell is None else number(cell) for cell in of_method)])
    return Table(title, columns, rows)


def _with_total(table: Table) -> Table:
    rows = [[*row, sum(row[1:]) if None not in row else None] for row in table.rows]
    return Table(table.title, [*table.columns, Column("in all", table.columns[1].form)], rows, table.notes)
