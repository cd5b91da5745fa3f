"""Ctrl-C while a test runs."""

import _thread
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
    """
    ended, first = threading.Event(), [0.0]

    def press() -> None:
        wait = seconds
        while not ended.wait(wait):
            first[0] = first[0] or time.process_time()
            _thread.interrupt_main()
            wait = 1.0

    presser = threading.Thread(target=press, daemon=True)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        try:
            yield
        finally:
            ended.set()
    presser.join()
    assert time.process_time() - first[0] < 30
