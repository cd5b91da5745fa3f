"""Counting the arcs of some roots inside their halo, with the engine that was planned for the whole count."""

from __future__ import annotations

import numpy as np

from detours.arrays import Int64
from detours.checks import readable_bytes
from detours.counting.engines.base import Tally
from detours.counting.engines.dense.count import DenseCount
from detours.counting.engines.overflow import narrowest_dtype
from detours.counting.engines.rows.cost import bytes_of_arcs, sample_work
from detours.counting.engines.rows.evaluate import RowCount
from detours.counting.engines.rows.graph import Layout
from detours.counting.engines.search.count import SearchCount
from detours.counting.shrink.cyclic_part import Cyclic
from detours.counting.shrink.halo import Halo
from detours.errors import EngineError


def count_roots(
    halo: Halo,
    k: int,
    directed: bool,
    engine: str,
    layout: Layout | None,
    budget: int | None = None,
    requested: bool = False,
) -> tuple[Int64, ...]:
    """Return the counts of the arcs of the roots: detours by length and, if directed, cycles by length.

    `budget` is a limit on memory, in bytes, that the engine keeps if it can. If dense matrices exceed it, the search
    engine is used, unless the user `requested` the dense one.
    """
    tally = Tally.new(len(halo.indices), k, directed)
    cyclic = Cyclic(halo.indptr, halo.indices, directed)
    if cyclic.num_arcs:
        _prepare(cyclic, halo, k, engine, layout, budget, requested).run(tally)
    return tuple(counts[halo.roots_arcs].copy() for counts in tally if counts is not None)


def _prepare(
    cyclic: Cyclic, halo: Halo, k: int, engine: str, layout: Layout | None, budget: int | None, requested: bool
) -> RowCount | SearchCount | DenseCount:
    if engine == "dense":
        count = DenseCount(cyclic.reduced, k)
        size = count.bytes() + 8 * (k - 1) * len(halo.indices) * (1 + cyclic.directed)
        if budget is None or size <= budget:
            return count
        if requested:
            raise EngineError(
                f"engine='dense' takes about {readable_bytes(size)} around node {halo.node[halo.first]}, more than "
                "memory_limit allows; raise it, lower n_jobs, or use engine='auto'"
            )
        engine = "search"
    if engine == "search":
        return SearchCount(cyclic, k)
    if engine != "rows":
        raise EngineError(f"engine={engine!r} cannot count in parts; raise memory_limit, or use engine='auto'")
    # A sum over ears at an arc takes at least two edges of a cycle of k + 1, so on arcs farther than ⌊(k - 1) / 2⌋
    # steps from a root it never enters a root's count: those are left out.
    reduced = cyclic.reduced
    near = halo.distance[reduced.node] <= max(1, (k - 1) // 2)
    rows = RowCount.build(reduced, k, narrowest_dtype(reduced, k), layout or Layout(False, 16), near)
    return rows if budget is None else _fewer_lanes(rows, budget)


def _fewer_lanes(count: RowCount, budget: int) -> RowCount:
    """Return the count with fewer lanes if its vectors do not fit: around a hub, every root reaches the whole halo."""
    nodes, lanes = count.graph.num_nodes, count.layout.lanes
    per_lane = max(step.slots for step in count.program.passes) * nodes * np.dtype(count.word).itemsize
    fixed = bytes_of_arcs(count) + 13 * nodes
    while lanes > 1 and per_lane * lanes > budget // 4 and fixed + sample_work(count).buffer > budget:
        lanes = max(1, lanes // 4)
        count = count.with_layout(count.layout._replace(lanes=lanes))
    return count
