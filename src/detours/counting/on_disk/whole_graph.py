"""A count on a graph that fits in memory, divided into blocks that any process can run, in any order, more than once.

To count in blocks with a new engine, write a class with the methods of `Blocks`, and add it to `IN_BLOCKS`, `describe`
and `create_blocks`; to count graphs larger than memory with it, to `_prepare` in `part_engine.py`, too.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float64, Int64
from detours.counting.engines.base import Tally
from detours.counting.engines.dense.count import DenseCount
from detours.counting.engines.overflow import narrowest_dtype
from detours.counting.engines.rows.cost import work_of_blocks
from detours.counting.engines.rows.evaluate import RowCount, RunningPass, Scratch
from detours.counting.engines.rows.graph import Layout
from detours.counting.engines.search.count import SearchCount, Worker
from detours.counting.engines.threads import Stop, one_blas_thread
from detours.counting.on_disk.job import Arrays, check_cuts
from detours.counting.plan import Plan, engines, make_plan
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import EngineError

BLOCK_SECONDS, MIN_BLOCK_SECONDS = 1.0, 0.15
"""How long a block should take: short enough that little is lost with a worker, long enough to hide the overhead of
sending it, about 10 ms of processor time on both sides together."""
FEW_BLOCKS, MANY_BLOCKS = 32, 4096
"""The number of blocks of a stage: enough for workers to finish together, unless blocks become too short, and not too
many files."""
MAX_LANES = 1 << 10
TAPER = 1.5
"""How much longer the first blocks of a stage are than the average; with short last ones workers finish together."""


IN_BLOCKS = ("rows", "search", "dense")
"""The engines whose work can be cut into blocks."""


class Blocks(Protocol):
    """A count in blocks. Stage s + 1 may begin when all blocks of stage s have been run, by any process, and loaded."""

    stages: list[int]

    def run(self, stage: int, block: int, stop: Stop) -> Arrays:
        """Run a block and return its result, which is not used if ``stop[0]`` is set meanwhile: then it should end."""

    def load(self, stage: int, block: int, result: Arrays) -> None:
        """Load the result of a block; raise `ValueError` or `IndexError` if it is not valid."""

    def finish(self, tally: Tally, n_jobs: int) -> None:
        """Write the counts, once every block is loaded."""


def plan_blocks(cyclic: Cyclic, k: int, *, engine: str, **options: Any) -> Plan:
    """Plan a count in blocks: `make_plan` with the engines that can count in blocks."""
    known = engines()
    if engine not in IN_BLOCKS and engine in (each.name for each in known):
        raise _without_blocks(engine)
    known = [each for each in known if each.name in IN_BLOCKS]
    # the number of blocks depends on the time
    return make_plan(cyclic, k, engine=engine, known=known, patience=BLOCK_SECONDS, **options)


def _without_blocks(engine: str) -> EngineError:
    return EngineError(f"engine={engine!r} cannot count in blocks; use another one, or leave out= and cluster= out")


def describe(plan: Plan) -> dict[str, Any]:
    """Return what another process needs to divide the count into the same blocks."""
    if plan.engine == "none":
        return {"runs": None, "stages": []}
    seconds = plan.seconds * plan.task.n_jobs  # a block is the work of one thread
    wanted = min(MANY_BLOCKS, max(seconds / BLOCK_SECONDS, min(FEW_BLOCKS, seconds / MIN_BLOCK_SECONDS)))
    if plan.engine == "rows":
        count: RowCount = plan.estimate.prepared
        layout, roots = count.layout, count.roots
        work_shares = work_of_blocks(count.graph, roots, layout.lanes)
        work = [1 + step.products for step in count.program.passes]
        stages = [_clamp(wanted * share / sum(work), len(work_shares)) for share in work]
        cuts = [_cuts(work_shares, blocks, layout.lanes, len(roots)).tolist() for blocks in stages]
        about = {"layout": list(layout), "word": np.dtype(count.word).name, "cuts": cuts}
        return {"runs": "rows", **about, "stages": stages}
    if plan.engine == "search":
        return {"runs": "search", "stages": [_clamp(4 * wanted, plan.estimate.prepared.num_roots)]}
    if plan.engine == "dense":
        return {"runs": "dense", "stages": [len(plan.estimate.prepared.bundles)]}
    raise _without_blocks(plan.engine)


def create_blocks(cyclic: Cyclic, k: int, about: dict[str, Any]) -> Blocks:
    """Return the blocks of a description; raise `ValueError` if they do not fit the graph."""
    stages: list[int] = list(about["stages"])
    if about["runs"] == "rows":
        word, needed = np.dtype(about["word"]), np.dtype(narrowest_dtype(cyclic.reduced, k))
        if word.kind != "i" or not needed.itemsize <= word.itemsize <= 8:
            raise ValueError("its integers are too narrow")
        count = RowCount.build(cyclic.reduced, k, word.type, read_layout(about["layout"]))
        if not len(stages) == len(about["cuts"]) == len(count.program.passes):
            raise ValueError("its stages do not fit the graph")
        cuts = zip(about["cuts"], stages, strict=True)
        return RowBlocks(count, [check_cuts(each, blocks, len(count.roots)) for each, blocks in cuts])
    if about["runs"] == "search":
        search = SearchCount(cyclic, k)
        if len(stages) != 1 or not 1 <= stages[0] <= max(1, search.num_roots):
            raise ValueError("its stages do not fit the graph")
        return SearchBlocks(search, stages)
    dense = DenseCount(cyclic.reduced, k)
    if about["runs"] != "dense" or stages != [len(dense.bundles)]:
        raise ValueError("its stages do not fit the graph")
    return DenseBlocks(dense, stages)


def read_layout(value: Any) -> Layout:
    """Return the layout in a manifest; raise `ValueError` if it is not valid."""
    by_degree, lanes = value
    if type(by_degree) is not bool or type(lanes) is not int or not 1 <= lanes <= MAX_LANES:
        raise ValueError("its layout is not valid")
    return Layout(by_degree, lanes)


def _check_shape(array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype.kind != "i":
        raise ValueError(f"{array.dtype} {array.shape} where integers {shape} should be")


def _clamp(wanted: float, available: int) -> int:
    return max(1, min(int(wanted), available))


class RowBlocks:
    """Blocks of roots of the row engine, pass by pass; their results are the ear sums on the arcs of the roots."""

    def __init__(self, count: RowCount, cuts: list[list[int]]) -> None:
        """``cuts``: for each pass, the bounds of the blocks in the roots; computed again, they might differ."""
        self.count, self.cuts, self.stages = count, cuts, [len(ends) - 1 for ends in cuts]
        graph = count.graph
        root_index = np.empty(graph.num_nodes, np.int64)
        root_index[count.roots] = np.arange(len(count.roots))
        root_of_arc = root_index[graph.source[graph.served]]
        order = np.argsort(root_of_arc, kind="stable")
        self.arcs, self.root_of_arc = graph.served[order], root_of_arc[order]
        self.lock = Lock()
        self.running: dict[int, RunningPass] = {}
        self.idle: list[Scratch] = []

    def roots(self, stage: int, block: int) -> tuple[int, int]:
        """Return the range of roots of a block."""
        return self.cuts[stage][block], self.cuts[stage][block + 1]

    def index(self, stage: int, block: int) -> tuple[Any, ...]:
        """Return the index of the ear sums of a block in those of the whole graph."""
        first, last = np.searchsorted(self.root_of_arc, self.roots(stage, block))
        ears = np.array(sorted(self.count.program.passes[stage].readings))
        return np.ix_(ears, self.arcs[first:last])

    def run(self, stage: int, block: int, stop: Stop) -> Arrays:
        with self.lock:
            if stage not in self.running:
                self.running, self.idle = {stage: self.count.start(stage)}, []
            running, idle = self.running[stage], self.idle
            scratch = idle.pop() if idle else running.scratch()
        index = self.index(stage, block)
        self.count.ear_values[index] = 0  # a cluster may run a block twice, and sums are accumulated
        running.run(scratch, *self.roots(stage, block), stop)
        idle.append(scratch)
        return (self.count.ear_values[index],)

    def load(self, stage: int, block: int, result: Arrays) -> None:
        (values,) = result
        ears, arcs = index = self.index(stage, block)
        _check_shape(values, (len(ears), arcs.shape[1]))
        self.count.ear_values[index] = values

    def finish(self, tally: Tally, n_jobs: int) -> None:
        self.running, self.idle = {}, []
        self.count.finish(tally, n_jobs)


def _cuts(work: Float64, num_blocks: int, lanes: int, total: int) -> Int64:
    """Return the bounds of blocks of roots, multiples of the lanes, so that no lane is idle.

    ``work`` is the share of each group of ``lanes`` roots in the work.
    """
    ends = np.searchsorted(np.cumsum(work), 1 - (1 - np.arange(1, num_blocks) / num_blocks) ** TAPER) + 1
    before = np.arange(1, num_blocks)  # every block has at least one group
    ends = np.minimum(np.maximum.accumulate(ends - before) + before, len(work) - num_blocks + before)
    cuts: Int64 = np.minimum(np.concatenate([[0], ends, [len(work)]]) * lanes, total)
    return cuts


class SearchBlocks:
    """Blocks of roots of a search; their results are the nonzero rows of counts, which are added up."""

    def __init__(self, search: SearchCount, stages: list[int]) -> None:
        self.search, self.stages = search, stages
        self.total: Worker | None = None

    def run(self, stage: int, block: int, stop: Stop) -> Arrays:
        worker, roots, blocks = Worker(self.search), self.search.num_roots, self.stages[0]
        worker.run(block * roots // blocks, (block + 1) * roots // blocks, stop)
        result: list[Int64] = [np.array([worker.steps])]
        for counts in worker.counts.values():
            rows = np.flatnonzero(counts.any(axis=1))
            result += [rows, counts[rows]]
        return tuple(result)

    def load(self, stage: int, block: int, result: Arrays) -> None:
        if self.total is None:
            self.total = self.search.worker()
        steps, *rest = result
        for index, counts in enumerate(self.total.counts.values()):
            rows, values = rest[2 * index], rest[2 * index + 1]
            _check_shape(rows, (rows.size,))
            _check_shape(values, (rows.size, counts.shape[1]))
            if (rows < 0).any():
                raise ValueError("rows before the first")
            counts[rows] += values
        _check_shape(steps, (1,))
        self.total.steps += int(steps[0])

    def finish(self, tally: Tally, n_jobs: int) -> None:
        self.search.tell(tally)


class DenseBlocks:
    """Bundles of biconnected components of the dense engine; their results are the counts of their arcs."""

    def __init__(self, count: DenseCount, stages: list[int]) -> None:
        self.count, self.stages = count, stages
        self.writers: list[Callable[[Tally], None]] = []

    def arcs(self, block: int) -> Int64:
        """Return the arcs of the whole graph that a bundle has."""
        reduced, blocks = self.count.reduced, self.count.bundles[block].blocks
        first, last = reduced.indptr[reduced.block_ptr[blocks]], reduced.indptr[reduced.block_ptr[blocks + 1]]
        return np.concatenate([reduced.arc[start:stop] for start, stop in zip(first, last, strict=True)])

    def run(self, stage: int, block: int, stop: Stop) -> Arrays:
        arcs = self.arcs(block)
        tally = Tally.new(int(arcs.max()) + 1, self.count.k, self.count.reduced.directed)
        with one_blas_thread():
            self.count.count_bundle(self.count.bundles[block], tally, stop)
        return tuple(counts[arcs] for counts in tally if counts is not None)

    def load(self, stage: int, block: int, result: Arrays) -> None:
        if len(result) != 1 + self.count.reduced.directed:
            raise ValueError(f"{len(result)} arrays")
        for values in result:
            _check_shape(values, (len(self.arcs(block)), self.count.k - 1))

        def write(tally: Tally) -> None:
            for counts, values in zip(tally, result, strict=False):
                assert counts is not None
                counts[self.arcs(block)] = values

        self.writers.append(write)

    def finish(self, tally: Tally, n_jobs: int) -> None:
        for write in self.writers:
            write(tally)
