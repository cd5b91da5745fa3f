"""How hot loops are compiled, and how long that takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Any, Self, TypeVar, cast

from numba import njit
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba: cached on disk, and without the GIL, so that Python threads can share the work."""
    return cast(Function, njit(cache=True, nogil=True)(function))


class CompileClock(event.Listener):  # type: ignore[misc]
    """Adds up the seconds in which Numba compiles functions, or loads them from its cache, while a block runs."""

    _WHILE = "numba:compiler_lock"  # held for both

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._began, self._lock = 0, 0.0, Lock()

    def __enter__(self) -> Self:
        event.register(self._WHILE, self)
        return self

    def __exit__(self, *_: object) -> None:
        event.unregister(self._WHILE, self)

    def on_start(self, _: Any) -> None:
        """Start the clock, unless it is running: functions are compiled for others, and in several threads."""
        with self._lock:
            if self._depth == 0:
                self._began = time.perf_counter()
            self._depth += 1

    def on_end(self, _: Any) -> None:
        """Stop the clock with the last one."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._began
