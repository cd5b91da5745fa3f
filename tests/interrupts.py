"""Ctrl-C while a test runs."""

import _thread
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def interrupted(seconds: float = 0.2) -> Iterator[None]:
    """Expect a `KeyboardInterrupt` in the block, which Ctrl-C causes after some seconds, and to leave it soon after.

    Ctrl-C comes again every second: Python loses one that arrives in a callback of the garbage collector. The bound is
    on processor time, since the machine may be busy with other things, and so wide that only a hang breaks it.

    What the block runs in this thread is not traced: coverage holds a lock while it notes a line, and an interrupt
    between taking and leaving it would have everything wait for ever.
    """
    ended, first, trace = threading.Event(), [0.0], sys.gettrace()

    def press() -> None:
        wait = seconds
        while not ended.wait(wait):
            first[0] = first[0] or time.process_time()
            _thread.interrupt_main()
            wait = 1.0

    presser = threading.Thread(target=press, daemon=True)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        sys.settrace(None)
        try:
            yield
        finally:
            ended.set()
            sys.settrace(trace)
    presser.join()
    assert time.process_time() - first[0] < 30
