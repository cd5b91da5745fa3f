"""The dense engine on a GPU against the engines of the CPU: time, memory, share of the peak, and equal counts.

    python -m benchmarks.dense --write-reference cpu.json              where the CPU engines are to be measured
    python -m benchmarks.dense --device cuda --reference cpu.json --out gpu.json

The reference holds digests of the CPU's counts per arc, so that the two machines need not be the same. Where Numba is
not installed, its place is taken by plain Python: slow, the same answers, and only the times of the device are kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.cases import Csr, DataAbsent

GRAPHS: dict[str, Callable[[], Csr]] = {
    "Chameleon": lambda: cases.wikipedia("chameleon"),
    "Squirrel": lambda: cases.wikipedia("squirrel"),
    "Actor": cases.actor,
}
BARS = {("Squirrel", 4): 0.03, ("Squirrel", 6): 0.25}
PEAK = 67e12
"""Float64 operations a second of an H200's matrix units, as its maker says."""
LARGE, LARGE_EDGES, LARGE_BYTES = 20_000, 500_000, 100e9


def stand_in_for_numba() -> bool:
    """Let compiled functions run as plain Python where Numba is absent; returns whether it is there."""
    try:
        import numba  # noqa: F401
    except ImportError:
        plain = types.ModuleType("numba")
        plain.njit = lambda function=None, **_: function if function else lambda other: other  # type: ignore[attr-defined]
        sys.modules["numba"] = plain
        return False
    return True


class Bench:
    """One run: where, and what is known of the CPU's answers."""

    def __init__(self, device: str, reference: dict[str, Any], quick: bool, compiled: bool) -> None:
        self.device, self.reference, self.quick, self.compiled = device, reference, quick, compiled
        self.last: tuple[Csr, Any] | None = None

    def on_cycles(self, graph: Csr) -> Any:
        """What lies on cycles: found anew each time, as in a count, unless plain Python would take too long for it."""
        from detours.counting.shrink.cyclic_part import Cyclic

        if self.compiled or self.last is None or self.last[0] is not graph:
            self.last = graph, Cyclic(graph.indptr, graph.indices)
        return self.last[1]

    def count(self, graph: Csr, k: int, engine: str, device: str | None, repeats: int) -> dict[str, Any]:
        """The best of some counts after a warm-up: `detours.count`, graph in and counts out, and its engine alone; CPU
        time where that does the work."""
        from detours.counting.engines.base import Tally
        from detours.counting.plan import make_plan

        now = time.process_time if device in (None, "cpu") else time.perf_counter
        tally = Tally(np.zeros((len(graph.indices), k - 1), np.int64), None)
        alone = []
        for attempt in range(repeats + 1):
            chosen = make_plan(self.on_cycles(graph), k, engine=engine, device=device)
            ready = now()
            chosen.run(tally)
            if attempt or not repeats:
                alone.append(now() - ready)
        row = {"engine": chosen.engine, "device": device or "cpu", "expected": chosen.seconds, "count": min(alone)}
        if self.compiled:
            import detours

            given, whole = detours.Graph.from_csr(graph.indptr, graph.indices), []
            for _ in range(repeats or 1):
                began = now()
                counts = detours.count(given, k, engine=engine, device=device)
                whole.append(now() - began)
            assert np.array_equal(counts.arc_by_length, tally.by_length)
            row["whole"] = min(whole)
        return row | {"digest": hashlib.sha256(tally.by_length.tobytes()).hexdigest()}

    def compare(self, name: str, k: int, row: dict[str, Any]) -> dict[str, Any]:
        known = self.reference.get(f"{name} {k}")
        row |= {"graph": name, "k": k, "equal": None if known is None else known["digest"] == row["digest"]}
        return row | ({"cpu": known["whole"], "cpu engine": known["engine"]} if known else {})

    # ---- what is measured ----

    def table(self) -> list[dict[str, Any]]:
        """The three node-classification graphs, k = 2 .. 6."""
        rows = []
        for name, make in self.graphs().items():
            graph = make()
            for k in range(2, 5 if self.quick else 7):
                row = self.compare(name, k, self.count(graph, k, "dense", self.device, 1 if self.quick else 5))
                row |= self.share_of_peak(graph, k, row["count"])
                if (name, k) in BARS:
                    row |= {"bar": BARS[name, k], "within": row.get("whole", row["count"]) <= BARS[name, k]}
                rows.append(show(row))
        return rows

    def share_of_peak(self, graph: Csr, k: int, seconds: float) -> dict[str, float]:
        """Products as if all were dense and in float64; those that are sparse or short are quicker, and count too."""
        from detours.counting.derive.matrix_program import contraction
        from detours.counting.derive.matrix_steps import Product

        products = contraction(k, directed=False).number_of(Product)
        operations = 2.0 * self.on_cycles(graph).largest_block ** 3 * products
        return {"products": products, "share of peak": operations / seconds / PEAK}

    def sevens(self) -> list[dict[str, Any]]:
        """k = 7, where sums pass 2^53."""
        if self.quick:
            return []
        made = self.graphs().items()
        return [show(self.compare(n, 7, self.count(make(), 7, "dense", self.device, 1))) for n, make in made]

    def memory(self) -> dict[str, Any]:
        """The peak on the device for k = 6 and 20,000 nodes."""
        import torch

        nodes, edges = (500, 4000) if self.quick else (LARGE, LARGE_EDGES)
        graph = cases.erdos_renyi(nodes, edges, seed=1)
        on_gpu = self.device != "cpu"
        if on_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        row = self.count(graph, 6, "dense", self.device, 0) | {"graph": f"{nodes:,} nodes, {edges:,} edges", "k": 6}
        if on_gpu:
            row |= {"peak bytes": torch.cuda.max_memory_allocated(), "limit": LARGE_BYTES}
            torch.cuda.empty_cache()
        return show(row)

    def molecules(self) -> dict[str, Any]:
        """All graphs of ENZYMES in one go, k = 6, and which way the planner would take."""
        from detours.counting.plan import make_plan

        graphs = cases.small_graphs(60, seed=1) if self.quick else cases.tu("ENZYMES")
        union = _union(graphs)
        row = self.compare("ENZYMES", 6, self.count(union, 6, "dense", self.device, 5))
        if self.compiled:
            here = self.count(union, 6, "auto", None, 5)
            row |= {"cpu of the same machine": here["whole"], "engine there": here["engine"]}
            row["planner takes"] = make_plan(self.on_cycles(union), 6, device=self.device).engine
        return show(row)

    def plain_product(self) -> dict[str, Any]:
        """What torch reaches on one large float64 product, nothing else: the roof for the shares above."""
        import torch

        n = 512 if self.quick else 8192
        left = torch.rand(n, n, dtype=torch.float64, device=self.device)
        times = []
        for _ in range(4):
            began = time.perf_counter()
            _ = (left @ left)[0, 0].item()
            times.append(time.perf_counter() - began)
        return show({"graph": f"float64 product of {n} x {n}", "k": 0, "share of peak": 2.0 * n**3 / min(times) / PEAK})

    def graphs(self) -> dict[str, Callable[[], Csr]]:
        if self.quick:
            return {"random": lambda: cases.barabasi_albert(300, 8, seed=1)}
        return GRAPHS

    def cpu_reference(self) -> dict[str, Any]:
        """Digests and times of the CPU's own choice of engine, and of its dense one, one thread."""
        found = {}
        for name, make in self.graphs().items():
            graph = make()
            for k in range(2, 5 if self.quick else 8):
                row = self.count(graph, k, "auto", None, k < 7)
                if k < 7:
                    row["dense"] = self.count(graph, k, "dense", None, 0)["whole"]
                found[f"{name} {k}"] = show(row | {"graph": name, "k": k})
        union = _union(cases.small_graphs(60, seed=1) if self.quick else cases.tu("ENZYMES"))
        found["ENZYMES 6"] = show(self.count(union, 6, "auto", None, 1) | {"graph": "ENZYMES", "k": 6})
        return found


def show(row: dict[str, Any]) -> dict[str, Any]:
    """Print a row and hand it on."""
    skipped = ("graph", "k", "digest")
    parts = [f"{key} {_short(value)}" for key, value in row.items() if key not in skipped]
    print(f"{row['graph']:28s} k = {row['k']}  " + ", ".join(parts), flush=True)
    return row


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _union(graphs: list[Csr]) -> Csr:
    nodes = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    arcs = np.cumsum([0, *(len(graph.indices) for graph in graphs)])
    indices = [graph.indices + nodes[g] for g, graph in enumerate(graphs)]
    indptr = [graph.indptr[:-1] + arcs[g] for g, graph in enumerate(graphs)]
    return Csr(np.concatenate([*indptr, arcs[-1:]]), np.concatenate(indices).astype(np.int32))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--data", help="the folder of the data sets, instead of DETOURS_DATA")
    parser.add_argument("--reference", type=Path, help="what --write-reference wrote: the CPU's digests and times")
    parser.add_argument("--write-reference", type=Path, help="measure the CPU engines only, and write this file")
    parser.add_argument("--out", type=Path, help="where the results go, as JSON")
    parser.add_argument("--quick", action="store_true", help="small graphs made in code")
    given = parser.parse_args(arguments)
    if given.data:
        os.environ["DETOURS_DATA"] = given.data
    reference = json.loads(given.reference.read_text()) if given.reference else {}
    bench = Bench(given.device, reference, given.quick, stand_in_for_numba())
    try:
        if given.write_reference:
            given.write_reference.write_text(json.dumps(bench.cpu_reference(), indent=1))
            return
        results: dict[str, Any] = {
            "device": _name(given.device),
            "compiled": bench.compiled,
            "plain product": bench.plain_product(),
            "table": bench.table(),
            "k = 7": bench.sevens(),
            "molecules": bench.molecules(),
            "memory": bench.memory(),
        }
    except DataAbsent as absent:
        parser.error(str(absent))
    if given.out:
        given.out.write_text(json.dumps(results, indent=1))
    rows = [*results["table"], *results["k = 7"], results["molecules"]]
    if any(row["equal"] is False for row in rows):
        sys.exit("some counts differ from the CPU's")


def _name(device: str) -> str:
    import torch

    return f"{torch.cuda.get_device_name()}, torch {torch.__version__}" if device != "cpu" else "cpu"


if __name__ == "__main__":
    main()
