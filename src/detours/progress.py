"""Progress of long calls: a function of the caller's own, or with progress=True lines on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from detours.errors import InputError, printable, shown

Report = Callable[[float, float], None]
LINE_EVERY = 5.0
"""Seconds between two lines in a log."""
REWRITE_EVERY = 0.2
"""Seconds after which the line on a terminal is rewritten."""


def as_report(progress: object, description: str) -> Report | None:
    """Return the function to be called with (done, total): the caller's own, one that prints for True, or None.

    >>> as_report(False, "Counting") is as_report(None, "Counting") is None
    True
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return print_progress(description)
    if not callable(progress):
        raise InputError(f"progress must be True, False, None or a function of (done, total), not {shown(progress)}.")
    return progress


def print_progress(description: str) -> Report:
    """Return a function that prints: one line that is rewritten on a terminal, elsewhere a new line now and then."""
    terminal = sys.stderr.isatty()
    start = time.monotonic()
    last = 0.0 if terminal else start
    ended = False

    def report(done: float, total: float) -> None:
        nonlocal last, ended
        now = time.monotonic()
        at_end = done >= total
        if ended or (not at_end and now - last < (REWRITE_EVERY if terminal else LINE_EVERY)):
            return
        last, ended = now, at_end
        share = done / total if total else 1.0
        line = f"{printable(description)}: {share:.0%} after {now - start:.0f} s"
        before, after = ("\r", "\n" if at_end else "") if terminal else ("", "\n")
        print(f"{before}{line}", end=after, file=sys.stderr, flush=True)

    return report


@contextmanager
def watched(watch: Callable[[Event], None]) -> Iterator[None]:
    """Let a function look at the work of the block from a thread of its own, until the event says that it is over."""
    over = Event()
    watcher = Thread(target=watch, args=(over,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
