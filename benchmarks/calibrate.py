"""Fit the prices of the row engine's cost model (detours/counting/engines/rows/cost.py) on this machine.

    python -m benchmarks.calibrate

Times the engine on several kinds of graphs with several layouts, compares with the estimates of the current prices, and
finally prints the prices that fit the times best. `benchmarks/explain.py` then shows how good they are for full counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from scipy.optimize import nnls

from benchmarks import cases
from benchmarks.cases import Csr
from detours.counting.engines.base import Tally
from detours.counting.engines.overflow import narrowest_dtype
from detours.counting.engines.rows.cost import PRICES, Costs, sample_work, work_on_arcs
from detours.counting.engines.rows.evaluate import RowCount
from detours.counting.engines.rows.graph import Layout
from detours.counting.shrink.cyclic_part import reduce

NARROW, WIDE, BY_DEGREE = Layout(False, 16), Layout(False, 64), Layout(True, 64)
MAX_SECONDS = 6.0
"""Runs with a longer estimate are skipped."""
RIDGE = 0.3
"""Weight of the current prices against the measurements, for prices that the measurements do not determine."""


def graphs() -> Iterator[tuple[str, Csr, list[Layout]]]:
    yield "random", cases.erdos_renyi_dense(1_200, 0.05, seed=0), [NARROW, WIDE, BY_DEGREE]
    yield "hub", cases.power_law(20_000, 100_000, hub=4_000, seed=0), [NARROW, BY_DEGREE]
    yield "geometric", cases.random_geometric(50_000, 250_000, seed=0), [NARROW, WIDE]
    yield "grid", cases.grid(200), [WIDE]
    yield "attached", cases.barabasi_albert(100_000, 10, seed=0), [NARROW, BY_DEGREE]
    yield "web", cases.copied_links(60_000, 10, seed=0), [NARROW, WIDE]


def measure() -> Iterator[tuple[Costs, float]]:
    """Yield the work of each run, from a thorough sample of its blocks, and its CPU time."""
    for name, graph, layouts in graphs():
        for k in (2, 3, 4, 5, 6):
            for layout in layouts:
                start = time.process_time()
                reduced = reduce(graph.indptr, graph.indices)
                word = narrowest_dtype(reduced, k)
                count = RowCount.build(reduced, k, word, layout)
                preparation = time.process_time() - start
                work = sample_work(count, precision=0.03, effort=0.2).work
                work += work_on_arcs(count, len(graph.indices))
                expected = work.seconds()
                if expected > MAX_SECONDS:
                    continue
                times = []
                for _ in range(3 if expected < 0.3 else 1):
                    start = time.process_time()
                    count.with_layout(layout).run(Tally.new(len(graph.indices), k, directed=False))
                    times.append(time.process_time() - start)
                seconds = preparation + min(times)
                print(f"{name:10} k={k} {layout} {seconds:.3f} s, expected {expected / seconds:.2f} x", flush=True)
                yield work, seconds


def fit(work: list[Costs], seconds: list[float]) -> Costs:
    """Fit prices by least squares of relative errors, so that short and long runs weigh the same."""
    current = np.array(PRICES)
    scaled = 1e-9 * np.array(work) * current / np.array(seconds)[:, None]
    ridge = RIDGE * np.eye(len(current))
    factors, _ = nnls(
        np.concatenate([scaled, ridge]), np.concatenate([np.ones(len(scaled)), np.full(len(ridge), RIDGE)])
    )
    return Costs(*(factors * current).tolist())


def main() -> None:
    work, seconds = map(list, zip(*measure(), strict=True))
    prices = fit(work, seconds)
    for name, price in prices._asdict().items():
        print(f"    {name}={price:.3g},")
    ratios = [costs.seconds(prices) / measured for costs, measured in zip(work, seconds, strict=True)]
    print(f"expected / measured: {min(ratios):.2f} .. {max(ratios):.2f}")


if __name__ == "__main__":
    main()
