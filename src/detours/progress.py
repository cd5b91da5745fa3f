"""Progress of long calls: the caller's function, or with progress=True lines on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from detours.errors import InputError, escape_control, short_repr

Report = Callable[[float, float], None]
LINE_EVERY = 5.0
"""Seconds between two lines where standard error is not a terminal."""
REWRITE_EVERY = 0.2
"""Seconds between two updates of the line on a terminal."""


def as_report(progress: object, description: str) -> Report | None:
    """Return the function to be called with (done, total): the caller's, one that prints for True, or None.

    >>> as_report(False, "Counting") is as_report(None, "Counting") is None
    True
    """
    if progress is None or progress is False:
        return None
    if progress is True:
        return print_progress(description)
    if not callable(progress):
        raise InputError(
            f"progress must be True, False, None or a function of (done, total), not {short_repr(progress)}."
        )
    return progress


def print_progress(description: str) -> Report:
    """Return a function that prints: on a terminal one line that is rewritten, elsewhere a new line now and then."""
    terminal = sys.stderr.isatty()
    start = time.monotonic()
    last = 0.0 if terminal else start
    ended = False

    def report(done: float, total: float) -> None:
        nonlocal last, ended
        now = time.monotonic()
        complete = done >= total
        if ended or (not complete and now - last < (REWRITE_EVERY if terminal else LINE_EVERY)):
            return
        last, ended = now, complete
        share = done / total if total else 1.0
        line = f"{escape_control(description)}: {share:.0%} after {now - start:.0f} s"
        before, after = ("\r", "\n" if complete else "") if terminal else ("", "\n")
        print(f"{before}{line}", end=after, file=sys.stderr, flush=True)

    return report


@contextmanager
def watched(watch: Callable[[Event], None]) -> Iterator[None]:
    """Run `watch` in a background thread while the block runs; its event is set when the block ends."""
    block_ended = Event()
    thread = Thread(target=watch, args=(block_ended,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        block_ended.set()
        thread.join()
