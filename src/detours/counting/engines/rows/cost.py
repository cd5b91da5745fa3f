"""Expected time and memory of the row engine, from a look at a few blocks of roots.

`benchmarks/calibrate.py` fits the prices to measured times, `benchmarks/explain.py` compares what comes out with whole
counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.counting.derive.vector_program import Combine, Pass, Product, Program, reach_of, slots_of, weightings_of
from detours.counting.engines.rows import loops_numba as loops
from detours.counting.engines.rows.evaluate import Scratch
from detours.counting.engines.rows.graph import Layout, RowGraph

Floats = NDArray[np.float64]


class Costs(NamedTuple):
    """One number for every kind of work: how often it is done, or the nanoseconds that doing it once takes."""

    arcs_prepared: float = 0.0
    """Arcs of the graph that are found to lie on cycles, sorted and reversed, ..."""
    arcs_scattered: float = 0.0
    """... and those among them whose ends are far apart in memory."""
    arcs_found: float = 0.0
    """Arcs followed to find the neighbourhood of a block of roots, ..."""
    nodes_found: float = 0.0
    """... and nodes found there."""
    rows: float = 0.0
    """Rows added in sparse products, ..."""
    bytes_near: float = 0.0
    """... and their bytes, if the vector stays in the cache of the core, ..."""
    bytes_far: float = 0.0
    """... in the cache that cores share, ..."""
    bytes_away: float = 0.0
    """... or in main memory."""
    multiplications: float = 0.0
    """Products of 64-bit integers, which processors do not take several at a time."""
    rows_filled: float = 0.0
    """Rows of vectors that are set or combined, ..."""
    bytes_filled: float = 0.0
    """... and their bytes."""
    readings: float = 0.0
    """Values read at the ends of edges."""
    neighbours: float = 0.0
    """Neighbours of these ends that a reading adds up, ..."""
    neighbours_away: float = 0.0
    """... and those among them that lie in main memory."""
    edge_terms: float = 0.0
    """Terms of the closed forms, evaluated on every edge."""

    def __add__(self, other: Costs) -> Costs:  # type: ignore[override]
        return Costs(*map(float.__add__, self, other))

    def times(self, factor: float) -> Costs:
        return Costs(*(factor * amount for amount in self))

    def seconds(self, prices: Costs) -> float:
        """The time of this work at these prices."""
        return 1e-9 * sum(amount * price for amount, price in zip(self, prices, strict=True))


PRICES = Costs(
    arcs_prepared=130.0,
    arcs_scattered=250.0,
    arcs_found=1.0,
    nodes_found=5.0,
    rows=6.5,
    bytes_near=0.055,
    bytes_far=0.13,
    bytes_away=0.32,
    multiplications=0.6,
    rows_filled=7.5,
    bytes_filled=0.05,
    readings=20.0,
    neighbours=3.0,
    neighbours_away=5.0,
    edge_terms=6.0,
)
PASS_SECONDS = 250e-6
"""What a pass takes on the smallest graph."""
CORE_CACHE, SHARED_CACHE = 1e6, 16e6
"""Bytes of vectors that stay near the core, and in the cache that cores share."""
LINE = 64
"""Bytes that are read at the least."""

SAMPLES = 5
"""Blocks of roots that are looked at, to begin with; then three times as many, ..."""
PRECISION = 0.1
"""... until the standard error is below this share of the mean, ..."""
EFFORT = 0.02
"""... or looking has taken this share of the time that is expected."""


class Sample(NamedTuple):
    """What a look at some blocks of roots gave."""

    work: Costs
    """Of all blocks and passes, expected."""
    rows: float
    """Nodes near a block of roots, on average."""
    buffer: int
    """Bytes of the vectors of the largest block."""


class Sizes(NamedTuple):
    """How much of the graph a block of roots sees, by distance; see `loops_numba.run_roots`."""

    near: Int64
    near_arcs: Int64
    ends: Int64
    ends_arcs: Int64


def walks_of_blocks(graph: RowGraph, roots: Int64, lanes: int) -> Floats:
    """The walks of length two from the roots of each block."""
    degree = np.diff(graph.indptr)
    walks = np.add.reduceat(degree[graph.indices], graph.indptr[:-1])[roots]
    return np.add.reduceat(walks, np.arange(0, len(walks), lanes)).astype(np.float64)


def work_of_blocks(graph: RowGraph, roots: Int64, lanes: int) -> Floats:
    """The share of each block in the work, roughly: half of it is the same for all, half goes with the walks."""
    walks = walks_of_blocks(graph, roots, lanes)
    share: Floats = (walks / walks.sum() + 1 / len(walks)) / 2
    return share


def sample_work(
    graph: RowGraph, program: Program, word: type, layout: Layout, precision: float = PRECISION, effort: float = EFFORT
) -> Sample:
    """Estimate the work of all blocks of roots from some of them.

    Blocks are drawn by their expected share in the work, at even distances: one that has more than a sample's share,
    such as that of a hub, is always among them. The estimate is the mean of work / chance (Hansen and Hurwitz, 1943).
    """
    roots = graph.roots(layout)
    chance = work_of_blocks(graph, roots, layout.lanes)
    reach = max(map(reach_of, program.passes))
    until, row_bytes, samples = np.cumsum(chance), layout.lanes * np.dtype(word).itemsize, SAMPLES
    while True:
        if samples >= len(chance):
            drawn, share = np.arange(len(chance)), np.full(len(chance), 1 / len(chance))
        else:
            drawn = np.searchsorted(until, (np.arange(samples) + 0.5) / samples * until[-1])
            share = chance[drawn]
        seen = _survey(graph, word, roots, layout.lanes, reach, drawn * layout.lanes)
        work = [_block_work(program, sizes, row_bytes, word is np.int64) for sizes in seen]
        each = np.array([block.seconds(PRICES) for block in work]) / share
        looked_at = sum(float(sizes.near_arcs[reach - 1] + sizes.ends_arcs[reach - 1]) for sizes in seen)
        looking = Costs(arcs_found=2 * looked_at).seconds(PRICES)
        error = each.std() / np.sqrt(len(each)) if samples < len(chance) else 0.0
        if error <= precision * each.mean() or looking > effort * each.mean():
            break
        samples *= 3
    total = sum((block.times(1 / part / len(work)) for block, part in zip(work, share, strict=True)), Costs())
    rows = float(np.mean([sizes.near[reach] for sizes in seen]))
    total += _reading_work(graph, program, rows * row_bytes)
    return Sample(total, rows, max(_buffer(program, sizes, row_bytes) for sizes in seen))


def _survey(graph: RowGraph, word: type, roots: Int64, lanes: int, reach: int, begins: Int64) -> list[Sizes]:
    """What the blocks of roots that begin there see: a run of a program without operations."""
    nothing: NDArray[Any] = np.zeros((0, len(graph.indices)), word)
    code = tuple(np.zeros(shape, np.int64) for shape in ((0, 6), (1,), (0, 6), (0, 4)))
    pendants: NDArray[Any] = np.zeros((0, graph.num_nodes), word)
    stop = np.zeros(1, np.int64)
    scratch = Scratch.for_nodes(graph.num_nodes, word, 0, lanes, graph.num_nodes)
    arrays, found = (graph.indptr, graph.indices, graph.rank, graph.flags), []
    for begin in begins.tolist():
        end = min(begin + lanes, len(roots))
        loops.run_roots(
            arrays, roots, begin, end, lanes, reach, code, (nothing, nothing, pendants), nothing, scratch.arrays,
            scratch.buffer, stop,
        )  # fmt: skip
        found.append(Sizes(*scratch.sizes[:, : reach + 2].copy()))
    return found


def _buffer(program: Program, sizes: Sizes, row_bytes: int) -> int:
    return max(slots_of(one) * int(sizes.near[reach_of(one)]) * row_bytes for one in program.passes)


def _block_work(program: Program, sizes: Sizes, row_bytes: int, long_words: bool) -> Costs:
    return sum((_pass_work(one, sizes, row_bytes, long_words) for one in program.passes), Costs())


def _pass_work(one_pass: Pass, sizes: Sizes, row_bytes: int, long_words: bool) -> Costs:
    """The work of one block of roots in one pass, as `loops_numba.run_roots` does it."""
    near, near_arcs, ends, ends_arcs = sizes
    reach = reach_of(one_pass)
    all_rows = float(near[reach])
    rows = filled = multiplied = 0.0
    in_bytes = {"bytes_near": 0.0, "bytes_far": 0.0, "bytes_away": 0.0}
    for vector in one_pass.vectors:
        demand = min(vector.demand, reach)
        pushed = vector.demand > vector.support
        if isinstance(vector.operation, Combine):
            held = float(near[vector.support] if pushed else ends[demand])
            filled += held * len(vector.operation.terms)
            multiplied += held * sum(len(factors) for _, _, factors in vector.operation.terms)
        elif isinstance(vector.operation, Product):
            pull = float(ends_arcs[demand])
            push = 1.5 * float(near_arcs[vector.support - 1]) if vector.support <= reach else np.inf
            taken = push if pushed else min(push, pull)
            touched = near[min(vector.support, reach)] if taken == push else ends[min(demand + 1, reach)]
            rows += taken
            for level, share in _cache_shares(float(touched) * row_bytes).items():
                in_bytes[level] += taken * share * max(row_bytes, LINE)
            multiplied += 0.0 if vector.operation.weighting.plain else taken
        if pushed or not isinstance(vector.operation, Combine):
            filled += all_rows
    return Costs(
        arcs_found=float(near_arcs[reach - 1] + ends_arcs[reach - 1]),
        nodes_found=all_rows + float(ends[reach]),
        rows=rows,
        multiplications=multiplied * row_bytes / 8 if long_words else 0.0,
        rows_filled=filled,
        bytes_filled=filled * row_bytes,
        **in_bytes,
    )


def _reading_work(graph: RowGraph, program: Program, vector_bytes: float) -> Costs:
    """The work of reading ear sums at the ends of all served arcs; no sample is needed for that."""
    readings = [reading for one in program.passes for share in one.readings.values() for reading in share]
    summed = sum(reading.weighting is not None for reading in readings)
    neighbours = summed * float(np.diff(graph.indptr)[graph.indices[graph.served]].sum())
    return Costs(
        readings=float(len(graph.served) * len(readings)),
        neighbours=neighbours,
        neighbours_away=neighbours * (1 - _cache_shares(vector_bytes)["bytes_near"]),
    )


def _cache_shares(size: float) -> dict[str, float]:
    """Where the bytes of a vector of this size are found."""
    near, cached = min(1.0, CORE_CACHE / size), min(1.0, SHARED_CACHE / size)
    return {"bytes_near": near, "bytes_far": cached - near, "bytes_away": 1 - cached}


def work_on_arcs(arcs: int, graph: RowGraph, program: Program) -> Costs:
    """The work before and after the passes; ``arcs`` are those of the whole graph."""
    terms = sum(map(len, program.formulas.lengths.values()))
    some = slice(None, None, max(1, len(graph.indices) // 4096))
    far = np.abs(graph.source[some] - graph.indices[some]) > CORE_CACHE / 32
    return Costs(
        arcs_prepared=float(arcs),
        arcs_scattered=arcs * float(far.mean()),
        edge_terms=float(len(graph.served) * terms),
    )


def bytes_of_arcs(graph: RowGraph, program: Program, word: type) -> int:
    """Memory for the row graph, ear sums, link weights, and what is evaluated on all arcs together."""
    derived, size = program.formulas, np.dtype(word).itemsize
    links = max(len(weightings_of(one_pass, derived.directed)) for one_pass in program.passes)
    held, values = 32, size * (len(derived.ear_sums) + (3 if derived.k > 4 else 1))
    per_arc = held + values + links * size * (1 + derived.directed)
    return per_arc * len(graph.indices) + 40 * graph.num_nodes
