"""Cycle profiles: the paper's table of the numbers and lengths of cycles in the data sets.

Node data: all simple cycles by length, of the arcs as stored (directed, the paper's figures) and of the undirected
graph. Graph data: the number of graphs by the exact set of cycle lengths they contain, on the data sets without
isomorphic copies, as we select them and as the paper did (`distinct`). The paper skips graphs with a k-factor, k > 2;
its figures are reproduced if graphs with a 3-factor are counted as having no cycles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import detours
from detours.data import GRAPH_SETS, NODE_SETS, GraphSet
from detours.experiments.cycles.factors import has_factor
from detours.experiments.paper import paper_tables
from detours.experiments.tables import COUNT, SECONDS, Column, Table
from detours.graph import Graph
from detours.graph.edges import EdgeList
from detours.graph.graph import build_graph
from detours.store import Cell, Task, Value, code_digest

EXPERIMENT = "cycles"
CODE = ("experiments.cycles", "counting", "graph")
NODE_K = 6  # cycles to length 7; the paper stopped at 5
GRAPH_K = 5  # cycles to length 6, as the paper
SKIPPED_FACTOR = 3
NONE = "none"


def node_tasks(data: GraphSet, k: int = NODE_K, n_jobs: int = 1) -> list[Task]:
    """Return two tasks, directed and undirected, for a data set of one graph."""
    return [
        Task(
            {
                "experiment": EXPERIMENT,
                "data": data.name,
                "method": "directed" if directed else "undirected",
                "k": k,
                "digest": data.digest,
                "code": code_digest(*CODE),
            },
            partial(_totals, data.graphs[0], k, directed, n_jobs),
        )
        for directed in (True, False)
    ]


def _totals(graph: Graph, k: int, directed: bool, n_jobs: int) -> Value:
    # Totals of long cycles exceed 2^53, which not every JSON parser keeps, so they are stored as strings.
    counted = detours.count(graph if directed else undirected(graph), k, n_jobs=n_jobs)
    return {"cycles": {str(length): str(total) for length, total in counted.cycles.items()}}


def undirected(graph: Graph) -> Graph:
    """Symmetrise the arcs without a warning: here it is a convention, not an accident."""
    return build_graph(EdgeList(graph.to_edge_index(), graph.num_nodes))


def graph_tasks(ours: GraphSet, papers: GraphSet, k: int = GRAPH_K, n_jobs: int = 1) -> list[Task]:
    """Return two tasks for a data set of many graphs: as we select the graphs, and as the paper did."""
    return [
        Task(
            {
                "experiment": EXPERIMENT,
                "data": data.name,
                "method": method,
                "k": k,
                "digest": data.digest,
                "code": code_digest(*CODE),
            },
            partial(_profile, data.graphs, k, skip, n_jobs),
        )
        for data, method, skip in ((ours, "lengths", False), (papers, "lengths, paper's choice", True))
    ]


def _profile(graphs: Sequence[Graph], k: int, skip: bool, n_jobs: int) -> Value:
    lengths = cycle_lengths(graphs, k, n_jobs)
    skipped = [skip and has_factor(graph, SKIPPED_FACTOR) for graph in graphs]
    tally = Counter(
        NONE if is_skipped or not found else "".join(map(str, found))
        for found, is_skipped in zip(lengths, skipped, strict=True)
    )
    return {"lengths": dict(sorted(tally.items())), "skipped": sum(skipped)}


def cycle_lengths(graphs: Sequence[Graph], k: int, n_jobs: int = 1) -> list[tuple[int, ...]]:
    """Return the lengths from 3 to k + 1 of the cycles that each graph contains.

    >>> triangle = Graph.from_edge_index([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    >>> cycle_lengths([triangle], k=4)
    [(3,)]
    """
    counted = detours.count_many(graphs, k, n_jobs=n_jobs).whole.arc_cycles > 0
    offsets = np.cumsum([0, *(graph.num_arcs for graph in graphs)])
    return [tuple((np.flatnonzero(counted[a:b].any(axis=0)) + 3).tolist()) for a, b in pairwise(offsets)]


# ------------------------------------------------------------------ tables


def tables(cells: Iterable[Cell]) -> list[Table]:
    """Return the paper's cycle tables from finished cells, its figures next to ours."""
    cells = list(cells)
    return [table for table in (_node_table(cells), _graph_table(cells)) if table.rows]


def _node_table(cells: Sequence[Cell]) -> Table:
    totals = [cell for cell in cells if "cycles" in cell.value]
    lengths = sorted({int(length) for cell in totals for length in cell.value["cycles"]})
    columns = [Column("data"), Column("convention"), *(Column(f"length {n}", COUNT) for n in lengths)]
    rows: list[list[Any]] = []
    for name in NODE_SETS:
        for cell in totals:
            if cell.key["data"] == name:
                totals_by_length = {int(length): int(total) for length, total in cell.value["cycles"].items()}
                ours = [totals_by_length.get(n) for n in lengths]
                rows.append([name, f"{cell.key['method']}, ours", *ours, cell.seconds])
                if cell.key["method"] == "directed":
                    paper = paper_tables()["cycle_totals_directed"].get(name, {})
                    rows.append([name, "directed, paper", *(paper.get(str(n)) for n in lengths), None])
    notes = ["Directed: simple cycles of the arcs as stored. Undirected: of the symmetrised graph. Loops do not count."]
    return Table("Cycles of the node data", [*columns, Column("seconds", SECONDS)], rows, notes)


def _graph_table(cells: Sequence[Cell]) -> Table:
    found = {(cell.key["data"], cell.key["method"]): cell.value for cell in cells if "lengths" in cell.value}
    rows: list[list[Any]] = []
    for name in GRAPH_SETS:
        if (name, "lengths") in found:
            ours, choice = found[name, "lengths"]["lengths"], found[name, "lengths, paper's choice"]["lengths"]
            paper = paper_tables()["cycle_length_combinations"][name]
            for lengths in sorted({*ours, *choice, *paper}, key=lambda each: (each != NONE, each)):
                rows.append([name, lengths, *(tally.get(lengths, 0) for tally in (ours, choice, paper))])
            rows.append([name, "in all", *(sum(tally.values()) for tally in (ours, choice, paper))])
    columns = [
        Column("data"),
        Column("cycle lengths"),
        Column("graphs", COUNT),
        Column("paper's choice, ours", COUNT),
        Column("paper", COUNT),
    ]
    notes = [
        f"Graphs by the exact set of their cycle lengths, 3 to {GRAPH_K + 1}, without isomorphic copies.",
        "Paper's choice: isolated nodes are ignored, isomorphic graphs of different classes are all left out, and a "
        f"graph with a {SKIPPED_FACTOR}-factor counts as having no cycles.",
    ]
    return Table("Cycle lengths of the graph data", columns, rows, notes)
