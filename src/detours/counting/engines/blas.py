"""NumPy's matrix products on one thread: for small matrices more threads only wait for each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_inside = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this context a matrix product uses the thread it is called from, and no other.

    The number of threads belongs to the whole process: the first to enter sets it, the last to leave sets it back.
    """
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
