"""Closed forms on whole matrices, block by block.

A detour never leaves its biconnected block, so every block is a graph of its own. Blocks of similar size are stacked
and share every step; a smaller one is filled up with nodes that have no arcs.
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

STACK = 2**17  # entries of a stack of small blocks: a matrix of them stays in the cache
SIMILAR = 0.85  # a block of this share of the nodes still goes into the stack of a larger one
LONG = 1.0  # seconds from which a bundle is shared by all threads, in ranges of rows


class Bundle(NamedTuple):
    """Blocks that are evaluated together."""

    blocks: Int64
    size: Size

    def longest(self, k: int) -> int:
        """No detour of a block has more edges than the block has further nodes."""
        return min(k, self.size.nodes - 1)


class DenseCount:
    """One count."""

    def __init__(self, reduced: Reduced, k: int) -> None:
        check_counts(reduced, k)
        self.reduced, self.k = reduced, k
        self.bundles = list(_bundles(reduced))
        self.source = np.repeat(np.arange(reduced.num_nodes), np.diff(reduced.indptr))

    def seconds(self, n_jobs: int = 1) -> float:
        """Return about how long the evaluation takes: a bundle is the work of one thread, unless it takes long."""
        short, total = [0.0], 0.0
        for bundle, seconds in zip(self.bundles, self.seconds_of_bundles, strict=True):
            if seconds < LONG:
                short.append(seconds)
            else:
                total += expected_seconds(self.steps(bundle), bundle.size, n_jobs)
        return total + max(sum(short) / n_jobs, max(short))

    def bytes(self, n_jobs: int = 1) -> int:
        """Return about how much memory it takes besides the counts themselves."""
        alone, shared = (
            [expected_bytes(self.steps(bundle), bundle.size, n_jobs=threads) for bundle in self.bundles]
            for threads in (1, n_jobs)
        )
        long = (size for size, seconds in zip(shared, self.seconds_of_bundles, strict=True) if seconds >= LONG)
        return max(sum(sorted(alone)[-n_jobs:]), max(long, default=0)) + 8 * self.reduced.num_arcs

    @cached_property
    def seconds_of_bundles(self) -> list[float]:
        return [expected_seconds(self.steps(bundle), bundle.size) for bundle in self.bundles]

    def steps(self, bundle: Bundle) -> Contraction:
        return contraction(bundle.longest(self.k), self.reduced.directed)

    def run(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        """All threads share each bundle that takes long; then each takes some of the others."""
        seconds, total = self.seconds_of_bundles, len(self.bundles)
        order = sorted(range(total), key=lambda number: seconds[number] < LONG)
        long = sum(each >= LONG for each in seconds)
        ends = np.cumsum([0.0] + [seconds[number] for number in order])

        def report(done: float) -> None:
            if progress is not None:
                progress(total * min(1.0, done / ends[-1]), total)

        def work(worker: None, first: int, last: int, stop: Stop) -> None:
            for number in order[long + first : long + last]:
                self.count_bundle(self.bundles[number], tally, stop)

        with one_blas_thread():
            for place, number in enumerate(order[:long]):
                crew = self.crew(self.bundles[number], n_jobs, float(ends[place]), report)
                self.count_bundle(self.bundles[number], tally, np.zeros(1, np.int64), crew)
                report(ends[place + 1])
            run_ranges(total - long, 1, work, lambda: None, n_jobs, lambda done, _: report(ends[long + int(done)]))

    def crew(self, bundle: Bundle, n_jobs: int, begin: float, report: Callable[[float], None]) -> Crew:
        """Threads that share a bundle, and report its seconds that are done, counted from ``begin``."""
        each = seconds_of_steps(self.steps(bundle), bundle.size)
        before = np.cumsum([begin, *each])
        return Crew(n_jobs, lambda number, share: report(float(before[number] + share * each[number])))

    def count_bundle(self, bundle: Bundle, tally: Tally, stop: Stop, crew: Crew | None = None) -> None:
        """Count the detours of some blocks; given up between two lengths when ``stop[0]`` is set."""
        reduced, n = self.reduced, bundle.size.nodes
        starts = reduced.block_ptr[bundle.blocks]
        arcs, graph = _ranges(reduced.indptr[starts], reduced.indptr[reduced.block_ptr[bundle.blocks + 1]])
        i, j = self.source[arcs] - starts[graph], reduced.indices[arcs] - starts[graph]
        ahead, arc = (graph * n + i) * n + j, reduced.arc[arcs]
        if not reduced.directed:
            for length, counts in self.evaluate(bundle, ahead, crew):
                if stop[0]:
                    return
                tally.by_length[arc, length - 2] = counts
            return
        back = (graph * n + j) * n + i
        tied = np.union1d(ahead, back)
        at_ahead, at_back = np.searchsorted(tied, ahead), np.searchsorted(tied, back)
        for length, counts in self.evaluate(bundle, ahead, crew):
            if stop[0]:
                return
            tally.by_length[arc, length - 2] = counts[at_ahead]
            if tally.cycles is not None:
                tally.cycles[arc, length - 2] = counts[at_back]

    def evaluate(self, bundle: Bundle, ahead: Int64, crew: Crew | None = None) -> Iterator[tuple[int, Int64]]:
        """Length by length the counts for the pairs that an arc joins; ``ahead`` are the flat positions of the arcs."""
        adjacency = np.zeros((bundle.size.graphs, bundle.size.nodes, bundle.size.nodes))
        adjacency.reshape(-1)[ahead] = 1
        return evaluate_tied(self.steps(bundle), Stack(adjacency, self.reduced.directed), crew)


def check_counts(reduced: Reduced, k: int) -> None:
    """Raise `OverflowError` if a count could pass 2^63."""
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
    """All blocks, given figures of each, large ones first, so that threads end together."""
    order = np.argsort(-nodes, kind="stable")
    falling, begin = -nodes[order], 0
    while begin < len(order):
        most = int(nodes[order[begin]])
        similar = int(np.searchsorted(falling, -share * most, side="right"))
        blocks = order[begin : min(similar, begin + max(1, entries // most**2))]
        begin += len(blocks)
        totals = int(arcs[blocks].sum()), int(largest[blocks].max()), float(cubes[blocks].sum())
        yield Bundle(blocks, Size(len(blocks), most, *totals))


def _ranges(begins: Int64, ends: Int64) -> tuple[Int64 | slice, Int64 | int]:
    """The numbers begins[0] .. ends[0] - 1, begins[1] .. ends[1] - 1, and so on, and which range each is from; a slice
    and 0 where there is but one range."""
    if len(begins) == 1:
        return slice(int(begins[0]), int(ends[0])), 0
    sizes = ends - begins
    which = np.repeat(np.arange(len(begins)), sizes)
    return np.arange(len(which)) + (begins - np.cumsum(sizes) + sizes)[which], which
