"""Many graphs joined to one, next to each other, without any work per graph but collecting its arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from detours.arrays import Int32, Int64
from detours.errors import InputError
from detours.graph.edges import MAX_NODES, Dropped, EdgeList


def join_edges(parts: Sequence[EdgeList]) -> tuple[EdgeList, Int64]:
    """Return one edge list of many of the same kind, and the first node of each; names are not kept."""
    offsets = _node_offsets(np.array([part.num_nodes for part in parts], np.int64))
    edges = shift_edges([part.edge_index for part in parts], offsets)
    first = parts[0] if parts else EdgeList(edges, 0)
    return EdgeList(edges, int(offsets[-1]), None, first.meaning, first.directed), offsets


def join_arrays(indptrs: Sequence[Int64], rows: Sequence[Int32]) -> tuple[Int64, Int32, Int64]:
    """Return the CSR of many, indptr and indices, and the first node of each."""
    node_offsets = _node_offsets(_lengths(indptrs) - 1)
    arc_offsets = _offsets(_lengths(rows))
    ends = np.ones(node_offsets[-1] + len(indptrs), dtype=np.bool_)
    ends[node_offsets[:-1] + np.arange(len(indptrs))] = False  # each indptr begins with a zero
    indptr = np.zeros(node_offsets[-1] + 1, dtype=np.int64)
    indptr[1:] = np.concatenate([np.empty(0, dtype=np.int64), *indptrs])[ends]
    indptr[1:] += np.repeat(arc_offsets[:-1], np.diff(node_offsets))
    indices = np.concatenate([np.empty(0, dtype=np.int32), *rows])
    indices += np.repeat(node_offsets[:-1].astype(np.int32), np.diff(arc_offsets))
    return indptr, indices, node_offsets


def shift_edges(edges: Sequence[Int64], node_offsets: Int64) -> Int64:
    """Return the edges of all parts, numbered as in the union."""
    joined = np.concatenate([np.empty((2, 0), dtype=np.int64), *edges], axis=1)
    joined += np.repeat(node_offsets[:-1], [part.shape[1] for part in edges])
    return joined


def add_dropped(parts: Iterable[Dropped]) -> Dropped:
    """Return the sums of what was dropped from each graph."""
    none = Dropped()
    some = [part for part in parts if part != none]
    return Dropped(*map(sum, zip(*some, strict=True)))


def _lengths(arrays: Sequence[Int64] | Sequence[Int32]) -> Int64:
    return np.fromiter(map(len, arrays), np.int64, len(arrays))


def _offsets(sizes: Int64) -> Int64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _node_offsets(sizes: Int64) -> Int64:
    offsets = _offsets(sizes)
    if offsets[-1] > MAX_NODES:
        raise InputError(f"The graphs have {offsets[-1]} nodes together, and {MAX_NODES} are allowed; take fewer.")
    return offsets
