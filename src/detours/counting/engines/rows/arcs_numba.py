"""Compiled loops over all arcs of a graph: reverses, and the union with the transpose."""

from __future__ import annotations

import numpy as np

from detours.arrays import Int32, Int64, UInt8
from detours.compiled import compiled


@compiled
def reverse_arcs(indptr: Int64, indices: Int32) -> Int64:
    """Position of (u, v) for every arc (v, u) of a symmetric CSR with sorted rows."""
    n = indptr.shape[0] - 1
    cursor = indptr[:n].copy()
    reverse = np.empty(indices.shape[0], np.int64)
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            u = indices[e]
            reverse[e] = cursor[u]
            cursor[u] += 1
    return reverse


@compiled
def symmetrise(indptr: Int64, indices: Int32) -> tuple[Int64, Int32, UInt8, Int64]:
    """Union of a sorted CSR with its transpose: (indptr, indices, flags of existing arcs, position of each arc)."""
    n = indptr.shape[0] - 1
    into = np.zeros(n + 1, np.int64)
    for e in range(indices.shape[0]):
        into[indices[e] + 1] += 1
    into = np.cumsum(into)
    sources = np.empty(indices.shape[0], np.int32)
    cursor = into[:n].copy()
    for v in range(n):
        for e in range(indptr[v], indptr[v + 1]):
            sources[cursor[indices[e]]] = v
            cursor[indices[e]] += 1
    both_ptr = np.zeros(n + 1, np.int64)
    both = np.empty(2 * indices.shape[0], np.int32)
    flags = np.empty(2 * indices.shape[0], np.uint8)
    arc = np.empty(indices.shape[0], np.int64)
    count = 0
    for v in range(n):
        e, f = indptr[v], into[v]
        while e < indptr[v + 1] or f < into[v + 1]:
            forward = e < indptr[v + 1] and (f >= into[v + 1] or indices[e] <= sources[f])
            backward = f < into[v + 1] and (e >= indptr[v + 1] or sources[f] <= indices[e])
            flag = 0
            if forward:
                both[count] = indices[e]
                arc[e] = count
                flag |= 1
                e += 1
            if backward:
                both[count] = sources[f]
                flag |= 2
                f += 1
            flags[count] = flag
            count += 1
        both_ptr[v + 1] = count
    return both_ptr, both[:count].copy(), flags[:count].copy(), arc
