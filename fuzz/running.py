"""Run fuzzers in worker processes for a given time; a worker that crashes or hangs is a failure, and is replaced."""

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
"""Time limit in seconds for compiling before the first unit."""
CORPUS = Path(__file__).parents[1] / "tests" / "corpus"

Send = Callable[..., None]


class Unit(NamedTuple):
    """A piece of work, whose random choices are determined by these values."""

    seed: int
    worker: int
    number: int

    def __str__(self) -> str:
        return f"{self.seed}:{self.worker}:{self.number}"


class Outcome(NamedTuple):
    """Counts of what a unit has tried, by name, and its failures, each with at least "kind" and "says"."""

    tried: dict[str, int]
    failures: list[dict[str, Any]]


Work = Callable[[Unit, Namespace], Outcome]


def parser(description: str) -> ArgumentParser:
    """Return a parser with the options that all fuzzers share."""
    result = ArgumentParser(description=description)
    result.add_argument("--seconds", type=float, default=60, help="time to run (default: 60)")
    result.add_argument("--full", action="store_true", help="start the time at the first case, after compiling")
    result.add_argument("--jobs", type=int, default=1, help="number of processes (default: 1)")
    result.add_argument("--seed", type=int, default=None, help="random seed (default: a new one)")
    result.add_argument("--out", type=Path, default=None, help="folder for the summary and for failing inputs")
    result.add_argument("--most", type=int, default=None, help="stop after this many cases")
    result.add_argument("--unit", default=None, help="repeat one unit, as printed with a failure: SEED:WORKER:NUMBER")
    return result


def run(
    name: str,
    work: Work,
    options: Namespace,
    hang: float,
    prepare: Callable[[], None] | None = None,
    keep: Callable[[Unit, Path | None], str] | None = None,
) -> int:
    """Run units in worker processes until the time is over, write the summary, and return the exit code.

    Args:
        name: The name of the fuzzer, for the summary.
        work: Runs one unit.
        options: The options from `parser`.
        hang: Seconds after which a running unit is a failure.
        prepare: Called once in every process.
        keep: Stores the input of a failing unit and returns the file.
    """
    if options.unit is not None:
        outcome = work(Unit(*map(int, options.unit.split(":"))), options)
        print(json.dumps(outcome._asdict(), indent=1))
        return bool(outcome.failures)
    options.seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"{name}: seed {options.seed}, {options.jobs} processes, {options.seconds:g} seconds", flush=True)
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[threads] = "1"  # there may be one worker per core
    start = time.monotonic()
    tried, failures = _supervise(work, options, start + options.seconds, hang, prepare)
    if keep is not None and failures:
        if prepare is not None:
            prepare()
        for failure in _distinct(failures)[:20]:
            failure["file"] = keep(Unit(*map(int, failure["unit"].split(":"))), options.out)
    summary = {
        "what": name,
        "seed": options.seed,
        "jobs": options.jobs,
        "seconds": round(time.monotonic() - start, 1),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "tried": dict(sorted(tried.items())),
        "failed": dict(sorted(Counter(failure["kind"] for failure in failures).items())),
        "failures": failures[:100],
    }
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{name}-{options.seed}.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps({key: summary[key] for key in ("seed", "seconds", "tried", "failed")}), flush=True)
    return bool(failures)


def _distinct(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one of each set of failures whose messages differ only in numbers."""
    return list({re.sub(r"\d+", "", f"{one['kind']} {one['says']}"): one for one in failures}.values())


class _Worker:
    """A process that runs one unit after the other."""

    def __init__(
        self, work: Work, options: Namespace, index: int, first: int, prepare: Callable[[], None] | None
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.index, self.unit, self.last_message = index, Unit(options.seed, index, first), time.monotonic()
        self.connection, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_work, args=(work, options, index, first, sender, prepare))
        self.process.start()
        sender.close()
        self.started = False


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
    last_print, started = time.monotonic(), False
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
                    kind, content = worker.connection.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    replace(worker, "crash", f"the process ended with code {worker.process.exitcode}")
                    continue
                worker.last_message = time.monotonic()
                if kind == "begin":
                    if options.full and not started:
                        deadline = time.monotonic() + options.seconds
                    started = True
                    worker.unit, worker.started = Unit(options.seed, worker.index, content), True
                else:
                    tried.update(content.tried)
                    for failure in content.failures:
                        note({**failure, "unit": str(worker.unit)})
            elif (silent := time.monotonic() - worker.last_message) > (hang if worker.started else PREPARING):
                replace(worker, "hang", f"no answer for {silent:.0f} seconds")
        if time.monotonic() - last_print > 30:
            last_print = time.monotonic()
            print(f"{dict(tried)}, {len(failures)} failures", flush=True)
    for worker in workers:
        worker.process.kill()
        worker.process.join()
    return tried, failures
