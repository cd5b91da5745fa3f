"""Closed formulas on dense matrices, for graphs too large to list; exact while every entry is below 2^53."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def detours_by_matrices(adjacency: Matrix) -> NDArray[np.int64]:
    """Detours of length 2, 3, 4 between the ends of every edge of an undirected graph: an array [3, n, n].

    With degrees d and t = diag(A³), on an edge ij:
    P2 = A²;  P3 = A³ - d_i - d_j + 1;  P4 = A⁴ - (d_i + d_j - 5) A² - A diag(d) A - t_i - t_j.
    """
    squared = adjacency @ adjacency
    cubed = squared @ adjacency
    degree = adjacency.sum(1)
    closed = np.diag(cubed)
    ends = degree[:, None] + degree
    fourth = squared @ squared - (ends - 5) * squared - (adjacency * degree) @ adjacency
    fourth -= closed[:, None] + closed
    return np.rint(np.stack([squared, cubed - ends + 1, fourth]) * adjacency).astype(np.int64)


def cycles_by_traces(adjacency: Matrix, directed: bool) -> dict[int, int]:
    """Simple cycles of length 3, 4, 5: closed walks minus the closed walks that meet themselves.

    A closed walk of length 4 or 5 can only repeat a node two steps later, that is, by going along an arc and
    back. With R = A ∘ Aᵀ (the arcs that go both ways), r its row sums and t = diag(A³):
    tr A⁴ = 4 C4 + 2 Σ r(r - 1) + Σ r   and   tr A⁵ = 5 C5 + 5 (Σ r t - 2 Σ R∘A²) + 5 Σ R∘A².
    """
    squared = adjacency @ adjacency
    cubed = squared @ adjacency
    both_ways = adjacency * adjacency.T
    r = both_ways.sum(1)
    t = np.diag(cubed)
    closed_four = int((squared * squared.T).sum() - 2 * (r * (r - 1)).sum() - r.sum())
    closed_five = int((squared * cubed.T).sum() - 5 * (r * t).sum() + 5 * (both_ways * squared).sum())
    orientations = 1 if directed else 2
    walks = {3: int(t.sum()), 4: closed_four, 5: closed_five}
    assert all(number % (length * orientations) == 0 for length, number in walks.items())
    return {length: number // (length * orientations) for length, number in walks.items()}


def detours_by_deletion(adjacency: Matrix, k: int) -> NDArray[np.int64]:
    """Detours of length 2..k on every arc, an array [k - 1, n, n], for dense graphs of a few dozen nodes.

    The first step leaves i for good: P_L(i, ·) in G = Σ_x A_ix P_(L-1)(x, ·) in G - i.
    """
    num_nodes = len(adjacency)
    counts = np.zeros((k - 1, num_nodes, num_nodes), dtype=np.int64)
    for length in range(2, k + 1):
        for i in range(num_nodes):
            counts[length - 2, i] = _paths_from(adjacency, i, length) * adjacency[i]
    return counts


def _paths_from(adjacency: Matrix, i: int, length: int) -> Matrix:
    """Number of simple paths of the given length from i to every other node."""
    rest = adjacency.copy()
    rest[i] = rest[:, i] = 0
    if length == 2:
        return adjacency[i] @ rest
    steps = (adjacency[i, x] * _paths_from(rest, x, length - 1) for x in np.flatnonzero(adjacency[i]))
    return sum(steps, start=np.zeros(len(adjacency)))
