"""What `detours.explain` expects against what a count then takes: time and memory, k = 2 .. 6, one thread.

    python -m benchmarks.explain                        all graphs
    python -m benchmarks.explain grid hub -k 4 6        some of them
    python -m benchmarks.explain squirrel --engine dense

Every graph gets a fresh process. Time is processor time, the lowest of three runs where a run is short; memory is the
growth of the process at its peak, the result included. A ratio between 1/2 and 2 is what we promise.
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
"""Real pages of Wikipedia; preferential attachment, 2 million edges; a power law whose hub has 20,000 neighbours; pages
that copy links of others, 2.7 million edges; points in the plane; a grid; all pairs and a third of the pairs of some
nodes."""
MMAP_THRESHOLD = -3
"""A parameter of glibc's `mallopt`."""


def measure(name: str, lengths: list[int], engine: str) -> None:
    """In a fresh process: print one JSON object for every k."""
    import detours
    from benchmarks.rivals import our_graph

    graph = our_graph(GRAPHS[name]())
    small = our_graph(cases.random_geometric(300, 1200, seed=0))
    for k in lengths:
        started = time.process_time()
        plan = detours.explain(graph, k, engine=engine)
        planning = time.process_time() - started
        detours.count(small, k, engine=plan.engine)  # loads all compiled code that the count will use
        taken: list[float] = []
        while not taken or (len(taken) < 3 and taken[0] < 1):
            _reset_peak()
            before, started = _status("VmRSS") or _peak(), time.process_time()
            detours.count(graph, k, engine=engine)
            taken.append(time.process_time() - started)
            memory = _peak() - before
        if taken[0] < 10:  # small arrays need another run: freed ones are used again, so that the process does not grow
            memory = _memory(graph, k, engine)
        answer = {"graph": name, "edges": graph.num_edges, "k": k, "engine": plan.engine, "planning": planning}
        answer |= {"expected s": plan.seconds, "measured s": min(taken)}
        answer |= {"expected MB": plan.bytes / 2**20, "measured MB": memory / 2**20}
        print(json.dumps(answer), flush=True)


def _memory(graph: Any, k: int, engine: str) -> int:
    import detours

    if sys.platform == "linux":
        # every array of some size is asked of the system and given back to it, so that the peak is that of this count
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
    asked = parser.parse_args()
    if asked.here:
        measure(asked.graphs[0], asked.k, asked.engine)
        return
    print("| graph | edges | k | engine | expected | measured | ratio | expected MB | measured MB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    ratios = []
    for name in asked.graphs:
        options = ["-k", *map(str, asked.k), "--engine", asked.engine, "--here"]
        command = [sys.executable, "-m", "benchmarks.explain", name, *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                row = json.loads(line)
                pair = [row[f"expected {unit}"] / row[f"measured {unit}"] for unit in ("s", "MB")]
                ratios.append(pair)
                print(
                    f"| {row['graph']} | {row['edges']:,} | {row['k']} | {row['engine']} | {row['expected s']:.3g} s | "
                    f"{row['measured s']:.3g} s | {pair[0]:.2f} | {row['expected MB']:.3g} | {row['measured MB']:.3g} "
                    f"| {pair[1]:.2f} |",
                    flush=True,
                )
    for what, of in (("time", 0), ("memory", 1)):
        low, high = (f([pair[of] for pair in ratios]) for f in (np.min, np.max))
        print(f"expected / measured {what}: {low:.2f} .. {high:.2f}")


if __name__ == "__main__":
    main()
