"""python -m benchmarks.kernels [--case NAME …]: graph kernels against GraKeL, and WL-SP on DD without a rival.

Both libraries start from graphs in memory, GraKeL from its own objects, built before timing starts, and both return
the Gram matrix; ours also keeps what it needs to transform new graphs. Labels are degrees. The matrices must be equal,
entry by entry. The case `dd` has no rival: the kernel runs in a separate process, and its peak memory is reported.
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
GOAL = 10.0
"""GraKeL should take at least this many times as long as ours."""
MAX_MEMORY = 8e9
"""Bytes that WL-SP on DD may use."""


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
    """GraKeL's graphs, with degrees as labels."""
    import grakel

    converted = []
    for graph in graphs:
        rows = np.split(graph.indices, graph.indptr[1:-1])
        arcs = {node: dict.fromkeys(row.tolist(), 1.0) for node, row in enumerate(rows)}
        converted.append(grakel.Graph(arcs, node_labels=dict(enumerate(graph.degree.tolist()))))
    return converted


def contest(case: Case) -> tuple[dict[str, Timing], bool]:
    """Return the times of both, and whether the matrices are equal.

    GraKeL caches distances in its graphs, so every call gets new ones; building them is not timed.
    """
    graphs = our_graphs(case.data)
    unused = [for_grakel(graphs) for _ in range(3)]
    contenders: dict[str, Callable[[], Any]] = {
        OURS: lambda: case.ours().fit_transform(graphs),
        GRAKEL: lambda: case.theirs().fit_transform(unused.pop()),
    }
    best, results = race(contenders, budget=5.0, max_repeats=3)
    theirs = results[GRAKEL]
    return best, np.array_equal(results[OURS], theirs.toarray() if hasattr(theirs, "toarray") else theirs)


def measure_dd() -> dict[str, float]:
    """Seconds and bytes of WL-SP on DD in this process, with the kernels loaded beforehand."""
    case = DD
    case.ours().fit_transform(our_graphs("MUTAG"))
    graphs = our_graphs(case.data)
    _reset_peak()
    before = _status("VmRSS") or _peak()
    start, wall_start = time.process_time(), time.perf_counter()
    case.ours().fit_transform(graphs)
    times = {"seconds": time.process_time() - start, "wall": time.perf_counter() - wall_start}
    return times | {"bytes": _peak() - before, "in all": _peak()}


def contest_sheet(results: dict[Case, tuple[dict[str, Timing], bool]]) -> Sheet:
    """One row per case."""
    rows, notes = [], []
    for case, (best, same) in results.items():
        ratio = best[GRAKEL].seconds / best[OURS].seconds
        kernel = case.kernel if case.n_iter is None else f"{case.kernel}, {case.n_iter} rounds"
        row = [f"{case.data}, {kernel}", duration(best[OURS].seconds), duration(best[GRAKEL].seconds), f"{ratio:.3g}"]
        rows.append([*row, "same result" if same else "DIFFERENT RESULT"])
        notes.append(f"{case.name}: goal {GOAL:g} times, it is {ratio:.3g}: {'met' if ratio >= GOAL else 'MISSED'}")
    return Sheet("Gram matrices against GraKeL", ["case", "detours", "GraKeL", "times ours", ""], rows, notes)


def dd_sheet(used: dict[str, float]) -> Sheet:
    """Time and memory of DD."""
    row = [f"{DD.data}, {DD.kernel}, {DD.n_iter} rounds", duration(used["seconds"]), f"{used['bytes'] / 1e9:.2f} GB"]
    verdict = "met" if used["in all"] <= MAX_MEMORY else "MISSED"
    note = f"dd: goal {MAX_MEMORY / 1e9:g} GB for the entire process, it is {used['in all'] / 1e9:.2f} GB: {verdict}"
    return Sheet("Shortest paths in large graphs", ["case", "CPU time", "peak above the data"], [row], [note])


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; return 0 if all matrices are equal."""
    names = [case.name for case in [*CASES, DD]]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels", description="Graph kernels against GraKeL.")
    parser.add_argument("--case", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.alone:
        print(json.dumps(measure_dd()))
        return 0
    console, equal = Console(), True
    results = {}
    for case in CASES:
        if case.name in options.case:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # GraKeL warns about each graph that it converts
                    results[case] = contest(case)
            except (cases.MissingData, ImportError) as error:
                print(f"{case.name} skipped, {error}", file=sys.stderr)
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
