"""How hot loops are compiled, and the arrays they see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]


def compiled(function: Function) -> Function:
    """Compile with Numba: cached on disk, and without the GIL, so that Python threads can share the work."""
    return cast(Function, njit(cache=True, nogil=True)(function))


def read_only(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """Return a read-only contiguous view, so that compiled code sees one array type however the graph is stored."""
    view: NDArray[Any] = np.ascontiguousarray(np.asarray(array), dtype=dtype).view()
    view.flags.writeable = False
    return view
