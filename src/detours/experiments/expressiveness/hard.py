"""Tests on generated graphs: hard pairs, CSL graphs, and the atlas of all connected graphs of up to seven nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from detours.data import GraphSet
from detours.experiments.expressiveness import pairs
from detours.experiments.expressiveness import ratios as expressiveness
from detours.experiments.expressiveness.methods import (
    FWL2,
    FWL3,
    TUPLE_STEPS,
    WL3,
    Method,
    den,
    den_by_length,
    den_pairs,
    wl1,
)
from detours.experiments.tables import COUNT, SECONDS, Column, Table
from detours.graph import Graph
from detours.store import Cell, Task

EXPERIMENT = "hard"
ATLAS, CSL = "atlas", "CSL classes"
ATLAS_NODES = 7
HARD_K = 8


def methods(largest_k: int = HARD_K) -> list[Method]:
    """1-WL, the tests on tuples, k-DeN from 2 on, and the detour numbers of all pairs of nodes."""
    ks = range(2, largest_k + 1)
    return [wl1(None), WL3, FWL3, *(den(k, None) for k in ks), *(den_pairs(k) for k in ks)]


def atlas_methods(largest_k: int = 6) -> list[Method]:
    """The tests on the atlas; with detours by length a larger k never sees less, with their sum it can."""
    ks = range(2, largest_k + 1)
    return [wl1(None), FWL2, FWL3, *(den(k, None) for k in ks), *(den_by_length(k) for k in ks)]


def one_class_each(name: str, graphs: Sequence[Graph]) -> GraphSet:
    """Return a data set in which every graph has its own class, so that all are to be told apart."""
    return GraphSet(name, list(graphs), np.arange(len(graphs)))


def hard_sets() -> list[GraphSet]:
    """Return one data set per category of hard pairs; each CFI pair and the rook-Shrikhande pair are separate ones."""
    from detours.data.hard import cfi_bases, cfi_pair, hard_pairs, rook, shrikhande

    categories = {name: pairs for name, pairs in hard_pairs().items() if name not in ("csl", "cfi")}
    categories["rook, Shrikhande"] = [(rook(4), shrikhande())]
    categories |= {f"CFI({name})": [cfi_pair(base)] for name, base in cfi_bases().items()}
    return [_paired(name, pairs) for name, pairs in categories.items()]


def _paired(name: str, pairs: Sequence[tuple[Graph, Graph]]) -> GraphSet:
    graphs = [graph for pair in pairs for graph in pair]
    return GraphSet(name, graphs, np.arange(len(graphs)), pairs=[(i, i + 1) for i in range(0, len(graphs), 2)])


def tasks(*, largest_k: int = HARD_K, atlas: bool = True, n_jobs: int = 1, limit: float = TUPLE_STEPS) -> list[Task]:
    """Return a task per test for each category of hard pairs, the ten CSL graphs and the atlas.

    The atlas comes from NetworkX.
    """
    from detours.data import hard

    work = [(data, methods(largest_k)) for data in hard_sets()]
    work.append((one_class_each(CSL, hard.csl_classes()), methods(largest_k)))
    if atlas:
        work.append((one_class_each(ATLAS, hard.atlas(ATLAS_NODES)), atlas_methods(min(largest_k, 6))))
    return [
        task
        for data, rows in work
        for task in expressiveness.tasks(data, rows, experiment=EXPERIMENT, n_jobs=n_jobs, limit=limit)
    ]


def tables(cells: Sequence[Cell]) -> list[Table]:
    """Return the tables of hard pairs by category, of the CSL graphs, and of the atlas."""
    pair_cells = [cell for cell in cells if cell.key["data"] not in (CSL, ATLAS)]
    found = []
    if pair_cells:
        table = pairs.matrix(pair_cells, "Built-in hard pairs told apart", COUNT, pairs.told_apart)
        table.notes.append("In parentheses: the number of pairs. “–”: skipped, beyond the limit of work.")
        found.append(table)
    found += [_each_table(cells, CSL, "CSL(41, R): the ten graphs"), _each_table(cells, ATLAS, _atlas_title())]
    return [table for table in found if table.rows]


def _atlas_title() -> str:
    return f"The atlas: all connected graphs of up to {ATLAS_NODES} nodes"


def _each_table(cells: Sequence[Cell], name: str, title: str) -> Table:
    rows = []
    for cell in cells:
        if cell.key["data"] == name and "sound" in cell.value:
            found = cell.value["sound"]
            num_pairs = found["of"] * (found["of"] - 1) // 2
            confused = found["pairs_confused"]
            rows.append([cell.key["method"], num_pairs - confused, confused, found["told_apart"], cell.seconds])
    columns = [
        Column("test"),
        Column("pairs told apart", COUNT),
        Column("pairs not told apart", COUNT),
        Column("graphs told apart from all others", COUNT),
        Column("seconds", SECONDS),
    ]
    return Table(title, columns, rows)
