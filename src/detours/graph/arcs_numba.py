"""The compiled loop of `arcs.locate`, in its own module so that small graphs never load Numba."""

from __future__ import annotations

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled


@compiled
def locate_rows(indptr: Int64, indices: Int32, source: Int64, target: Int64) -> Int64:
    """Find every edge in the row of its source by bisection; -1 for a loop."""
    found = np.empty(len(source), dtype=np.int64)
    for edge in range(len(source)):
        node = target[edge]
        if source[edge] == node:
            found[edge] = -1
            continue
        low = indptr[source[edge]]
        high = indptr[source[edge] + 1]
        while low < high:
            middle = (low + high) >> 1
            if indices[middle] < node:
                low = middle + 1
            else:
                high = middle
        found[edge] = low
    return found
