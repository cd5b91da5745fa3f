"""Compilation of hot loops: the decorator, its cache on disk, and a clock for the time that compiling takes."""

from __future__ import annotations

import logging
import pickle
import time
import zlib
from collections.abc import Callable
from threading import Lock
from typing import Any, Self, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba: cached on disk, and releasing the GIL, so that Python threads can share the work.

    A function that Python calls must not return a named tuple: Numba crashes if a signal arrives before it is built.
    """
    dispatcher = njit(nogil=True)(function)
    dispatcher.__class__ = _Interruptible
    try:
        dispatcher._cache = _Cache(function)  # as `cache=True` does, but with checked files
    except (RuntimeError, OSError) as error:  # no folder is writable
        _log_once("Compiled code cannot be cached, so it is compiled again at every start", str(error))
    return cast(Function, dispatcher)


class _Interruptible(CPUDispatcher):  # type: ignore[misc]
    """A compiled function that ends with the error of a signal handler, such as `KeyboardInterrupt`, at any time."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        try:
            return CPUDispatcher.__call__(self, *args, **named)
        except SystemError as error:  # an array could not be converted, as a handler of signals had raised an error
            cause: BaseException | None = error
            while isinstance(cause, SystemError):
                cause = cause.__cause__
            if cause is None:
                raise
            raise cause from None


class _CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """Files of compiled code, used only if they are intact, of these sources and for the requested types.

    Of two processes that compile a function for different types, or from different sources, at the same time, Numba may
    store the code of one under the types of the other; running it would crash, or give the results of other sources.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, ((self._source_stamp, key), data))

    def load(self, key: Any) -> Any:
        entry = super().load(key)
        return entry[1] if entry is not None and entry[0] == (self._source_stamp, key) else None

    def _dump(self, content: Any) -> bytes:
        data: bytes = super()._dump(content)
        return data + zlib.crc32(data).to_bytes(4, "little")  # pickle ignores what follows

    def _load_index(self) -> dict[Any, Any]:
        try:
            return dict(super()._load_index())
        except Exception:
            _log_once("Compiled code in the cache is damaged, so it is compiled again", self._index_path)
            return {}

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            data = file.read()
        if zlib.crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
            _log_once("Compiled code in the cache is damaged, so it is compiled again", self._data_path(name))
            return None
        return pickle.loads(data)


class _Cache(FunctionCache):  # type: ignore[misc]
    """The cache of a function; if it cannot be written, the function still works."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        base = f"{self._impl.filename_base}-checked"  # not the names of Numba's own files
        self.stamp = self._impl.locator.get_source_stamp(), _taken_from_elsewhere(function)
        self._cache_file = _CheckedFiles(self._cache_path, base, self.stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # a full disk, or a folder that is no longer writable
            self.disable()
            _log_once("Compiled code cannot be cached, so it is compiled again at every start", str(error))


def _taken_from_elsewhere(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return what machine code may contain of other modules, which Numba does not notice: compiled functions, constants
    and layouts of named tuples. They must be imported by name, before a module compiles its first function."""
    found: list[Any] = []
    for name, value in sorted(function.__globals__.items()):
        if name.startswith("__"):
            continue
        if isinstance(value, _Interruptible) and value.__module__ != function.__module__:
            found.append((name, getattr(value._cache, "stamp", None)))
        elif isinstance(value, type) and issubclass(value, tuple):
            found.append((name, getattr(value, "_fields", ())))
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            found.append((name, value.dtype.str, value.shape, zlib.crc32(value.tobytes())))
        elif isinstance(value, int | float | str | bytes | tuple | np.generic | np.dtype):
            found.append((name, repr(value)))
    return tuple(found)


_logged: set[str] = set()


def _log_once(message: str, reason: str) -> None:
    """Log each message once. Not a Python warning: `-W error` would make it end the program."""
    if message not in _logged:
        _logged.add(message)
        logging.getLogger("detours").warning("%s (%s); NUMBA_CACHE_DIR chooses another folder.", message, reason)


class CompileClock(event.Listener):  # type: ignore[misc]
    """Adds up the seconds that Numba spends on compiling functions or loading them from its cache in a `with` block."""

    _EVENT = "numba:compiler_lock"  # held while compiling and while loading

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._started, self._lock = 0, 0.0, Lock()

    def __enter__(self) -> Self:
        event.register(self._EVENT, self)
        return self

    def __exit__(self, *_: object) -> None:
        event.unregister(self._EVENT, self)

    def on_start(self, _: Any) -> None:
        """Start the clock unless it is running: compilations are nested, and run in several threads."""
        with self._lock:
            if self._depth == 0:
                self._started = time.perf_counter()
            self._depth += 1

    def on_end(self, _: Any) -> None:
        """Stop the clock when the outermost compilation ends."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._started
