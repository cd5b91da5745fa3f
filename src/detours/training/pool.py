"""Tasks in worker processes, which never outlive this process, however it ends."""

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
POLL = 0.5
"""Seconds between two checks whether all processes are alive."""


class _Done(NamedTuple):
    task: int
    value: Any
    error: str | None


def run_in_processes(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int) -> list[T]:
    """Return `work(*task)` for each task, in their order, computed by up to `jobs` processes.

    The first failure terminates the others; what they have saved is for the next call.
    """
    context = multiprocessing.get_context("spawn")  # CUDA does not survive a fork
    waiting, results = context.Queue(), context.Queue()
    jobs = min(jobs, len(tasks))
    for item in enumerate(tasks):
        waiting.put(item)
    for _ in range(jobs):
        waiting.put(None)
    workers = [context.Process(target=_serve, args=(work, waiting, results), daemon=True) for _ in range(jobs)]
    values: dict[int, T] = {}
    try:
        for worker in workers:
            worker.start()
        while len(values) < len(tasks):
            try:
                done = results.get(timeout=POLL)
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
    return [values[index] for index in range(len(tasks))]


def _check_alive(workers: Sequence[BaseProcess]) -> None:
    for worker in workers:
        if worker.exitcode:
            status = f"signal {-worker.exitcode}" if worker.exitcode < 0 else f"exit code {worker.exitcode}"
            raise DetoursError(
                f"a process ended with {status}, perhaps for lack of memory; run it again with fewer --jobs."
            )


def _serve(work: Callable[..., Any], waiting: Any, results: Any) -> None:
    """The loop of a worker: one task after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives it, too, and terminates the workers
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while (item := waiting.get()) is not None:
        index, task = item
        try:
            done = _Done(index, work(*task), None)
        except DetoursError as error:
            done = _Done(index, None, str(error))
        except Exception as error:
            done = _Done(index, None, f"unexpected {type(error).__name__}: {error}")
        results.put(done)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
