"""Clocks: a round-robin race in this process, and guarded children for work that may take hours.

Every figure is CPU time of one thread. On an idle machine it equals the time on the wall (which is kept too);
on a busy one it is what the contender itself cost, so that ratios hold.
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
    """What one contender took; `how` says whether the clock saw all of it."""

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
    """Seconds as a person writes them: 12.3 ms, 4.56 s, 3.1 h."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 120.0)):
        if seconds >= size:
            return f"{seconds / (60.0 if unit == 'min' else size):.3g} {unit}"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1000:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def clock(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """(CPU seconds, wall seconds, result) of one call, without waiting garbage."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def race(
    contenders: dict[str, Callable[[], Any]], budget: float, most: int = 9
) -> tuple[dict[str, Timing], dict[str, Any]]:
    """The fastest of several calls of each contender, and its answer.

    They take turns, so that a busy spell hits all alike. A contender rests when it has had `budget` seconds
    of CPU, but never before its second call.
    """
    best: dict[str, Timing] = {}
    answers: dict[str, Any] = {}
    spent = dict.fromkeys(contenders, 0.0)
    for turn in range(most):
        for name, work in contenders.items():
            if turn >= 2 and spent[name] > budget:
                continue
            cpu, wall, answers[name] = clock(work)
            spent[name] += cpu
            known = best.setdefault(name, Timing(cpu, wall))
            known.seconds, known.wall = min(known.seconds, cpu), min(known.wall, wall)
            known.repeats = turn + 1
    return best, answers


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
    """What a forked child sends until it ends, dies ("died") or is stopped at the budget ("time")."""
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
    """CPU seconds of all children that have ended; what a stopped child really had on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def guarded(work: Callable[[], Any], budget: float) -> tuple[Timing, Any]:
    """One call in a child; a lower bound if it is not done within the budget."""
    ending, before = "died", children_cpu()
    for message in _messages(lambda send: send(clock(work)), budget):
        if isinstance(message, tuple):
            cpu, wall, answer = message
            return Timing(cpu, wall), answer
        ending = message
    had = children_cpu() - before
    if ending == "time":
        return Timing(had, budget, "at least", f"stopped after {duration(budget)} on the wall"), None
    return Timing(had, had, "failed", f"ran out of memory ({CHILD_MEMORY >> 30} GB allowed)"), None


def sampled(lister: Roots, k: int, budget: float, seed: int = 0) -> tuple[Timing, Array | None]:
    """Roots in random order until the budget ends: total = mean × roots, or the whole answer if all are done.

    The root under way at the end is left out, which favours the lister: long roots are likelier to be cut.
    """
    order = np.random.default_rng(seed).permutation(lister.roots()).tolist()
    done, total, squares, answer, ending = 0, 0.0, 0.0, None, "end"
    started, before = time.monotonic(), children_cpu()
    for message in _messages(lambda send: _list_roots(lister, k, order, send), budget):
        if isinstance(message, str):
            ending = message
        elif isinstance(message, tuple):
            done, total, squares = message
        else:
            answer = message
    if answer is not None:
        return Timing(total, time.monotonic() - started), answer
    if done == 0:
        detail = f"not one of {len(order):,} {lister.kind} was done in {duration(budget)} on the wall"
        return Timing(children_cpu() - before, budget, "at least", detail), None
    return _extrapolated(done, total, squares, len(order), lister, ending), None


def _list_roots(lister: Roots, k: int, order: list[int], send: Callable[[Any], None]) -> None:
    into = np.zeros((len(lister.ends), k - 1), np.int64)
    done, total, squares, last = 0, 0.0, 0.0, time.monotonic()
    for root in order:
        before = time.process_time()
        lister.tally(root, k, into)
        taken = time.process_time() - before
        done, total, squares = done + 1, total + taken, squares + taken * taken
        if time.monotonic() - last > 0.05:
            send((done, total, squares))
            last = time.monotonic()
    send((done, total, squares))
    send(into)


def _extrapolated(done: int, total: float, squares: float, roots: int, lister: Roots, ending: str) -> Timing:
    mean = total / done
    detail = f"{done:,} of {roots:,} {lister.kind}"
    if done > 1 and mean:
        detail += f", ± {math.sqrt(max(squares / done - mean * mean, 0) / (done - 1)) / mean:.0%}"
    if ending in ("memory", "died"):
        return Timing(mean * roots, mean * roots, "at least", f"{detail}; the next one ran out of memory")
    return Timing(mean * roots, mean * roots, "extrapolated", detail)


def cycles_by_rate(cycles: Callable[[], Iterable[Any]], expected: int, budget: float) -> Timing:
    """A lazy cycle lister that is stopped early: total = time × (all cycles / cycles seen)."""

    def work(send: Callable[[Any], None]) -> None:
        seen, started, last = 0, time.process_time(), time.monotonic()
        for _ in cycles():
            seen += 1
            if seen % 256 == 0 and time.monotonic() - last > 0.05:
                send((seen, time.process_time() - started, False))
                last = time.monotonic()
        send((seen, time.process_time() - started, True))

    seen, taken, whole, before = 0, 0.0, False, children_cpu()
    for message in _messages(work, budget):
        if isinstance(message, tuple):
            seen, taken, whole = message
    if whole:
        return Timing(taken, taken, detail=f"{seen:,} cycles")
    if not seen:
        had = children_cpu() - before
        return Timing(had, budget, "at least", f"not one cycle in {duration(budget)} on the wall")
    total = taken * expected / seen
    return Timing(total, total, "extrapolated", f"{seen:,} of {expected:,} cycles")


def cycles_by_subgraph(
    graph: Csr, count: Callable[[Csr], Callable[[], Array]], expected: int, budget: float
) -> tuple[Timing, Array | None]:
    """A cycle lister that gives all or nothing: ever larger balls around a node, and the rate on the largest one.

    A ball has the density of the graph (nodes drawn at random would not), so cycles come about as fast in it.
    `count` prepares a graph and returns the work to time; its answer tells how many cycles were listed.
    """
    order = graph.outwards(seed=0)
    deadline, before = time.monotonic() + budget, children_cpu()
    best, size = None, 16
    while (left := deadline - time.monotonic()) > 0:
        part = graph if size >= graph.num_nodes else graph.induced(order[:size])
        timing, answer = guarded(count(part), left)
        if timing.how != "measured":
            break
        if part is graph:
            return timing, answer
        listed = int((answer.sum(axis=0) // np.arange(3, answer.shape[1] + 3)).sum())
        if listed:
            total = timing.seconds * expected / listed
            best = Timing(total, total, "extrapolated", f"by the rate on {size:,} nodes, {listed:,} cycles")
        size *= 2
    return best or Timing(children_cpu() - before, budget, "at least", "no cycle in time"), None
