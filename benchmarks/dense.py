"""The dense engine on a GPU against the CPU engines: time, memory, share of peak performance, and equality of counts.

    python -m benchmarks.dense --write-reference cpu.json              on the machine whose CPU is measured
    python -m benchmarks.dense --device cuda --reference cpu.json --out gpu.json

The reference contains digests of the CPU's counts per arc, so the two runs may use different machines. Without Numba,
its functions run as plain Python: slowly, with the same results, and only times of the device are recorded.
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
from benchmarks.cases import Csr, MissingData

GRAPHS: dict[str, Callable[[], Csr]] = {
    "Chameleon": lambda: cases.wikipedia("chameleon"),
    "Squirrel": lambda: cases.wikipedia("squirrel"),
    "Actor": cases.actor,
}
GOALS = {("Squirrel", 4): 0.03, ("Squirrel", 6): 0.25}
PEAK = 67e12
"""Float64 operations per second of an H200's tensor cores, as specified by NVIDIA."""
LARGE, LARGE_EDGES, LARGE_BYTES = 20_000, 500_000, 100e9


def replace_missing_numba() -> bool:
    """If Numba is not installed, let compiled functions run as plain Python; return whether it is installed."""
    try:
        import numba  # noqa: F401
    except ImportError:
        substitute = types.ModuleType("numba")
        substitute.njit = lambda function=None, **_: function if function else lambda other: other  # type: ignore[attr-defined]
        sys.modules["numba"] = substitute
        return False
    return True


class Bench:
    """One run on a device, with the reference results of the CPU."""

    def __init__(self, device: str, reference: dict[str, Any], quick: bool, compiled: bool) -> None:
        self.device, self.reference, self.quick, self.compiled = device, reference, quick, compiled
        self.last: tuple[Csr, Any] | None = None

    def on_cycles(self, graph: Csr) -> Any:
        """The cyclic part of the graph: computed on each call, as in a count, but reused if Numba is missing."""
        from detours.counting.shrink.cyclic_part import Cyclic

        if self.compiled or self.last is None or self.last[0] is not graph:
            self.last = graph, Cyclic(graph.indptr, graph.indices)
        return self.last[1]

    def count(self, graph: Csr, k: int, engine: str, device: str | None, repeats: int) -> dict[str, Any]:
        """The fastest of several counts after a warm-up: all of `detours.count`, and its engine only. On a CPU, CPU
        time; otherwise wall time."""
        from detours.counting.engines.base import Tally
        from detours.counting.plan import make_plan

        now = time.process_time if device in (None, "cpu") else time.perf_counter
        tally = Tally(np.zeros((len(graph.indices), k - 1), np.int64), None)
        engine_times = []
        for attempt in range(repeats + 1):
            plan = make_plan(self.on_cycles(graph), k, engine=engine, device=device)
            start = now()
            plan.run(tally)
            if attempt or not repeats:
                engine_times.append(now() - start)
        row = {"engine": plan.engine, "device": device or "cpu", "expected": plan.seconds, "count": min(engine_times)}
        if self.compiled:
            import detours

            our_graph, full_times = detours.Graph.from_csr(graph.indptr, graph.indices), []
            for _ in range(repeats or 1):
                start = now()
                counts = detours.count(our_graph, k, engine=engine, device=device)
                full_times.append(now() - start)
            assert np.array_equal(counts.arc_by_length, tally.by_length)
            row["whole"] = min(full_times)
        return row | {"digest": hashlib.sha256(tally.by_length.tobytes()).hexdigest()}

    def compare(self, name: str, k: int, row: dict[str, Any]) -> dict[str, Any]:
        known = self.reference.get(f"{name} {k}")
        row |= {"graph": name, "k": k, "equal": None if known is None else known["digest"] == row["digest"]}
        return row | ({"cpu": known["whole"], "cpu engine": known["engine"]} if known else {})

    # ---- measurements ----

    def table(self) -> list[dict[str, Any]]:
        """The three node-classification graphs, k = 2 .. 6."""
        rows = []
        for name, make in self.graphs().items():
            graph = make()
            for k in range(2, 5 if self.quick else 7):
                row = self.compare(name, k, self.count(graph, k, "dense", self.device, 1 if self.quick else 5))
                row |= self.share_of_peak(graph, k, row["count"])
                if (name, k) in GOALS:
                    row |= {"bar": GOALS[name, k], "within": row.get("whole", row["count"]) <= GOALS[name, k]}
                rows.append(show(row))
        return rows

    def share_of_peak(self, graph: Csr, k: int, seconds: float) -> dict[str, float]:
        """The share of peak performance if all products were dense and in float64; sparse and short ones are faster."""
        from detours.counting.derive.matrix_program import contraction
        from detours.counting.derive.matrix_steps import Product

        products = contraction(k, directed=False).number_of(Product)
        operations = 2.0 * self.on_cycles(graph).largest_block ** 3 * products
        return {"products": products, "share of peak": operations / seconds / PEAK}

    def sevens(self) -> list[dict[str, Any]]:
        """k = 7, where sums exceed 2^53."""
        if self.quick:
            return []
        graphs = self.graphs().items()
        return [show(self.compare(n, 7, self.count(make(), 7, "dense", self.device, 1))) for n, make in graphs]

    def memory(self) -> dict[str, Any]:
        """Peak memory of the device for k = 6 and 20,000 nodes."""
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
        """All graphs of ENZYMES in one call, k = 6, and the engine that the planner would choose."""
        from detours.counting.plan import make_plan

        graphs = cases.small_graphs(60, seed=1) if self.quick else cases.tu("ENZYMES")
        union = cases.union(graphs)
        row = self.compare("ENZYMES", 6, self.count(union, 6, "dense", self.device, 5))
        if self.compiled:
            on_cpu = self.count(union, 6, "auto", None, 5)
            row |= {"cpu of the same machine": on_cpu["whole"], "engine there": on_cpu["engine"]}
            row["planner takes"] = make_plan(self.on_cycles(union), 6, device=self.device).engine
        return show(row)

    def plain_product(self) -> dict[str, Any]:
        """The share that torch reaches in one large float64 product: an upper bound for those above."""
        import torch

        n = 512 if self.quick else 8192
        left = torch.rand(n, n, dtype=torch.float64, device=self.device)
        times = []
        for _ in range(4):
            start = time.perf_counter()
            _ = (left @ left)[0, 0].item()
            times.append(time.perf_counter() - start)
        return show({"graph": f"float64 product of {n} x {n}", "k": 0, "share of peak": 2.0 * n**3 / min(times) / PEAK})

    def graphs(self) -> dict[str, Callable[[], Csr]]:
        if self.quick:
            return {"random": lambda: cases.barabasi_albert(300, 8, seed=1)}
        return GRAPHS

    def cpu_reference(self) -> dict[str, Any]:
        """Digests and times on the CPU with one thread: of the engine that the planner chooses, and the dense one."""
        results = {}
        for name, make in self.graphs().items():
            graph = make()
            for k in range(2, 5 if self.quick else 8):
                row = self.count(graph, k, "auto", None, k < 7)
                if k < 7:
                    row["dense"] = self.count(graph, k, "dense", None, 0)["whole"]
                results[f"{name} {k}"] = show(row | {"graph": name, "k": k})
        union = cases.union(cases.small_graphs(60, seed=1) if self.quick else cases.tu("ENZYMES"))
        results["ENZYMES 6"] = show(self.count(union, 6, "auto", None, 1) | {"graph": "ENZYMES", "k": 6})
        return results


def show(row: dict[str, Any]) -> dict[str, Any]:
    """Print a row and return it."""
    skipped = ("graph", "k", "digest")
    parts = [f"{key} {_short(value)}" for key, value in row.items() if key not in skipped]
    print(f"{row['graph']:28s} k = {row['k']}  " + ", ".join(parts), flush=True)
    return row


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--data", help="folder of the data sets, instead of DETOURS_DATA")
    parser.add_argument("--reference", type=Path, help="file written by --write-reference: the CPU's digests and times")
    parser.add_argument("--write-reference", type=Path, help="only measure the CPU engines, and write this file")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    parser.add_argument("--quick", action="store_true", help="small generated graphs")
    options = parser.parse_args(arguments)
    if options.data:
        os.environ["DETOURS_DATA"] = options.data
    reference = json.loads(options.reference.read_text()) if options.reference else {}
    bench = Bench(options.device, reference, options.quick, replace_missing_numba())
    try:
        if options.write_reference:
            options.write_reference.write_text(json.dumps(bench.cpu_reference(), indent=1))
            return
        results: dict[str, Any] = {
            "device": _name(options.device),
            "compiled": bench.compiled,
            "plain product": bench.plain_product(),
            "table": bench.table(),
            "k = 7": bench.sevens(),
            "molecules": bench.molecules(),
            "memory": bench.memory(),
        }
    except MissingData as error:
        parser.error(str(error))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))
    rows = [*results["table"], *results["k = 7"], results["molecules"]]
    if any(row["equal"] is False for row in rows):
        sys.exit("some counts differ from the CPU's")


def _name(device: str) -> str:
    import torch

    return f"{torch.cuda.get_device_name()}, torch {torch.__version__}" if device != "cpu" else "cpu"


if __name__ == "__main__":
    main()
