"""Counts that must pass 2^63, told before the search: a large clique alone has too many detours."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from math import perm

import numpy as np

from detours.arrays import Int32, Int64
from detours.counting.shrink.csr import transposed
from detours.counting.shrink.cyclic_part import Cyclic

STARTS = 8  # nodes around which a clique is looked for


def check_cliques(cyclic: Cyclic, k: int) -> None:
    """Raise `OverflowError` if a clique is found whose detours pass 2^63: to list them would take centuries."""
    degree = np.diff(cyclic.indptr)
    largest = int(degree.max(initial=0)) + 1
    wanted = bisect_left(range(largest + 1), 2**63, key=lambda size: most_detours(size, k))
    if wanted > largest or np.count_nonzero(degree >= wanted - 1) < wanted:
        return
    if _has_clique(_neighbours(cyclic), degree, wanted):
        raise OverflowError(
            f"the counts for k = {k} pass 2^63, as {wanted} nodes are all joined to each other; ask for a smaller k"
        )


def most_detours(size: int, k: int) -> int:
    """Return the detours of one length, the most frequent up to k, of an edge of a clique.

    Their inner nodes are any others in any order; detours of 64 edges are too many for 64 bits, so longer ones need not
    be counted.

    >>> most_detours(5, 2), most_detours(5, 9)
    (3, 6)
    """
    return perm(size - 2, min(k, size - 1, 64) - 1) if size > 2 else 0


def _neighbours(cyclic: Cyclic) -> Callable[[int], Int32]:
    """Return a function that gives the sorted nodes to which a node is joined, in both directions if directed."""
    indptr, indices = cyclic.indptr, cyclic.indices
    if not cyclic.directed:
        return lambda v: indices[indptr[v] : indptr[v + 1]]
    back_ptr, back, _ = transposed(indptr, indices, np.arange(len(indices)))
    return lambda v: np.intersect1d(indices[indptr[v] : indptr[v + 1]], back[back_ptr[v] : back_ptr[v + 1]])


def _has_clique(neighbours: Callable[[int], Int32], degree: Int64, wanted: int) -> bool:
    """Return whether a clique of this size is found, greedily, around some nodes of high degree."""
    for start in np.argsort(-degree, kind="stable")[:STARTS].tolist():
        size, left = 1, neighbours(start)
        while size < wanted <= size + len(left):
            node = int(left[degree[left].argmax()])
            size, left = size + 1, np.intersect1d(left, neighbours(node))
        if size == wanted:
            return True
    return False
