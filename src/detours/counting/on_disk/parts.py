"""A count on a graph that does not fit in memory, divided into ranges of nodes that are counted inside their halos."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from detours.checks import readable_bytes
from detours.counting.derive.closed_forms import MAX_LENGTH
from detours.counting.on_disk.job import Arrays, Job, check_cuts, writing
from detours.counting.on_disk.part_engine import count_roots
from detours.counting.on_disk.whole_graph import IN_BLOCKS, plan_blocks, read_layout
from detours.counting.shrink.cyclic_part import Cyclic
from detours.counting.shrink.halo import Halo, TooLarge, cut_halo, radius
from detours.errors import EngineError
from detours.graph.disk_rows import Rows, new_array, save_reverse

SHARE = 2  # how many times more arcs a halo may have than its part
MOST_ARCS = 1 << 20  # arcs of a part when there is enough memory: about a second of work
FEWEST_ARCS = 1 << 10  # arcs that a halo may have under any limit: with fewer, reading takes longer than counting

RESERVE = 1 << 22
"""Bytes set aside for what does not depend on the halos: compiled code, lists, gaps between freed arrays."""
REVERSED = 64  # bytes that reversing takes for each arc, or node, of a pass: several copies, rounded up


def bytes_per_arc(k: int, directed: bool) -> int:
    """Return the memory that counting takes for each arc of a halo in all: measured, rounded up."""
    return (40 + 30 * k) * (3 if directed else 1)


def needs_parts(nodes: int, arcs: int, k: int, directed: bool, limit: int | None) -> bool:
    """Return whether counting on the whole graph would take more than the limit."""
    return limit is not None and arcs * bytes_per_arc(k, directed) + 64 * nodes > limit


def most_arcs(k: int, directed: bool, n_jobs: int, limit: int | None) -> int:
    """Return the number of arcs that a halo may have when `n_jobs` halos are counted at a time."""
    if limit is None:
        return 64 * MOST_ARCS
    return max(FEWEST_ARCS, max(limit - RESERVE, limit // 2) // n_jobs // bytes_per_arc(k, directed))


class HaloTooLarge(EngineError):
    """The halo of a single node does not fit into the share of the memory that one thread has."""


class Parts:
    """Ranges of nodes; their results are the counts of their arcs, which form a range as well."""

    def __init__(self, rows: Rows, back: Rows | None, k: int, about: dict[str, Any]) -> None:
        self.rows, self.back, self.k = rows, back, k
        (blocks,) = about["stages"]
        self.cuts, self.most, self.engine = (
            check_cuts(about["cuts"], blocks, rows.num_nodes),
            about["most_arcs"],
            about["runs"],
        )
        if self.engine not in IN_BLOCKS or type(self.most) is not int or self.most < 1:
            raise ValueError("its engine or its limit is none")
        self.asked = about["engine"] == self.engine
        self.layout = None if about["layout"] is None else read_layout(about["layout"])

    def run(self, stage: int, block: int) -> Arrays:
        found, directed = [], self.back is not None
        budget = self.most * bytes_per_arc(self.k, directed)
        for halo in fitting(self.rows, self.back, self.cuts[block], self.cuts[block + 1], self.k, self.most):
            found.append(count_roots(halo, self.k, directed, self.engine, self.layout, budget, self.asked))
            del halo  # before the next one is read
        return tuple(np.concatenate(counts) for counts in zip(*found, strict=True))


def fitting(rows: Rows, back: Rows | None, first: int, last: int, k: int, most: int) -> Iterator[Halo]:
    """Yield the halos of the nodes first .. last - 1, in as few pieces as fit."""
    waiting = [(first, last)]
    while waiting:
        first, last = waiting.pop()
        try:
            yield cut_halo(rows, back, first, last, k, most)
        except TooLarge as error:
            if last - first == 1:
                each = bytes_per_arc(k, back is not None)
                size, enough = error.arcs * each, rows.num_arcs * each + 64 * rows.num_nodes + RESERVE
                raise HaloTooLarge(
                    f"node {first} has more than {error.arcs:,} arcs within {radius(k)} steps, and counting around it "
                    f"takes more than {readable_bytes(size)} by itself; give a memory_limit of more than "
                    f"{readable_bytes(size + RESERVE)} ({readable_bytes(enough)} is enough), or use a smaller k"
                ) from None
            before = rows.pointers(first, last) + np.arange(last - first + 1)  # arcs and nodes
            half = int(np.searchsorted(before, (before[0] + before[-1]) // 2))
            middle = first + min(max(half, 1), last - first - 1)
            waiting += [(middle, last), (first, middle)]


def describe_parts(rows: Rows, reverse: Path, k: int, directed: bool, engine: str, most: int) -> dict[str, Any]:
    """Return how the graph is divided, and the engine for all parts: the planner's choice for one in the middle.

    The reversed arcs of a directed graph are written to the folder `reverse`.
    """
    back = None
    if directed:
        with writing(reverse):
            back = save_reverse(rows, reverse, most * bytes_per_arc(k, directed) // REVERSED)
    cuts = [0, *(last for _, last in rows.ranges(min(MOST_ARCS, max(1, most // SHARE))))]
    about: dict[str, Any] = {"cuts": cuts, "stages": [len(cuts) - 1]}
    chosen = engine
    if engine == "auto":
        chosen = "rows" if k <= MAX_LENGTH else "search"
    if len(cuts) > 1:
        middle = len(cuts) // 2
        halo = next(fitting(rows, back, cuts[middle - 1], cuts[middle], k, most))
        plan = plan_blocks(Cyclic(halo.indptr, halo.indices, directed), k, engine=engine)
        if plan.engine != "none":
            layout = list(plan.estimate.prepared.layout) if plan.engine == "rows" else None
            return {**about, "runs": plan.engine, "layout": layout}
    return {**about, "runs": chosen, "layout": None}


def write_parts(job: Job, rows: Rows, k: int, directed: bool) -> None:
    """Write the counts of all parts one after the other."""
    cuts = check_cuts(job.manifest["cuts"], job.stages[0], rows.num_nodes)
    begin = [int(rows.pointers(cut, cut)[0]) for cut in cuts]
    for number, name in enumerate(("by_length", "cycles")[: 1 + directed]):
        with writing(job.folder), new_array(job.folder / f"{name}.npy", np.int64, (rows.num_arcs, k - 1)) as file:
            for block in range(job.stages[0]):
                found = job.load(0, block)
                if [counts.shape for counts in found] != [(begin[block + 1] - begin[block], k - 1)] * (1 + directed):
                    raise job.damaged(0, block)
                file.write(found[number].data)
