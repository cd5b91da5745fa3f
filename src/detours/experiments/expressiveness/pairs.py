"""How many hard pairs of graphs each test tells apart, by category, with times.

The pairs come from a folder of graph6 files, or are the built-in, generated hard pairs.
"""

from __future__ import annotations

import time
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
REFINED = "pairs refined, nodes marked"
MOST_MARKS = 3
PAIR_SECONDS = 60.0
"""The budget of `detours.wl.separate` for one pair."""


def methods(k: int) -> list[Method]:
    """The tests of `reproduce pairs`: 1-WL, 3-WL, variants with k-DeN, and copies with deleted or marked nodes."""
    marked = [den_marked(k, depth) for depth in (1, 2, 3)]
    return [wl1(None), WL3, den(k, None), den_edges(k), den_pairs(k), den_deleted(k), *marked]


def tasks(categories: Sequence[GraphSet], k: int, *, n_jobs: int = 1, limit: float = TUPLE_STEPS) -> list[Task]:
    """Return one task per category and test, and two that climb until a pair is told apart: `separate`, and marks."""
    pending = []
    for data in categories:
        pending += expressiveness.tasks(data, methods(k), experiment=EXPERIMENT, n_jobs=n_jobs, limit=limit)
        code = code_digest("experiments.expressiveness", "wl")
        common = {"experiment": EXPERIMENT, "data": data.name, "digest": data.digest, "code": code}
        key = {**common, "method": LADDER, "parameters": {"budget": PAIR_SECONDS}}
        pending.append(Task(key, partial(_separate, data, n_jobs)))
        key = {**common, "method": f"{k}-DeN, {REFINED}", "parameters": {"k": k, "depth": MOST_MARKS}}
        pending.append(Task(key, partial(_marks, data, k, n_jobs)))
    return pending


def _separate(data: GraphSet, n_jobs: int) -> Value:
    """Return the number of pairs that each rung told apart, and the milliseconds of `separate` on these pairs."""
    from detours import wl

    assert data.pairs is not None
    rungs: dict[str, list[float]] = {}
    told_apart = 0
    for i, j in data.pairs:
        found = wl.separate(data.graphs[i], data.graphs[j], budget=PAIR_SECONDS, n_jobs=n_jobs)
        told_apart += found.same is False
        rungs.setdefault(found.rung or found.verdict, []).append(1000 * found.seconds)
    return _ladder_value(told_apart, len(data.pairs), rungs)


def _marks(data: GraphSet, k: int, n_jobs: int) -> Value:
    """Return the number of pairs that 2-FWL from k-DeN tells apart with each number of marked nodes, and the time."""
    from detours import wl

    assert data.pairs is not None
    rungs: dict[str, list[float]] = {}
    told_apart = 0
    for i, j in data.pairs:
        start, rung = time.process_time(), "not told apart"
        for depth in range(MOST_MARKS + 1):
            copies: dict[str, Any] = {"individualise": "mark", "depth": depth} if depth else {}
            options = {"init": "den", "k": k, "pairs": "fwl", "n_jobs": n_jobs, **copies}
            if not wl.same(data.graphs[i], data.graphs[j], **options):
                rung, told_apart = f"{depth} marked", told_apart + 1
                break
        rungs.setdefault(rung, []).append(1000 * (time.process_time() - start))
    return _ladder_value(told_apart, len(data.pairs), rungs)


def _ladder_value(told_apart: int, num_pairs: int, rungs: dict[str, list[float]]) -> Value:
    ratio = told_apart / num_pairs if num_pairs else 1.0
    confused = num_pairs - told_apart
    sound = {"told_apart": told_apart, "of": num_pairs, "ratio": ratio, "pairs_confused": confused}
    return {"sound": sound, "rungs": {rung: {"pairs": len(ms), "ms": sum(ms)} for rung, ms in rungs.items()}}


def tables(cells: Sequence[Cell]) -> list[Table]:
    """Return the tables of pairs told apart, and of seconds, by category and test."""
    told = matrix(cells, "Pairs told apart", COUNT, told_apart)
    told.notes.append(
        "In parentheses: the number of pairs. “–”: skipped, beyond the limit of work for tests on tuples."
    )
    seconds = matrix(cells, "Seconds", SECONDS, lambda cell: None if "skipped" in cell.value else cell.seconds)
    if not told.rows:
        return []
    separate = _ladder(cells, LADDER, "The rung each pair needs")
    separate.notes.append(
        "The cheapest rung that decides each pair, and the mean time of `separate` per pair up to that rung."
    )
    marks = _ladder(
        cells, REFINED, "Marked nodes that each pair needs if the colours of all pairs of nodes are refined"
    )
    marks.notes.append("The mean CPU time per pair of all tests up to that number of marks.")
    return [_with_total(told), _with_total(seconds), separate, marks]


def _ladder(cells: Sequence[Cell], method: str, title: str) -> Table:
    """Return a table of rungs, with the number of pairs of each category that each decided."""
    by_category = {cell.key["data"]: cell.value["rungs"] for cell in cells if cell.key["method"].endswith(method)}
    names = sorted({rung for rungs in by_category.values() for rung in rungs}, key=_rung_order)
    rows = []
    for name in names:
        found = [rungs.get(name, {"pairs": 0, "ms": 0.0}) for rungs in by_category.values()]
        pairs = sum(one["pairs"] for one in found)
        rows.append([name, *(one["pairs"] for one in found), pairs, sum(one["ms"] for one in found) / pairs])
    columns = [Column("rung"), *(Column(name, COUNT) for name in by_category), Column("in all", COUNT)]
    return Table(title, [*columns, Column("ms a pair", ",.1f")], rows)


def _rung_order(name: str) -> tuple[int, str]:
    known = ("1-WL", "4-DeN", "7-DeN", "7-DeN on pairs", "individualised")
    return next((i for i, rung in reversed(list(enumerate(known))) if name.startswith(rung)), len(known)), name


def told_apart(cell: Cell) -> int | None:
    """Return the number of pairs told apart, or None if the test was not run."""
    return None if "skipped" in cell.value else int(cell.value["sound"]["told_apart"])


def matrix(cells: Sequence[Cell], title: str, form: str, value_of: Callable[[Cell], Any]) -> Table:
    """Return a table with one row per test and one column per category."""
    found = {(cell.key["method"], cell.key["data"]): cell for cell in cells}
    sizes = {cell.key["data"]: cell.value["sound"]["of"] for cell in cells if "sound" in cell.value}
    columns = [Column("test"), *(Column(f"{name} ({of})", form) for name, of in sizes.items())]
    rows = []
    for method in dict.fromkeys(cell.key["method"] for cell in cells):
        of_method = [found.get((method, name)) for name in sizes]
        rows.append([method, *(None if cell is None else value_of(cell) for cell in of_method)])
    return Table(title, columns, rows)


def _with_total(table: Table) -> Table:
    rows = [[*row, sum(row[1:]) if None not in row else None] for row in table.rows]
    return Table(table.title, [*table.columns, Column("in all", table.columns[1].form)], rows, table.notes)
