"""Reference counts for all pairs of nodes, and the steps of closed forms evaluated in Python integers."""

from collections import defaultdict
from itertools import permutations
from math import prod

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from detours.counting.derive.matrix_steps import Clique, Combination, Contraction, Gathered, Product, Tied, Transposed
from tests.oracles.brute import Arcs, by_subsets

Counts = NDArray[np.int64]


def pairs_by_subsets(num_nodes: int, arcs: Arcs, k: int) -> Counts:
    """The array that `count_pairs` returns, pair by pair from the definition."""
    counts = np.zeros((num_nodes, num_nodes, k - 1), np.int64)
    for pair, by_length in by_subsets(num_nodes, arcs, k, list(permutations(range(num_nodes), 2))).items():
        counts[pair] = by_length
    return counts


def pairs_with_networkx(graph: nx.Graph, k: int) -> Counts:
    """The same from `all_simple_paths`; the nodes are 0, 1, 2, ..."""
    counts = np.zeros((len(graph), len(graph), k - 1), np.int64)
    for i, j in permutations(graph, 2):
        for path in nx.all_simple_paths(graph, i, j, cutoff=k):
            if len(path) > 2:
                counts[i, j, len(path) - 3] += 1
    return counts


def values_of_steps(
    contraction: Contraction, adjacency: NDArray[np.bool_], spoil_off_arcs: bool = False
) -> list[NDArray[np.object_]]:
    """The value of every step on one graph, entry by entry as its docstring says, in unbounded integers.

    With ``spoil_off_arcs``, a matrix that need not be whole is wrong wherever no arc joins i and j, unless zero there.
    """
    arcs = adjacency.astype(object) * 1
    values: list[NDArray[np.object_]] = []
    for step in contraction.steps:
        match step:
            case Tied(tie):
                values.append({"f": arcs, "b": arcs.T, "r": arcs * arcs.T}[tie])
            case Transposed(source):
                values.append(values[source].T)
            case Product(left, right):
                values.append(values[left] @ values[right])
            case Clique(iu, iv, uv, uj, vj):
                values.append(_clique(*(values[side] for side in (iu, iv, uv, uj, vj))))
            case Combination(terms):
                total = np.zeros(arcs.shape, object)
                for term in terms:
                    matrix = prod((values[f] for f in term.factors), start=term.coefficient)
                    total += (
                        matrix * _vector(values, term.at_i, len(arcs))[:, None] * _vector(values, term.at_j, len(arcs))
                    )
                values.append(total)
            case Gathered(matrix, weights):
                values.append((values[matrix] * _vector(values, weights, len(arcs))).sum(1))
        index = len(values) - 1
        if spoil_off_arcs and values[-1].ndim == 2 and not contraction.whole[index] and not contraction.on_arcs[index]:
            values[-1] = np.where(adjacency | adjacency.T, values[-1], 10**6 + index)
    return values


def _vector(values: list[NDArray[np.object_]], indices: tuple[int, ...], size: int) -> NDArray[np.object_]:
    return prod((values[index] for index in indices), start=np.ones(size, object))


def _clique(*sides: NDArray[np.object_]) -> NDArray[np.object_]:
    iu, iv, uv, uj, vj = sides
    n = len(iu)
    result: dict[tuple[int, int], int] = defaultdict(int)
    for u, v in np.argwhere(uv != 0):
        for i in range(n):
            for j in range(n):
                result[i, j] += iu[i, u] * iv[i, v] * uv[u, v] * uj[u, j] * vj[v, j]
    return np.array([[result[i, j] for j in range(n)] for i in range(n)], object)
