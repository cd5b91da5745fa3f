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
    """Simulate Ctrl-C after some seconds, and expect the block to end with `KeyboardInterrupt` soon after.

    Ctrl-C is repeated every second, as Python loses one that arrives in a callback of the garbage collector. The limit
    is on CPU time, as the machine may be busy, and so generous that only a hang exceeds it.

    The block is not traced in this thread: coverage holds a lock while it records a line, and an interrupt between
    acquiring and releasing it would cause a deadlock.
    """
    ended, first_interrupt, trace = threading.Event(), [0.0], sys.gettrace()

    def interrupt() -> None:
        wait = seconds
        while not ended.wait(wait):
            first_interrupt[0] = first_interrupt[0] or time.process_time()
            _thread.interrupt_main()
            wait = 1.0

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        sys.settrace(None)
        try:
            yield
        finally:
            ended.set()
            sys.settrace(trace)
    thread.join()
    assert time.process_time() - first_interrupt[0] < 30
