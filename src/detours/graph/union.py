"""The disjoint union of many graphs, with no more work per graph than collecting its arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from detours.arrays import Int32, Int64
from detours.errors import InputError
from detours.graph.edges import MAX_NODES, Dropped, EdgeList


def join_edges(parts: Sequence[EdgeList]) -> tuple[EdgeList, Int64]:
    """Return the union of edge lists of the same kind, and the node offsets; names are not kept."""
    offsets = _node_offsets(np.array([part.num_nodes for part in parts], np.int64))
    edges = shift_edges([part.edge_index for part in parts], offsets)
    first = parts[0] if parts else EdgeList(edges, 0)
    return EdgeList(edges, int(offsets[-1]), None, first.meaning, first.directed), offsets


def join_arrays(indptrs: Sequence[Int64], indices: Sequence[Int32]) -> tuple[Int64, Int32, Int64]:
    """Return indptr and indices of the union of CSR graphs, and the node offsets."""
    node_offsets = _node_offsets(_lengths(indptrs) - 1)
    arc_offsets = _offsets(_lengths(indices))
    keep = np.ones(node_offsets[-1] + len(indptrs), dtype=np.bool_)
    keep[node_offsets[:-1] + np.arange(len(indptrs))] = False  # the leading zero of each indptr
    indptr = np.zeros(node_offsets[-1] + 1, dtype=np.int64)
    indptr[1:] = np.concatenate([np.empty(0, dtype=np.int64), *indptrs])[keep]
    indptr[1:] += np.repeat(arc_offsets[:-1], np.diff(node_offsets))
    joined = np.concatenate([np.empty(0, dtype=np.int32), *indices])
    joined += np.repeat(node_offsets[:-1].astype(np.int32), np.diff(arc_offsets))
    return indptr, joined, node_offsets


def shift_edges(edges: Sequence[Int64], node_offsets: Int64) -> Int64:
    """Return the edges of all graphs, with node ids shifted as in the union."""
    joined = np.concatenate([np.empty((2, 0), dtype=np.int64), *edges], axis=1)
    joined += np.repeat(node_offsets[:-1], [each.shape[1] for each in edges])
    return joined


def add_dropped(parts: Iterable[Dropped]) -> Dropped:
    """Return the sums of what was dropped from each graph."""
    nothing = Dropped()
    nonzero = [part for part in parts if part != nothing]
    return Dropped(*map(sum, zip(*nonzero, strict=True)))


def _lengths(arrays: Sequence[Int64] | Sequence[Int32]) -> Int64:
    return np.fromiter(map(len, arrays), np.int64, len(arrays))


def _offsets(sizes: Int64) -> Int64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _node_offsets(sizes: Int64) -> Int64:
    offsets = _offsets(sizes)
    if offsets[-1] > MAX_NODES:
        raise InputError(
            f"The graphs have {offsets[-1]} nodes in total, but at most {MAX_NODES} are allowed; use fewer."
        )
    return offsets
