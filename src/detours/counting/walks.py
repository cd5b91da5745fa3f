"""How many paths there can be at most: walks that never turn round at once, counted from every node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detours.counting.csr import Int32, Int64
from detours.counting.reduce import Reduced

Floats = NDArray[np.float64]


def walks_from(indptr: Int64, indices: Int32, length: int, directed: bool) -> Floats:
    """An upper bound on the simple paths of each length 1 .. ``length`` that start at each node: [length, nodes].

    A step never goes back to where the last one came from; as nobody knows where that was, it is taken to be the
    neighbour with the fewest continuations. In a directed graph the way back may not exist, so nothing is taken off.
    Sums of so many non-negative floats are good to a few parts in 10^13, for which the result allows.

    >>> square = np.array([0, 2, 4, 6, 8]), np.array([1, 3, 0, 2, 1, 3, 0, 2], np.int32)
    >>> np.round(walks_from(*square, 3, directed=False)[:, 0]).tolist()
    [2.0, 2.0, 2.0]
    """
    n = len(indptr) - 1
    filled = np.flatnonzero(np.diff(indptr))
    starts = indptr[filled]
    onward, walks = np.ones(n), np.zeros((length, n))
    if len(filled) == 0:
        return walks
    with np.errstate(over="ignore", invalid="ignore"):
        for steps in range(length):
            continued = onward[indices]
            walks[steps, filled] = np.add.reduceat(continued, starts)
            onward = walks[steps].copy()
            if not directed:
                onward[filled] -= np.minimum.reduceat(continued, starts)
    return walks * (1 + 1e-9)


def narrowest_word(reduced: Reduced, k: int) -> type:
    """The narrowest integers that hold the counts: the narrower, the more roots fit side by side."""
    largest = largest_count(reduced, k)
    for bits, word in ((15, np.int16), (31, np.int32), (63, np.int64)):
        if largest < 2.0**bits:
            return word
    raise OverflowError(f"the number of detours up to k = {k} could pass 2^63 on this graph; ask for a smaller k")


def largest_count(reduced: Reduced, k: int) -> float:
    """A bound on the detours of any one length <= k on any arc.

    A path of length L is fixed by its first L - 1 steps, from either end when undirected, and then no step goes back:
    count walks that never turn round, where the forbidden neighbour is taken to be the one with the fewest
    continuations. For directed graphs count all walks.
    """
    indptr, indices = reduced.indptr, reduced.indices
    widest = float(np.diff(indptr).max(initial=0))
    simple = widest ** (k - 1)
    if simple < 2.0**15 or (simple < 2.0**31 and widest > 2.0**8):  # with such a hub, 16 bits would hardly do
        return simple
    filled = np.flatnonzero(np.diff(indptr))
    starts, ahead, largest = indptr[filled], np.ones(reduced.num_nodes), 0.0
    source = np.repeat(np.arange(reduced.num_nodes), np.diff(indptr))
    for _ in range(2, k + 1):
        next_steps = ahead[indices]
        ahead = np.zeros(reduced.num_nodes)
        ahead[filled] = np.add.reduceat(next_steps, starts)
        if reduced.directed:
            largest = max(largest, float(ahead.max()))
        else:
            largest = max(largest, float(np.minimum(ahead[source], ahead[indices]).max()))
            ahead[filled] -= np.minimum.reduceat(next_steps, starts)
        if largest >= 2.0**31 and simple < 2.0**63:  # 64 bits are needed, and enough
            return simple
    return largest * (1 + 1e-9)


def check_fits(walks: Floats, k: int) -> None:
    """Raise `OverflowError` if a count of paths of length up to k could pass 2^63.

    A path to a given end is settled one step before it: its number is at most the walks with k - 1 steps.
    """
    largest = walks[: k - 1].max(initial=0.0)
    if not largest < 2.0**63:
        raise OverflowError(f"the number of paths up to k = {k} could pass 2^63 on this graph; ask for a smaller k")
