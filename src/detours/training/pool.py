"""Tasks in processes of their own, some at a time: nothing is left running, however this process ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from queue import Empty
from typing import Any, NamedTuple, TypeVar

from detours.errors import DetoursError

T = TypeVar("T")
LOOK = 0.5
"""Seconds between two looks whether all processes are alive."""


class _Done(NamedTuple):
    task: int
    value: Any
    error: str | None


def side_by_side(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int) -> list[T]:
    """The values of `work(*task)` for each task, in their order, made by so many processes at a time.

    The first failure ends the others: what they have finished or saved is for the next time.
    """
    context = multiprocessing.get_context("spawn")  # fork and CUDA do not go together
    waiting, results = context.Queue(), context.Queue()
    jobs = min(jobs, len(tasks))
    for numbered in enumerate(tasks):
        waiting.put(numbered)
    for _ in range(jobs):
        waiting.put(None)
    workers = [context.Process(target=_serve, args=(work, waiting, results), daemon=True) for _ in range(jobs)]
    values: dict[int, T] = {}
    try:
        for worker in workers:
            worker.start()
        while len(values) < len(tasks):
            try:
                done = results.get(timeout=LOOK)
            except Empty:
                _check_alive(workers)
                continue
            if done.error is not None:
                raise DetoursError(done.error)
            values[done.task] = done.value
    finally:
        for worker in workers:
            if worker.is_alive() and len(values) < len(tasks):
                worker.terminate()
        for worker in workers:
            if worker.pid is not None:
                worker.join()
    return [values[at] for at in range(len(tasks))]


def _check_alive(workers: Sequence[BaseProcess]) -> None:
    for worker in workers:
        if worker.exitcode:
            how = f"signal {-worker.exitcode}" if worker.exitcode < 0 else f"exit code {worker.exitcode}"
            raise DetoursError(
                f"a process ended with {how}, perhaps for want of memory; run it again with fewer --jobs."
            )


def _serve(work: Callable[..., Any], waiting: Any, results: Any) -> None:
    """What each process does: one task after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while (numbered := waiting.get()) is not None:
        number, task = numbered
        try:
            done = _Done(number, work(*task), None)
        except DetoursError as error:
            done = _Done(number, None, str(error))
        except Exception as error:
            done = _Done(number, None, f"unexpected {type(error).__name__}: {error}")
        results.put(done)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
