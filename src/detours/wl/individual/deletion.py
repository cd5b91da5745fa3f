"""The next level of copies, each with one more node deleted: its neighbours are marked, and detours are recounted."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import numpy as np

from detours.arrays import Int32, read_only
from detours.graph import Graph
from detours.graph.graph import wrap_arrays
from detours.wl.digests import feed_rounds
from detours.wl.individual.copies import Choices, Copies, as_copies
from detours.wl.individual.deletion_numba import Deleted, delete_nodes
from detours.wl.nodes.initial import InitialColours
from detours.wl.nodes.ranks import rank_vectors
from detours.wl.options import Method
from detours.wl.preparation import Prepared, check_pairs, count_arcs, first_neighbourhood, later_neighbourhood


def delete(
    copies: Copies, choices: Choices, method: Method, n_jobs: int, keep: bool
) -> tuple[list[bytes], Copies | None]:
    """Refine a copy for each choice; return a digest of each and, if `keep` is set, the copies themselves.

    The initial colour of a node is its cell in the parent copy, its mark, and its colour under `init`.
    """
    prepared = _prepare(copies, choices, method, n_jobs)
    digests = [hashlib.sha256() for _ in choices.node]
    cell = copies.partitions.cell[copies.partitions.offsets[choices.copy] + choices.node]
    for digest, own in zip(digests, cell.tolist(), strict=True):
        digest.update(own.to_bytes(8, "little"))
    colour = feed_rounds(digests, prepared)
    below = as_copies(prepared.union, prepared.offsets, prepared.neighbourhood.arcs, colour) if keep else None
    return [digest.digest() for digest in digests], below


def _prepare(copies: Copies, choices: Choices, method: Method, n_jobs: int) -> Prepared:
    graph = copies.partitions.graph[choices.copy]
    indptr, indices = read_only(copies.union.indptr, np.int64), read_only(copies.union.indices, np.int32)
    deleted = Deleted(*delete_nodes(indptr, indices, copies.offsets, graph, choices.node))
    union = wrap_arrays(deleted.indptr, deleted.indices, copies.union.directed)
    graphs = _split(deleted, union.directed) if method.pairs is not None else []
    check_pairs(method, graphs)
    counts = count_arcs(method, union, n_jobs)
    shift = copies.partitions.offsets[choices.copy] - copies.offsets[graph]
    cell: Int32 = copies.partitions.cell[deleted.source + np.repeat(shift, np.diff(deleted.offsets))]
    columns = [cell.astype(np.int64), deleted.mark]
    if method.init == "phi" and counts is not None:
        columns.append(counts.node)
    initial = InitialColours(*rank_vectors(np.stack(columns, axis=1)))
    later = later_neighbourhood(method, graphs, union, counts)
    first = first_neighbourhood(method, union, counts)
    return Prepared(method, graphs, union, deleted.offsets, initial, first, later)


def _split(deleted: Deleted, directed: bool) -> list[Graph]:
    """Return each copy as a separate graph."""
    graphs = []
    for start, end in pairwise(deleted.offsets.tolist()):
        indptr = deleted.indptr[start : end + 1]
        indices = deleted.indices[indptr[0] : indptr[-1]] - np.int32(start)
        graphs.append(wrap_arrays(indptr - indptr[0], indices, directed))
    return graphs
