"""Rows of neighbours (CSR): transposition and concatenation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64, read_only
from detours.compiled import compiled


def transpose(indptr: Int64, indices: Int32, value: Int64) -> tuple[Int64, Int32, Int64]:
    """CSR of the reversed arcs, each with its value; the rows come out sorted."""
    arrays = read_only(indptr, np.int64), read_only(indices, np.int32), read_only(value, np.int64)
    start, out, out_value = np.zeros(len(indptr), np.int64), np.empty_like(indices), np.empty_like(value)
    _transpose(*arrays, start, out, out_value)
    return start, out, out_value


def concatenate_rows(a_ptr: Int64, a: NDArray[Any], b_ptr: Int64, b: NDArray[Any]) -> NDArray[Any]:
    """Concatenate each row of a with the same row of b; the row pointer of the result is ``a_ptr + b_ptr``."""
    out = np.empty(len(a) + len(b), a.dtype)
    out[np.arange(len(a)) + np.repeat(b_ptr[:-1], np.diff(a_ptr))] = a
    out[np.arange(len(b)) + np.repeat(a_ptr[1:], np.diff(b_ptr))] = b
    return out


@compiled
def _transpose(indptr: Int64, indices: Int32, value: Int64, start: Int64, out: Int32, out_value: Int64) -> None:
    """Reverse every arc, with its value, by a counting sort: the rows of the result are sorted."""
    n, m = len(indptr) - 1, len(indices)
    for p in range(m):
        start[indices[p] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    for u in range(n):
        for p in range(indptr[u], indptr[u + 1]):
            q = start[indices[p]]
            start[indices[p]] = q + 1
            out[q] = u
            out_value[q] = value[p]
    for v in range(n, 0, -1):
        start[v] = start[v - 1]
    start[0] = 0
