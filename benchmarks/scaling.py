"""Curves: time and memory against the size of the graph, time against k, and two threads against one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases, processes, rivals
from benchmarks.cases import Csr, DataAbsent
from benchmarks.contest import Say
from benchmarks.measure import clock

FAMILIES = {
    "random geometric": (4, [12_500, 25_000, 50_000, 100_000, 200_000]),
    "grid": (7, [125**2, 250**2, 500**2, 1000**2]),
}
QUICK_FAMILIES = {"random geometric": (4, [2_500, 5_000, 10_000]), "grid": (7, [50**2, 100**2, 200**2])}
MEMORY_LIMIT = "1GB"


def by_size(quick: bool, say: Say) -> list[dict[str, Any]]:
    """One row a graph: nodes, seconds, peak of extra memory under a memory limit."""
    rows = []
    for family, (k, sizes) in (QUICK_FAMILIES if quick else FAMILIES).items():
        for size in sizes:
            say(f"{family}, {size:,} nodes, k = {k}")
            ask = {"family": family, "size": size, "k": k, "options": {"memory_limit": MEMORY_LIMIT}}
            rows.append({"family": family, "k": k, "nodes": size} | processes.peak_memory(ask))
    return rows


def exponent(rows: list[dict[str, Any]], family: str, of: str = "seconds") -> float:
    """The slope of the curve in log-log: 1 is linear."""
    own = [row for row in rows if row["family"] == family]
    nodes, values = (np.log([max(row[name], 1e-9) for row in own]) for name in ("nodes", of))
    return float(np.polyfit(nodes, values, 1)[0])


def by_length(quick: bool, say: Say) -> list[dict[str, Any]]:
    """One row per graph and k, until the plan says that the next one passes the patience of a reader."""
    import detours

    patience = 1.0 if quick else 15.0
    rows = []
    for name, graph, longest in _length_graphs(quick, say):
        own = rivals.our_graph(graph)
        for k in range(2, longest + 1):
            if detours.explain(own, k).seconds > patience:
                break
            say(f"{name}, k = {k}")
            runs = [clock(lambda own=own, k=k: rivals.our_count(own, k))[:2] for _ in range(3)]
            seconds, wall = (min(values) for values in zip(*runs, strict=True))
            rows.append({"graph": name, "k": k, "seconds": seconds, "wall": wall})
    return rows


def _length_graphs(quick: bool, say: Say) -> list[tuple[str, Csr, int]]:
    """(name, graph, longest k): hubs only as far as closed forms go, sparse graphs further."""
    scale = 5 if quick else 1
    found = [
        (
            "random geometric, 5 edges a node",
            cases.random_geometric(20_000 // scale, 100_000 // scale, seed=1),
            8,
        ),
        ("grid", cases.grid(300 // scale), 10),
    ]
    if quick:
        return [*found, ("Barabási–Albert, 10 edges a node", cases.barabasi_albert(1_000, 10, seed=1), 6)]
    try:
        found.append(("Chameleon", cases.wikipedia("chameleon"), 6))
        found.append(("NCI1, all graphs", _union(cases.tu("NCI1")), 12))
    except DataAbsent as absent:
        say(f"skipped: {absent}")
    return found


def _union(graphs: list[Csr]) -> Csr:
    nodes = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    arcs = np.cumsum([0, *(len(graph.indices) for graph in graphs)])
    indices = [graph.indices + nodes[g] for g, graph in enumerate(graphs)]
    indptr = [graph.indptr[:-1] + arcs[g] for g, graph in enumerate(graphs)]
    return Csr(np.concatenate([*indptr, arcs[-1:]]), np.concatenate(indices).astype(np.int32))


def threads(quick: bool, say: Say) -> dict[str, Any]:
    """Two threads against one on the wall, k = 5, with the same bits."""
    name, graph = "Barabási–Albert, 2K nodes, 40K edges", None
    if not quick:
        try:
            name, graph = "Squirrel", cases.wikipedia("squirrel")
        except DataAbsent as absent:
            say(f"skipped Squirrel: {absent}")
    own = rivals.our_graph(graph or cases.barabasi_albert(2_000, 20, seed=1))
    taken: dict[int, float] = {}
    answers = {}
    for _ in range(3):
        for jobs in (1, 2):
            _, wall, answers[jobs] = clock(lambda jobs=jobs: rivals.our_count(own, 5, n_jobs=jobs).by_length)
            taken[jobs] = min(wall, taken.get(jobs, wall))
    return {
        "graph": f"{name}, k = 5",
        "one thread": taken[1],
        "two threads": taken[2],
        "speed-up": taken[1] / taken[2],
        "same bits": bool(np.array_equal(answers[1], answers[2])),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def plot(sizes: list[dict[str, Any]], lengths: list[dict[str, Any]], path: Path) -> None:
    """Three panels in one PNG: time and memory against nodes (log-log), time against k."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    figure, panels = pyplot.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    for panel, value, label in (
        (panels[0], "seconds", "seconds"),
        (panels[1], "bytes", "extra bytes at the peak"),
    ):
        for family in dict.fromkeys(row["family"] for row in sizes):
            own = [row for row in sizes if row["family"] == family]
            nodes = np.array([row["nodes"] for row in own], float)
            values = np.array([row[value] for row in own], float)
            slope = exponent(sizes, family, value)
            panel.loglog(nodes, values, "o-", label=f"{family}, k = {own[0]['k']}: slope {slope:.2f}")
            panel.loglog(nodes, values[-1] * nodes / nodes[-1], ":", color="grey", linewidth=1)
        panel.set(xlabel="nodes", ylabel=label, title="dotted: linear growth")
        panel.xaxis.set_minor_formatter(NullFormatter())
    for name in dict.fromkeys(row["graph"] for row in lengths):
        own = [row for row in lengths if row["graph"] == name]
        panels[2].semilogy([row["k"] for row in own], [row["seconds"] for row in own], "o-", label=name)
    panels[2].set(xlabel="k", ylabel="seconds", title="growth with k")
    for panel in panels:
        panel.grid(True, which="major", alpha=0.3)
        panel.set_visible(bool(panel.lines))
        if panel.lines:
            panel.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
