"""What a node sees in a round: its neighbours, or all other nodes, through arcs that may have colours of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64, read_only
from detours.counting.shrink.csr import side_by_side, transposed
from detours.errors import EngineError
from detours.graph import Graph
from detours.wl.nodes.rows import rank_vectors

PAIRS_AT_ONCE = 1 << 20
"""Pairs of nodes whose counts are copied at once."""
PAIRS_BYTES = 8_000_000_000
"""Memory that refinement on all pairs may take."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Arcs from every node to those it sees, with `arc_values` of each arc colour. If u sees v, then v sees u.

    The colours are ranks of the values, so they are ordered alike in whatever company a graph is refined. Where all
    arcs are alike, `arc_colour` is empty and `arc_values` None.
    """

    indptr: Int64
    indices: Int32
    arc_colour: Int32
    arc_values: Int64 | None


def _neighbourhood(indptr: Int64, indices: Int32, arc_colour: Int32, arc_values: Int64 | None) -> Neighbourhood:
    return Neighbourhood(
        read_only(indptr, np.int64), read_only(indices, np.int32), read_only(arc_colour, np.int32), arc_values
    )


def neighbours(graph: Graph, values: Int64 | None = None) -> Neighbourhood:
    """The neighbours of each node; `values`, one row for each arc of the CSR, become the colours of the arcs.

    In a directed graph a node sees its successors and its predecessors, and knows which is which.
    """
    if not graph.directed:
        if values is None:
            return _neighbourhood(graph.indptr, graph.indices, np.empty(0, np.int32), None)
        return _neighbourhood(graph.indptr, graph.indices, *rank_vectors(values))
    if values is None:
        values = np.empty((graph.num_arcs, 0), np.int64)
    back_ptr, back, arc = transposed(graph.indptr, graph.indices, np.arange(graph.num_arcs))
    direction = np.repeat([0, 1], graph.num_arcs)[:, None]
    colour, arc_values = rank_vectors(np.hstack([direction, np.vstack([values, values[arc]])]))
    forth, backwards = colour[: graph.num_arcs], colour[graph.num_arcs :]
    return _neighbourhood(
        graph.indptr + back_ptr,
        side_by_side(graph.indptr, graph.indices, back_ptr, back),
        side_by_side(graph.indptr, forth, back_ptr, backwards),
        arc_values,
    )


def held_bytes(graphs: Sequence[Graph]) -> int:
    """The memory of all pairs of nodes of each graph: for every pair a node, a colour, and a key to be sorted."""
    return 16 * sum(graph.num_nodes**2 for graph in graphs)


def pairs_bytes(graphs: Sequence[Graph], k: int) -> int:
    """The least memory `all_pairs` can do with: what is held, and the counts of the largest graph."""
    return held_bytes(graphs) + 8 * (k - 1) * max((graph.num_nodes for graph in graphs), default=0) ** 2


def all_pairs(graphs: Sequence[Graph], counts: Iterable[NDArray[np.int64]], room: int) -> Neighbourhood:
    """All other nodes of the graph of each node; a pair is coloured by its adjacency and its detours of each length.

    `counts` holds one array [n, n, lengths] for each graph and is read one by one. In a directed graph the colour of
    (i, j) knows the arcs and detours from i to j and from j to i. Counts and what
    the colours stand for may take `room` bytes.
    """
    sizes = np.array([graph.num_nodes for graph in graphs], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    indptr = np.concatenate([[0], np.cumsum(np.repeat(sizes - 1, sizes))])
    indices = np.empty(indptr[-1], np.int32)
    colour = np.empty(indptr[-1], np.int32)
    tables: list[Int64] = []
    known, at, taken = 0, 0, 0
    ends = []
    for first_node, graph, count in zip(offsets[:-1], graphs, counts, strict=True):
        for others, vectors in _pair_vectors(graph, count):
            rank, table = rank_vectors(vectors)
            indices[at : at + len(rank)] = others.ravel() + first_node
            colour[at : at + len(rank)] = rank
            at += len(rank)
            ends.append((at, known))
            known += len(table)
            tables.append(table)
            taken += 4 * table.nbytes  # below, they are joined, sorted and copied
            if taken + count.nbytes > room:
                raise EngineError(f"the counts of all pairs and their colours take more than {room:,} bytes")
    if not tables:
        return _neighbourhood(indptr, indices, colour, np.empty((0, 0), np.int64))
    merged, arc_values = rank_vectors(np.concatenate(tables))
    start = 0
    for end, shift in ends:
        colour[start:end] = merged[colour[start:end] + shift]
        start = end
    return _neighbourhood(indptr, indices, colour, arc_values)


def _pair_vectors(graph: Graph, counts: NDArray[np.int64]) -> Iterator[tuple[Int64, Int64]]:
    """For a few nodes i at a time: all j ≠ i, and what makes the colours of the pairs (i, j)."""
    n = graph.num_nodes
    if n < 2:
        return
    joined = np.zeros((n, n), np.bool_)
    joined[tuple(graph.to_edge_index())] = True
    step = max(1, PAIRS_AT_ONCE // n)
    for first in range(0, n, step):
        i = np.arange(first, min(n, first + step))[:, None]
        others = np.arange(n - 1)[None, :]
        j = others + (others >= i)
        parts = [joined[i, j][..., None], counts[i, j]]
        if graph.directed:
            parts += [joined[j, i][..., None], counts[j, i]]
        vectors = np.concatenate(parts, axis=2)
        yield j, vectors.reshape(j.size, -1)
