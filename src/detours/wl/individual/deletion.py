"""The next level of copies, each without one more node: its neighbours are marked, and detours are counted anew."""

from __future__ import annotations

import hashlib

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
from detours.wl.preparation import Prepared, around, check_pairs, count_arcs, first_seen


def delete(
    copies: Copies, choices: Choices, method: Method, n_jobs: int, keep: bool
) -> tuple[list[bytes], Copies | None]:
    """Refine a copy for each choice; return a digest of each and, if wanted, the copies themselves.

    The nodes of a copy start with their cell in the copy that it was made of, the mark, and the colours of `init`.
    """
    prepared = _prepare(copies, choices, method, n_jobs)
    digests = [hashlib.sha256() for _ in choices.node]
    cell = copies.partitions.cell[copies.partitions.offsets[choices.copy] + choices.node]
    for digest, own in zip(digests, cell.tolist(), strict=True):
        digest.update(own.to_bytes(8, "little"))
    colour = feed_rounds(digests, prepared)
    below = as_copies(prepared.union, prepared.offsets, prepared.around.arcs, colour) if keep else None
    return [digest.digest() for digest in digests], below


def _prepare(copies: Copies, choices: Choices, method: Method, n_jobs: int) -> Prepared:
    graph = copies.partitions.graph[choices.copy]
    made = delete_nodes(
        read_only(copies.union.indptr, np.int64),
        read_only(copies.union.indices, np.int32),
        copies.offsets,
        graph,
        choices.node,
    )
    union = wrap_arrays(made.indptr, made.indices, copies.union.directed)
    graphs = _separated(made, union.directed) if method.pairs is not None else []
    check_pairs(method, graphs)
    counts = count_arcs(method, union, n_jobs)
    shift = copies.partitions.offsets[choices.copy] - copies.offsets[graph]
    cell: Int32 = copies.partitions.cell[made.source + np.repeat(shift, np.diff(made.offsets))]
    columns = [cell.astype(np.int64), made.mark]
    if method.init == "phi" and counts is not None:
        columns.append(counts.node)
    initial = InitialColours(*rank_vectors(np.stack(columns, axis=1)))
    seen = around(method, graphs, union, counts)
    return Prepared(method, graphs, union, made.offsets, initial, first_seen(method, union, counts), seen)


def _separated(made: Deleted, directed: bool) -> list[Graph]:
    """Return each copy as a graph of its own."""
    graphs = []
    for start, end in zip(made.offsets[:-1].tolist(), made.offsets[1:].tolist(), strict=True):
        indptr = made.indptr[start : end + 1]
        indices = made.indices[indptr[0] : indptr[-1]] - np.int32(start)
        graphs.append(wrap_arrays(indptr - indptr[0], indices, directed))
    return graphs
