"""The compiled part of neighbour sampling: one hop, from the nodes found last to their in-neighbours."""

from __future__ import annotations

import numpy as np

from detours.arrays import Int32, Int64
from detours.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled
def mix(state: np.uint64) -> np.uint64:
    """The output function of SplitMix64: every bit of the result depends on every bit of the state."""
    state = (state ^ (state >> _30)) * _FIRST
    state = (state ^ (state >> _27)) * _SECOND
    return state ^ (state >> _31)


@compiled
def sample_hop(
    indptr: Int64,
    source: Int32,
    size: int,
    key: np.uint64,
    n_id: Int64,
    start: int,
    found: int,
    local_index: Int32,
    drawn: Int64,
    local_source: Int64,
    local_target: Int64,
    slot: Int64,
) -> int:
    """In-arcs of the nodes n_id[start:found], at most `size` of each (-1: all), at random without replacement.

    Appends new nodes to n_id and sets their index there in `local_index` (-1 for a node not yet found); writes the
    local ends of the arcs and, as `slot`, their index in `source`. `drawn` marks the neighbours drawn for the current
    node, and is negative before and after. The random numbers of a node depend only on `key` and the node. Returns the
    number of nodes found so far.
    """
    arcs = 0
    total = found
    for at in range(start, found):
        node = n_id[at]
        first = indptr[node]
        degree = indptr[node + 1] - first
        begin = arcs
        if size < 0 or degree <= size:
            for p in range(degree):
                slot[arcs] = first + p
                arcs += 1
        else:
            # Floyd's algorithm: draw an index up to `last`; if it has been drawn before, take `last` instead.
            state = mix(key ^ mix(np.uint64(node) + _GOLDEN))
            for last in range(degree - size, degree):
                state += _GOLDEN
                neighbour = np.int64(((mix(state) >> _32) * np.uint64(last + 1)) >> _32)
                if drawn[neighbour] >= 0:
                    neighbour = np.int64(last)
                drawn[neighbour] = node
                slot[arcs] = first + neighbour
                arcs += 1
            for q in range(begin, arcs):
                drawn[slot[q] - first] = -1
        for q in range(begin, arcs):
            other = source[slot[q]]
            if local_index[other] < 0:
                local_index[other] = total
                n_id[total] = other
                total += 1
            local_source[q] = local_index[other]
            local_target[q] = at
    return total
