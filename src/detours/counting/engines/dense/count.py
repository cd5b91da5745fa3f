"""Closed forms on dense matrices, block by block.

A detour never leaves its biconnected block, so every block is a separate graph. Blocks of similar size are stacked and
share every step; smaller ones are padded with isolated nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.counting.derive.matrix_program import contraction
from detours.counting.derive.matrix_steps import Contraction
from detours.counting.engines.base import Tally
from detours.counting.engines.dense.estimate import Size, expected_bytes, expected_seconds, seconds_of_steps
from detours.counting.engines.dense.evaluate import Crew, Stack, evaluate_tied
from detours.counting.engines.overflow import check_fits, walks_from
from detours.counting.engines.threads import Progress, Stop, one_blas_thread, run_ranges
from detours.counting.shrink.cyclic_part import Reduced

STACK = 2**17  # most entries of a stack of small blocks, so that it stays in the cache
SIMILAR = 0.85  # blocks with at least this share of the nodes of the largest are stacked with it
LONG = 1.0  # seconds from which all threads share a bundle, in ranges of rows


class Bundle(NamedTuple):
    """Blocks that are evaluated together."""

    blocks: Int64
    size: Size

    def longest(self, k: int) -> int:
        """The longest detours possible: a block of n nodes has none of more than n - 1 edges."""
        return min(k, self.size.nodes - 1)


class DenseCount:
    """One count."""

    def __init__(self, reduced: Reduced, k: int) -> None:
        check_counts(reduced, k)
        self.reduced, self.k = reduced, k
        self.bundles = list(_bundles(reduced))
        self.source = np.repeat(np.arange(reduced.num_nodes), np.diff(reduced.indptr))

    def seconds(self, n_jobs: int = 1) -> float:
        """Return the approximate time: all threads share each long bundle, and then each takes some of the others."""
        short, total = [0.0], 0.0
        for bundle, seconds in zip(self.bundles, self.seconds_of_bundles, strict=True):
            if seconds < LONG:
                short.append(seconds)
            else:
                total += expected_seconds(self.steps(bundle), bundle.size, n_jobs)
        return total + max(sum(short) / n_jobs, max(short))

    def bytes(self, n_jobs: int = 1) -> int:
        """Return the approximate memory in addition to the counts themselves."""
        single, shared = (
            [expected_bytes(self.steps(bundle), bundle.size, n_jobs=threads) for bundle in self.bundles]
            for threads in (1, n_jobs)
        )
        long = (size for size, seconds in zip(shared, self.seconds_of_bundles, strict=True) if seconds >= LONG)
        return max(sum(sorted(single)[-n_jobs:]), max(long, default=0)) + 8 * self.reduced.num_arcs

    @cached_property
    def seconds_of_bundles(self) -> list[float]:
        return [expected_seconds(self.steps(bundle), bundle.size) for bundle in self.bundles]

    def steps(self, bundle: Bundle) -> Contraction:
        return contraction(bundle.longest(self.k), self.reduced.directed)

    def run(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        """All threads share each long bundle; then each takes some of the others."""
        seconds, total = self.seconds_of_bundles, len(self.bundles)
        order = sorted(range(total), key=lambda index: seconds[index] < LONG)
        long = sum(each >= LONG for each in seconds)
        ends = np.cumsum([0.0] + [seconds[index] for index in order])

        def report(done: float) -> None:
            if progress is not None:
                progress(total * min(1.0, done / ends[-1]), total)

        def work(worker: None, first: int, last: int, stop: Stop) -> None:
            for index in order[long + first : long + last]:
                self.count_bundle(self.bundles[index], tally, stop)

        with one_blas_thread():
            for position, index in enumerate(order[:long]):
                crew = self.crew(self.bundles[index], n_jobs, float(ends[position]), report)
                self.count_bundle(self.bundles[index], tally, np.zeros(1, np.int64), crew)
                report(ends[position + 1])
            run_ranges(total - long, 1, work, lambda: None, n_jobs, lambda done, _: report(ends[long + int(done)]))

    def crew(self, bundle: Bundle, n_jobs: int, start: float, report: Callable[[float], None]) -> Crew:
        """Threads that share a bundle, and report its progress in expected seconds, counted from ``start``."""
        seconds = seconds_of_steps(self.steps(bundle), bundle.size)
        starts = np.cumsum([start, *seconds])
        return Crew(n_jobs, lambda step, share: report(float(starts[step] + share * seconds[step])))

    def count_bundle(self, bundle: Bundle, tally: Tally, stop: Stop, crew: Crew | None = None) -> None:
        """Count the detours of a bundle; returns between two lengths when ``stop[0]`` is set."""
        reduced, n = self.reduced, bundle.size.nodes
        starts = reduced.block_ptr[bundle.blocks]
        arcs, graph = _ranges(reduced.indptr[starts], reduced.indptr[reduced.block_ptr[bundle.blocks + 1]])
        i, j = self.source[arcs] - starts[graph], reduced.indices[arcs] - starts[graph]
        forward, arc = (graph * n + i) * n + j, reduced.arc[arcs]
        if not reduced.directed:
            for length, counts in self.evaluate(bundle, forward, crew):
                if stop[0]:
                    return
                tally.by_length[arc, length - 2] = counts
            return
        backward = (graph * n + j) * n + i
        tied = np.union1d(forward, backward)
        forward_index, backward_index = np.searchsorted(tied, forward), np.searchsorted(tied, backward)
        for length, counts in self.evaluate(bundle, forward, crew):
            if stop[0]:
                return
            tally.by_length[arc, length - 2] = counts[forward_index]
            if tally.cycles is not None:
                tally.cycles[arc, length - 2] = counts[backward_index]

    def evaluate(self, bundle: Bundle, forward: Int64, crew: Crew | None = None) -> Iterator[tuple[int, Int64]]:
        """Yield each length with its counts for the tied pairs; ``forward``: the flat positions of the arcs."""
        adjacency = np.zeros((bundle.size.graphs, bundle.size.nodes, bundle.size.nodes))
        adjacency.reshape(-1)[forward] = 1
        return evaluate_tied(self.steps(bundle), Stack(adjacency, self.reduced.directed), crew)


def check_counts(reduced: Reduced, k: int) -> None:
    """Raise `OverflowError` if a count could exceed 2^63."""
    if int(np.diff(reduced.indptr).max(initial=0)) ** (k - 1) >= 2**63:
        check_fits(walks_from(reduced.indptr, reduced.indices, k - 1, reduced.directed), k)


def _bundles(reduced: Reduced) -> Iterator[Bundle]:
    if reduced.num_blocks == 0:
        return iter(())
    degree, starts = np.diff(reduced.indptr), reduced.block_ptr[:-1]
    arcs, largest = np.add.reduceat(degree, starts), np.maximum.reduceat(degree, starts)
    cubes = np.add.reduceat(degree.astype(np.float64) ** 3, starts)
    return bundles(np.diff(reduced.block_ptr), arcs, largest, cubes, STACK, SIMILAR)


def bundles(
    nodes: Int64, arcs: NDArray[Any], largest: NDArray[Any], cubes: NDArray[Any], entries: int, share: float
) -> Iterator[Bundle]:
    """Bundle the blocks, given statistics of each; large ones first, so that threads finish together."""
    order = np.argsort(-nodes, kind="stable")
    descending, start = -nodes[order], 0
    while start < len(order):
        size = int(nodes[order[start]])
        similar = int(np.searchsorted(descending, -share * size, side="right"))
        blocks = order[start : min(similar, start + max(1, entries // size**2))]
        start += len(blocks)
        totals = int(arcs[blocks].sum()), int(largest[blocks].max()), float(cubes[blocks].sum())
        yield Bundle(blocks, Size(len(blocks), size, *totals))


def _ranges(starts: Int64, ends: Int64) -> tuple[Int64 | slice, Int64 | int]:
    """The indices in the ranges starts[0] .. ends[0] - 1, starts[1] .. ends[1] - 1, and so on, and the range of each;
    a slice and 0 if there is only one range."""
    if len(starts) == 1:
        return slice(int(starts[0]), int(ends[0])), 0
    sizes = ends - starts
    range_of = np.repeat(np.arange(len(starts)), sizes)
    return np.arange(len(range_of)) + (starts - np.cumsum(sizes) + sizes)[range_of], range_of
