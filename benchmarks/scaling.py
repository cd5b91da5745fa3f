"""Scaling: time and memory against the size of the graph, time against k, and two threads against one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases, processes, rivals
from benchmarks.cases import Csr, MissingData
from benchmarks.contest import Say
from benchmarks.measure import clock

FAMILIES = {
    "random geometric": (4, [12_500, 25_000, 50_000, 100_000, 200_000]),
    "grid": (7, [125**2, 250**2, 500**2, 1000**2]),
}
QUICK_FAMILIES = {"random geometric": (4, [2_500, 5_000, 10_000]), "grid": (7, [50**2, 100**2, 200**2])}
MEMORY_LIMIT = "1GB"


def by_size(quick: bool, say: Say) -> list[dict[str, Any]]:
    """One row per graph: nodes, seconds, and peak extra memory under a memory limit."""
    rows = []
    for family, (k, sizes) in (QUICK_FAMILIES if quick else FAMILIES).items():
        for size in sizes:
            say(f"{family}, {size:,} nodes, k = {k}")
            task = {"family": family, "size": size, "k": k, "options": {"memory_limit": MEMORY_LIMIT}}
            rows.append({"family": family, "k": k, "nodes": size} | processes.peak_memory(task))
    return rows


def exponent(rows: list[dict[str, Any]], family: str, of: str = "seconds") -> float:
    """The slope of the curve in a log-log plot; 1 is linear growth."""
    of_family = [row for row in rows if row["family"] == family]
    nodes, values = (np.log([max(row[name], 1e-9) for row in of_family]) for name in ("nodes", of))
    return float(np.polyfit(nodes, values, 1)[0])


def by_length(quick: bool, say: Say) -> list[dict[str, Any]]:
    """One row per graph and k, up to the first k whose estimated time is too long."""
    import detours

    max_seconds = 1.0 if quick else 15.0
    rows = []
    for name, csr, max_k in _length_graphs(quick, say):
        graph = rivals.our_graph(csr)
        for k in range(2, max_k + 1):
            if detours.explain(graph, k).seconds > max_seconds:
                break
            say(f"{name}, k = {k}")
            runs = [clock(lambda graph=graph, k=k: rivals.our_count(graph, k))[:2] for _ in range(3)]
            seconds, wall = (min(values) for values in zip(*runs, strict=True))
            rows.append({"graph": name, "k": k, "seconds": seconds, "wall": wall})
    return rows


def _length_graphs(quick: bool, say: Say) -> list[tuple[str, Csr, int]]:
    """(name, graph, largest k): up to the limit of closed forms for graphs with hubs, larger for sparse graphs."""
    scale = 5 if quick else 1
    graphs = [
        (
            "random geometric, 5 edges a node",
            cases.random_geometric(20_000 // scale, 100_000 // scale, seed=1),
            8,
        ),
        ("grid", cases.grid(300 // scale), 10),
    ]
    if quick:
        return [*graphs, ("Barabási–Albert, 10 edges a node", cases.barabasi_albert(1_000, 10, seed=1), 6)]
    try:
        graphs.append(("Chameleon", cases.wikipedia("chameleon"), 6))
        graphs.append(("NCI1, all graphs", cases.union(cases.tu("NCI1")), 12))
    except MissingData as error:
        say(f"skipped: {error}")
    return graphs


def threads(quick: bool, say: Say) -> dict[str, Any]:
    """Wall time with two threads against one, k = 5, and whether the counts are identical."""
    name, graph = "Barabási–Albert, 2K nodes, 40K edges", None
    if not quick:
        try:
            name, graph = "Squirrel", cases.wikipedia("squirrel")
        except MissingData as error:
            say(f"skipped Squirrel: {error}")
    our_graph = rivals.our_graph(graph or cases.barabasi_albert(2_000, 20, seed=1))
    seconds: dict[int, float] = {}
    counts = {}
    for _ in range(3):
        for n_jobs in (1, 2):
            _, wall, counts[n_jobs] = clock(
                lambda n_jobs=n_jobs: rivals.our_count(our_graph, 5, n_jobs=n_jobs).by_length
            )
            seconds[n_jobs] = min(wall, seconds.get(n_jobs, wall))
    return {
        "graph": f"{name}, k = 5",
        "one thread": seconds[1],
        "two threads": seconds[2],
        "speed-up": seconds[1] / seconds[2],
        "same bits": bool(np.array_equal(counts[1], counts[2])),
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
            rows = [row for row in sizes if row["family"] == family]
            nodes = np.array([row["nodes"] for row in rows], float)
            values = np.array([row[value] for row in rows], float)
            slope = exponent(sizes, family, value)
            panel.loglog(nodes, values, "o-", label=f"{family}, k = {rows[0]['k']}: slope {slope:.2f}")
            panel.loglog(nodes, values[-1] * nodes / nodes[-1], ":", color="grey", linewidth=1)
        panel.set(xlabel="nodes", ylabel=label, title="dotted: linear growth")
        panel.xaxis.set_minor_formatter(NullFormatter())
    for name in dict.fromkeys(row["graph"] for row in lengths):
        rows = [row for row in lengths if row["graph"] == name]
        panels[2].semilogy([row["k"] for row in rows], [row["seconds"] for row in rows], "o-", label=name)
    panels[2].set(xlabel="k", ylabel="seconds", title="growth with k")
    for panel in panels:
        panel.grid(True, which="major", alpha=0.3)
        panel.set_visible(bool(panel.lines))
        if panel.lines:
            panel.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
