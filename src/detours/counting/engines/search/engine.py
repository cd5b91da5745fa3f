"""Search engine: exact counts for any k by listing cycles, without ever holding them.

Each cycle of an undirected graph is met once, from its first node, and counted for all its edges. In a
directed graph the detours of each arc and the directed cycles are two separate searches. The time grows
with the number of cycles, so this engine is for graphs with few of them: molecules, roads, meshes.

The work is a range of roots that can be dealt out to threads in any way: integers are only ever added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from detours.arrays import read_only
from detours.counting.engines.base import Tally
from detours.counting.engines.search import loops_numba as kernels
from detours.counting.engines.search.loops_numba import CYCLES, DIRECTED_CYCLES, DIRECTED_DETOURS, Graph, Space
from detours.counting.engines.threads import Progress, Stop, run_ranges
from detours.counting.shrink.chains import Chains, contract
from detours.counting.shrink.csr import transposed
from detours.counting.shrink.cyclic_part import Cyclic, Reduced
from detours.errors import EngineError

STEPS = 2**22
"""Steps of the search between two looks at what else goes on: a few hundredths of a second."""
SECONDS_PER_STEP = 9e-9
"""Typical time of one step, for estimates."""


class Estimate(NamedTuple):
    """Expected work of a search. Unless ``complete``, the sample ran into its limit and there may be far
    more."""

    steps: float
    seconds: float
    complete: bool


class Search:
    """What is to be counted, and the workers that count it."""

    name = "search"

    def __init__(self, cyclic: Cyclic, k: int):
        if len(cyclic.indices) >= 2**31:
            raise EngineError(
                f"engine='search' takes up to {2**31 - 1} arcs, not {len(cyclic.indices)} as here; use a k up to 6"
            )
        self.cyclic, self.k = cyclic, k
        self.fills = not cyclic.directed
        self.longest = max(3, min(k + 1, cyclic.largest_block))
        self.workers: list[Worker] = []
        if cyclic.directed:
            self.num_rows = cyclic.num_arcs
            self.graphs = _directed_graphs(cyclic.reduced)
        else:
            self.chains = contract(cyclic, self.longest)
            self.num_rows = self.chains.count
            self.graphs = {CYCLES: _contracted(self.chains)}
        graph = next(iter(self.graphs.values()))
        self.num_nodes, self.num_arcs = len(graph.first_ptr) - 1, len(graph.first)
        self.num_roots = self.num_nodes * len(self.graphs)

    @property
    def bytes_per_worker(self) -> int:
        """Memory that each worker needs for its counts and the surroundings of its root."""
        counts = 8 * self.num_rows * (self.longest - 2) * len(self.graphs)
        return counts + (kernels.NODE.itemsize + 8) * self.num_nodes + kernels.ARC.itemsize * self.num_arcs

    def count(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        total = self.num_roots
        report: Callable[[float], None] | None = None
        if progress is not None:
            report = lambda done: progress(done, total)  # noqa: E731
        run_ranges(total, 1, Worker.run, self.worker, n_jobs, report)
        if progress is not None and total == 0:
            progress(1.0, 1.0)  # nothing but rings
        self.tell(tally)

    def worker(self) -> Worker:
        """A new worker; its counts are part of the result."""
        worker = Worker(self)
        self.workers.append(worker)
        return worker

    def tell(self, tally: Tally) -> None:
        """Add up what all workers counted and write it to the arcs of the whole graph."""
        first, *others = self.workers or [self.worker()]
        for other in others:
            for question, counts in first.counts.items():
                counts += other.counts[question]
        if sum(worker.steps for worker in self.workers) >= 2**62:
            raise OverflowError(f"the counts for k = {self.k} pass 2^63; ask for a smaller k")
        self.workers = []
        if tally.cycles is None:
            counts, lengths = first.counts[CYCLES], self.chains.ring_length
            short = np.flatnonzero(lengths <= self.longest)
            counts[self.chains.rings[short], lengths[short] - 3] += 1
            kernels.spread(counts, self.chains.chain_of_arc, tally.by_length)
        else:
            # No cycle is longer than the largest block.
            arc, width = self.cyclic.reduced.arc, self.longest - 2
            tally.by_length[arc, :width] = first.counts[DIRECTED_DETOURS]
            tally.cycles[arc, :width] = first.counts[DIRECTED_CYCLES]


class Worker:
    """Counts of its own, and one range of roots under way. For one thread at a time."""

    def __init__(self, search: Search):
        nodes, longest = search.num_nodes, search.longest
        self.search = search
        self.counts = {q: np.zeros((search.num_rows, longest - 2), np.int64) for q in search.graphs}
        self.steps = 0
        self._todo: list[tuple[int, int, int]] = []
        self._space = Space(
            local=np.full(nodes, -1, np.int32),
            within=np.zeros(longest + 1, np.int32),
            nodes=np.zeros(nodes + 1, kernels.NODE),
            arcs=np.empty(search.num_arcs + 1, kernels.ARC),
            queue=np.empty(nodes + 1, np.int32),
            stack=np.empty(longest + 1, kernels.LEVEL),
            tally=np.zeros((longest + 1, longest + 1), np.int64),
            state=np.zeros(5, np.int64),
        )

    def assign(self, first: int, last: int) -> None:
        """Take on the roots first .. last - 1; those before must be done. Each question has its own run
        of roots."""
        size = self.search.num_nodes
        for number, question in enumerate(self.search.graphs):
            begin, end = max(first - number * size, 0), min(last - number * size, size)
            if begin < end:
                self._todo.append((question, begin, end))
        self._begin()

    def _begin(self) -> None:
        if self._todo:
            self._space.state[:] = self._todo[0][1] - 1, self._todo[0][2], 0, -1, 0

    def advance(self, steps: int = STEPS) -> bool:
        """Search for about so many steps, without the GIL; True if there is more to do."""
        if not self._todo:
            return False
        question = self._todo[0][0]
        graph, longest = self.search.graphs[question], self.search.longest
        left = kernels.advance(graph, self._space, question, longest, steps, self.counts[question])
        self.steps += steps - left
        if left > 0:
            self._todo.pop(0)
            self._begin()
        return bool(self._todo)

    def run(self, first: int, last: int, stop: Stop) -> None:
        """Search from the roots first .. last - 1, or until ``stop[0]`` is set."""
        self.assign(first, last)
        while self.advance() and not stop[0]:
            pass


def _contracted(chains: Chains) -> Graph:
    rows = read_only(chains.indptr, np.int64), read_only(chains.indices, np.int32)
    length, chain = read_only(chains.length, np.int32), read_only(chains.chain, np.int32)
    return Graph(*rows, chain, *rows, *rows, length, chain)


def _directed_graphs(reduced: Reduced) -> dict[int, Graph]:
    position = np.arange(reduced.num_arcs)
    out = read_only(reduced.indptr, np.int64), read_only(reduced.indices, np.int32)
    back_ptr, back, back_position = transposed(*out, position)
    into = read_only(back_ptr, np.int64), read_only(back, np.int32)
    ones, forward = read_only(np.ones_like(position), np.int32), read_only(position, np.int32)
    backward = read_only(back_position, np.int32)
    return {
        DIRECTED_DETOURS: Graph(*out, forward, *out, *into, ones, forward),
        DIRECTED_CYCLES: Graph(*out, forward, *into, *into, ones, backward),
    }


def estimate(search: Search, *, sample: int = 64, limit: int = 2**21, seed: int = 0) -> Estimate:
    """Expected work of a search, from a few random roots; the same on every machine.

    ``limit`` bounds the steps spent on the sample.
    """
    nodes = search.num_nodes
    roots = np.random.default_rng(seed).choice(nodes, min(sample, nodes), replace=False)
    total, complete = 0.0, True
    for number in range(len(search.graphs)):
        worker, tried, busy = Worker(search), 0, False
        while tried < len(roots) and not busy:
            root = number * nodes + int(roots[tried])
            worker.assign(root, root + 1)
            busy = worker.advance(max(1, limit - worker.steps))
            tried += 1
        complete = complete and not busy
        total += worker.steps * nodes / max(1, tried)
    return Estimate(total, total * SECONDS_PER_STEP, complete)
