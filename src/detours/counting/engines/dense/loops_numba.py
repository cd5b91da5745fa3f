"""Steps of closed forms that BLAS does not provide: products that skip zeros, and sums over 4-cliques.

All take contiguous stacks [graphs, n, n], in float64 or in int64, where integers wrap modulo 2^64. Each call computes a
range, so that threads can share a step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Int64
from detours.compiled import compiled

Matrices = NDArray[Any]

TILE = 512  # columns per tile, so that the rows of the right factor stay in the cache


@compiled
def multiply_rows(left: Matrices, right: Matrices, out: Matrices, first: int, last: int) -> None:
    """out += left @ right in the rows first .. last - 1, skipping the zeros of ``left``."""
    graphs, n = out.shape[0], out.shape[1]
    nonzero = np.empty(n, np.int64)
    for b in range(graphs):
        for begin in range(0, n, TILE):
            end = min(begin + TILE, n)
            for i in range(first, last):
                size = 0
                for v in range(n):
                    nonzero[size] = v
                    size += left[b, i, v] != 0
                row = out[b, i, begin:end]
                for p in range(size):
                    value, other = left[b, i, nonzero[p]], right[b, nonzero[p], begin:end]
                    for j in range(len(row)):
                        row[j] += value * other[j]


@compiled
def multiply_list_by_rows(
    starts: Int64, columns: Int64, values: Matrices, right: Matrices, out: Matrices, first: int, last: int
) -> None:
    """out += left @ right in the rows first .. last - 1.

    Row i of ``left`` has the values from starts[i] to starts[i + 1].
    """
    graphs, n = out.shape[0], out.shape[1]
    for b in range(graphs):
        for begin in range(0, n, TILE):
            end = min(begin + TILE, n)
            for i in range(first, last):
                row = out[b, i, begin:end]
                for p in range(starts[b * n + i], starts[b * n + i + 1]):
                    value, other = values[p], right[b, columns[p], begin:end]
                    if value != 0:
                        for j in range(len(row)):
                            row[j] += value * other[j]


@compiled
def multiply_rows_by_list(
    left: Matrices, starts: Int64, columns: Int64, values: Matrices, out: Matrices, first: int, last: int
) -> None:
    """out += left @ right in the rows first .. last - 1.

    Row v of ``right`` has the values from starts[v] to starts[v + 1].
    """
    graphs, n = out.shape[0], out.shape[1]
    for b in range(graphs):
        for i in range(first, last):
            row = out[b, i]
            for v in range(n):
                value = left[b, i, v]
                if value != 0:
                    for p in range(starts[b * n + v], starts[b * n + v + 1]):
                        row[columns[p]] += value * values[p]


class Sides(NamedTuple):
    """The sides of cliques on i, u, v, j."""

    iu: Matrices
    iv: Matrices
    uv: Matrices
    uj: Matrices
    vj: Matrices


@compiled
def sum_cliques(sides: Sides, submatrix: Matrices, out: Matrices, first: int, last: int) -> None:
    """out(i, j) += Σ_u Σ_v iu(i, u) iv(i, v) uv(u, v) uj(u, j) vj(v, j), for the nodes u from first to last - 1.

    Node indices run through all graphs. ``submatrix`` is an n × n scratch matrix.

    For each u, its neighbours v and j are gathered into a small matrix, so that the innermost loop is over contiguous
    memory. Time is proportional to the cube of the degree of u, except for zeros in iv.
    """
    iu, iv, uv, uj, vj = sides
    n = out.shape[1]
    at_i, at_v, at_j, nonzero = np.empty((4, n), np.int64)
    row = np.empty(n, out.dtype)
    for index in range(first, last):
        b, u = index // n, index % n
        size_i = size_v = size_j = 0
        for w in range(n):
            at_i[size_i] = at_v[size_v] = at_j[size_j] = w
            size_i += iu[b, w, u] != 0
            size_v += uv[b, u, w] != 0
            size_j += uj[b, u, w] != 0
        for p in range(size_v):
            v = at_v[p]
            for q in range(size_j):
                submatrix[p, q] = uv[b, u, v] * vj[b, v, at_j[q]] * uj[b, u, at_j[q]]
        for r in range(size_i):
            i, size = at_i[r], 0
            for p in range(size_v):
                nonzero[size] = p
                size += iv[b, i, at_v[p]] != 0
            row[:size_j] = 0
            for s in range(0, size - 1, 2):  # two at a time: the row is read and written half as often
                p, p2 = nonzero[s], nonzero[s + 1]
                weight, weight2 = iv[b, i, at_v[p]], iv[b, i, at_v[p2]]
                for q in range(size_j):
                    row[q] += weight * submatrix[p, q] + weight2 * submatrix[p2, q]
            if size % 2:
                p = nonzero[size - 1]
                weight = iv[b, i, at_v[p]]
                for q in range(size_j):
                    row[q] += weight * submatrix[p, q]
            for q in range(size_j):
                out[b, i, at_j[q]] += iu[b, i, u] * row[q]
