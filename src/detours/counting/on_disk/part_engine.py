"""Counting the arcs of some roots inside their halo, with whatever engine the whole count was planned for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.checks import readable_bytes
from detours.counting.derive.vector_program import slots_of
from detours.counting.engines.base import Engine, Tally
from detours.counting.engines.overflow import narrowest_word
from detours.counting.engines.rows.engine import Layout, RowEngine
from detours.counting.engines.rows.estimate import expect
from detours.counting.shrink.cyclic_part import Cyclic, Reduced
from detours.counting.shrink.halo import Halo
from detours.errors import EngineError


class NearRows(RowEngine):
    """The row engine for some of the nodes only.

    A sum over ears at an arc takes at least two edges of a cycle of k + 1, so on arcs farther than ⌊(k - 1) / 2⌋ steps
    from a root it never enters a root's count. Other arcs are left alone: their counts mean nothing.
    """

    def __init__(self, reduced: Reduced, k: int, word: type, layout: Layout, near: NDArray[np.bool_]) -> None:
        super().__init__(reduced, k, word, layout)
        wanted = near[self.source]
        if self.program.symmetric:
            order = np.lexsort((self.rank, near))
            self.rank[order] = np.arange(len(order), dtype=np.int32)
            wanted &= self.rank[self.pattern.indices] < self.rank[self.source]
        self.served = np.flatnonzero(wanted)
        self.serves = np.zeros_like(self.serves)
        self.serves[self.source[self.served]] = True
        self.set_layout(layout)


def count_roots(
    halo: Halo,
    k: int,
    directed: bool,
    engine: str,
    layout: Layout | None,
    budget: int | None = None,
    asked: bool = False,
) -> tuple[Int64, ...]:
    """The counts of the arcs of the roots: detours by length and, if directed, cycles by length.

    `budget` is the memory, in bytes, that the engine should stay within if it can. Where dense matrices cannot, cycles
    are listed, unless the user `asked` for the engine.
    """
    tally = Tally.new(len(halo.indices), k, directed)
    cyclic = Cyclic(halo.indptr, halo.indices, directed)
    if cyclic.num_arcs:
        _engine(cyclic, halo, k, engine, layout, budget, asked).count(tally)
    return tuple(counts[halo.roots_arcs].copy() for counts in tally if counts is not None)


def _engine(
    cyclic: Cyclic, halo: Halo, k: int, engine: str, layout: Layout | None, budget: int | None, asked: bool
) -> Engine:
    if engine == "dense":
        from detours.counting.engines.dense.engine import DenseEngine, dense_bytes

        counts = 8 * (k - 1) * len(halo.indices) * (1 + cyclic.directed)
        size = counts + dense_bytes(cyclic.reduced, k)
        if budget is None or size <= budget:
            return DenseEngine(cyclic.reduced, k)
        if asked:
            raise EngineError(
                f"engine='dense' takes about {readable_bytes(size)} around node {halo.node[halo.first]}, more than "
                "memory_limit allows; raise it, use fewer threads or engine='auto'"
            )
        engine = "search"
    if engine == "search":
        from detours.counting.engines.search.engine import Search

        return Search(cyclic, k)
    reduced = cyclic.reduced
    near = halo.distance[reduced.node] <= max(1, (k - 1) // 2)
    rows = NearRows(reduced, k, narrowest_word(reduced, k), layout or Layout(False, 16), near)
    if budget is not None:
        rows.set_layout(_narrowed(rows, budget))
    return rows


def _narrowed(engine: NearRows, budget: int) -> Layout:
    """Fewer roots side by side where the vectors of many would not fit: around a hub, each sees all of the halo."""
    per_lane = max(map(slots_of, engine.program.passes)) * engine.pattern.num_nodes * np.dtype(engine.word).itemsize
    lanes = engine.layout.lanes
    while lanes > 1 and per_lane * lanes > budget // 4:
        if expect(engine, engine.layout._replace(lanes=lanes), n_jobs=1).bytes <= budget:
            break
        lanes //= 4
    return engine.layout._replace(lanes=max(1, lanes))
