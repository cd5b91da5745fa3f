"""Detours to be expected around an edge of a random graph with the same degrees: the configuration model.

In that model the 2m ends of edges, d_v of them at node v, are joined in pairs at random. Given the edge ij, 2m - 2 ends
are left, d_i - 1 of them at i and d_j - 1 at j. A detour of length L from i to j consists of L pairs; its L - 1 inner
nodes are different and each of them takes part with an ordered pair of its ends, d_v (d_v - 1) of these. Given L pairs
of ends are joined with probability 1 / ((2m - 3) (2m - 5) … (2m - 1 - 2L)). So the expected number is, exactly,

    E_L(i, j) = (d_i - 1) (d_j - 1) (L - 1)! e_{L-1} / ((2m - 3) (2m - 5) … (2m - 1 - 2L))

with the elementary symmetric polynomial e of d_v (d_v - 1) over all v other than i and j. For a directed graph an inner
node takes part with in_v · out_v pairs, i has out_i - 1 ends left and j has in_j - 1, and the denominator is
(m - 1) (m - 2) … (m - L). This normalisation is ours, not the paper's.
"""

from __future__ import annotations

from math import factorial

import numpy as np

from detours.arrays import Float64
from detours.graph import Graph


def expected_by_length(graph: Graph, k: int) -> Float64:
    """Return float64 [arcs, k - 1]: the expected number of detours of length L in column L - 2, arcs as in the CSR."""
    source, target = graph.to_edge_index()
    degree = graph.degree.astype(np.float64)
    arriving = np.bincount(graph.indices, minlength=graph.num_nodes).astype(np.float64) if graph.directed else degree
    passing = degree * (arriving if graph.directed else degree - 1)
    ends = (degree[source] - 1) * (arriving[target] - 1)
    polynomials = _elementary(passing, source, target, k - 1)
    found = np.zeros((graph.num_arcs, k - 1))
    pairings = 1.0
    for length in range(1, k + 1):
        ways = graph.num_arcs - length if graph.directed else graph.num_arcs - 1 - 2 * length
        if ways <= 0:  # not enough edges for so long a detour
            break
        pairings *= ways
        if length > 1:
            found[:, length - 2] = ends * factorial(length - 1) * polynomials[length - 1] / pairings
    return found


def _elementary(values: Float64, first: Float64, second: Float64, most: int) -> list[Float64]:
    """Return e_0 to e_most of all values but those of two nodes, one array each, by Newton's identities."""
    powers = [np.sum(values**power) - values[first] ** power - values[second] ** power for power in range(1, most + 1)]
    found = [np.ones(len(first))]
    for order in range(1, most + 1):
        total = sum((-1) ** (at - 1) * found[order - at] * powers[at - 1] for at in range(1, order + 1))
        found.append(np.maximum(total / order, 0.0))  # rounding may leave a little less than nothing
    return found
