"""Pairs that are hard to tell apart: how many of them each test tells apart, by category, with times.

The pairs come from a folder of graph6 files, or are made in code: the built-in hard pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from detours.data import GraphSet
from detours.experiments.expressiveness import ratios as expressiveness
from detours.experiments.expressiveness.methods import TUPLE_STEPS, WL3, Method, den, den_edges, den_pairs, wl1
from detours.experiments.tables import COUNT, SECONDS, Column, Table
from detours.store import Cell, Task

EXPERIMENT = "pairs"


def methods(k: int) -> list[Method]:
    """The tests of `reproduce pairs`: 1-WL, 3-WL, and the three uses of k-DeN."""
    return [wl1(None), WL3, den(k, None), den_edges(k), den_pairs(k)]


def tasks(categories: Sequence[GraphSet], k: int, *, n_jobs: int = 1, limit: float = TUPLE_STEPS) -> list[Task]:
    """Return a task per category and test."""
    return [
        task
        for data in categories
        for task in expressiveness.tasks(data, methods(k), experiment=EXPERIMENT, n_jobs=n_jobs, limit=limit)
    ]


def tables(cells: Sequence[Cell]) -> list[Table]:
    """Return the tables of pairs told apart, and of seconds, by category and test."""
    told = matrix(cells, "Pairs told apart", COUNT, told_apart)
    told.notes.append("In the heading: how many pairs there are. “–”: beyond the limit of work for a test on tuples.")
    seconds = matrix(cells, "Seconds", SECONDS, lambda cell: None if "skipped" in cell.value else cell.seconds)
    return [_with_total(told), _with_total(seconds)] if told.rows else []


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
