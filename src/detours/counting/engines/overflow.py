"""Upper bounds on the number of paths: non-backtracking walks, counted from every node."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from detours.arrays import Float64, Int32, Int64, read_only
from detours.compiled import compiled
from detours.counting.shrink.cyclic_part import Reduced


def walks_from(indptr: Int64, indices: Int32, length: int, directed: bool) -> Float64:
    """An upper bound on the simple paths of each length 1 .. ``length`` that start at each node: [length, nodes].

    A step never goes back to the previous node; as that node is unknown, the neighbour with the fewest continuations
    is excluded instead. In a directed graph the arc back may not exist, so no neighbour is excluded. The result allows
    for the rounding error of these sums, a few parts in 10^13.

    >>> square = np.array([0, 2, 4, 6, 8]), np.array([1, 3, 0, 2, 1, 3, 0, 2], np.int32)
    >>> np.round(walks_from(*square, 3, directed=False)[:, 0]).tolist()
    [2.0, 2.0, 2.0]
    """
    walks = np.zeros((length, len(indptr) - 1))
    for steps, found in enumerate(_walks(indptr, indices, directed, length)):
        walks[steps] = found
    return walks * (1 + 1e-9)


def longest_walks(indptr: Int64, indices: Int32, length: int, directed: bool) -> Float64:
    """The last row of `walks_from`, without the others."""
    *_, walks = _walks(indptr, indices, directed, length)  # one array, which is reused
    return walks


def _walks(indptr: Int64, indices: Int32, directed: bool, length: int) -> Iterator[Float64]:
    """Yield the walks from each node, of length 1, 2, …, in an array that is reused."""
    arcs = read_only(indptr, np.int64), read_only(indices, np.int32)
    onward, walks, without_back = np.ones(len(indptr) - 1), np.empty(len(indptr) - 1), np.empty(len(indptr) - 1)
    for _ in range(length):
        _step(*arcs, onward, walks, without_back)
        onward[:] = walks if directed else without_back
        yield walks


def narrowest_dtype(reduced: Reduced, k: int) -> type:
    """The narrowest integer type that holds the counts: the narrower, the more roots fit side by side."""
    largest = largest_count(reduced, k)
    for bits, word in ((15, np.int16), (31, np.int32), (63, np.int64)):
        if largest < 2.0**bits:
            return word
    raise OverflowError(f"the number of detours up to k = {k} could exceed 2^63 on this graph; use a smaller k")


def largest_count(reduced: Reduced, k: int) -> float:
    """A bound on the detours of any one length <= k on any arc.

    A path of length L is determined by its first L - 1 steps, from either end if undirected, in which case no step goes
    back: count non-backtracking walks, excluding the neighbour with the fewest continuations. In directed graphs count
    all walks.
    """
    indptr, indices, degree = reduced.indptr, reduced.indices, np.diff(reduced.indptr).astype(np.float64)
    max_degree, mean_degree_at_end = degree.max(initial=0.0), (degree**2).sum() / max(1.0, degree.sum())
    simple = float(max_degree ** (k - 1))
    # No need to count walks if 16 bits are unlikely to suffice next to such a hub, or 32 bits with such degrees.
    if simple < 2.0**15 or (simple < 2.0**31 and max_degree > 2.0**8):
        return simple
    if simple < 2.0**63 and mean_degree_at_end ** (k - 1) > 2.0**34:
        return simple
    arcs, largest = (read_only(indptr, np.int64), read_only(indices, np.int32)), 0.0
    for walks in _walks(*arcs, reduced.directed, k - 1):
        largest = max(largest, walks.max() if reduced.directed else _most_at_both_ends(*arcs, walks))
        if largest >= 2.0**31 and simple < 2.0**63:  # 64 bits are needed, and enough
            return simple
    return float(largest) * (1 + 1e-9)


def check_fits(walks: Float64, k: int) -> None:
    """Raise `OverflowError` if a count of paths of length up to k could exceed 2^63.

    A path to a given end is determined one step before it, so there are at most as many as walks with k - 1 steps.
    """
    largest = walks[: k - 1].max(initial=0.0)
    if not largest < 2.0**63:
        raise OverflowError(f"the number of paths up to k = {k} could exceed 2^63 on this graph; use a smaller k")


@compiled
def _step(indptr: Int64, indices: Int32, onward: Float64, walks: Float64, without_back: Float64) -> None:
    """Prepend a step to the walks counted in ``onward``; ``without_back`` excludes the neighbour with the fewest."""
    for v in range(len(indptr) - 1):
        total, fewest = 0.0, np.inf
        for p in range(indptr[v], indptr[v + 1]):
            continuations = onward[indices[p]]
            total += continuations
            if continuations < fewest:
                fewest = continuations
        walks[v] = total
        without_back[v] = total - fewest if total > 0.0 else 0.0


@compiled
def _most_at_both_ends(indptr: Int64, indices: Int32, walks: Float64) -> float:
    """The largest count of walks that both ends of some arc reach."""
    most = 0.0
    for v in range(len(indptr) - 1):
        if walks[v] > most:
            for p in range(indptr[v], indptr[v + 1]):
                if walks[indices[p]] > most:
                    most = min(walks[v], walks[indices[p]])
    return most
