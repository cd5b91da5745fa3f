"""Fit the prices of the row engine's cost model (detours/counting/cost.py) on this machine.

    python -m benchmarks.calibrate

Times the engine on graphs of four kinds with several layouts and prints the prices that explain the times best.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import cKDTree

from detours import Graph
from detours.counting.engines.base import Tally
from detours.counting.engines.rows.engine import Layout, RowEngine
from detours.counting.engines.rows.estimate import NANOSECONDS, measure_work
from detours.counting.shrink.cyclic_part import reduce

LAYOUTS = [Layout(False, 1), Layout(False, 16), Layout(False, 64), Layout(True, 64)]
LONGEST = 2.0
"""Seconds above which a run is left out."""


def graphs() -> dict[str, Graph]:
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((1200, 1200)) < 0.05, 1)
    skewed = rng.random(3000) ** 3
    hubs = np.triu(rng.random((3000, 3000)) < 0.2 * np.outer(skewed, skewed) ** 0.7, 1)
    points = rng.random((30_000, 2))
    close = cKDTree(points).query_pairs(np.sqrt(10 / np.pi / len(points)), output_type="ndarray")
    targets = (np.arange(40_000) * rng.random((4, 40_000)) ** 2).astype(np.int64)
    pairs = {
        "dense": np.argwhere(dense),
        "hubs": np.argwhere(hubs),
        "close": close,
        "attached": np.stack([np.tile(np.arange(40_000), 4), targets.ravel()], 1),
    }
    return {name: Graph.from_edge_index(np.concatenate([ends.T, ends.T[::-1]], axis=1)) for name, ends in pairs.items()}


def main() -> None:
    work, seconds = [], []
    for name, graph in graphs().items():
        reduced = reduce(graph.indptr, graph.indices)
        for k, word in ((3, np.int32), (4, np.int32), (4, np.int64), (5, np.int64), (6, np.int64)):
            for layout in LAYOUTS:
                engine = RowEngine(reduced, k, word, layout)
                needed, _, _ = measure_work(engine, layout, samples=10**9)
                if needed @ np.array(list(NANOSECONDS.values())) > LONGEST * 1e9 / 3:
                    continue
                taken = []
                for _ in range(2):
                    tally = Tally(np.zeros((graph.num_arcs, k - 1), np.int64), None)
                    started = time.perf_counter()
                    engine.count(tally)
                    taken.append(time.perf_counter() - started)
                work.append(needed)
                seconds.append(min(taken))
                guess = 1e-9 * needed @ np.array(list(NANOSECONDS.values()))
                print(
                    f"{name:9} k={k} {layout} {word.__name__} {min(taken):.3f} s, model {guess / min(taken):.2f} x",
                    flush=True,
                )
    # relative errors: every run counts the same, however long it took
    scaled = np.array(work) * 1e-9 / np.array(seconds)[:, None]
    prices, _ = nnls(scaled, np.ones(len(scaled)))
    for name, price in zip(NANOSECONDS, prices, strict=True):
        print(f'    "{name}": {price:.3g},')
    ratio = scaled @ prices
    print(f"model / measured: {ratio.min():.2f} .. {ratio.max():.2f}")


if __name__ == "__main__":
    main()
