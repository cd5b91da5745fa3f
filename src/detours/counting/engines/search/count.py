"""Exact counts for any k by listing cycles, without storing them.

Each cycle of an undirected graph is found once, from its first node, and counted for all its edges. In a directed graph
the detours of each arc and the directed cycles are two separate searches. The work is a range of roots that can be
distributed over threads in any way, as integers are only added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Float64, Int64, read_only
from detours.counting.engines.base import Tally
from detours.counting.engines.overflow import longest_walks
from detours.counting.engines.search import loops_numba as loops
from detours.counting.engines.search.loops_numba import CYCLES, DIRECTED_CYCLES, DIRECTED_DETOURS, Graph, Space
from detours.counting.engines.threads import Progress, Stop, run_ranges
from detours.counting.shrink.chains import Chains, contract
from detours.counting.shrink.csr import transpose
from detours.counting.shrink.cyclic_part import Cyclic, Reduced
from detours.errors import EngineError

FEWEST_ROOTS = 32  # completed roots that suffice for an estimate
GOLDEN = (5**0.5 - 1) / 2  # its first n multiples modulo 1 are spread evenly, for any n
LONGEST_WALK = 16  # steps of the walks by which the roots of a sample are drawn
STEPS = 2**22  # steps of the search between two checks of `stop`: a few hundredths of a second


class Steps(NamedTuple):
    """Expected steps of a search; unless ``complete``, the sample reached its limit and there may be far more."""

    steps: float
    complete: bool


class SearchCount:
    """One count: the graphs to search, and the workers that search them."""

    def __init__(self, cyclic: Cyclic, k: int):
        if len(cyclic.indices) >= 2**31:
            raise EngineError(
                f"engine='search' takes up to {2**31 - 1} arcs, not {len(cyclic.indices)} as here; use a k up to 6"
            )
        self.cyclic, self.k = cyclic, k
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
        return counts + (loops.NODE.itemsize + 8) * self.num_nodes + loops.ARC.itemsize * self.num_arcs

    def run(self, tally: Tally, n_jobs: int = 1, progress: Progress | None = None) -> None:
        run_ranges(self.num_roots, 1, Worker.run, self.worker, n_jobs, progress)
        if progress is not None and self.num_roots == 0:
            progress(1.0, 1.0)  # only rings
        self.tell(tally)

    def worker(self) -> Worker:
        """A new worker; its counts are part of the result."""
        worker = Worker(self)
        self.workers.append(worker)
        return worker

    def tell(self, tally: Tally) -> None:
        """Add up the counts of all workers and write them to the arcs of the whole graph."""
        first, *others = self.workers or [self.worker()]
        for other in others:
            for mode, counts in first.counts.items():
                counts += other.counts[mode]
        if sum(worker.steps for worker in self.workers) >= 2**62:
            raise OverflowError(f"the counts for k = {self.k} exceed 2^63; use a smaller k")
        self.workers = []
        if tally.cycles is None:
            counts, lengths = first.counts[CYCLES], self.chains.ring_length
            short = np.flatnonzero(lengths <= self.longest)
            counts[self.chains.rings[short], lengths[short] - 3] += 1
            loops.spread(counts, self.chains.chain_of_arc, tally.by_length)
        else:
            # No cycle is longer than the largest block.
            arc, width = self.cyclic.reduced.arc, self.longest - 2
            tally.by_length[arc, :width] = first.counts[DIRECTED_DETOURS]
            tally.cycles[arc, :width] = first.counts[DIRECTED_CYCLES]


class Worker:
    """Counts, and the roots in progress, of one thread at a time."""

    def __init__(self, search: SearchCount):
        nodes, longest = search.num_nodes, search.longest
        self.search = search
        self.counts = {q: np.zeros((search.num_rows, longest - 2), np.int64) for q in search.graphs}
        self.steps = 0
        self._pending: list[tuple[int, Int64, Int64]] = []
        self._space = Space(
            local=np.full(nodes, -1, np.int32),
            within=np.zeros(longest + 1, np.int32),
            nodes=np.zeros(nodes + 1, loops.NODE),
            arcs=np.empty(search.num_arcs + 1, loops.ARC),
            queue=np.empty(nodes + 1, np.int32),
            stack=np.empty(longest + 1, loops.LEVEL),
            tally=np.zeros((longest + 1, longest + 1), np.int64),
            state=np.zeros(1, loops.STATE),
        )

    def assign(self, first: int, last: int) -> None:
        """Queue the roots first .. last - 1; root indices run through the nodes once per mode."""
        size = self.search.num_nodes
        for index, mode in enumerate(self.search.graphs):
            begin, end = max(first - index * size, 0), min(last - index * size, size)
            if begin < end:
                self.enqueue(mode, np.arange(begin, end))

    def enqueue(self, mode: int, roots: Int64) -> Int64:
        """Queue the nodes ``roots`` for a mode; return an array that will contain the steps from each."""
        steps_of_root = np.zeros(len(roots), np.int64)
        if len(roots):
            self._pending.append((mode, roots, steps_of_root))
            if len(self._pending) == 1:
                self._reset()
        return steps_of_root

    def _reset(self) -> None:
        self._space.state[0] = (-1, 0, -1, 0)

    @property
    def pending(self) -> bool:
        """Whether there is more to do."""
        return bool(self._pending)

    def advance(self, steps: int = STEPS) -> bool:
        """Search for about ``steps`` steps, without the GIL; return True if there is more to do."""
        if not self._pending:
            return False
        mode, roots, steps_of_root = self._pending[0]
        graph, longest = self.search.graphs[mode], self.search.longest
        steps_left = loops.advance(graph, self._space, mode, longest, roots, steps, self.counts[mode], steps_of_root)
        self.steps += steps - steps_left
        if steps_left > 0:
            self._pending.pop(0)
            self._reset()
        return self.pending

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
    back_ptr, back, back_position = transpose(*out, position)
    into = read_only(back_ptr, np.int64), read_only(back, np.int32)
    ones, forward = read_only(np.ones_like(position), np.int32), read_only(position, np.int32)
    backward = read_only(back_position, np.int32)
    return {
        DIRECTED_DETOURS: Graph(*out, forward, *out, *into, ones, forward),
        DIRECTED_CYCLES: Graph(*out, forward, *into, *into, ones, backward),
    }


class Sample:
    """A search from some roots, to estimate the steps of the whole; the same on every machine.

    A third of the roots is drawn by degree, so that hubs are not missed, a third by the walks of half the length, so
    that a small dense part of a large graph is not, and a third evenly. A root is searched once, and counts as often as
    it was drawn. Where the sample is cut short, only the draws until then count, which are spread just as evenly.
    """

    def __init__(self, search: SearchCount, size: int):
        self._parts: list[tuple[Worker, Int64, Float64, Int64]] = []
        for mode, graph in search.graphs.items():
            roots, share, drawn = _draw(graph, search, size)
            worker = Worker(search)
            self._parts.append((worker, worker.enqueue(mode, roots), share, drawn))

    def steps(self, limit: int) -> Steps:
        """Go on until the sample has had ``limit`` steps per mode, and estimate the steps of the search."""
        total, complete = 0.0, True
        for worker, steps_of_root, share, drawn in self._parts:
            while worker.pending and worker.steps < limit:
                worker.advance(min(limit - worker.steps, STEPS))
            missing = np.flatnonzero(steps_of_root[drawn] == 0)
            draws = drawn[: missing[0]] if worker.pending and len(missing) else drawn  # until the sample was cut short
            complete = complete and (not worker.pending or len(np.unique(draws)) > FEWEST_ROOTS)
            total += float((steps_of_root[draws] / share[draws]).sum()) / max(1, len(draws))
        return Steps(total, complete)


def _draw(graph: Graph, search: SearchCount, size: int) -> tuple[Int64, Float64, Int64]:
    """Return the roots of a sample in the order in which they were first drawn, their chances, and which of them each
    draw is; all roots if there are not more than ``size``."""
    nodes = search.num_nodes
    if size >= nodes:
        return np.arange(nodes), np.full(nodes, 1 / max(1, nodes)), np.arange(nodes)
    steps = max(1, min(search.longest // 2, LONGEST_WALK))
    walks = longest_walks(graph.first_ptr, graph.first, steps, search.cyclic.directed)
    degree = np.diff(graph.first_ptr)
    chance = (degree / max(1, degree.sum()) + walks / max(1.0, walks.sum()) + 1 / nodes) / 3
    cumulative = np.cumsum(chance)
    points = (np.arange(size) * GOLDEN % 1 + 0.5 / size) % 1
    draws = np.minimum(np.searchsorted(cumulative, points * cumulative[-1]), nodes - 1)
    roots, first, inverse = np.unique(draws, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return roots[order], chance[roots[order]], np.argsort(order)[inverse]
