"""The estimates of `detours.explain` against measured time and memory, k = 2 .. 6, one thread.

    python -m benchmarks.explain                        all graphs
    python -m benchmarks.explain grid hub -k 4 6        some of them
    python -m benchmarks.explain squirrel --engine dense

Every graph gets a fresh process. Time is CPU time, the lowest of three runs if a run is short; memory is the growth of
the process at its peak, including the result. Ratios should be between 1/2 and 2.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks.cases import Csr
from benchmarks.peak import _peak, _reset_peak, _status

GRAPHS: dict[str, Callable[[], Csr]] = {
    "chameleon": lambda: cases.wikipedia("chameleon"),
    "squirrel": lambda: cases.wikipedia("squirrel"),
    "attached": lambda: cases.barabasi_albert(200_000, 10, seed=1),
    "hub": lambda: cases.power_law(100_000, 500_000, hub=20_000, seed=1),
    "web": lambda: cases.copied_links(270_000, 10, seed=1),
    "geometric": lambda: cases.random_geometric(200_000, 1_000_000, seed=1),
    "grid": lambda: cases.grid(700),
    "complete": lambda: cases.erdos_renyi_dense(1_000, 1.0, seed=1),
    "random": lambda: cases.erdos_renyi_dense(2_000, 0.3, seed=1),
}
"""Wikipedia pages; preferential attachment, 2 million edges; a power law whose hub has 20,000 neighbours; pages that
copy links of others, 2.7 million edges; points in the plane; a grid; a complete graph; a dense random graph."""
MMAP_THRESHOLD = -3
"""A parameter of glibc's `mallopt`."""


def measure(name: str, lengths: list[int], engine: str) -> None:
    """Print one JSON object for every k; called in a fresh process."""
    import detours
    from benchmarks.rivals import our_graph

    graph = our_graph(GRAPHS[name]())
    small = our_graph(cases.random_geometric(300, 1200, seed=0))
    for k in lengths:
        start = time.process_time()
        plan = detours.explain(graph, k, engine=engine)
        planning = time.process_time() - start
        detours.count(small, k, engine=plan.engine)  # loads all compiled code that the count will use
        times: list[float] = []
        while not times or (len(times) < 3 and times[0] < 1):
            _reset_peak()
            before, start = _status("VmRSS") or _peak(), time.process_time()
            detours.count(graph, k, engine=engine)
            times.append(time.process_time() - start)
            memory = _peak() - before
        if times[0] < 10:  # freed small arrays are reused, so the process would not grow: measure in another run
            memory = _memory(graph, k, engine)
        row = {"graph": name, "edges": graph.num_edges, "k": k, "engine": plan.engine, "planning": planning}
        row |= {"expected s": plan.seconds, "measured s": min(times)}
        row |= {"expected MB": plan.bytes / 2**20, "measured MB": memory / 2**20}
        print(json.dumps(row), flush=True)


def _memory(graph: Any, k: int, engine: str) -> int:
    import detours

    if sys.platform == "linux":
        # larger arrays are requested from the system and returned to it, so that the peak is that of this count
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 2**16)
        ctypes.CDLL(None).malloc_trim(0)
    gc.collect()
    _reset_peak()
    before = _status("VmRSS") or _peak()
    detours.count(graph, k, engine=engine)
    return _peak() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=list(GRAPHS), metavar="graph", help=", ".join(GRAPHS))
    parser.add_argument("-k", nargs="+", type=int, default=[2, 3, 4, 5, 6])
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        measure(options.graphs[0], options.k, options.engine)
        return
    print("| graph | edges | k | engine | expected | measured | ratio | expected MB | measured MB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    ratios = []
    for name in options.graphs:
        command = [sys.executable, "-m", "benchmarks.explain", name]
        command += ["-k", *map(str, options.k), "--engine", options.engine, "--here"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                row = json.loads(line)
                ratios.append([row[f"expected {unit}"] / row[f"measured {unit}"] for unit in ("s", "MB")])
                time_ratio, memory_ratio = ratios[-1]
                print(
                    f"| {row['graph']} | {row['edges']:,} | {row['k']} | {row['engine']} | {row['expected s']:.3g} s | "
                    f"{row['measured s']:.3g} s | {time_ratio:.2f} | {row['expected MB']:.3g} | "
                    f"{row['measured MB']:.3g} | {memory_ratio:.2f} |",
                    flush=True,
                )
    for name, column in zip(("time", "memory"), np.array(ratios).T, strict=True):
        print(f"expected / measured {name}: {column.min():.2f} .. {column.max():.2f}")


if __name__ == "__main__":
    main()
