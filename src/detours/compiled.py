"""How hot loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba: cached on disk, and without the GIL, so that Python threads can share the work."""
    return cast(Function, njit(cache=True, nogil=True)(function))
