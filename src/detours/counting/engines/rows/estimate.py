"""Expected time and memory of the row engine, from a look at a few blocks of roots.

The prices were fitted to measurements by benchmarks/calibrate.py.  They need to be right only within a small factor:
the ways between which they choose differ by more than that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.counting.derive.vector_program import Combine, Pass, Product, reach_of, slots_of, weightings_of
from detours.counting.engines.rows.engine import Layout, RowEngine

NANOSECONDS = {
    "arc found": 2.0,
    "node found": 2.0,
    "row, near": 4.0,
    "row, far": 15.0,
    "row byte": 0.015,
    "row filled": 6.0,
    "byte filled": 0.035,
    "reading": 25.0,
    "neighbour read, near": 1.0,
    "neighbour read, far": 3.0,
    "edge term": 8.0,
}
"""Finding a neighbourhood; rows of a product, whose vector is in the cache or not; rows of vectors set or combined;
readings at the ends of edges; terms of the closed forms."""

CACHE = 1.5e6
"""Bytes of vectors that stay near the core."""


class Expected(NamedTuple):
    seconds: float
    bytes: int
    share: float
    """How much of the graph a block of roots sees, on average."""


def expect(engine: RowEngine, layout: Layout, n_jobs: int) -> Expected:
    """What the engine would need with this layout."""
    work, rows, largest = measure_work(engine, layout, samples=4 + 32 // layout.lanes)
    arcs = len(engine.pattern.indices)
    seconds = 1e-9 * float(work @ np.array(list(NANOSECONDS.values())))
    size = arcs * _bytes_per_arc(engine) + n_jobs * (largest + 13 * engine.pattern.num_nodes)
    return Expected(seconds / n_jobs, size, rows / engine.pattern.num_nodes)


def _bytes_per_arc(engine: RowEngine) -> int:
    """The graph as the engine holds it, ear sums, link weights, and what is evaluated on whole arcs at a time."""
    derived, word = engine.program.formulas, np.dtype(engine.word).itemsize
    links = max(len(weightings_of(one_pass, derived.directed)) for one_pass in engine.program.passes)
    graph, values = 40, word * (len(derived.ear_sums) + (4 if derived.k > 2 else 0))
    if not derived.directed:
        return graph + values + links * word
    return graph + values + 2 * links * word + 3 * 8 * (derived.k - 1)


def measure_work(engine: RowEngine, layout: Layout, samples: int) -> tuple[NDArray[np.float64], float, int]:
    """How often each price has to be paid, the mean rows of a block and the bytes of the largest, from samples."""
    engine.set_layout(layout)
    begins, chance = _sample_blocks(engine, layout.lanes, samples)
    row_bytes = layout.lanes * np.dtype(engine.word).itemsize
    work, mean, largest = np.zeros(len(NANOSECONDS)), 0.0, 0
    for one_pass in engine.program.passes:
        reach = reach_of(one_pass)
        sizes = engine.survey(begins, reach)
        blocks = np.array([_block(one_pass, reach, row_bytes, *sizes[:, s]) for s in range(len(begins))])
        work += np.mean(blocks / chance[:, None], axis=0)
        mean = max(mean, float(sizes[0, :, reach].mean()))
        rows = min(int(1.5 * sizes[0, :, reach].max()), engine.pattern.num_nodes + 1)
        largest = max(largest, slots_of(one_pass) * rows * row_bytes)
    lengths = engine.program.formulas.lengths
    served = 1 / 2 if engine.program.symmetric else 1
    work[-1] = served * len(engine.pattern.indices) * sum(map(len, lengths.values()))
    return work, mean, largest


def _sample_blocks(engine: RowEngine, lanes: int, samples: int) -> tuple[Int64, NDArray[np.float64]]:
    """Where the sample blocks begin, and the chance of each: by its walks of length two, so that no hub is missed."""
    weight = walks_of_lots(engine, lanes)
    if samples >= len(weight):
        return np.arange(len(weight)) * lanes, np.full(len(weight), 1 / len(weight))
    total = np.cumsum(weight)
    chosen = np.searchsorted(total, (np.arange(samples) + 0.5) / samples * total[-1])
    return chosen * lanes, weight[chosen] / total[-1]


def walks_of_lots(engine: RowEngine, lanes: int) -> NDArray[np.float64]:
    """The walks of length two from the roots of each lot."""
    degree = np.diff(engine.pattern.indptr)
    walks = np.add.reduceat(degree[engine.pattern.indices], engine.pattern.indptr[:-1])[engine.roots]
    return np.add.reduceat(walks, np.arange(0, len(walks), lanes)).astype(np.float64)


def _block(
    one_pass: Pass, reach: int, row_bytes: int, near: Int64, near_arcs: Int64, ends: Int64, ends_arcs: Int64
) -> NDArray[np.float64]:
    """The work of one block of roots of these sizes."""
    all_rows = near[reach]
    rows = filled = 0.0
    for vector in one_pass.vectors:
        pushed = vector.demand > vector.support
        held = near[vector.support] if pushed else ends[min(vector.demand, reach)]
        if isinstance(vector.operation, Combine):
            filled += held * len(vector.operation.terms)
        elif isinstance(vector.operation, Product):
            pull = ends_arcs[min(vector.demand, reach)]
            push = 1.5 * near_arcs[vector.support - 1] if vector.support <= reach else np.inf
            rows += push if pushed else min(push, pull)
        if pushed or not isinstance(vector.operation, Combine):
            filled += all_rows
    masked = sum(reading.weighting is not None for readings in one_pass.readings.values() for reading in readings)
    edges = near_arcs[0] / 2
    neighbours = masked * edges * ends_arcs[1] / max(ends[1], 1)
    near_share = min(1.0, CACHE / (3.0 * all_rows * row_bytes))
    return np.array(
        [
            near_arcs[reach - 1] + ends_arcs[reach - 1],
            all_rows + ends[reach],
            rows * near_share,
            rows * (1 - near_share),
            rows * row_bytes,
            filled,
            filled * row_bytes,
            edges * sum(map(len, one_pass.readings.values())),
            neighbours * near_share,
            neighbours * (1 - near_share),
            0.0,
        ]
    )
