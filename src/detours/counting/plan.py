"""Which engine: the one that is expected to be fastest among those that can do it within the memory."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import Any

from detours.checks import check_choice, check_device, check_jobs, parse_bytes, readable_bytes
from detours.counting.engines.base import Engine, Estimate, Tally, Task
from detours.counting.engines.threads import Progress
from detours.counting.shrink.cyclic_part import Cyclic
from detours.errors import EngineError, InputError

ENOUGH = 1e-3
"""Seconds of an estimate that is taken at once: to look for a better one would take as long."""
SHARE_OF_MEMORY = 0.5
"""Without a limit of the user's, engines that need more than this share of the machine's memory are a last resort."""


def engines(device: str | None = None) -> list[Engine]:
    """All engines there are, imported when they are needed. A new one is registered here, and nowhere else."""
    from detours.counting.engines.dense.engine import DenseEngine
    from detours.counting.engines.rows.engine import RowEngine
    from detours.counting.engines.search.engine import SearchEngine

    found: list[Engine] = [RowEngine(), DenseEngine(), SearchEngine()]
    if device is not None:
        from detours.counting.engines.dense.gpu import TensorEngine

        found.append(TensorEngine())
    return found


@dataclass(frozen=True)
class Candidate:
    """An engine with what it expects, or with the error that says why it cannot do the task."""

    engine: Engine
    estimate: Estimate | None = None
    error: EngineError | OverflowError | None = None
    fits: bool = False
    """Whether it can do the task within the memory."""

    @property
    def seconds(self) -> float:
        return inf if self.estimate is None else self.estimate.seconds

    def without_preparations(self) -> Candidate:
        """The same without what the engine made ready, which may be large."""
        return self if self.estimate is None else replace(self, estimate=replace(self.estimate, prepared=None))

    def __str__(self) -> str:
        if self.estimate is None:
            return f"{self.engine.name:8} not possible: {self.error}"
        time = "unknown" if self.estimate.seconds == inf else readable_seconds(self.estimate.seconds)
        size = readable_bytes(self.estimate.bytes) + ("" if self.fits else ", too much")
        return f"{self.engine.name:8} {time:8} {size:8} {self.estimate.how}"


@dataclass(frozen=True, repr=False)
class Plan:
    """How a count will be done, and what to expect of it; print it to read it."""

    task: Task
    chosen: Candidate | None
    """None where no edge lies on a cycle, so that there is nothing to count."""
    candidates: tuple[Candidate, ...] = ()
    """All engines that were asked about; in the plan of `explain`, all there are."""

    @property
    def engine(self) -> str:
        return "none" if self.chosen is None else self.chosen.engine.name

    @property
    def seconds(self) -> float:
        """Expected time; infinite when all that is known is a lower bound, which `reason` tells."""
        return 0.0 if self.chosen is None else self._estimate.seconds

    @property
    def bytes(self) -> int:
        """Expected memory at the peak, results included."""
        return self.task.result_bytes if self.chosen is None else self._estimate.bytes

    @property
    def reason(self) -> str:
        return "no edge lies on a cycle" if self.chosen is None else self._estimate.how

    @property
    def sure(self) -> bool:
        """False when the sample was cut short, so that the time is unknown."""
        return self.seconds < inf

    @property
    def prepared(self) -> Any:
        """What the engine made ready to start the count with; None if there is nothing to count."""
        return None if self.chosen is None else self._estimate.prepared

    @property
    def _estimate(self) -> Estimate:
        assert self.chosen is not None
        assert self.chosen.estimate is not None
        return self.chosen.estimate

    def run(self, tally: Tally, progress: Progress | None = None) -> None:
        if self.chosen is not None:
            self.chosen.engine.run(self.task, self._estimate, tally, progress)
        elif progress is not None:
            progress(1.0, 1.0)

    def __repr__(self) -> str:
        cyclic = self.task.cyclic
        parts = f"{cyclic.num_blocks:,} biconnected component{'s' * (cyclic.num_blocks != 1)}"
        time = f"about {readable_seconds(self.seconds)}" if self.sure else "cannot be told beforehand"
        lines = [
            f"{'directed detours' if cyclic.directed else 'detours'} up to k = {self.task.k}",
            f"  on cycles   {cyclic.num_nodes:,} nodes, {cyclic.num_arcs:,} arcs in {parts}",
            f"  engine      {self.engine}: {self.reason}",
            f"  threads     {self.task.n_jobs}",
            f"  time        {time}",
            f"  memory      about {readable_bytes(self.bytes)}",
        ]
        others = [each for each in self.candidates if each is not self.chosen]
        lines += [f"  {'instead of' if each is others[0] else '':11} {each}" for each in others]
        return "\n".join(lines)


def make_plan(
    cyclic: Cyclic,
    k: int,
    *,
    engine: str = "auto",
    n_jobs: int = 1,
    memory_limit: int | str | None = None,
    device: Any = None,
    compare_all: bool = False,
) -> Plan:
    """Choose the engine that is expected to be fastest among those that can do it within the memory.

    With ``compare_all`` the plan also has the estimates of engines that were not needed to choose.
    """
    device = check_device(device)
    asked = _asked(engine, k, device)
    jobs, limit = min(check_jobs(n_jobs), max(1, cyclic.num_nodes // 64)), parse_bytes(memory_limit)
    task = Task(cyclic, k, jobs, limit, device)
    if cyclic.num_arcs == 0:
        plan = Plan(task, None)
    else:
        candidates = _compare(asked, task)
        chosen = _best(candidates)
        if compare_all:
            compared = [each.engine for each in candidates]
            candidates += [_candidate(each, task) for each in asked if each not in compared]
        plan = Plan(task, chosen, tuple(each if each is chosen else each.without_preparations() for each in candidates))
    if limit is not None and plan.bytes > limit:
        raise EngineError(
            f"counting up to k = {k} needs about {readable_bytes(plan.bytes)}, more than memory_limit = "
            f"{readable_bytes(limit)}; raise the limit, use fewer threads or a smaller k, or count in parts with out="
        )
    return plan


def _asked(name: str, k: int, device: str | None) -> list[Engine]:
    """The engines that go by the name, or all of them."""
    known = engines(device)
    check_choice("engine", name, tuple(dict.fromkeys(("auto", *(each.name for each in known)))))
    found = [each for each in known if name in ("auto", each.name)]
    if name == "auto":
        return [each for each in found if not (device == "cpu" and each is known[-1])]  # torch on the CPU: if asked for
    chosen = found[-1]
    if chosen.longest is not None and k > chosen.longest:
        raise EngineError(
            f"engine={name!r} has closed forms up to k = {chosen.longest}, not for k = {k}; "
            "use engine='search' or 'auto'"
        )
    if device is not None and chosen is not known[-1]:
        raise InputError(f"engine={name!r} runs on the CPU alone; leave device={device!r} out, or use engine='dense'")
    return [chosen]


def _compare(asked: list[Engine], task: Task) -> list[Candidate]:
    """Ask one engine after the other, those that may be fastest first, until no other can be faster."""
    found: list[Candidate] = []
    for engine in sorted(asked, key=lambda each: each.least_seconds(task)):
        best = min((each.seconds for each in found if each.fits), default=inf)
        if best <= max(ENOUGH, engine.least_seconds(task)):
            break
        found.append(_candidate(engine, task))
    return found


def _candidate(engine: Engine, task: Task) -> Candidate:
    if engine.longest is not None and task.k > engine.longest:
        return Candidate(engine, error=EngineError(f"it has closed forms up to k = {engine.longest}"))
    try:
        estimate = engine.estimate(task)
    except (EngineError, OverflowError) as error:
        return Candidate(engine, error=error)
    limit = SHARE_OF_MEMORY * _memory_of_machine() if task.memory is None else task.memory
    return Candidate(engine, estimate, fits=estimate.bytes <= limit)


def _best(candidates: list[Candidate]) -> Candidate:
    """The fastest of those that fit; if none does, the one that needs the least memory."""
    fitting = [each for each in candidates if each.fits]
    known = [each for each in fitting if each.seconds < inf]
    for each in candidates:
        if isinstance(each.error, OverflowError) and not known:
            raise each.error  # rather than a search without end
    if fitting:
        return min(fitting, key=lambda each: each.seconds)
    possible = [each for each in candidates if each.estimate is not None]
    if not possible:
        raise next(each.error for each in candidates if each.error is not None)
    return min(possible, key=lambda each: each.estimate.bytes if each.estimate else inf)


@cache
def _memory_of_machine() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return inf  # a system that does not say


def readable_seconds(seconds: float) -> str:
    if seconds < 0.001:
        return "1 ms"
    if seconds < 1:
        return f"{float(f'{1000 * seconds:.2g}'):g} ms"
    return f"{seconds:.3g} s" if seconds < 600 else f"{seconds / 3600:.3g} h"
