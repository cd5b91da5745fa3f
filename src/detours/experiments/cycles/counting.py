"""The cycle-counting benchmark: cycles of 3 to 6 edges in 5,000 random graphs, next to the errors of trained networks.

Networks learn to count substructures on these graphs (Chen et al., "Can Graph Neural Networks Count Substructures?",
NeurIPS 2020, and later work). An exact count, in contrast, equals the known number of cycles, or it is wrong.

The folder `cycle-counting` has `graphs.g6`, with one graph per line, and `counts.csv`, with one line per graph: its
numbers of cycles of 3, 4, 5 and 6 edges.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import detours
from detours.arrays import Int64
from detours.data import GraphSet
from detours.data.readers.numbers import check_file, read_integers
from detours.data.readers.pair_files import read_graphs
from detours.errors import FileFormatError
from detours.experiments.tables import COUNT, SECONDS, Column, Table
from detours.graph import Graph
from detours.store import Cell, Task, Value, code_digest

EXPERIMENT = "counting"
CODE = ("experiments.cycles.counting", "counting", "graph")
FOLDER = "cycle-counting"
LENGTHS = (3, 4, 5, 6)
PUBLISHED = ["I²-GNN (Huang et al., ICLR 2023; their figures, nothing is trained here)", "per node", "0.0003 to 0.0082"]
"""The errors of a network, trained for each length separately."""


def read_benchmark(folder: Path) -> GraphSet:
    """Read the graphs, with their numbers of cycles by length as `y`, [graphs, 4]."""
    graphs = read_graphs(check_file(folder / "graphs.g6"))
    counts = read_integers(check_file(folder / "counts.csv"), len(LENGTHS), header=True)
    if len(counts) != len(graphs):
        raise FileFormatError(
            f"there should be one line for each of {len(graphs)} graphs, but there are {len(counts)}.",
            folder / "counts.csv",
        )
    return GraphSet(FOLDER, graphs, counts)


def tasks(data: GraphSet, n_jobs: int = 1) -> list[Task]:
    """Return the single task: count all graphs together, and compare."""
    key = {
        "experiment": EXPERIMENT,
        "data": data.name,
        "method": "count_many",
        "k": LENGTHS[-1] - 1,
        "digest": data.digest,
        "code": code_digest(*CODE),
    }
    return [Task(key, partial(_compare, data, n_jobs))]


def cycles_by_graph(graphs: Sequence[Graph], n_jobs: int = 1) -> Int64:
    """Return the numbers of cycles of 3 to 6 edges of each graph, int64 [graphs, 4].

    >>> square = Graph.from_edge_index([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])  # with a diagonal
    >>> cycles_by_graph([square]).tolist()
    [[2, 1, 0, 0]]
    """
    counted = detours.count_many(graphs, LENGTHS[-1] - 1, n_jobs=n_jobs)
    return np.array([[each.cycles[length] for length in LENGTHS] for each in counted]).reshape(-1, len(LENGTHS))


def _compare(data: GraphSet, n_jobs: int) -> Value:
    cycles_by_graph(data.graphs[:1])  # compiles on first use
    started = time.perf_counter()
    found, known = cycles_by_graph(data.graphs, n_jobs), data.y
    seconds = time.perf_counter() - started
    error = np.abs(found - known).mean(axis=0) / np.maximum(known.std(axis=0), np.finfo(float).tiny)
    lengths = {
        str(length): {
            "graphs": len(found),
            "equal": int((found[:, index] == known[:, index]).sum()),
            "cycles": int(found[:, index].sum()),
            "error": float(error[index]),
        }
        for index, length in enumerate(LENGTHS)
    }
    return {"lengths": lengths, "seconds": seconds}


def tables(cells: Sequence[Cell]) -> list[Table]:
    """Return the table of exact counts by length, and the table of errors next to published ones."""
    (cell,) = cells
    lengths = cell.value["lengths"]
    counted: list[list[Any]] = [[int(n), row["graphs"], row["equal"], row["cycles"]] for n, row in lengths.items()]
    columns = [Column(name, COUNT) for name in ("cycle length", "graphs", "exactly equal", "cycles")]
    time_note = f"All graphs were counted together, by edge, node and length, in {cell.value['seconds']:{SECONDS}} s."
    largest = max(row["error"] for row in lengths.values())
    errors: list[list[Any]] = [["detours, counted", "per graph", f"{largest:g}"], PUBLISHED]
    return [
        Table("Cycle-counting benchmark: known and counted cycles", columns, counted, [time_note]),
        Table(
            "Cycle-counting benchmark: normalised mean absolute error for 3 to 6 edges",
            [Column("method"), Column("target"), Column("error")],
            errors,
            ["Normalised: divided by the standard deviation of the targets. The file has targets per graph only."],
        ),
    ]
