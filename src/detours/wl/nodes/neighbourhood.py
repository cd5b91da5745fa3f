"""What each node sees in a round: its neighbours or all other nodes of its graph, through coloured arcs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64, read_only
from detours.counting.shrink.csr import concatenate_rows, transpose
from detours.errors import EngineError
from detours.graph import Graph
from detours.wl.nodes.ranks import rank_vectors
from detours.wl.nodes.rounds_numba import Arcs

CHUNK_PAIRS = 1 << 20
"""Pairs of nodes whose counts are copied at a time."""
PAIRS_BYTES = 8_000_000_000
"""Memory that refinement on all pairs may take."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Arcs from every node to those it sees, and the integer vector of each arc colour.

    If u sees v, then v sees u. Colours are ranks of the vectors, so their order does not depend on the other graphs of
    a batch. If all arcs are alike, `arcs` has no colours and `arc_values` is None.
    """

    arcs: Arcs
    arc_values: Int64 | None


def _neighbourhood(indptr: Int64, indices: Int32, arc_colour: Int32, arc_values: Int64 | None) -> Neighbourhood:
    arcs = Arcs(read_only(indptr, np.int64), read_only(indices, np.int32), read_only(arc_colour, np.int32))
    return Neighbourhood(arcs, arc_values)


def neighbours(graph: Graph, values: Int64 | None = None) -> Neighbourhood:
    """Return the neighbours of each node; `values`, one row for each arc of the CSR, become the colours of the arcs.

    In a directed graph a node sees its successors and its predecessors, and the colours distinguish them.
    """
    if not graph.directed:
        if values is None:
            return _neighbourhood(graph.indptr, graph.indices, np.empty(0, np.int32), None)
        return _neighbourhood(graph.indptr, graph.indices, *rank_vectors(values))
    if values is None:
        values = np.empty((graph.num_arcs, 0), np.int64)
    in_ptr, predecessors, arc = transpose(graph.indptr, graph.indices, np.arange(graph.num_arcs))
    direction = np.repeat([0, 1], graph.num_arcs)[:, None]
    colour, arc_values = rank_vectors(np.hstack([direction, np.vstack([values, values[arc]])]))
    return _neighbourhood(
        graph.indptr + in_ptr,
        concatenate_rows(graph.indptr, graph.indices, in_ptr, predecessors),
        concatenate_rows(graph.indptr, colour[: graph.num_arcs], in_ptr, colour[graph.num_arcs :]),
        arc_values,
    )


def held_bytes(graphs: Sequence[Graph]) -> int:
    """Return the bytes for all pairs of nodes of each graph: a node, a colour and a sort key for every pair."""
    return 16 * sum(graph.num_nodes**2 for graph in graphs)


def pairs_bytes(graphs: Sequence[Graph], k: int) -> int:
    """Return the bytes that `all_pairs` needs at least: `held_bytes`, and the counts of the largest graph."""
    return held_bytes(graphs) + 8 * (k - 1) * max((graph.num_nodes for graph in graphs), default=0) ** 2


def all_pairs(graphs: Sequence[Graph], counts: Iterable[NDArray[np.int64]], room: int) -> Neighbourhood:
    """Let each node see all other nodes of its graph; a pair is coloured by its adjacency and its detours by length.

    `counts` holds one array [n, n, lengths] for each graph and is read one by one. In a directed graph the colour of
    (i, j) stands for the arcs and detours from i to j and from j to i. Counts and colours may take `room` bytes.
    """
    sizes = np.array([graph.num_nodes for graph in graphs], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    indptr = np.concatenate([[0], np.cumsum(np.repeat(sizes - 1, sizes))])
    indices = np.empty(indptr[-1], np.int32)
    colour = np.empty(indptr[-1], np.int32)
    tables: list[Int64] = []
    shifts: list[tuple[slice, int]] = []  # pairs ranked together, and the number of colours in the tables before theirs
    known, start, taken = 0, 0, 0
    for first_node, graph, count in zip(offsets[:-1], graphs, counts, strict=True):
        for others, vectors in _pair_vectors(graph, count):
            rank, table = rank_vectors(vectors)
            chunk = slice(start, start + len(rank))
            indices[chunk] = others.ravel() + first_node
            colour[chunk] = rank
            shifts.append((chunk, known))
            tables.append(table)
            start, known = chunk.stop, known + len(table)
            taken += 4 * table.nbytes  # below, the tables are joined, sorted and copied
            if taken + count.nbytes > room:
                raise EngineError(f"the counts of all pairs and their colours take more than {room:,} bytes")
    if not tables:
        return _neighbourhood(indptr, indices, colour, np.empty((0, 0), np.int64))
    merged, arc_values = rank_vectors(np.concatenate(tables))
    for chunk, shift in shifts:
        colour[chunk] = merged[colour[chunk] + shift]
    return _neighbourhood(indptr, indices, colour, arc_values)


def _pair_vectors(graph: Graph, counts: NDArray[np.int64]) -> Iterator[tuple[Int64, Int64]]:
    """For a few nodes i at a time, yield all j ≠ i and the vectors that colour the pairs (i, j)."""
    n = graph.num_nodes
    if n < 2:
        return
    joined = np.zeros((n, n), np.bool_)
    joined[tuple(graph.to_edge_index())] = True
    step = max(1, CHUNK_PAIRS // n)
    for first in range(0, n, step):
        i = np.arange(first, min(n, first + step))[:, None]
        others = np.arange(n - 1)[None, :]
        j = others + (others >= i)
        parts = [joined[i, j][..., None], counts[i, j]]
        if graph.directed:
            parts += [joined[j, i][..., None], counts[j, i]]
        yield j, np.concatenate(parts, axis=2).reshape(j.size, -1)
