"""The expected number of detours of an edge in a random graph with the same degrees: the configuration model.

In that model the 2m half-edges, d_v of them at node v, are paired at random. Given the edge ij, 2m - 2 half-edges are
left, d_i - 1 of them at i and d_j - 1 at j. A detour of length L from i to j consists of L pairs; its L - 1 inner nodes
are distinct, and each uses an ordered pair of its half-edges, of which there are d_v (d_v - 1). L given pairs occur
together with probability 1 / ((2m - 3) (2m - 5) … (2m - 1 - 2L)). So the expected number is, exactly,

    E_L(i, j) = (d_i - 1) (d_j - 1) (L - 1)! e_{L-1} / ((2m - 3) (2m - 5) … (2m - 1 - 2L))

where e is the elementary symmetric polynomial of d_v (d_v - 1) over all v other than i and j. In a directed graph an
inner node has in_v · out_v pairs, i has out_i - 1 half-edges left and j has in_j - 1, and the denominator is
(m - 1) (m - 2) … (m - L). This normalisation is not from the paper.

The polynomials are computed in arbitrary-precision integers: with a hub of many thousand edges, floating point loses
the contribution of the other nodes to cancellation. Edges whose ends have the same values share the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import factorial, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from detours.arrays import Float64, Int64
from detours.graph import Graph

Integers = NDArray[Any]
"""Arbitrary-precision Python integers."""


def expected_by_length(graph: Graph, k: int) -> Float64:
    """Return float64 [arcs, k - 1]: the expected number of detours of length L in column L - 2, arcs as in the CSR."""
    source, target = graph.to_edge_index()
    degree = graph.degree.astype(np.int64)
    in_degree = np.bincount(graph.indices, minlength=graph.num_nodes) if graph.directed else degree
    values, rank = np.unique(degree * (in_degree if graph.directed else degree - 1), return_inverse=True)
    low, high = np.minimum(rank[source], rank[target]), np.maximum(rank[source], rank[target])
    pairs, kind = np.unique(low * len(values) + high, return_inverse=True)
    ends_left = (degree[source] - 1.0) * (in_degree[target] - 1.0)
    expected = np.zeros((graph.num_arcs, k - 1))
    polynomials = _elementary(values, np.bincount(rank), pairs // max(len(values), 1), pairs % max(len(values), 1))
    pairings = graph.num_arcs - 1 if graph.directed else graph.num_arcs - 3
    for length, polynomial in enumerate(islice(polynomials, k - 1), start=2):
        factor = graph.num_arcs - length if graph.directed else graph.num_arcs - 1 - 2 * length
        if factor <= 0:  # too few edges for a detour of this length
            break
        pairings *= factor
        orders = factorial(length - 1)
        ratios = np.array([_divide(orders * value, pairings) for value in polynomial])[kind]
        with np.errstate(over="ignore"):  # infinite beyond the range of floats
            expected[:, length - 2] = np.multiply(ends_left, ratios, out=np.zeros(len(ratios)), where=ends_left > 0)
    return expected


def _elementary(values: Int64, counts: Int64, first: Int64, second: Int64) -> Iterator[Integers]:
    """Yield e_1, e_2, … of all values but two, by Newton's identities, until all are 0.

    Args:
        values: The distinct values.
        counts: How often each occurs.
        first: For each pair of values to leave out, the index of one.
        second: The index of the other one.
    """
    exact, times = values.astype(object), counts.astype(object)
    elementary: list[Integers] = [np.ones(len(first), object)]
    power_sums: list[Integers] = []
    while elementary[-1].any():
        raised = exact ** (len(power_sums) + 1)
        power_sums.append((raised * times).sum() - raised[first] - raised[second])
        products = (power * lower for power, lower in zip(power_sums, elementary[::-1], strict=True))
        signed = (product * (-1) ** index for index, product in enumerate(products))
        elementary.append(sum(signed) // len(power_sums))
        yield elementary[-1]


def _divide(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return inf
