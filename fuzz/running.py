"""Workers that fuzz until the time is over: one that crashes or hangs is a finding, and is replaced."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import re
import secrets
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

PREPARING = 600
"""Seconds that compiling may take at most."""
CORPUS = Path(__file__).parents[1] / "tests" / "corpus"

Send = Callable[..., None]


class Unit(NamedTuple):
    """A piece of work: everything random in it follows from these."""

    seed: int
    worker: int
    number: int

    def __str__(self) -> str:
        return f"{self.seed}:{self.worker}:{self.number}"


class Outcome(NamedTuple):
    """What a unit has tried, by name, and what went wrong, each with at least "kind" and "says"."""

    tried: dict[str, int]
    failures: list[dict[str, Any]]


Work = Callable[[Unit, Namespace], Outcome]


def parser(what: str) -> ArgumentParser:
    """Return a parser with the options that all of these programs share."""
    found = ArgumentParser(description=what)
    found.add_argument("--seconds", type=float, default=60, help="when to stop (default: 60)")
    found.add_argument("--full", action="store_true", help="do not count the time until the first case begins")
    found.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    found.add_argument("--seed", type=int, default=None, help="where random choices begin (default: a new one)")
    found.add_argument("--out", type=Path, default=None, help="a folder for the summary and for what failed")
    found.add_argument("--most", type=int, default=None, help="stop after this number of cases")
    found.add_argument(
        "--unit", default=None, help="run a single unit again, as a failure names it: SEED:WORKER:NUMBER"
    )
    return found


def run(
    name: str,
    work: Work,
    options: Namespace,
    hang: float,
    prepare: Callable[[], None] | None = None,
    keep: Callable[[Unit, Path | None], str] | None = None,
) -> int:
    """Run units in processes until the time is over, write the summary, and return the exit code.

    Args:
        name: The name of the summary.
        work: What does a unit.
        options: What `parser` has read.
        hang: Seconds after which a unit that has not ended is a failure.
        prepare: Called once in every process.
        keep: Writes what a failing unit was about, and returns the file.
    """
    if options.unit is not None:
        outcome = work(Unit(*map(int, options.unit.split(":"))), options)
        print(json.dumps(outcome._asdict(), indent=1))
        return bool(outcome.failures)
    options.seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"{name}: seed {options.seed}, {options.jobs} processes, {options.seconds:g} seconds", flush=True)
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[threads] = "1"  # of the workers, which are many already
    start = time.monotonic()
    tried, failures = _supervise(work, options, start + options.seconds, hang, prepare)
    if keep is not None and failures:
        if prepare is not None:
            prepare()
        for each in _distinct(failures)[:20]:
            each["file"] = keep(Unit(*map(int, each["unit"].split(":"))), options.out)
    summary = {
        "what": name,
        "seed": options.seed,
        "jobs": options.jobs,
        "seconds": round(time.monotonic() - start, 1),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "tried": dict(sorted(tried.items())),
        "failed": dict(sorted(Counter(each["kind"] for each in failures).items())),
        "failures": failures[:100],
    }
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{name}-{options.seed}.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps({key: summary[key] for key in ("seed", "seconds", "tried", "failed")}), flush=True)
    return bool(failures)


def _distinct(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one failure of each sort: those that say the same but for numbers are of one sort."""
    return list({re.sub(r"\d+", "", f"{each['kind']} {each['says']}"): each for each in failures}.values())


class _Worker:
    """A process that works on one unit after the other."""

    def __init__(
        self, work: Work, options: Namespace, index: int, first: int, prepare: Callable[[], None] | None
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.index, self.unit, self.since = index, Unit(options.seed, index, first), time.monotonic()
        self.connection, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(work, options, index, first, theirs, prepare))
        self.process.start()
        theirs.close()
        self.begun = False


def _work(
    work: Work,
    options: Namespace,
    index: int,
    first: int,
    connection: Connection,
    prepare: Callable[[], None] | None,
) -> None:
    number = first
    if prepare is not None:
        prepare()
    try:
        while True:
            unit = Unit(options.seed, index, number)
            connection.send(("begin", number))
            outcome = work(unit, options)
            connection.send(("done", outcome))
            number += 1
    except (BrokenPipeError, KeyboardInterrupt):
        pass


def _supervise(
    work: Work, options: Namespace, deadline: float, hang: float, prepare: Callable[[], None] | None
) -> tuple[Counter[str], list[dict[str, Any]]]:
    tried: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    workers = [_Worker(work, options, index, 0, prepare) for index in range(options.jobs)]
    last, begun = time.monotonic(), False
    deadline += PREPARING if options.full else 0

    def note(failure: dict[str, Any]) -> None:
        failures.append(failure)
        print(f"FAILED {failure['kind']}: {failure['says']} (unit {failure['unit']})", flush=True)

    def replace(worker: _Worker, kind: str, says: str) -> None:
        note({"kind": kind, "says": says, "unit": str(worker.unit)})
        worker.process.kill()
        worker.process.join()
        workers[workers.index(worker)] = _Worker(work, options, worker.index, worker.unit.number + 1, prepare)

    while time.monotonic() < deadline and (options.most is None or tried["cases"] < options.most):
        ready = set(wait([worker.connection for worker in workers], timeout=0.5))
        for worker in list(workers):
            if worker.connection in ready:
                try:
                    kind, told = worker.connection.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    replace(worker, "crash", f"the process ended with code {worker.process.exitcode}")
                    continue
                worker.since = time.monotonic()
                if kind == "begin":
                    if options.full and not begun:
                        deadline = time.monotonic() + options.seconds
                    begun = True
                    worker.unit, worker.begun = Unit(options.seed, worker.index, told), True
                else:
                    tried.update(told.tried)
                    for each in told.failures:
                        note({**each, "unit": str(worker.unit)})
            elif time.monotonic() - worker.since > (hang if worker.begun else PREPARING):
                replace(worker, "hang", f"no answer for {time.monotonic() - worker.since:.0f} seconds")
        if time.monotonic() - last > 30:
            last = time.monotonic()
            print(f"{dict(tried)}, {len(failures)} failures", flush=True)
    for worker in workers:
        worker.process.kill()
        worker.process.join()
    return tried, failures
