"""Which engine, how many lanes, which word size: decided from the graph's own figures before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from detours.checks import check_choice, check_device, check_jobs, parse_bytes, readable_bytes
from detours.counting.derive.closed_forms import MAX_LENGTH
from detours.counting.engines.base import Engine
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import EngineError, InputError

if TYPE_CHECKING:
    from detours.counting.engines.rows.engine import Layout, RowEngine
    from detours.counting.engines.rows.estimate import Expected

SMALL = 4096
"""Arcs up to which planning would take longer than counting."""
LITTLE = 1000
"""Nodes near a block of roots whose vectors certainly stay in the cache."""
SPARSE = 5
"""Neighbours per node, on cycles, above which listing cycles is no rival to closed forms."""
ROWS_FLOOR = 50e-9
"""Seconds per arc that closed forms take at the least; a search below that needs no comparison."""
LOOKING = 150e-9
"""Seconds per arc that it takes to see how long closed forms would take on the CPU; what a device does within that
needs no comparison."""
LONG = 0.05
"""Seconds up to which a search is not worth comparing with anything."""
DENSE_NODES = 20_000
"""Nodes of a block up to which dense matrices are thought of at all."""
LONGEST = {"rows": MAX_LENGTH, "dense": 8}
"""The longest detours for which there are closed forms."""
AROUND = 80e-9
"""Seconds per arc of the whole graph that a count takes on the CPU before and after its engine runs."""


@dataclass(frozen=True, repr=False)
class Plan:
    """How a count will be done, and what to expect of it; print it to read it."""

    engine: str
    k: int
    directed: bool
    n_jobs: int
    seconds: float
    """Expected time; infinite when all that is known is a lower bound, which `reason` tells."""
    bytes: int
    """Expected memory of the engine, results included."""
    nodes: int
    """Nodes, arcs and blocks that are left of the graph once everything on no cycle is set aside."""
    arcs: int
    blocks: int
    layout: Layout | None
    reason: str
    sure: bool = True
    """False when the sample was cut short, so that time may be far longer than expected."""
    ready: Engine | None = field(compare=False, default=None)

    def __repr__(self) -> str:
        kind = "directed detours" if self.directed else "detours"
        parts = f"{self.blocks:,} biconnected part{'s' * (self.blocks != 1)}"
        lines = [
            f"{kind} up to k = {self.k}",
            f"  on cycles   {self.nodes:,} nodes, {self.arcs:,} arcs in {parts}",
            f"  engine      {self.engine}: {self.reason}",
        ]
        if self.layout is not None:
            together = "of similar degree" if self.layout.by_degree else "that lie close together"
            lines.append(f"  at a time   {self.layout.lanes} roots {together}")
        lines += [
            f"  threads     {self.n_jobs}",
            f"  time        {'about ' + _seconds(self.seconds) if self.sure else 'cannot be told beforehand'}",
            f"  memory      about {readable_bytes(self.bytes)}",
        ]
        return "\n".join(lines)


def make_plan(
    cyclic: Cyclic,
    k: int,
    *,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
    given_arcs: int = 0,
    device: Any = None,
) -> Plan:
    """Choose by expected time among the engines that can do it within the memory, on a device of torch's if given."""
    check_choice("engine", engine, ("auto", *LONGEST, "search"))
    if k > LONGEST.get(engine, k):
        raise EngineError(
            f"engine={engine!r} has closed forms up to k = {LONGEST[engine]}, not for k = {k}; "
            "use engine='search' or 'auto'"
        )
    device = check_device(device)
    if device is not None and engine not in ("auto", "dense"):
        raise InputError(f"engine={engine!r} runs on the CPU alone; leave device={device!r} out, or use engine='dense'")
    jobs, limit = min(check_jobs(n_jobs), max(1, cyclic.num_nodes // 64)), parse_bytes(memory_limit)
    arcs = given_arcs or cyclic.num_arcs
    results = 8 * arcs * (k - 1) * (2 if cyclic.directed else 1)
    if cyclic.num_arcs == 0:
        chosen = Plan(engine, k, cyclic.directed, jobs, 0.0, 0, 0, 0, 0, None, "no edge lies on a cycle")
    else:
        chosen = _choose(cyclic, k, engine, jobs, None if limit is None else limit - results, device, AROUND * arcs)
    chosen = replace(chosen, bytes=chosen.bytes + results)
    if limit is not None and chosen.bytes > limit:
        raise EngineError(
            f"counting up to k = {k} needs about {readable_bytes(chosen.bytes)}, more than memory_limit = "
            f"{readable_bytes(limit)}; raise the limit, use fewer threads or a smaller k, or count in parts with out="
        )
    return chosen


def _choose(
    cyclic: Cyclic, k: int, engine: str, jobs: int, limit: int | None, device: str | None, around: float
) -> Plan:
    there: Plan | None = None
    may_help = device != "cpu" and k <= LONGEST["dense"] and cyclic.largest_block <= DENSE_NODES
    if device is not None and (engine == "dense" or may_help):
        there = _plan_on_device(cyclic, k, device, limit)
        fits = limit is None or there.bytes <= limit
        thick = cyclic.num_arcs > SPARSE * cyclic.num_nodes
        at_once = there.seconds < (LOOKING if thick else ROWS_FLOOR / jobs) * cyclic.num_arcs
        if engine == "dense" or (fits and at_once):
            return there
        there = there if fits else None
    here = _choose_on_cpu(cyclic, k, engine, jobs, limit)
    here = replace(here, seconds=here.seconds + around)
    return here if there is None or here.seconds < there.seconds else there


def _choose_on_cpu(cyclic: Cyclic, k: int, engine: str, jobs: int, limit: int | None) -> Plan:
    if engine == "dense":
        return _plan_dense(cyclic, k, jobs)
    if engine == "search" or k > LONGEST["rows"]:
        search = _plan_search(cyclic, k, jobs, 2**21)
        if engine == "search" or k > LONGEST["dense"] or search.seconds < LONG:
            return search
        return _search_or_dense(cyclic, k, jobs, limit, search)
    if engine == "rows":
        return _plan_rows(cyclic, k, jobs, limit)
    if cyclic.num_arcs > SPARSE * cyclic.num_nodes:
        return _plan_rows(cyclic, k, jobs, limit)
    floor = ROWS_FLOOR * cyclic.num_arcs / jobs
    search = _plan_search(cyclic, k, jobs, 2**14, sample=16)
    fits = search.sure and (limit is None or search.bytes <= limit)
    if fits and (search.seconds < floor or cyclic.num_arcs < SMALL):
        return search
    rows = _plan_rows(cyclic, k, jobs, limit)
    if limit is not None and rows.bytes > limit:
        return search if fits else rows
    return search if fits and search.seconds < rows.seconds else rows


def _search_or_dense(cyclic: Cyclic, k: int, jobs: int, limit: int | None, search: Plan) -> Plan:
    if cyclic.largest_block > DENSE_NODES:
        return search
    dense = _plan_dense(cyclic, k, jobs)
    if limit is not None and dense.bytes > limit:
        return search
    return search if search.seconds < dense.seconds else dense


def _plan_dense(cyclic: Cyclic, k: int, jobs: int) -> Plan:
    from detours.counting.engines.dense.engine import DenseEngine, dense_bytes, dense_seconds

    reduced = cyclic.reduced
    seconds, size = dense_seconds(reduced, k, jobs), dense_bytes(reduced, k, jobs)
    return _plan(DenseEngine(reduced, k), cyclic, k, jobs, seconds, size, None, _on_matrices(cyclic))


def _plan_on_device(cyclic: Cyclic, k: int, device: str, limit: int | None) -> Plan:
    from detours.counting.engines.dense.gpu import FETCHED, TensorEngine

    engine, arcs = TensorEngine(cyclic, k, device, limit), len(cyclic.indices)
    size = engine.bytes if device == "cpu" else min(FETCHED, 8 * (k - 1) * arcs) + 8 * arcs
    reason = f"{_on_matrices(cyclic)}, on {device} with about {readable_bytes(engine.bytes)} there"
    return _plan(engine, cyclic, k, 1, engine.seconds, size, None, reason)


def _on_matrices(cyclic: Cyclic) -> str:
    return f"closed forms on dense matrices, the largest of {cyclic.largest_block:,} nodes"


def _plan_rows(cyclic: Cyclic, k: int, jobs: int, limit: int | None) -> Plan:
    from detours.counting.engines.overflow import narrowest_word
    from detours.counting.engines.rows.engine import Layout, RowEngine
    from detours.counting.engines.rows.estimate import Expected, expect

    reduced = cyclic.reduced
    engine = RowEngine(reduced, k, narrowest_word(reduced, k), Layout(False, 16))
    tried: dict[Layout, Expected] = {}
    if reduced.num_arcs < SMALL:
        tried[engine.layout] = Expected(1e-9 * reduced.num_arcs * 100, 1000 * reduced.num_arcs, 1.0)
    else:
        wide = (Layout(False, 64), Layout(True, 64))
        for layout in (*wide, Layout(False, 16), Layout(False, 1)):
            if limit is None and tried and _wide_is_best(layout, tried[wide[0]], engine):
                break
            tried[layout] = expect(engine, layout, jobs)
    fitting = {layout: e for layout, e in tried.items() if limit is None or e.bytes <= limit}
    if not fitting:
        fitting = dict([min(tried.items(), key=lambda item: item[1].bytes)])
    layout, expected = min(fitting.items(), key=lambda item: item[1].seconds)
    engine.set_layout(layout)
    bits = 8 * np.dtype(engine.word).itemsize
    reason = f"closed forms, {engine.program.products} sparse products per block of roots, {bits}-bit"
    return _plan(engine, cyclic, k, jobs, expected.seconds, expected.bytes, layout, reason)


def _wide_is_best(layout: Layout, wide: Expected, engine: RowEngine) -> bool:
    """No need to look at narrower blocks when those of the widest see most of the graph, or little of it."""
    return wide.share * engine.pattern.num_nodes < LITTLE or (layout.lanes < 64 and wide.share > 0.5)


def _plan_search(cyclic: Cyclic, k: int, jobs: int, limit: int, sample: int = 64) -> Plan:
    """Listing cycles; `limit` bounds the steps spent on estimating how long that takes."""
    from detours.counting.engines.search.engine import Search, estimate

    search = Search(cyclic, k)
    expected = estimate(search, limit=limit, sample=sample)
    memory = jobs * search.bytes_per_worker + 24 * cyclic.num_arcs
    reason = f"bounded depth-first search, about {expected.steps:.2g} steps"
    if not expected.complete:
        reason = f"bounded depth-first search, more than {expected.steps:.2g} steps: a sample did not come to an end"
    seconds = expected.seconds / jobs if expected.complete else inf
    return _plan(search, cyclic, k, jobs, seconds, memory, None, reason, expected.complete)


def _plan(
    engine: Engine,
    cyclic: Cyclic,
    k: int,
    jobs: int,
    seconds: float,
    size: int,
    layout: Layout | None,
    reason: str,
    sure: bool = True,
) -> Plan:
    figures = (cyclic.num_nodes, cyclic.num_arcs, cyclic.num_blocks)
    return Plan(engine.name, k, cyclic.directed, jobs, seconds, int(size), *figures, layout, reason, sure, engine)


def _seconds(seconds: float) -> str:
    if seconds < 0.001:
        return "1 ms, once the compiled code is loaded"
    if seconds < 1:
        return f"{float(f'{1000 * seconds:.2g}'):g} ms"
    return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 3600:.3g} h"
