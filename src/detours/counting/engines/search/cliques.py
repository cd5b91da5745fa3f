"""Detect counts that are sure to exceed 2^63 before the search: a large clique alone has too many detours."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from math import perm

import numpy as np

from detours.arrays import Int32, Int64
from detours.counting.shrink.csr import transpose
from detours.counting.shrink.cyclic_part import Cyclic

STARTS = 8  # nodes from which cliques are searched


def check_cliques(cyclic: Cyclic, k: int) -> None:
    """Raise `OverflowError` if a clique is found whose detours exceed 2^63: listing them would take centuries."""
    degree = np.diff(cyclic.indptr)
    largest = int(degree.max(initial=0)) + 1
    target = bisect_left(range(largest + 1), 2**63, key=lambda size: most_detours(size, k))
    if target > largest or np.count_nonzero(degree >= target - 1) < target:
        return
    if _has_clique(_neighbours(cyclic), degree, target):
        raise OverflowError(
            f"the counts for k = {k} exceed 2^63, as {target} nodes are all joined to each other; use a smaller k"
        )


def most_detours(size: int, k: int) -> int:
    """Return the detours of an edge of a clique, of the length up to k that has most of them.

    Their inner nodes are any others in any order; those with 64 edges already overflow 64 bits, so longer ones need not
    be counted.

    >>> most_detours(5, 2), most_detours(5, 9)
    (3, 6)
    """
    return perm(size - 2, min(k, size - 1, 64) - 1) if size > 2 else 0


def _neighbours(cyclic: Cyclic) -> Callable[[int], Int32]:
    """Return a function from a node to its sorted neighbours; if directed, those joined in both directions."""
    indptr, indices = cyclic.indptr, cyclic.indices
    if not cyclic.directed:
        return lambda v: indices[indptr[v] : indptr[v + 1]]
    back_ptr, back, _ = transpose(indptr, indices, np.arange(len(indices)))
    return lambda v: np.intersect1d(indices[indptr[v] : indptr[v + 1]], back[back_ptr[v] : back_ptr[v + 1]])


def _has_clique(neighbours: Callable[[int], Int32], degree: Int64, target: int) -> bool:
    """Return whether a greedy search from some nodes of high degree finds a clique of this size."""
    for start in np.argsort(-degree, kind="stable")[:STARTS].tolist():
        size, candidates = 1, neighbours(start)
        while size < target <= size + len(candidates):
            node = int(candidates[degree[candidates].argmax()])
            size, candidates = size + 1, np.intersect1d(candidates, neighbours(node))
        if size == target:
            return True
    return False
