"""Fit the prices of the row engine's cost model (detours/counting/engines/rows/cost.py) on this machine.

    python -m benchmarks.calibrate

Times the engine on graphs of several kinds with several layouts, prints what the prices in force expect, and in the end
the prices that explain the times best. `benchmarks/explain.py` then tells how good they are for whole counts.
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
LONGEST = 6.0
"""Seconds expected of a run above which it is left out."""
TRUST = 0.3
"""How much the prices in force weigh against the measurements, where these do not tell prices apart."""


def graphs() -> Iterator[tuple[str, Csr, list[Layout]]]:
    yield "random", cases.erdos_renyi_dense(1_200, 0.05, seed=0), [NARROW, WIDE, BY_DEGREE]
    yield "hub", cases.power_law(20_000, 100_000, hub=4_000, seed=0), [NARROW, BY_DEGREE]
    yield "geometric", cases.random_geometric(50_000, 250_000, seed=0), [NARROW, WIDE]
    yield "grid", cases.grid(200), [WIDE]
    yield "attached", cases.barabasi_albert(100_000, 10, seed=0), [NARROW, BY_DEGREE]
    yield "web", cases.copied_links(60_000, 10, seed=0), [NARROW, WIDE]


def measure() -> Iterator[tuple[Costs, float]]:
    """The work of each run, from a good look at its blocks, and its processor time."""
    for name, graph, layouts in graphs():
        for k in (2, 3, 4, 5, 6):
            for layout in layouts:
                started = time.process_time()
                reduced = reduce(graph.indptr, graph.indices)
                word = narrowest_dtype(reduced, k)
                count = RowCount.build(reduced, k, word, layout)
                ready = time.process_time() - started
                work = sample_work(count, precision=0.03, effort=0.2).work
                work += work_on_arcs(count, len(graph.indices))
                expected = work.seconds()
                if expected > LONGEST:
                    continue
                taken = []
                for _ in range(3 if expected < 0.3 else 1):
                    started = time.process_time()
                    count.with_layout(layout).run(Tally.new(len(graph.indices), k, directed=False))
                    taken.append(time.process_time() - started)
                seconds = ready + min(taken)
                print(f"{name:10} k={k} {layout} {seconds:.3f} s, expected {expected / seconds:.2f} x", flush=True)
                yield work, seconds


def fit(work: list[Costs], seconds: list[float]) -> Costs:
    """The prices with the least relative errors: every run counts the same, however long it took."""
    in_force = np.array(PRICES)
    scaled = 1e-9 * np.array(work) * in_force / np.array(seconds)[:, None]
    ridge = TRUST * np.eye(len(in_force))
    factors, _ = nnls(
        np.concatenate([scaled, ridge]), np.concatenate([np.ones(len(scaled)), np.full(len(ridge), TRUST)])
    )
    return Costs(*(factors * in_force).tolist())


def main() -> None:
    work, seconds = map(list, zip(*measure(), strict=True))
    prices = fit(work, seconds)
    for name, price in prices._asdict().items():
        print(f"    {name}={price:.3g},")
    ratio = [each.seconds(prices) / taken for each, taken in zip(work, seconds, strict=True)]
    print(f"expected / measured: {min(ratio):.2f} .. {max(ratio):.2f}")


if __name__ == "__main__":
    main()
