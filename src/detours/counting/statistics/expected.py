"""Detours to be expected around an edge of a random graph with the same degrees: the configuration model.

In that model the 2m ends of edges, d_v of them at node v, are joined in pairs at random. Given the edge ij, 2m - 2 ends
are left, d_i - 1 of them at i and d_j - 1 at j. A detour of length L from i to j consists of L pairs; its L - 1 inner
nodes are different and each of them takes part with an ordered pair of its ends, d_v (d_v - 1) of these. Given L pairs
of ends are joined with probability 1 / ((2m - 3) (2m - 5) … (2m - 1 - 2L)). So the expected number is, exactly,

    E_L(i, j) = (d_i - 1) (d_j - 1) (L - 1)! e_{L-1} / ((2m - 3) (2m - 5) … (2m - 1 - 2L))

with the elementary symmetric polynomial e of d_v (d_v - 1) over all v other than i and j. For a directed graph an inner
node takes part with in_v · out_v pairs, i has out_i - 1 ends left and j has in_j - 1, and the denominator is
(m - 1) (m - 2) … (m - L). This normalisation is ours, not the paper's.

The polynomials are computed in integers of any size: with a hub of many thousand edges, floating point cancels away
whatever the other nodes add. Edges whose ends have the same values share the work.
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
"""Integers of Python, of any size."""


def expected_by_length(graph: Graph, k: int) -> Float64:
    """Return float64 [arcs, k - 1]: the expected number of detours of length L in column L - 2, arcs as in the CSR."""
    source, target = graph.to_edge_index()
    degree = graph.degree.astype(np.int64)
    arriving = np.bincount(graph.indices, minlength=graph.num_nodes) if graph.directed else degree
    values, rank = np.unique(degree * (arriving if graph.directed else degree - 1), return_inverse=True)
    low, high = np.minimum(rank[source], rank[target]), np.maximum(rank[source], rank[target])
    pairs, kind = np.unique(low * len(values) + high, return_inverse=True)
    ends = (degree[source] - 1.0) * (arriving[target] - 1.0)
    found = np.zeros((graph.num_arcs, k - 1))
    polynomials = _elementary(values, np.bincount(rank), pairs // max(len(values), 1), pairs % max(len(values), 1))
    pairings = graph.num_arcs - 1 if graph.directed else graph.num_arcs - 3
    for length, polynomial in enumerate(islice(polynomials, k - 1), start=2):
        ways = graph.num_arcs - length if graph.directed else graph.num_arcs - 1 - 2 * length
        if ways <= 0:  # not enough edges for so long a detour
            break
        pairings *= ways
        orders = factorial(length - 1)
        shares = np.array([_divided(orders * one, pairings) for one in polynomial])[kind]
        with np.errstate(over="ignore"):  # beyond floats it is infinite
            found[:, length - 2] = np.multiply(ends, shares, out=np.zeros(len(ends)), where=ends > 0)
    return found


def _elementary(values: Int64, numbers: Int64, first: Int64, second: Int64) -> Iterator[Integers]:
    """Yield e_1, e_2, … of all values but two, which stand at these places, by Newton's identities; until all are 0.

    Args:
        values: The different ones.
        numbers: How often each occurs.
        first: Of one of the two, for every pair that is asked for.
        second: Of the other one.
    """
    exact, times = values.astype(object), numbers.astype(object)
    found: list[Integers] = [np.ones(len(first), object)]
    powers: list[Integers] = []
    while found[-1].any():
        raised = exact ** (len(powers) + 1)
        powers.append((raised * times).sum() - raised[first] - raised[second])
        signed = (power * one * (-1) ** at for at, (power, one) in enumerate(zip(powers, found[::-1], strict=True)))
        found.append(sum(signed) // len(powers))
        yield found[-1]


def _divided(number: int, by: int) -> float:
    try:
        return number / by
    except OverflowError:
        return inf
