"""A count on a graph that does not fit in memory, divided into ranges of nodes that are counted inside their halos."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
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
from detours.errors import EngineError, warn_caller
from detours.graph.disk_rows import Rows, new_array, save_reverse

SHARE = 2  # how many times more arcs a halo may have than its part
MOST_ARCS = 1 << 20  # arcs of a part when there is enough memory: about a second of work
FEWEST_ARCS = 1 << 10  # arcs that a halo may have under any limit: with fewer, reading takes longer than counting

RESERVE = 1 << 22
"""Bytes set aside for what does not depend on the halos: compiled code, lists, gaps between freed arrays."""
MANY, LONG = 32, 10**6
"""Pieces that a part falls into, and arcs counted in all pieces, from which on a limit is told to be small."""
KEPT_AFTER = 10.0
"""Seconds after which what is found of a part is written, though the part is not finished."""
REVERSED = 64  # bytes that reversing takes for each arc, or node, of a pass: several copies, rounded up

Tell = Callable[[float], bool]
"""What is told which share of a part is done, and answers whether to go on."""


def bytes_per_arc(k: int, directed: bool) -> int:
    """Return the memory that counting takes for each arc of a halo in all: measured, rounded up."""
    return (40 + 30 * k) * (3 if directed else 1)


def bytes_of_all(nodes: int, arcs: int, k: int, directed: bool) -> int:
    """Return the memory that counting on the whole graph takes at most."""
    return arcs * bytes_per_arc(k, directed) + 64 * nodes


def needs_parts(nodes: int, arcs: int, k: int, directed: bool, limit: int | None) -> bool:
    """Return whether counting on the whole graph would take more than the limit."""
    return limit is not None and bytes_of_all(nodes, arcs, k, directed) > limit


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

    def run(self, job: Job, block: int, tell: Tell) -> Arrays | None:
        """Return the counts of a part, or None if it is told to stop; what is found is kept now and then.

        Around hubs a part falls into as many pieces as it has nodes, and each may take seconds.
        """
        first, last = self.cuts[block], self.cuts[block + 1]
        begun, found = self._begun(job, block)
        kept, size = time.monotonic(), self._size(first, last)
        for at, counts in self._pieces(begun, last):
            found.append(counts)
            if at == last:
                break
            go_on = tell(self._size(first, at) / size)
            if not go_on or time.monotonic() - kept > KEPT_AFTER:
                found = [_joined(found)]
                job.keep_begun(block, (np.array([at]), *found[0]))
                kept = time.monotonic()
            if not go_on:
                return None
        return _joined(found)

    def _pieces(self, first: int, last: int) -> Iterator[tuple[int, Arrays]]:
        """Count around the nodes first .. last - 1, some at a time; yield which node is next, and the counts."""
        directed = self.back is not None
        budget = self.most * bytes_per_arc(self.k, directed)
        for halo in fitting(self.rows, self.back, first, last, self.k, self.most):
            counts = count_roots(halo, self.k, directed, self.engine, self.layout, budget, self.asked)
            first += halo.last - halo.first
            del halo  # before the next one is read
            yield first, counts

    def _begun(self, job: Job, block: int) -> tuple[int, list[Arrays]]:
        """Return which node of a part is next, and the counts of those before it that an earlier run kept."""
        first, last = self.cuts[block], self.cuts[block + 1]
        at, *counts = job.load_begun(block) or (np.array([first]),)
        if at.shape == (1,) and at.dtype == np.int64 and first < at[0] < last:
            arcs = self._size(first, int(at[0])) - (int(at[0]) - first)
            wanted = [((arcs, self.k - 1), np.dtype(np.int64))] * (1 + (self.back is not None))
            if [(each.shape, each.dtype) for each in counts] == wanted:
                return int(at[0]), [tuple(counts)]
        return first, []

    def _size(self, first: int, last: int) -> int:
        """Return the number of nodes and arcs of a range of nodes."""
        begin, end = (int(self.rows.pointers(node, node)[0]) for node in (first, last))
        return last - first + end - begin


def _joined(found: list[Arrays]) -> Arrays:
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
                arcs = min(error.arcs, rows.num_arcs)  # those between nodes far away may have been met twice
                size, enough = arcs * each, bytes_of_all(rows.num_nodes, rows.num_arcs, k, back is not None)
                sure = _rounded_up(enough)
                least = f"more than {readable_bytes(size + RESERVE)} ({sure} is enough)"
                raise HaloTooLarge(
                    f"node {first} has more than {arcs:,} arcs within {radius(k)} steps, and counting around it "
                    f"takes more than {readable_bytes(size)} by itself; give a memory_limit of "
                    f"{least if size + RESERVE < enough else sure}, or use a smaller k"
                ) from None
            before = rows.pointers(first, last) + np.arange(last - first + 1)  # arcs and nodes
            half = int(np.searchsorted(before, (before[0] + before[-1]) // 2))
            middle = first + min(max(half, 1), last - first - 1)
            waiting += [(middle, last), (first, middle)]


def _rounded_up(size: int) -> str:
    """Return a size as people write it, and not less than it is."""
    return readable_bytes(1.01 * size)


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
        pieces = (cuts[middle] - cuts[middle - 1]) // (halo.last - halo.first)
        if pieces > MANY and pieces * rows.num_arcs > LONG:
            enough = _rounded_up(bytes_of_all(rows.num_nodes, rows.num_arcs, k, directed))
            warn_caller(
                "with so little memory most nodes are read and counted many times over, since they are near hubs, or "
                f"their neighbours have distant numbers: this may take hours; with {enough} the whole graph is counted "
                "at once.",
                UserWarning,
            )
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
