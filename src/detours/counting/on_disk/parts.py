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

HALO_FACTOR = 2  # how many times more arcs a halo may have than its part
PART_ARCS = 1 << 20  # arcs of a part if there is enough memory: about a second of work
MIN_HALO_ARCS = 1 << 10  # arcs that a halo may have under any limit: with fewer, reading takes longer than counting

RESERVE = 1 << 22
"""Bytes set aside for memory that does not depend on the halos: compiled code, lists, fragmentation."""
MANY_PIECES, MANY_ARCS = 32, 10**6
"""Pieces of a part, and arcs counted in all pieces, above which a warning says that the memory limit is too small."""
SAVE_AFTER = 10.0
"""Seconds after which the counts so far of an unfinished part are saved."""
REVERSE_BYTES = 64  # bytes that reversing takes for each arc, or node, of a pass: several copies, rounded up

Report = Callable[[float], bool]
"""Takes the finished share of a part, and returns whether to go on."""


def bytes_per_arc(k: int, directed: bool) -> int:
    """Return the total memory that counting takes for each arc of a halo, measured and rounded up."""
    return (40 + 30 * k) * (3 if directed else 1)


def bytes_of_graph(nodes: int, arcs: int, k: int, directed: bool) -> int:
    """Return the memory that counting on the whole graph takes at most."""
    return arcs * bytes_per_arc(k, directed) + 64 * nodes


def needs_parts(nodes: int, arcs: int, k: int, directed: bool, limit: int | None) -> bool:
    """Return whether counting on the whole graph would take more than the limit."""
    return limit is not None and bytes_of_graph(nodes, arcs, k, directed) > limit


def max_halo_arcs(k: int, directed: bool, n_jobs: int, limit: int | None) -> int:
    """Return the number of arcs that a halo may have if `n_jobs` halos are counted at a time."""
    if limit is None:
        return 64 * PART_ARCS
    return max(MIN_HALO_ARCS, max(limit - RESERVE, limit // 2) // n_jobs // bytes_per_arc(k, directed))


class HaloTooLarge(EngineError):
    """The halo of a single node does not fit into the share of the memory that one thread has."""


class Parts:
    """Ranges of nodes; their results are the counts of their arcs, which form a range too."""

    def __init__(self, rows: Rows, back: Rows | None, k: int, about: dict[str, Any]) -> None:
        self.rows, self.back, self.k = rows, back, k
        (blocks,) = about["stages"]
        self.cuts = check_cuts(about["cuts"], blocks, rows.num_nodes)
        self.max_arcs, self.engine = about["most_arcs"], about["runs"]
        if self.engine not in IN_BLOCKS or type(self.max_arcs) is not int or self.max_arcs < 1:
            raise ValueError("its engine or its limit is not valid")
        self.requested = about["engine"] == self.engine
        self.layout = None if about["layout"] is None else read_layout(about["layout"])

    def run(self, job: Job, block: int, report: Report) -> Arrays | None:
        """Return the counts of a part, or None if the report says to stop; the counts so far are saved now and then.

        Around hubs a part falls into as many pieces as it has nodes, and each may take seconds.
        """
        first, last = self.cuts[block], self.cuts[block + 1]
        start, counts = self._resume(job, block)
        saved, size = time.monotonic(), self._size(first, last)
        for node, piece in self._pieces(start, last):
            counts.append(piece)
            if node == last:
                break
            go_on = report(self._size(first, node) / size)
            if not go_on or time.monotonic() - saved > SAVE_AFTER:
                counts = [_concatenate(counts)]
                job.save_partial(block, (np.array([node]), *counts[0]))
                saved = time.monotonic()
            if not go_on:
                return None
        return _concatenate(counts)

    def _pieces(self, first: int, last: int) -> Iterator[tuple[int, Arrays]]:
        """Count around the nodes first .. last - 1, some at a time; yield the next node, and the counts."""
        directed = self.back is not None
        budget = self.max_arcs * bytes_per_arc(self.k, directed)
        for halo in fitting_halos(self.rows, self.back, first, last, self.k, self.max_arcs):
            counts = count_roots(halo, self.k, directed, self.engine, self.layout, budget, self.requested)
            first += halo.last - halo.first
            del halo  # before the next one is read
            yield first, counts

    def _resume(self, job: Job, block: int) -> tuple[int, list[Arrays]]:
        """Return the next node of a part, and the counts before it that an earlier run saved."""
        first, last = self.cuts[block], self.cuts[block + 1]
        node, *counts = job.load_partial(block) or (np.array([first]),)
        if node.shape == (1,) and node.dtype == np.int64 and first < node[0] < last:
            num_arcs = self._size(first, int(node[0])) - (int(node[0]) - first)
            expected = [((num_arcs, self.k - 1), np.dtype(np.int64))] * (1 + (self.back is not None))
            if [(array.shape, array.dtype) for array in counts] == expected:
                return int(node[0]), [tuple(counts)]
        return first, []

    def _size(self, first: int, last: int) -> int:
        """Return the number of nodes and arcs of a range of nodes."""
        begin, end = (int(self.rows.pointers(node, node)[0]) for node in (first, last))
        return last - first + end - begin


def _concatenate(pieces: list[Arrays]) -> Arrays:
    return tuple(np.concatenate(counts) for counts in zip(*pieces, strict=True))


def fitting_halos(rows: Rows, back: Rows | None, first: int, last: int, k: int, max_arcs: int) -> Iterator[Halo]:
    """Yield the halos of the nodes first .. last - 1, halving ranges until their halos fit."""
    waiting = [(first, last)]
    while waiting:
        first, last = waiting.pop()
        try:
            yield cut_halo(rows, back, first, last, k, max_arcs)
        except TooLarge as error:
            if last - first == 1:
                arcs = min(error.arcs, rows.num_arcs)  # arcs between distant nodes may have been counted twice
                size = arcs * bytes_per_arc(k, back is not None)
                enough = bytes_of_graph(rows.num_nodes, rows.num_arcs, k, back is not None)
                upper = _rounded_up(enough)
                bounds = f"more than {readable_bytes(size + RESERVE)} ({upper} is enough)"
                raise HaloTooLarge(
                    f"node {first} has more than {arcs:,} arcs within {radius(k)} steps, and counting around it "
                    f"takes more than {readable_bytes(size)} by itself; give a memory_limit of "
                    f"{bounds if size + RESERVE < enough else upper}, or use a smaller k"
                ) from None
            before = rows.pointers(first, last) + np.arange(last - first + 1)  # arcs and nodes
            half = int(np.searchsorted(before, (before[0] + before[-1]) // 2))
            middle = first + min(max(half, 1), last - first - 1)
            waiting += [(middle, last), (first, middle)]


def _rounded_up(size: int) -> str:
    """Return a readable size, not less than the given one."""
    return readable_bytes(1.01 * size)


def describe_parts(rows: Rows, reverse: Path, k: int, directed: bool, engine: str, max_arcs: int) -> dict[str, Any]:
    """Return the division of the graph, and the engine for all parts: the planner's choice for one in the middle.

    The reversed arcs of a directed graph are written to the folder `reverse`.
    """
    back = None
    if directed:
        with writing(reverse):
            back = save_reverse(rows, reverse, max_arcs * bytes_per_arc(k, directed) // REVERSE_BYTES)
    cuts = [0, *(last for _, last in rows.ranges(min(PART_ARCS, max(1, max_arcs // HALO_FACTOR))))]
    about: dict[str, Any] = {"cuts": cuts, "stages": [len(cuts) - 1]}
    chosen = engine
    if engine == "auto":
        chosen = "rows" if k <= MAX_LENGTH else "search"
    if len(cuts) > 1:
        middle = len(cuts) // 2
        halo = next(fitting_halos(rows, back, cuts[middle - 1], cuts[middle], k, max_arcs))
        pieces = (cuts[middle] - cuts[middle - 1]) // (halo.last - halo.first)
        if pieces > MANY_PIECES and pieces * rows.num_arcs > MANY_ARCS:
            enough = _rounded_up(bytes_of_graph(rows.num_nodes, rows.num_arcs, k, directed))
            more = ", or more for engine='dense'," if engine == "dense" else ""
            warn_caller(
                "with so little memory most nodes are read and counted many times over, since they are near hubs, or "
                f"their neighbours have distant ids: this may take hours; with {enough}{more} the whole graph is "
                "counted at once.",
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
    offsets = [int(rows.pointers(cut, cut)[0]) for cut in cuts]
    for index, name in enumerate(("by_length", "cycles")[: 1 + directed]):
        with writing(job.folder), new_array(job.folder / f"{name}.npy", np.int64, (rows.num_arcs, k - 1)) as file:
            for block in range(job.stages[0]):
                arrays, num_arcs = job.load(0, block), offsets[block + 1] - offsets[block]
                if [counts.shape for counts in arrays] != [(num_arcs, k - 1)] * (1 + directed):
                    raise job.damaged(0, block)
                file.write(arrays[index].data)
