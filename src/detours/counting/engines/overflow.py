"""Upper bounds on the number of paths: non-backtracking walks, counted from every node."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from detours.arrays import Float64, Int32, Int64, read_only
from detours.compiled import compiled
from detours.counting.shrink.cyclic_part import Reduced


def walks_from(indptr: Int64, indices: Int32, length: int, directed: bool) -> Float64:
    """An upper bound on the simple paths of each length 1 .. ``length`` that start at each node: [length, nodes].

    A step never goes back to where the last one came from; as nobody knows where that was, it is taken to be the
    neighbour with the fewest continuations. In a directed graph the way back may not exist, so nothing is taken off.
    The rounding error of these sums is a few parts in 10^13, for which the result allows.

    >>> square = np.array([0, 2, 4, 6, 8]), np.array([1, 3, 0, 2, 1, 3, 0, 2], np.int32)
    >>> np.round(walks_from(*square, 3, directed=False)[:, 0]).tolist()
    [2.0, 2.0, 2.0]
    """
    walks = np.zeros((length, len(indptr) - 1))
    for steps, found in enumerate(_walks(indptr, indices, directed, length)):
        walks[steps] = found
    return walks * (1 + 1e-9)


def _walks(indptr: Int64, indices: Int32, directed: bool, length: int) -> Iterator[Float64]:
    """The walks from each node, of length 1, 2, …, in an array that is used again."""
    arcs = read_only(indptr, np.int64), read_only(indices, np.int32)
    onward, walks, left = np.ones(len(indptr) - 1), np.empty(len(indptr) - 1), np.empty(len(indptr) - 1)
    for _ in range(length):
        _step(*arcs, onward, walks, left)
        onward[:] = walks if directed else left
        yield walks


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
    indptr, indices, degree = reduced.indptr, reduced.indices, np.diff(reduced.indptr).astype(np.float64)
    widest, usual = degree.max(initial=0.0), (degree**2).sum() / max(1.0, degree.sum())  # at the end of an arc
    simple = float(widest ** (k - 1))
    if simple < 2.0**15 or (simple < 2.0**31 and widest > 2.0**8):  # with such a hub, 16 bits would hardly do
        return simple
    if simple < 2.0**63 and usual ** (k - 1) > 2.0**34:  # nor 32 with such neighbours
        return simple
    arcs, largest = (read_only(indptr, np.int64), read_only(indices, np.int32)), 0.0
    for walks in _walks(*arcs, reduced.directed, k - 1):
        largest = max(largest, walks.max() if reduced.directed else _most_at_both_ends(*arcs, walks))
        if largest >= 2.0**31 and simple < 2.0**63:  # 64 bits are needed, and enough
            return simple
    return float(largest) * (1 + 1e-9)


def check_fits(walks: Float64, k: int) -> None:
    """Raise `OverflowError` if a count of paths of length up to k could pass 2^63.

    A path to a given end is settled one step before it: its number is at most the walks with k - 1 steps.
    """
    largest = walks[: k - 1].max(initial=0.0)
    if not largest < 2.0**63:
        raise OverflowError(f"the number of paths up to k = {k} could pass 2^63 on this graph; ask for a smaller k")


@compiled
def _step(indptr: Int64, indices: Int32, onward: Float64, walks: Float64, left: Float64) -> None:
    """``walks`` are those of one step, and then as ``onward`` tells; ``left`` what is left of them to whoever came from
    the neighbour with the fewest."""
    for v in range(len(indptr) - 1):
        total, fewest = 0.0, np.inf
        for p in range(indptr[v], indptr[v + 1]):
            ahead = onward[indices[p]]
            total += ahead
            if ahead < fewest:
                fewest = ahead
        walks[v] = total
        left[v] = total - fewest if total > 0.0 else 0.0


@compiled
def _most_at_both_ends(indptr: Int64, indices: Int32, walks: Float64) -> float:
    """The most walks that both ends of an arc have."""
    most = 0.0
    for v in range(len(indptr) - 1):
        if walks[v] > most:
            for p in range(indptr[v], indptr[v + 1]):
                if walks[indices[p]] > most:
                    most = min(walks[v], walks[indices[p]])
    return most
