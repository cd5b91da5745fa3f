"""Timers: a round-robin race in this process, and guarded child processes for work that may take hours.

All times are CPU times of one thread. On an idle machine they equal wall times (which are recorded, too);
on a busy one they are what the contender itself used, so that ratios remain meaningful.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Array, Csr
from benchmarks.listers import Roots

CHILD_MEMORY = 6 * 2**30


@dataclass
class Timing:
    """The time of one contender; `how` says whether it was measured completely."""

    seconds: float
    wall: float
    how: str = "measured"
    """measured | extrapolated | at least | failed"""
    detail: str = ""
    repeats: int = 1

    def text(self) -> str:
        """Short, with ~ for an extrapolation and > for a lower bound."""
        if self.how == "failed":
            return "failed"
        sign = {"measured": "", "extrapolated": "~ ", "at least": "> "}[self.how]
        return sign + duration(self.seconds)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def duration(seconds: float) -> str:
    """Format seconds: 12.3 ms, 4.56 s, 3.1 h."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 120.0)):
        if seconds >= size:
            return f"{seconds / (60.0 if unit == 'min' else size):.3g} {unit}"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1000:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def clock(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """(CPU seconds, wall seconds, result) of one call, after garbage collection."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def race(
    contenders: dict[str, Callable[[], Any]], budget: float, max_repeats: int = 9
) -> tuple[dict[str, Timing], dict[str, Any]]:
    """The fastest of several calls of each contender, and its result.

    Contenders take turns, so that other load on the machine affects all alike. Each is called at least twice,
    and no longer once it has used `budget` seconds of CPU time.
    """
    best: dict[str, Timing] = {}
    results: dict[str, Any] = {}
    used = dict.fromkeys(contenders, 0.0)
    for turn in range(max_repeats):
        for name, work in contenders.items():
            if turn >= 2 and used[name] > budget:
                continue
            cpu, wall, results[name] = clock(work)
            used[name] += cpu
            timing = best.setdefault(name, Timing(cpu, wall))
            timing.seconds, timing.wall = min(timing.seconds, cpu), min(timing.wall, wall)
            timing.repeats = turn + 1
    return best, results


# ---------------------------------------------------------------- guarded children


def _limited(connection: Any, work: Callable[[Callable[[Any], None]], None]) -> None:
    statm = Path("/proc/self/statm")
    if statm.exists():
        size = int(statm.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + CHILD_MEMORY,) * 2)
    try:
        work(connection.send)
    except MemoryError:
        connection.send("memory")
    connection.send("end")


def _messages(work: Callable[[Callable[[Any], None]], None], budget: float) -> Iterable[Any]:
    """What a forked child sends until it ends, crashes ("died") or exceeds the budget ("time")."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_limited, args=(sender, work), daemon=True)
    child.start()
    sender.close()
    deadline = time.monotonic() + budget
    try:
        while (left := deadline - time.monotonic()) > 0 and receiver.poll(left):
            try:
                message = receiver.recv()
            except EOFError:
                yield "died"
                return
            if isinstance(message, str) and message == "end":
                return
            yield message
        yield "time"
    finally:
        child.kill()
        child.join()


def children_cpu() -> float:
    """CPU seconds of all children that have ended; shows how much a stopped child ran on a busy machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def guarded(work: Callable[[], Any], budget: float) -> tuple[Timing, Any]:
    """One call in a child; a lower bound if it does not finish within the budget."""
    ending, before = "died", children_cpu()
    for message in _messages(lambda send: send(clock(work)), budget):
        if isinstance(message, tuple):
            cpu, wall, result = message
            return Timing(cpu, wall), result
        ending = message
    used = children_cpu() - before
    if ending == "time":
        return Timing(used, budget, "at least", f"stopped after {duration(budget)} of wall time"), None
    return Timing(used, used, "failed", f"ran out of memory ({CHILD_MEMORY >> 30} GB allowed)"), None


def sampled(lister: Roots, k: int, budget: float, seed: int = 0) -> tuple[Timing, Array | None]:
    """Process roots in random order until the budget ends: total = mean × roots, or the counts if all are done.

    The root in progress at the end is left out, which favours the lister: slow roots are more likely to be cut off.
    """
    order = np.random.default_rng(seed).permutation(lister.num_roots()).tolist()
    done, total, squares, counts, ending = 0, 0.0, 0.0, None, "end"
    start, before = time.monotonic(), children_cpu()
    for message in _messages(lambda send: _list_roots(lister, k, order, send), budget):
        if isinstance(message, str):
            ending = message
        elif isinstance(message, tuple):
            done, total, squares = message
        else:
            counts = message
    if counts is not None:
        return Timing(total, time.monotonic() - start), counts
    if done == 0:
        detail = f"none of {len(order):,} {lister.kind} finished in {duration(budget)} of wall time"
        return Timing(children_cpu() - before, budget, "at least", detail), None
    return _extrapolated(done, total, squares, len(order), lister, ending), None


def _list_roots(lister: Roots, k: int, order: list[int], send: Callable[[Any], None]) -> None:
    counts = np.zeros((len(lister.ends), k - 1), np.int64)
    done, total, squares, last_sent = 0, 0.0, 0.0, time.monotonic()
    for root in order:
        before = time.process_time()
        lister.tally(root, k, counts)
        seconds = time.process_time() - before
        done, total, squares = done + 1, total + seconds, squares + seconds**2
        if time.monotonic() - last_sent > 0.05:
            send((done, total, squares))
            last_sent = time.monotonic()
    send((done, total, squares))
    send(counts)


def _extrapolated(done: int, total: float, squares: float, roots: int, lister: Roots, ending: str) -> Timing:
    mean = total / done
    detail = f"{done:,} of {roots:,} {lister.kind}"
    if done > 1 and mean:
        detail += f", ± {math.sqrt(max(squares / done - mean * mean, 0) / (done - 1)) / mean:.0%}"
    if ending in ("memory", "died"):
        return Timing(mean * roots, mean * roots, "at least", f"{detail}; the next one ran out of memory")
    return Timing(mean * roots, mean * roots, "extrapolated", detail)


def cycles_by_rate(cycles: Callable[[], Iterable[Any]], expected: int, budget: float) -> Timing:
    """A lazy cycle lister that is stopped early: total = time × (all cycles / cycles listed)."""

    def work(send: Callable[[Any], None]) -> None:
        listed, start, last_sent = 0, time.process_time(), time.monotonic()
        for _ in cycles():
            listed += 1
            if listed % 256 == 0 and time.monotonic() - last_sent > 0.05:
                send((listed, time.process_time() - start, False))
                last_sent = time.monotonic()
        send((listed, time.process_time() - start, True))

    listed, seconds, complete, before = 0, 0.0, False, children_cpu()
    for message in _messages(work, budget):
        if isinstance(message, tuple):
            listed, seconds, complete = message
    if complete:
        return Timing(seconds, seconds, detail=f"{listed:,} cycles")
    if not listed:
        used = children_cpu() - before
        return Timing(used, budget, "at least", f"no cycle in {duration(budget)} of wall time")
    total = seconds * expected / listed
    return Timing(total, total, "extrapolated", f"{listed:,} of {expected:,} cycles")


def cycles_by_subgraph(
    graph: Csr, count: Callable[[Csr], Callable[[], Array]], expected: int, budget: float
) -> tuple[Timing, Array | None]:
    """Extrapolate a lister that returns all cycles or none from the largest ball around a node that it completes.

    A ball is as dense as the graph (a random set of nodes would not be), so cycles are listed at about the same rate.
    `count` prepares a graph and returns the work to time; the number of cycles is derived from the resulting counts.
    """
    order = graph.breadth_first(seed=0)
    deadline, before = time.monotonic() + budget, children_cpu()
    best, size = None, 16
    while (left := deadline - time.monotonic()) > 0:
        part = graph if size >= graph.num_nodes else graph.induced(order[:size])
        timing, counts = guarded(count(part), left)
        if timing.how != "measured":
            break
        if part is graph:
            return timing, counts
        listed = int((counts.sum(axis=0) // np.arange(3, counts.shape[1] + 3)).sum())
        if listed:
            total = timing.seconds * expected / listed
            best = Timing(total, total, "extrapolated", f"from {size:,} nodes with {listed:,} cycles")
        size *= 2
    return best or Timing(children_cpu() - before, budget, "at least", "no cycle within the budget"), None
