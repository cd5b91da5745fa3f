"""Stable colours of all pairs of nodes of a graph: 2-FWL from given first colours."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from detours.arrays import Int32, Int64
from detours.graph import Graph
from detours.wl.nodes.ranks import rank_vectors
from detours.wl.tuples.partition import Refinement, atomic_types


class StablePairs(NamedTuple):
    """Colours of the pairs of a graph, int32 [n, n], and a digest of all that they stand for."""

    colour: Int32
    digest: bytes


def stable_pairs(graph: Graph, vectors: Int64) -> StablePairs:
    """Refine the pairs, which start with the adjacency of their nodes and the vectors [n, n, any], until stable.

    Graphs with the same digest are not told apart by 2-FWL, and the same numbers mean the same colours in both.
    """
    n = graph.num_nodes
    if n == 0:
        return StablePairs(np.zeros((0, 0), np.int32), b"")
    first = np.column_stack([atomic_types(graph, 2), vectors.reshape(n * n, -1)])
    kinds, values = rank_vectors(first)
    partition = Refinement(graph, 2, kinds=kinds)
    while partition.round():
        pass
    digest = hashlib.sha256(values.astype("<i8").tobytes())
    for part in partition.table():
        digest.update(f"{len(part)}:".encode())
        digest.update(np.ascontiguousarray(part, dtype="<i8").data)
    return StablePairs(partition.colour.reshape(n, n), digest.digest())


def as_vectors(pairs: StablePairs) -> Int64:
    """Return for every pair the vector of the digest and its colour, int64 [n, n, 5]: the same only if both are."""
    words = np.frombuffer(pairs.digest, "<i8").astype(np.int64)
    spread = np.broadcast_to(words, (*pairs.colour.shape, len(words)))
    return np.concatenate([spread, pairs.colour[..., None].astype(np.int64)], axis=2)
