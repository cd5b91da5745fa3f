"""Threads: run independent ranges of roots with progress and Ctrl-C; and limit BLAS to one thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from detours.arrays import Int64

Worker = TypeVar("Worker")
Progress = Callable[[float, float], None]
Stop = Int64

RANGE_SECONDS = 0.05
"""Target duration of a range: short enough for Ctrl-C and load balance, long enough to hide Python's overhead."""


class Ranges:
    """Hands out consecutive ranges of 0..total, sized by the duration of earlier ones."""

    def __init__(self, total: int, step: int) -> None:
        self.total, self.step = total, max(step, 1)
        self.position = self.done = 0
        self.size = self.step
        self.lock = threading.Lock()

    def take(self, workers: int) -> tuple[int, int] | None:
        with self.lock:
            if self.position >= self.total:
                return None
            share = -(-(self.total - self.position) // (2 * workers)) if workers > 1 else self.total
            size = min(self.size, max(self.step, share // self.step * self.step))
            start, self.position = self.position, min(self.position + size, self.total)
            return start, self.position

    def finished(self, start: int, end: int, seconds: float) -> None:
        with self.lock:
            self.done += end - start
            target = (end - start) * RANGE_SECONDS / max(seconds, 1e-6)
            steps = int(min(target, 4 * self.size)) // self.step
            self.size = max(1, steps) * self.step


def run_ranges(
    total: int,
    step: int,
    work: Callable[[Worker, int, int, Stop], None],
    make_worker: Callable[[], Worker],
    n_jobs: int,
    progress: Progress | None = None,
) -> None:
    """Call work(worker, start, end, stop) on ranges that cover 0..total, on n_jobs threads.

    `progress` is called in the calling thread. On an error or Ctrl-C the other threads are stopped through stop[0] and
    joined.
    """
    ranges, stop = Ranges(total, step), np.zeros(1, np.int64)
    n_jobs = min(n_jobs, -(-total // step))
    errors: list[BaseException] = []

    def loop(report: Progress | None) -> None:
        worker = make_worker()
        while not stop[0] and (claimed := ranges.take(n_jobs)) is not None:
            started = time.perf_counter()
            work(worker, *claimed, stop)
            ranges.finished(*claimed, time.perf_counter() - started)
            if report is not None:
                report(ranges.done, total)

    finished_threads = threading.Semaphore(0)

    def guarded() -> None:
        try:
            loop(None)
        except BaseException as error:  # raised in the calling thread below
            errors.append(error)
            stop[0] = 1
        finally:
            finished_threads.release()

    if n_jobs <= 1:
        loop(progress)
        return
    threads = [threading.Thread(target=guarded, daemon=True) for _ in range(n_jobs)]
    try:
        for thread in threads:
            thread.start()
        running = n_jobs
        while running:
            running -= finished_threads.acquire(timeout=0.1)
            if progress is not None:
                progress(ranges.done, total)
    finally:
        stop[0] = 1
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if errors:
        raise errors[0]


# ---- matrix products on one thread: for small matrices, more threads only wait for each other ----

_lock = Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this context NumPy's matrix products use only the calling thread.

    The limit applies to the whole process: the first to enter sets it, the last to leave restores it.
    """
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = _blas_controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()


@cache
def _blas_controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
