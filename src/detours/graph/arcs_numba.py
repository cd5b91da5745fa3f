"""The compiled form of `lookup.locate`, kept apart so that small graphs never load Numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]  # Numba ships no types
def locate_rows(indptr: Any, indices: Any, src: Any, dst: Any) -> Any:
    found = np.empty(len(src), dtype=np.int64)
    for edge in range(len(src)):
        target = dst[edge]
        if src[edge] == target:
            found[edge] = -1
            continue
        low = indptr[src[edge]]
        high = indptr[src[edge] + 1]
        while low < high:
            middle = (low + high) >> 1
            if indices[middle] < target:
                low = middle + 1
            else:
                high = middle
        found[edge] = low
    return found
