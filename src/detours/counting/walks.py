"""How many paths there can be at most: walks that never turn round at once, counted from every node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detours.counting.csr import Int32, Int64

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


def check_fits(walks: Floats, k: int) -> None:
    """Raise `OverflowError` if a count of paths of length up to k could pass 2^63.

    A path to a given end is settled one step before it: its number is at most the walks with k - 1 steps.
    """
    largest = walks[: k - 1].max(initial=0.0)
    if not largest < 2.0**63:
        raise OverflowError(f"the number of paths up to k = {k} could pass 2^63 on this graph; ask for a smaller k")
