"""Array types, and read-only arrays for compiled loops; imports no Numba, which reading a graph does not need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

UInt8 = NDArray[np.uint8]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]


def read_only(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """Return a read-only contiguous view, so that compiled code sees one array type however the graph is stored."""
    view: NDArray[Any] = np.ascontiguousarray(np.asarray(array), dtype=dtype).view()
    view.flags.writeable = False
    return view
