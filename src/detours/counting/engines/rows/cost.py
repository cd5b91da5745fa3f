"""Expected time and memory of the row engine, from a sample of blocks of roots.

`benchmarks/calibrate.py` fits the prices to measured times, `benchmarks/explain.py` compares the estimates with
complete counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from detours.arrays import Float64, Int64
from detours.counting.derive.vector_program import Combine, Pass, Product, Program
from detours.counting.engines.rows.evaluate import RowCount, RunningPass
from detours.counting.engines.rows.graph import RowGraph

Amount = Any  # a float, or an array with one entry per block of roots


class Costs(NamedTuple):
    """Amounts of each kind of work, or the price of each in nanoseconds."""

    arcs_prepared: Amount = 0.0  # arcs of the whole graph: tested for cycles, sorted and reversed
    arcs_scattered: Amount = 0.0  # arcs among them whose ends are far apart in memory
    arcs_found: Amount = 0.0  # arcs traversed to find the neighbourhood of a block
    nodes_found: Amount = 0.0  # nodes in this neighbourhood
    rows: Amount = 0.0  # rows added in sparse products
    bytes_near: Amount = 0.0  # bytes of these rows in the cache of the core,
    bytes_far: Amount = 0.0  # in the cache that cores share,
    bytes_away: Amount = 0.0  # and in main memory
    multiplications: Amount = 0.0  # products of 64-bit integers, which processors do not vectorise
    rows_filled: Amount = 0.0  # rows of vectors that are set or combined
    bytes_filled: Amount = 0.0  # bytes of these
    readings: Amount = 0.0  # values read at the ends of edges
    neighbours: Amount = 0.0  # neighbours of these ends that a reading sums over
    neighbours_away: Amount = 0.0  # neighbours among them that are in main memory
    edge_terms: Amount = 0.0  # terms of the closed forms, evaluated on every edge

    def __add__(self, other: Costs) -> Costs:  # type: ignore[override]
        return Costs(*(a + b for a, b in zip(self, other, strict=True)))

    def seconds(self, prices: Costs | None = None) -> Amount:
        """Return the time of this work, at the default prices unless others are given."""
        return 1e-9 * sum(amount * price for amount, price in zip(self, prices or PRICES, strict=True))


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
CORE_CACHE, SHARED_CACHE = 1e6, 16e6  # bytes of vectors that stay in the cache of a core, and in the shared one
LINE = 64  # bytes of a cache line: the least that is read, unless
FIRST_CACHE = 32e3  # the vectors fit into the first-level cache

SAMPLES = 5  # blocks of roots in the first sample; each further sample is three times as large, until
PRECISION = 0.1  # the standard error is below this fraction of the mean, or
EFFORT = 0.006  # sampling would take more than this fraction of the expected time of the count
SURVEY_SECONDS = 30e-6  # time to survey a block, however small


class Sample(NamedTuple):
    """The estimate for all blocks of roots."""

    work: Costs
    rows: float  # nodes near a block, on average
    buffer: int  # bytes of the vectors of the largest block


class Sizes(NamedTuple):
    """Sizes of the neighbourhoods of some blocks of roots: arrays [distance, block]; see `tables.Space`."""

    near: Int64
    near_arcs: Int64
    ends: Int64
    ends_arcs: Int64


def work_of_blocks(graph: RowGraph, roots: Int64, lanes: int) -> Float64:
    """Return the approximate share of each block in the work: half of it uniform, half by walks of length two."""
    walks = np.add.reduceat(graph.walks[roots], np.arange(0, len(roots), lanes))
    share: Float64 = (walks / walks.sum() + 1 / len(walks)) / 2
    return share


def sample_work(count: RowCount, precision: float = PRECISION, effort: float = EFFORT) -> Sample:
    """Estimate the work of all blocks of roots from some of them.

    Blocks are drawn systematically, with probability proportional to their expected share in the work: one with a very
    large share, such as that of a hub, is always included. The estimate is the mean of work / probability (Hansen and
    Hurwitz, 1943).
    """
    passes, lanes = count.program.passes, count.layout.lanes
    chance = work_of_blocks(count.graph, count.roots, lanes)
    row_bytes, samples, surveyed = lanes * np.dtype(count.word).itemsize, SAMPLES, dict[int, Int64]()
    reach = max(each.reach for each in passes)
    while True:
        drawn, share = _draw(chance, samples)
        _survey_blocks(count, reach, drawn.tolist(), surveyed)
        sizes = Sizes(*np.stack([surveyed[block] for block in drawn.tolist()], axis=-1))
        work = [_pass_work(each, sizes, row_bytes, count.word is np.int64) for each in passes]
        total = sum(work[1:], work[0])
        seconds = total.seconds() / share
        arcs = (sizes.near_arcs + sizes.ends_arcs)[reach - 1].sum()
        sampling_seconds = SURVEY_SECONDS * len(drawn) + Costs(arcs_found=2 * arcs).seconds()
        error = 0.0 if len(drawn) == len(chance) else seconds.std() / np.sqrt(samples)
        if error <= precision * seconds.mean() or 2 * sampling_seconds > effort * seconds.mean():
            break
        samples *= 3  # the larger sample contains the smaller one
    rows = float(sizes.near[reach].mean())
    buffer = max(int(each.slots * sizes.near[each.reach].max()) * row_bytes for each in passes)
    expected = Costs(*(float(np.mean(amount / share)) for amount in total))
    return Sample(expected + _reading_work(count.graph, count.program, rows * row_bytes), rows, buffer)


def _draw(chance: Float64, samples: int) -> tuple[Int64, Float64]:
    """Return a sample of blocks, each from the middle of an equal share of the work, and their probabilities."""
    if samples >= len(chance):
        return np.arange(len(chance)), np.full(len(chance), 1 / len(chance))
    cumulative = np.cumsum(chance)
    drawn = np.searchsorted(cumulative, (np.arange(samples) + 0.5) / samples * cumulative[-1])
    return drawn, chance[drawn]


def _survey_blocks(count: RowCount, reach: int, blocks: list[int], surveyed: dict[int, Int64]) -> None:
    """Find the sizes of blocks not surveyed yet, by a pass without vectors."""
    survey, lanes = RunningPass(count, Pass([], {}), reach), count.layout.lanes
    scratch = survey.scratch(rows=count.graph.num_nodes)
    for block in blocks:
        if block not in surveyed:
            survey.run(scratch, block * lanes, min((block + 1) * lanes, len(count.roots)), np.zeros(1, np.int64))
            surveyed[block] = scratch.sizes.copy()


def _pass_work(one_pass: Pass, sizes: Sizes, row_bytes: int, long_words: bool) -> Costs:
    """Return the work of blocks of roots in one pass, as `loops_numba.run_roots` does it."""
    near, near_arcs, ends, ends_arcs = sizes
    reach = one_pass.reach
    all_rows: Amount = near[reach].astype(np.float64)
    rows, filled, multiplied = (np.zeros_like(all_rows) for _ in range(3))
    bytes_by_level = [np.zeros_like(all_rows) for _ in range(3)]
    for vector in one_pass.vectors:
        demand = min(vector.demand, reach)
        pushed = vector.demand > vector.support
        if isinstance(vector.operation, Combine):
            num_rows = near[vector.support] if pushed else ends[demand]
            filled += num_rows * len(vector.operation.terms)
            multiplied += num_rows * sum(len(factors) for _, _, factors in vector.operation.terms)
        elif isinstance(vector.operation, Product):
            pull = ends_arcs[demand]
            push = 1.5 * near_arcs[vector.support - 1] if vector.support <= reach else np.full_like(all_rows, np.inf)
            rows_added = push if pushed else np.minimum(push, pull)
            touched = np.where(rows_added == push, near[min(vector.support, reach)], ends[min(demand + 1, reach)])
            rows += rows_added
            at_least = np.where(touched * row_bytes <= FIRST_CACHE, row_bytes, max(row_bytes, LINE))
            for level_bytes, share in zip(bytes_by_level, _cache_shares(touched * row_bytes), strict=True):
                level_bytes += rows_added * share * at_least
            if not vector.operation.weighting.plain:
                multiplied += rows_added
        if pushed or not isinstance(vector.operation, Combine):
            filled += all_rows
    return Costs(
        arcs_found=near_arcs[reach - 1] + ends_arcs[reach - 1],
        nodes_found=all_rows + ends[reach],
        rows=rows,
        bytes_near=bytes_by_level[0],
        bytes_far=bytes_by_level[1],
        bytes_away=bytes_by_level[2],
        multiplications=multiplied * row_bytes / 8 if long_words else 0.0,
        rows_filled=filled,
        bytes_filled=filled * row_bytes,
    )


def _reading_work(graph: RowGraph, program: Program, vector_bytes: float) -> Costs:
    """Return the work of reading ear sums at the ends of all served arcs, which needs no sample."""
    readings = [reading for one in program.passes for share in one.readings.values() for reading in share]
    neighbours = sum(reading.weighting is not None for reading in readings) * graph.neighbours_of_ends
    return Costs(
        readings=float(len(graph.served) * len(readings)),
        neighbours=neighbours,
        neighbours_away=neighbours * (1 - _cache_shares(vector_bytes)[0]),
    )


def _cache_shares(size: Amount) -> tuple[Amount, Amount, Amount]:
    """Return the shares of a vector of this size in the cache of the core, in the shared cache, and in main memory."""
    near, cached = np.minimum(1.0, CORE_CACHE / size), np.minimum(1.0, SHARED_CACHE / size)
    return near, cached - near, 1 - cached


def work_on_arcs(count: RowCount, arcs: int) -> Costs:
    """Return the work before and after the passes; ``arcs`` is the number of arcs of the whole graph."""
    graph, terms = count.graph, sum(map(len, count.program.formulas.lengths.values()))
    sample_arcs = slice(None, None, max(1, len(graph.indices) // 4096))
    scattered = arcs * float((np.abs(graph.source[sample_arcs] - graph.indices[sample_arcs]) > CORE_CACHE / 32).mean())
    return Costs(arcs_prepared=float(arcs), arcs_scattered=scattered, edge_terms=float(len(graph.served) * terms))


def bytes_of_arcs(count: RowCount) -> int:
    """Return the memory for the row graph, ear sums, link weights, and values on all arcs."""
    derived, size = count.program.formulas, np.dtype(count.word).itemsize
    links = max(len(one_pass.weightings(derived.directed)) for one_pass in count.program.passes)
    graph, values = 32, size * (len(derived.ear_sums) + (3 if derived.k > 4 else 1))
    per_arc = graph + values + links * size * (1 + derived.directed)
    return per_arc * len(count.graph.indices) + 40 * count.graph.num_nodes
