"""The planner: it chooses the engine that is expected to be fastest among those that fit into memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from math import inf
from operator import attrgetter, itemgetter
from typing import Any

from detours.checks import check_choice, check_device, check_jobs, parse_bytes, readable_bytes
from detours.containers import machine_memory
from detours.counting.engines.base import Engine, Estimate, Tally, Task
from detours.counting.engines.registry import ENGINES
from detours.counting.engines.threads import Progress
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import EngineError, InputError

ENOUGH = 1e-3
"""Seconds of an estimate that is good enough: estimating another engine would take as long."""
ROOTS_PER_THREAD = 64
"""The roots that closed forms take at a time: small graphs have no work for more threads."""
THREADS_PAY = 2e-2
"""Seconds of a search, which takes one root at a time, from which on more threads are worth their start."""
SHARE_OF_TIME = 0.05
"""The share of the time of the best engine that may go into finding out the unknown time of another."""
SHARE_OF_MEMORY = 0.5
"""Without a memory limit, engines that need more than this share of the machine's memory are a last resort."""


def engines(device: str | None = None) -> list[Engine]:
    """Return all engines of the registry and, if a device is given, the engine for it; they are imported only here."""
    modules = ((import_module(f"detours.counting.engines.{name}.engine"), cls) for name, cls in ENGINES.items())
    registered: list[Engine] = [getattr(module, cls)() for module, cls in modules]
    if device is not None:
        from detours.counting.engines.dense.gpu import TensorEngine

        registered.append(TensorEngine())
    return registered


@dataclass(frozen=True)
class Candidate:
    """An engine with its estimate, or with the error that says why it cannot do the task."""

    engine: Engine
    estimate: Estimate | None = None
    error: EngineError | OverflowError | None = None
    fits: bool = False
    """Whether it can do the task within the memory limit."""

    @property
    def seconds(self) -> float:
        return inf if self.estimate is None else self.estimate.seconds

    def __str__(self) -> str:
        if self.estimate is None:
            return f"{self.engine.name:8} not possible: {self.error}"
        time = "unknown" if self.estimate.seconds == inf else readable_seconds(self.estimate.seconds)
        too_much = "" if self.fits else "; too much memory"
        return f"{self.engine.name:8} {time:8} {readable_bytes(self.estimate.bytes):8} {self.estimate.how}{too_much}"


@dataclass(frozen=True, repr=False)
class Plan:
    """How a count will be done, and its expected time and memory; print it to read it."""

    task: Task
    engine: str
    """The name of an engine, or "none" where no edge lies on a cycle."""
    estimate: Estimate
    run: Callable[[Tally, Progress | None], None]
    """Counts into a tally."""
    others: tuple[str, ...] = ()
    """The estimates of the other engines, one line each."""
    chordless: bool = False
    """Whether only chordless cycles are counted."""

    @property
    def seconds(self) -> float:
        """Expected time; infinite if only a lower bound is known, which `reason` gives."""
        return self.estimate.seconds

    @property
    def bytes(self) -> int:
        """Expected peak memory, including the results."""
        return self.estimate.bytes

    @property
    def reason(self) -> str:
        return self.estimate.how

    @property
    def sure(self) -> bool:
        """Whether the time is known; False if the sample was cut short."""
        return self.seconds < inf

    def __repr__(self) -> str:
        cyclic = self.task.cyclic
        kind = "directed detours" if cyclic.directed else "chordless detours" if self.chordless else "detours"
        parts = f"{cyclic.num_blocks:,} biconnected component{'s' * (cyclic.num_blocks != 1)}"
        time = f"about {readable_seconds(self.seconds)}" if self.sure else "unknown beforehand"
        lines = [
            f"{kind} up to k = {self.task.k}",
            f"  on cycles   {cyclic.num_nodes:,} nodes, {cyclic.num_arcs:,} arcs in {parts}",
            f"  engine      {self.engine}: {self.reason}",
            f"  threads     {self.task.n_jobs}",
            f"  time        {time}",
            f"  memory      about {readable_bytes(self.bytes)}",
        ]
        lines += [f"  {'' if index else 'instead of':11} {other}" for index, other in enumerate(self.others)]
        return "\n".join(lines)


def make_plan(
    cyclic: Cyclic,
    k: int,
    *,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
    device: Any = None,
    known: list[Engine] | None = None,
    compare_all: bool = False,
    fewer_threads: bool = True,
    patience: float = 0.0,
) -> Plan:
    """Choose the engine that is expected to be fastest among those that fit into memory.

    ``known`` are the engines to choose from, by default all `engines`. With ``compare_all`` the plan also has the
    estimates of the other engines. With ``fewer_threads`` it has fewer than ``n_jobs`` threads if only that fits into
    memory. ``patience`` are seconds for finding out a time that would stay unknown.
    """
    device = check_device(device)
    eligible = _engines_for(engine, k, device, engines(device) if known is None else known)
    jobs, limit = check_jobs(n_jobs), parse_bytes(memory_limit)
    task = Task(cyclic, k, min(jobs, max(1, cyclic.num_nodes // ROOTS_PER_THREAD)), limit, device)
    most = min(jobs, cyclic.num_nodes)
    now = patience if task.n_jobs == most else 0.0
    plan = _choose(eligible, task, compare_all, now) if cyclic.num_arcs else _nothing_to_count(task)
    if plan.engine == "search" and plan.seconds > THREADS_PAY and task.n_jobs < most:
        task = replace(task, n_jobs=most)
        plan = _choose(eligible, task, compare_all, patience)
    while limit is not None and plan.bytes > limit and fewer_threads and task.n_jobs > 1 and cyclic.num_arcs:
        task = replace(task, n_jobs=task.n_jobs // 2)
        plan = _choose(eligible, task, compare_all, patience)
    if limit is not None and plan.bytes > limit:
        raise EngineError(
            f"counting up to k = {k} needs about {readable_bytes(plan.bytes)}"
            f"{' with one thread' if task.n_jobs == 1 else ''}, more than memory_limit = {readable_bytes(limit)}; "
            "raise the limit, or use a smaller k" + (", or count in parts with out=" if known is None else "")
        )
    return plan


def _engines_for(name: str, k: int, device: str | None, known: list[Engine]) -> list[Engine]:
    """Return the engine of this name, or for "auto" all that may be chosen."""
    check_choice("engine", name, tuple(dict.fromkeys(("auto", *(each.name for each in known)))))
    if name == "auto":
        return [each for each in known if not (each.on_device and device == "cpu")]  # torch on a CPU only on request
    chosen = max((each for each in known if each.name == name), key=attrgetter("on_device"))
    if chosen.longest is not None and k > chosen.longest:
        raise EngineError(
            f"engine={name!r} has closed forms up to k = {chosen.longest}, not for k = {k}; "
            "use engine='search' or 'auto'"
        )
    if device is not None and not chosen.on_device:
        raise InputError(f"engine={name!r} runs on the CPU alone; leave device={device!r} out, or use engine='dense'")
    return [chosen]


def _choose(eligible: list[Engine], task: Task, compare_all: bool, patience: float) -> Plan:
    """Compare estimates, starting with the engine that may be fastest, until no other can be faster."""
    compared: list[Candidate] = []
    skipped: list[Engine] = []
    for lower_bound, engine in sorted(((each.least_seconds(task), each) for each in eligible), key=itemgetter(0)):
        if min((each.seconds for each in compared if each.fits), default=inf) > max(ENOUGH, lower_bound):
            compared.append(_candidate(engine, task))
        else:
            skipped.append(engine)
    chosen = _best(compared)
    if chosen.seconds < inf:  # a small share of it, to learn whether another engine is faster after all
        allowed = SHARE_OF_TIME * chosen.seconds
        cheap = [each for each in skipped if each.planning_seconds(task) < allowed]
        skipped = [each for each in skipped if each not in cheap]
        compared = [_looked_at_longer(each, allowed) for each in (*compared, *(_candidate(e, task) for e in cheap))]
        chosen = _best(compared)
    elif patience:
        chosen = _looked_at_longer(chosen, patience)
    others = [_candidate(each, task) for each in skipped] if compare_all else []
    assert chosen.estimate is not None
    lines = (str(each) for each in (*compared, *others) if each is not chosen) if compare_all else ()
    estimate = replace(chosen.estimate, longer=None)
    run = partial(chosen.engine.run, task, estimate)
    return Plan(task, chosen.engine.name, estimate, run, tuple(lines))


def _candidate(engine: Engine, task: Task) -> Candidate:
    if engine.longest is not None and task.k > engine.longest:
        return Candidate(engine, error=EngineError(f"it has closed forms up to k = {engine.longest}"))
    try:
        estimate = engine.estimate(task)
    except (EngineError, OverflowError) as error:
        return Candidate(engine, error=error)
    limit = SHARE_OF_MEMORY * (machine_memory() or inf) if task.memory is None else task.memory
    return Candidate(engine, estimate, fits=estimate.bytes <= limit)


def _looked_at_longer(candidate: Candidate, seconds: float) -> Candidate:
    """Return a candidate with an estimate that took these seconds more, if that may help."""
    if candidate.estimate is None or candidate.estimate.longer is None or not candidate.fits:
        return candidate
    return replace(candidate, estimate=candidate.estimate.longer(seconds) or candidate.estimate)


def _best(candidates: list[Candidate]) -> Candidate:
    """Return the fastest of those that fit; if none does, the one that needs the least memory."""
    fastest = min((each for each in candidates if each.fits), key=attrgetter("seconds"), default=None)
    if fastest is not None and fastest.seconds < inf:
        return fastest
    for each in candidates:
        if isinstance(each.error, OverflowError):
            raise each.error  # rather than an endless search
    possible = [each for each in candidates if each.estimate is not None]
    if not possible:
        raise next(each.error for each in candidates if each.error is not None)
    return fastest or min(possible, key=attrgetter("estimate.bytes"))


def _nothing_to_count(task: Task) -> Plan:
    def run(tally: Tally, progress: Progress | None = None) -> None:
        if progress is not None:
            progress(1.0, 1.0)

    return Plan(task, "none", Estimate(0.0, task.result_bytes, "no edge lies on a cycle"), run)


def readable_seconds(seconds: float) -> str:
    """Return a time with a suitable unit.

    >>> readable_seconds(0.0123), readable_seconds(1108), readable_seconds(9000)
    ('12 ms', '18 min', '2.5 h')
    """
    if seconds < 0.001:
        return "1 ms"
    if seconds < 1:
        return f"{float(f'{1000 * seconds:.2g}'):g} ms"
    if seconds < 7200:
        return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} h"
