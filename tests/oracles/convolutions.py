"""GCN, GAT and GIN as loops over weighted arcs; they use only the parameters of PyG's modules.

Arcs are pairs (j, i) for a message from j to i, without loops. Values are float64, in lists and rows of NumPy arrays.
"""

from collections.abc import Callable, Sequence
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Arcs = Sequence[tuple[int, int]]


def gcn(x: Floats, arcs: Arcs, weights: Sequence[float], matrix: Floats, bias: Floats) -> Floats:
    """x'_i = W Σ_{j ∈ N(i) ∪ {i}} a_ji x_j / √(d_j d_i) + b, with a_ii = 1 and d_i the sum of incoming weights."""
    loops = [(node, node) for node in range(len(x))]
    weighted = [*zip(arcs, weights, strict=True), *((loop, 1.0) for loop in loops)]
    degree = [sum(weight for (_, target), weight in weighted if target == node) for node in range(len(x))]
    result = np.tile(bias, (len(x), 1))
    for (source, target), weight in weighted:
        result[target] += weight / sqrt(degree[source] * degree[target]) * (matrix @ x[source])
    return result


def gin(x: Floats, arcs: Arcs, weights: Sequence[float], network: Callable[[Floats], Floats], epsilon: float) -> Floats:
    """x'_i = h((1 + ε) x_i + Σ_j a_ji x_j)."""
    rows = []
    for node in range(len(x)):
        total = (1 + epsilon) * x[node]
        for (source, target), weight in zip(arcs, weights, strict=True):
            if target == node:
                total = total + weight * x[source]
        rows.append(network(total))
    return np.array(rows).reshape(len(x), -1)


def gat(
    x: Floats,
    arcs: Arcs,
    features: Sequence[float],
    matrix: Floats,
    attention: tuple[Floats, Floats, Floats],
    edge_matrix: Floats,
    bias: Floats,
) -> Floats:
    """One head: softmax over j ∈ N(i) ∪ {i} of LeakyReLU(a_s·Wx_j + a_t·Wx_i + a_e·W_e e_ji), where e_ii = 0."""
    at_source, at_target, at_edge = attention
    rows = []
    for node in range(len(x)):
        neighbours = [
            (source, feature) for (source, target), feature in zip(arcs, features, strict=True) if target == node
        ]
        neighbours.append((node, 0.0))
        scores = [
            float(at_source @ matrix @ x[source] + at_target @ matrix @ x[node] + at_edge @ edge_matrix[:, 0] * feature)
            for source, feature in neighbours
        ]
        exps = [exp(score if score > 0 else 0.2 * score) for score in scores]
        messages = [e / sum(exps) * (matrix @ x[source]) for e, (source, _) in zip(exps, neighbours, strict=True)]
        rows.append(sum(messages) + bias)
    return np.array(rows).reshape(len(x), -1)


def two_layers(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Callable[[Floats], Floats]:
    """Two linear layers, matrix and bias each, with a ReLU between them."""
    return lambda row: second[0] @ np.maximum(first[0] @ row + first[1], 0.0) + second[1]
