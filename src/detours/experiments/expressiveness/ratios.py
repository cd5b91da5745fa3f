"""Expressive power on the paper's data sets: how many graphs each test tells apart, under each rule of comparison.

EXP and CEXP define the pairs to tell apart. From the other data sets isomorphic copies are dropped, and a graph counts
if it is told apart from every graph of another class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.data import GRAPH_SETS, GraphSet
from detours.experiments.expressiveness import separation
from detours.experiments.expressiveness.methods import ROUNDS, TUPLE_STEPS, WL2, WL3, Method, den, wl1
from detours.experiments.paper import paper_tables
from detours.experiments.tables import COUNT, RATIO, SECONDS, Column, Table
from detours.store import Cell, Task, Value, code_digest

EXPERIMENT = "expressiveness"
MOST_K = 8  # counts have no closed forms for larger k
PAPERS_REAL_DATA = ("MUTAG", "NCI1", "ENZYMES", "PTC_FM", "IMDB-BINARY")
RULES = {
    "sound": "one colour table for all graphs; two graphs differ if their multisets of colours do",
    "paper": "sorted sizes of the colour classes of each graph after the last round",
    "rounds": "sorted sizes of the colour classes of each graph in every round",
}


def methods(largest_k: int = 6) -> list[Method]:
    """The rows of the figure, in order of cost."""
    return [
        *(wl1(rounds) for rounds in range(1, ROUNDS + 1)),
        *(den(k) for k in range(2, largest_k + 1)),
        WL2,
        WL3,
    ]


def tasks(
    data: GraphSet,
    rows: Iterable[Method],
    *,
    experiment: str = EXPERIMENT,
    n_jobs: int = 1,
    limit: float = TUPLE_STEPS,
) -> list[Task]:
    """Return a task per test: how many pairs, or graphs of different classes, of a data set the test tells apart.

    No two graphs should be isomorphic. A test on tuples that needs more than `limit` steps per round is skipped, and
    its cell says so.
    """
    return [
        Task(
            {
                "experiment": experiment,
                "data": data.name,
                "method": method.name,
                "parameters": method.parameters,
                "digest": data.digest,
                "code": code_digest("experiments.expressiveness", "wl"),
                **({"limit": limit} if method.steps(data.graphs) > limit else {}),
            },
            partial(_separated, data, method, n_jobs, limit),
        )
        for method in rows
    ]


def _separated(data: GraphSet, method: Method, n_jobs: int, limit: float) -> Value:
    steps = method.steps(data.graphs)
    if steps > limit:
        return {"skipped": f"{steps:.1e} steps a round, beyond the limit of {limit:.0e}"}
    value: Value = {}
    for rule, prints in method.fingerprints(data.graphs, n_jobs)._asdict().items():
        if prints is None:
            continue
        if data.pairs is not None:
            told_apart, total = separation.pairs_told_apart(prints, data.pairs), len(data.pairs)
            confused = total - told_apart
        else:
            told_apart, total = separation.graphs_told_apart(prints, data.y), len(data.graphs)
            confused = separation.cross_pairs_confused(prints, data.y)
        ratio = told_apart / total
        value[rule] = {"told_apart": told_apart, "of": total, "ratio": ratio, "pairs_confused": confused}
    return value


# ------------------------------------------------------------------ tables


def ratio(cell: Cell, rule: str) -> float | None:
    """Return the fraction told apart, or None for a test that was not run."""
    return float(cell.value[rule]["ratio"]) if rule in cell.value else None


def matrix(cells: Sequence[Cell], rule: str) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return the tests, the data sets, and the fraction told apart for each; NaN for a test that was not run."""
    tests = list(dict.fromkeys(cell.key["method"] for cell in cells if ratio(cell, rule) is not None))
    data = [name for name in GRAPH_SETS if any(cell.key["data"] == name for cell in cells)]
    values = np.full((len(tests), len(data)), np.nan)
    for cell in cells:
        value = ratio(cell, rule)
        if value is not None:
            values[tests.index(cell.key["method"]), data.index(cell.key["data"])] = value
    return tests, data, values


def tables(cells: Sequence[Cell]) -> list[Table]:
    """Return the ratios under each rule, the confused pairs, the times, and the paper's claims next to ours."""
    if not cells:
        return []
    matrices = [
        _matrix(cells, f"Told apart, rule “{rule}”", RATIO, partial(ratio, rule=rule), note)
        for rule, note in RULES.items()
    ]
    confused = "Pairs of different classes, without isomorphic copies, that the test does not tell apart, rule “sound”."
    matrices.append(_matrix(cells, "Pairs not told apart", COUNT, _confused, confused))
    matrices.append(_matrix(cells, "Seconds", SECONDS, _seconds, "Including counting; a single run on one machine."))
    return [*matrices, _claims(cells)]


def _confused(cell: Cell) -> int | None:
    return None if "skipped" in cell.value else int(cell.value["sound"]["pairs_confused"])


def _seconds(cell: Cell) -> float | None:
    return None if "skipped" in cell.value else cell.seconds


def _matrix(cells: Sequence[Cell], title: str, form: str, value_of: Any, note: str) -> Table:
    found = {(cell.key["method"], cell.key["data"]): value_of(cell) for cell in cells}
    names = [name for name in GRAPH_SETS if any(cell.key["data"] == name for cell in cells)]
    rows = [
        [method, *(found.get((method, name)) for name in names)]
        for method in dict.fromkeys(cell.key["method"] for cell in cells)
    ]
    rows = [row for row in rows if any(value is not None for value in row[1:])]
    return Table(
        title, [Column("test"), *(Column(name, form) for name in names)], rows, [f"{note[0].upper()}{note[1:]}"]
    )


def _claims(cells: Sequence[Cell]) -> Table:
    """Return the ratios that the paper claims, next to the lowest ones of our rows of the same name."""
    claimed = paper_tables()["expressiveness"]
    weak = [wl1(rounds).name for rounds in range(1, ROUNDS + 1)]
    strong = [method.name for method in methods(MOST_K) if method.options.get("k", 0) >= 5]
    claims = [
        *(
            (name, test, [name], [method.name])
            for name in ("EXP", "CEXP")
            for test, method in (("1-WL", wl1()), ("2-WL", WL2), ("3-WL", WL3), ("k-DeN (k>=4)", den(4)))
        ),
        ("real data", "1-WL at worst", PAPERS_REAL_DATA, weak),
        ("real data", "k-DeN (k>=5)", PAPERS_REAL_DATA, strong),
    ]
    rows: list[list[Any]] = []
    for data, test, names, tests in claims:
        matching = [cell for cell in cells if cell.key["data"] in names and cell.key["method"] in tests]
        ours = [[found for cell in matching if (found := ratio(cell, rule)) is not None] for rule in RULES]
        if matching:
            rows.append([data, test, claimed[data][test], *(min(found, default=None) for found in ours)])
    columns = [Column("data"), Column("test"), Column("paper", RATIO)]
    columns += [Column(f"ours, rule “{rule}”", RATIO) for rule in RULES]
    notes = [f"Real data: the worst of {', '.join(PAPERS_REAL_DATA)}; 1-WL after 1 to {ROUNDS} rounds."]
    return Table("Beside the paper", columns, rows, notes)
