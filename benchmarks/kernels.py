"""python -m benchmarks.kernels [--case NAME …] [--list]: graph kernels against GraKeL, and WL-SP on DD by itself.

Both start from graphs in memory, GraKeL from its own objects, built before the clock starts, and both end with the
Gram matrix; ours also keeps what it needs to transform new graphs. Labels are degrees. The matrices must be equal,
entry by entry. The case `dd` has no rival: the kernel runs in a process of its own, and its peak of memory is told.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

import detours
from benchmarks import cases
from benchmarks.measure import Timing, duration, race
from benchmarks.peak import _peak, _reset_peak, _status
from benchmarks.report import Sheet

OURS, GRAKEL = "detours", "GraKeL"
BAR = 10.0
"""How many times as long as ours GraKeL should take."""
MOST_MEMORY = 8e9
"""Bytes that WL-SP on DD may take."""


@dataclass(frozen=True)
class Case:
    """A kernel on a data set."""

    name: str
    data: str
    kernel: str
    n_iter: int | None = None

    def ours(self) -> Any:
        from detours import kernels

        options = {} if self.n_iter is None else {"n_iter": self.n_iter}
        return getattr(kernels, self.kernel)(**options, labels="degree", output="gram", normalize=False)

    def theirs(self) -> Any:
        import grakel

        if self.kernel == "ShortestPath":
            return grakel.ShortestPath()
        base = grakel.VertexHistogram if self.kernel == "WLSubtree" else grakel.ShortestPath
        return grakel.WeisfeilerLehman(n_iter=self.n_iter, base_graph_kernel=base)


CASES = [
    Case("nci1", "NCI1", "WLSubtree", 10),
    Case("enzymes", "ENZYMES", "ShortestPath"),
    Case("mutag", "MUTAG", "WLShortestPath", 3),
    Case("ptc", "PTC_FM", "WLShortestPath", 3),
]
DD = Case("dd", "DD", "WLShortestPath", 10)


def our_graphs(name: str) -> list[detours.Graph]:
    return [detours.Graph.from_csr(graph.indptr, graph.indices) for graph in cases.tu(name)]


def for_grakel(graphs: list[detours.Graph]) -> list[Any]:
    """GraKeL's graphs, with degrees for labels."""
    import grakel

    made = []
    for graph in graphs:
        rows = np.split(graph.indices, graph.indptr[1:-1])
        arcs = {node: dict.fromkeys(row.tolist(), 1.0) for node, row in enumerate(rows)}
        made.append(grakel.Graph(arcs, node_labels=dict(enumerate(graph.degree.tolist()))))
    return made


def contest(case: Case) -> tuple[dict[str, Timing], bool]:
    """Times of both, and whether the matrices are equal.

    GraKeL keeps distances in its graphs, so it gets new ones for every call; building them is not timed.
    """
    graphs = our_graphs(case.data)
    waiting = [for_grakel(graphs) for _ in range(3)]
    contenders: dict[str, Callable[[], Any]] = {
        OURS: lambda: case.ours().fit_transform(graphs),
        GRAKEL: lambda: case.theirs().fit_transform(waiting.pop()),
    }
    best, answers = race(contenders, budget=5.0, most=3)
    theirs = answers[GRAKEL]
    return best, np.array_equal(answers[OURS], theirs.toarray() if hasattr(theirs, "toarray") else theirs)


def alone() -> dict[str, float]:
    """WL-SP on DD in this process: seconds and bytes, with the kernels loaded before."""
    case = DD
    case.ours().fit_transform(our_graphs("MUTAG"))
    graphs = our_graphs(case.data)
    _reset_peak()
    before = _status("VmRSS") or _peak()
    started, wall = time.process_time(), time.perf_counter()
    case.ours().fit_transform(graphs)
    taken = {"seconds": time.process_time() - started, "wall": time.perf_counter() - wall}
    return taken | {"bytes": _peak() - before, "in all": _peak()}


def contest_sheet(results: dict[Case, tuple[dict[str, Timing], bool]]) -> Sheet:
    """One line for each case."""
    rows, notes = [], []
    for case, (best, same) in results.items():
        times = best[GRAKEL].seconds / best[OURS].seconds
        kernel = case.kernel if case.n_iter is None else f"{case.kernel}, {case.n_iter} rounds"
        row = [f"{case.data}, {kernel}", duration(best[OURS].seconds), duration(best[GRAKEL].seconds), f"{times:.3g}"]
        rows.append([*row, "same answer" if same else "OTHER ANSWER"])
        notes.append(f"{case.name}: bar {BAR:g} times, it is {times:.3g}: {'met' if times >= BAR else 'MISSED'}")
    return Sheet("Gram matrices against GraKeL", ["case", "detours", "GraKeL", "times ours", ""], rows, notes)


def dd_sheet(taken: dict[str, float]) -> Sheet:
    """What DD took."""
    row = [f"{DD.data}, {DD.kernel}, {DD.n_iter} rounds", duration(taken["seconds"]), f"{taken['bytes'] / 1e9:.2f} GB"]
    reached = "met" if taken["in all"] <= MOST_MEMORY else "MISSED"
    note = f"dd: bar {MOST_MEMORY / 1e9:g} GB for the whole process, it is {taken['in all'] / 1e9:.2f} GB: {reached}"
    return Sheet("Shortest paths in large graphs", ["case", "CPU time", "peak above the data"], [row], [note])


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 0 when all matrices were equal."""
    names = [case.name for case in [*CASES, DD]]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description="Graph kernels against GraKeL.")
    parser.add_argument("--case", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.alone:
        print(json.dumps(alone()))
        return 0
    console, equal = Console(), True
    results = {}
    for case in CASES:
        if case.name in options.case:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # GraKeL converts graphs with a warning for each
                    results[case] = contest(case)
            except (cases.DataAbsent, ImportError) as absent:
                print(f"{case.name} skipped, {absent}", file=sys.stderr)
                continue
            equal &= results[case][1]
    if results:
        contest_sheet(results).show(console)
    if DD.name in options.case:
        command = [sys.executable, "-m", "benchmarks.kernels", "--alone"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"dd skipped, {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        else:
            dd_sheet(json.loads(done.stdout)).show(console)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
