"""Dense engine: closed forms on whole matrices, block by block, exact for k <= 8.

A detour never leaves its biconnected block, so every block is a graph of its own. Blocks of similar size are stacked
and share every step; a smaller one is filled up with nodes that have no arcs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from detours.counting import device as device_module
from detours.counting.blas import one_thread
from detours.counting.contraction import MAX_LENGTH, contraction
from detours.counting.csr import Int64
from detours.counting.device import count_tied, device_bytes, device_seconds
from detours.counting.engine import Tally
from detours.counting.evaluate import Size, Stack, evaluate_tied, expected_bytes, expected_seconds
from detours.counting.parallel import Progress, Stop, run_ranges
from detours.counting.reduce import Reduced
from detours.counting.steps import Contraction
from detours.counting.walks import check_fits, walks_from
from detours.errors import EngineError

STACK = 2**17
"""Entries of a stack of small blocks: a matrix of them stays in the cache."""
SIMILAR = 0.85
"""A block of this share of the nodes still goes into the stack of a larger one."""

SECONDS_PER_ARC = 200e-9
"""For finding the place of every arc in the matrices, and its counts there."""


class Bundle(NamedTuple):
    """Blocks that are evaluated together."""

    blocks: Int64
    size: Size


class DenseEngine:
    """One count by closed forms on dense matrices: NumPy's, or those of torch on a device."""

    name = "dense"
    fills = False

    def __init__(self, reduced: Reduced, k: int, device: str | None = None) -> None:
        if k > MAX_LENGTH:
            raise EngineError(
                f"engine='dense' has closed forms up to k = {MAX_LENGTH}, not for k = {k}; "
                "use engine='search' or 'auto'"
            )
        if int(np.diff(reduced.indptr).max(initial=0)) ** (k - 1) >= 2**63:
            check_fits(walks_from(reduced.indptr, reduced.indices, k - 1, reduced.directed), k)
        self.reduced, self.k, self.device = reduced, k, device
        self.bundles = list(_bundles(reduced, device))
        self.source = np.repeat(np.arange(reduced.num_nodes), np.diff(reduced.indptr))

    def count(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        total = len(self.bundles)
        report: Callable[[float], None] | None = None
        if progress is not None:
            report = lambda done: progress(done, total)  # noqa: E731

        def work(worker: None, first: int, last: int, stop: Stop) -> None:
            for bundle in self.bundles[first:last]:
                self.count_bundle(bundle, tally, stop)

        if self.device is not None:  # one device, whose own threads do the work
            run_ranges(total, 1, work, lambda: None, 1, report)
            return
        with one_thread():
            run_ranges(total, 1, work, lambda: None, n_jobs, report)

    def count_bundle(self, bundle: Bundle, tally: Tally, stop: Stop) -> None:
        """Count the detours of some blocks; given up between two lengths when ``stop[0]`` is set."""
        reduced, n = self.reduced, bundle.size.nodes
        starts = reduced.block_ptr[bundle.blocks]
        arcs, graph = _ranges(reduced.indptr[starts], reduced.indptr[reduced.block_ptr[bundle.blocks + 1]])
        i, j = self.source[arcs] - starts[graph], reduced.indices[arcs] - starts[graph]
        ahead, arc = (graph * n + i) * n + j, reduced.arc[arcs]
        if not reduced.directed:
            for columns, counts in self.evaluate(bundle, ahead, None):
                if stop[0]:
                    return
                tally.by_length[arc, columns] = counts
            return
        back = (graph * n + j) * n + i
        tied = np.union1d(ahead, back)
        at_ahead, at_back = np.searchsorted(tied, ahead), np.searchsorted(tied, back)
        for columns, counts in self.evaluate(bundle, tied, at_ahead):
            if stop[0]:
                return
            tally.by_length[arc, columns] = counts[at_ahead]
            if tally.cycles is not None:
                tally.cycles[arc, columns] = counts[at_back]

    def evaluate(self, bundle: Bundle, tied: Int64, ahead: Int64 | None) -> Iterator[tuple[int | slice, Int64]]:
        """The counts for the pairs that an arc joins, flat positions in ascending order, and the columns they are for:
        length by length, or from a device all at once. ``ahead`` tells which pairs are arcs i -> j, all if None."""
        steps = contraction(_longest(bundle, self.k), self.reduced.directed)
        shape = (bundle.size.graphs, bundle.size.nodes, bundle.size.nodes)
        if self.device is not None:
            counts = count_tied(steps, tied, ahead, *shape[:2], self.device)
            yield slice(counts.shape[1]), counts
            return
        adjacency = np.zeros(shape)
        adjacency.reshape(-1)[tied if ahead is None else tied[ahead]] = 1
        for length, of_length in evaluate_tied(steps, Stack(adjacency, self.reduced.directed)):
            yield length - 2, of_length


def dense_seconds(reduced: Reduced, k: int, n_jobs: int = 1, device: str | None = None) -> float:
    """About how long the engine takes, before anything is made ready."""
    if device is not None:
        return sum(device_seconds(steps, size, device) for steps, size in _work(reduced, k, device))
    each = [expected_seconds(steps, size) for steps, size in _work(reduced, k, device)]
    # a block is the work of one thread
    return SECONDS_PER_ARC * reduced.num_arcs + max(sum(each) / n_jobs, max(each, default=0))


def dense_bytes(reduced: Reduced, k: int, n_jobs: int = 1, device: str | None = None) -> int:
    """About how much memory the engine takes besides the counts themselves, on the device if there is one."""
    if device is not None:
        return max((device_bytes(steps, size) for steps, size in _work(reduced, k, device)), default=0)
    sizes = [expected_bytes(steps, size) for steps, size in _work(reduced, k, device)]
    return sum(sorted(sizes)[-n_jobs:]) + 8 * reduced.num_arcs


def _work(reduced: Reduced, k: int, device: str | None) -> Iterator[tuple[Contraction, Size]]:
    for bundle in _bundles(reduced, device):
        yield contraction(_longest(bundle, k), reduced.directed), bundle.size


def _longest(bundle: Bundle, k: int) -> int:
    """No detour of a block has more edges than the block has further nodes."""
    return min(k, bundle.size.nodes - 1)


def _bundles(reduced: Reduced, device: str | None) -> Iterator[Bundle]:
    """All blocks, large ones first, so that threads end together."""
    if reduced.num_blocks == 0:
        return
    entries, share = (STACK, SIMILAR) if device is None else (device_module.STACK, device_module.SIMILAR)
    degree, starts = np.diff(reduced.indptr), reduced.block_ptr[:-1]
    nodes, arcs = np.diff(reduced.block_ptr), np.add.reduceat(degree, starts)
    largest = np.maximum.reduceat(degree, starts)
    cubes = np.add.reduceat(degree.astype(np.float64) ** 3, starts)
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
