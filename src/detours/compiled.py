"""How hot loops are compiled, how long that takes, and how compiled code is kept between two starts."""

from __future__ import annotations

import logging
import pickle
import time
import zlib
from collections.abc import Callable
from threading import Lock
from typing import Any, Self, TypeVar, cast

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba: cached on disk, and without the GIL, so that Python threads can share the work."""
    dispatcher = njit(nogil=True)(function)
    try:
        dispatcher._cache = _Cache(function)  # what `cache=True` does, with files that are checked
    except (RuntimeError, OSError) as error:  # no folder can be written
        _say("Compiled code cannot be kept, so every start compiles anew", str(error))
    return cast(Function, dispatcher)


class _CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """Files of compiled code, used only if they are whole and were compiled for what is asked.

    Of two processes that compile a function for different types at the same time, Numba may file the code of one under
    the types of the other; running it would crash.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _dump(self, content: Any) -> bytes:
        data: bytes = super()._dump(content)
        return data + zlib.crc32(data).to_bytes(4, "little")  # what follows a pickle is not read

    def _load_index(self) -> dict[Any, Any]:
        try:
            return dict(super()._load_index())
        except Exception:
            _say("Compiled code in the cache is damaged, and compiled anew", self._index_path)
            return {}

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            data = file.read()
        if zlib.crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
            _say("Compiled code in the cache is damaged, and compiled anew", self._data_path(name))
            return None
        return pickle.loads(data)


class _Cache(FunctionCache):  # type: ignore[misc]
    """The cache of a function, without which it can do."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator, base = self._impl.locator, f"{self._impl.filename_base}-checked"  # not the files of Numba itself
        self._cache_file = _CheckedFiles(self._cache_path, base, locator.get_source_stamp())

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # a full disk, a folder that can no longer be written
            self.disable()
            _say("Compiled code cannot be kept, so every start compiles anew", str(error))


_said: set[str] = set()


def _say(what: str, why: str) -> None:
    """Tell the log, once for each kind; not a warning, which `-W error` would make the end of the program."""
    if what not in _said:
        _said.add(what)
        logging.getLogger("detours").warning("%s (%s); NUMBA_CACHE_DIR chooses another folder.", what, why)


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
