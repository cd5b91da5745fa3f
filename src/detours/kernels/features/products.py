"""Products of the feature vectors of graphs, as exact integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int32, Int64
from detours.compiled import compiled

DIAGONAL, SQUARE, ACROSS = 0, 1, 2
"""Which products to compute: each graph with itself, all pairs, or graphs from `split` on with those before."""
TILE = 64


@compiled
def by_column(columns: int, entries: int, entry_column: Int32) -> tuple[Int64, Int32]:
    """Sort entries by column: the offsets of the columns, and the order of the entries (counting sort)."""
    starts = np.zeros(columns + 1, np.int64)
    for entry in range(entries):
        starts[entry_column[entry] + 1] += 1
    for column in range(columns):
        starts[column + 1] += starts[column]
    next_index = starts[:-1].copy()
    order = np.empty(entries, np.int32)
    for entry in range(entries):
        order[next_index[entry_column[entry]]] = entry
        next_index[entry_column[entry]] += 1
    return starts, order


@compiled
def multiply(
    starts: Int64, order: Int32, graph: Int32, count: Int64, factor: Int64, mode: int, split: int, gram: Any
) -> None:
    """Add the products of all entries in the same column, scaled by the factor of the column, to `gram`.

    The entries of a column are in the order of their graphs. SQUARE fills the lower triangle; ACROSS multiplies the
    graphs from `split` on with those before.
    """
    longest = 0
    for column in range(len(starts) - 1):
        longest = max(longest, starts[column + 1] - starts[column])
    graphs, counts = np.empty(longest, np.int32), np.empty(longest, np.int64)
    for column in range(len(starts) - 1):
        size = starts[column + 1] - starts[column]
        early = 0
        for i in range(size):
            entry = order[starts[column] + i]
            graphs[i], counts[i] = graph[entry], count[entry]
            early += graphs[i] < split
        if mode == ACROSS and early == 0:
            continue
        for i in range(early if mode == ACROSS else 0, size):
            scaled = factor[column] * counts[i]
            row = gram[graphs[i] - split]
            for j in range(early if mode == ACROSS else i + 1):
                row[graphs[j]] += scaled * counts[j]


@compiled
def multiply_rows(
    starts: Int64,
    columns: Int64,
    counts: Int64,
    column_starts: Int64,
    column_graph: Int32,
    column_count: Int64,
    lower: bool,
    gram: NDArray[np.int64],
) -> None:
    """Add the products of graphs given by rows with graphs given by columns; row by row, so that a row stays in cache.

    With `lower` both are the same graphs, and only the lower triangle is filled.
    """
    ends = column_starts[1:].copy()
    if lower:
        ends[:] = column_starts[:-1]
    for g in range(len(starts) - 1):
        row = gram[g]
        for entry in range(starts[g], starts[g + 1]):
            column, count = columns[entry], counts[entry]
            ends[column] += lower  # the entries of a column are in the order of their graphs: the next is this one
            for at in range(column_starts[column], ends[column]):
                row[column_graph[at]] += count * column_count[at]


@compiled
def mirror(gram: NDArray[np.int64]) -> None:
    """Copy the lower triangle onto the upper one."""
    n = len(gram)
    for top in range(0, n, TILE):
        for left in range(0, top + 1, TILE):
            for i in range(top, min(n, top + TILE)):
                for j in range(left, min(i, left + TILE)):
                    gram[j, i] = gram[i, j]
