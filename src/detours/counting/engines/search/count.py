"""Exact counts for any k by listing cycles, without ever holding them.

Each cycle of an undirected graph is met once, from its first node, and counted for all its edges. In a directed graph
the detours of each arc and the directed cycles are two separate searches. The work is a range of roots that can be
dealt out to threads in any way: integers are only ever added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from detours.arrays import Int64, read_only
from detours.counting.engines.base import Tally
from detours.counting.engines.search import loops_numba as loops
from detours.counting.engines.search.loops_numba import CYCLES, DIRECTED_CYCLES, DIRECTED_DETOURS, Graph, Space
from detours.counting.engines.threads import Progress, Stop, run_ranges
from detours.counting.shrink.chains import Chains, contract
from detours.counting.shrink.csr import transposed
from detours.counting.shrink.cyclic_part import Cyclic, Reduced
from detours.errors import EngineError

FEWEST_ROOTS = 32  # roots searched to the end that make an estimate
GOLDEN = (5**0.5 - 1) / 2  # multiples of this, modulo 1, are spread evenly, however many
STEPS = 2**22  # steps of the search between two looks at what else goes on: a few hundredths of a second


class Steps(NamedTuple):
    """Expected steps of a search. Unless ``complete``, the sample reached its limit and there may be far more."""

    steps: float
    complete: bool


class SearchCount:
    """One count: what is to be counted, and the workers that count it."""

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
            loops.spread(counts, self.chains.chain_of_arc, tally.by_length)
        else:
            # No cycle is longer than the largest block.
            arc, width = self.cyclic.reduced.arc, self.longest - 2
            tally.by_length[arc, :width] = first.counts[DIRECTED_DETOURS]
            tally.cycles[arc, :width] = first.counts[DIRECTED_CYCLES]


class Worker:
    """Counts of its own, and one range of roots under way. For one thread at a time."""

    def __init__(self, search: SearchCount):
        nodes, longest = search.num_nodes, search.longest
        self.search = search
        self.counts = {q: np.zeros((search.num_rows, longest - 2), np.int64) for q in search.graphs}
        self.steps = 0
        self._todo: list[tuple[int, Int64, Int64]] = []
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
        """Take on the roots first .. last - 1, when those before are done. Each question has its own run of roots."""
        size = self.search.num_nodes
        for number, question in enumerate(self.search.graphs):
            begin, end = max(first - number * size, 0), min(last - number * size, size)
            if begin < end:
                self.ask(question, np.arange(begin, end))

    def ask(self, question: int, roots: Int64) -> Int64:
        """Take on the nodes ``roots`` for a question; return an array that holds the steps from each, once done."""
        taken = np.zeros(len(roots), np.int64)
        if len(roots):
            self._todo.append((question, roots, taken))
            if len(self._todo) == 1:
                self._begin()
        return taken

    def _begin(self) -> None:
        self._space.state[0] = (-1, 0, -1, 0)

    def advance(self, steps: int = STEPS) -> bool:
        """Search for about ``steps`` steps, without the GIL; return True if there is more to do."""
        if not self._todo:
            return False
        question, roots, taken = self._todo[0]
        graph, longest = self.search.graphs[question], self.search.longest
        left = loops.advance(graph, self._space, question, longest, roots, steps, self.counts[question], taken)
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


def sample_steps(search: SearchCount, sample: int, limit: int) -> Steps:
    """Estimate the steps of a search from some roots; the same on every machine.

    Roots are drawn by their degree, at even distances, so that hubs are not missed. ``limit`` bounds the steps spent on
    the sample, for each question; if it is reached, those roots count that were searched until then, which are spread
    as evenly.
    """
    total, complete, nodes = 0.0, True, search.num_nodes
    for question, graph in search.graphs.items():
        roots, share = np.arange(nodes), np.full(nodes, 1 / max(1, nodes))
        if sample < nodes:
            degree = np.diff(graph.first_ptr)
            chance = (degree / max(1, degree.sum()) + 1 / nodes) / 2
            until = np.cumsum(chance)
            at = (np.arange(sample) * GOLDEN % 1 + 0.5 / sample) % 1
            roots = np.minimum(np.searchsorted(until, at * until[-1]), nodes - 1)
            share = chance[roots]
        worker = Worker(search)
        taken = worker.ask(question, roots)
        finished = not worker.advance(limit)
        tried = max(1, int(np.count_nonzero(taken)))
        complete = complete and (finished or tried > FEWEST_ROOTS)
        total += float((taken / share).sum()) / tried
    return Steps(total, complete)
