"""Where the caller's edges lie in the CSR; a binary search in the row of each edge's source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_FEW = 20_000  # below this NumPy answers sooner than Numba can be imported


def locate(indptr: Ints, indices: NDArray[np.int32], edge_index: Ints) -> Ints:
    """CSR position of the arc of every listed edge, -1 for a loop. Every other edge must be there."""
    src, dst = edge_index
    if len(src) > _FEW or len(indices) > 4 * _FEW:  # NumPy looks at all arcs, however few edges there are
        found: Ints = _compiled()(indptr, indices, src, dst)
        return found
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    found = np.searchsorted((rows << 32) | indices, (src << 32) | dst)
    found[src == dst] = -1
    return found


def _compiled() -> Any:
    from detours.graph.arcs_numba import locate_rows

    return locate_rows
