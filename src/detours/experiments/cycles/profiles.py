"""Cycle profiles: the paper's table of how many cycles the data sets have, and of which lengths.

Node data: all simple cycles by length, of the arcs as stored (directed, the paper's figures) and of the undirected
graph. Graph data: the number of graphs by the exact set of cycle lengths they contain, on the data sets without
isomorphic copies, as we choose them and as the paper did (`distinct`). The paper skips graphs with a k-factor, k > 2;
what reproduces its figures is to skip those with a 3-factor and count them among the graphs without cycles.
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
    """Return two tasks, directed and undirected, of a data set that is one graph."""
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
    # The totals of long cycles pass 2^53, which not every reader of JSON keeps: they are written as text.
    counted = detours.count(graph if directed else undirected(graph), k, n_jobs=n_jobs)
    return {"cycles": {str(length): str(number) for length, number in counted.cycles.items()}}


def undirected(graph: Graph) -> Graph:
    """Every arc made two-way, without the warning: here it is the convention, not an accident."""
    return build_graph(EdgeList(graph.to_edge_index(), graph.num_nodes))


def graph_tasks(ours: GraphSet, papers: GraphSet, k: int = GRAPH_K, n_jobs: int = 1) -> list[Task]:
    """Return two tasks of a data set of many graphs: as we choose the graphs, and as the paper did."""
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
        NONE if left_out or not found else "".join(map(str, found))
        for found, left_out in zip(lengths, skipped, strict=True)
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
    """Return the paper's cycle table from finished cells, its numbers beside ours."""
    cells = list(cells)
    made = [_node_table(cells), _graph_table(cells)]
    return [table for table in made if table.rows]


def _node_table(cells: Sequence[Cell]) -> Table:
    totals = [cell for cell in cells if "cycles" in cell.value]
    lengths = sorted({int(length) for cell in totals for length in cell.value["cycles"]})
    columns = [Column("data"), Column("convention"), *(Column(f"length {n}", COUNT) for n in lengths)]
    rows: list[list[Any]] = []
    for name in NODE_SETS:
        for cell in totals:
            if cell.key["data"] == name:
                found = {int(length): int(number) for length, number in cell.value["cycles"].items()}
                ours = [found.get(n) for n in lengths]
                rows.append([name, f"{cell.key['method']}, ours", *ours, cell.seconds])
                if cell.key["method"] == "directed":
                    told = paper_tables()["cycle_totals_directed"].get(name, {})
                    rows.append([name, "directed, paper", *(told.get(str(n)) for n in lengths), None])
    notes = [
        "Directed: simple cycles of the arcs as stored. Undirected: every arc made two-way first. Loops do not count."
    ]
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
        f"Graphs by the exact set of lengths, 3 to {GRAPH_K + 1}, of their cycles; isomorphic copies are left out.",
        "Paper's choice: nodes without edges are not looked at, graphs that are isomorphic but of different classes "
        f"are all left out, and a graph with a {SKIPPED_FACTOR}-factor counts as having none.",
    ]
    return Table("Cycle lengths of the graph data", columns, rows, notes)
