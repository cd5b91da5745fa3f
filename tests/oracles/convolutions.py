"""GCN, GAT and GIN by loops over the arcs, with a weight for each; nothing of PyG's but the parameters.

Arcs are pairs (j, i), a message going from j to i, without loops. Numbers are float64 lists and rows of NumPy arrays.
"""

from collections.abc import Callable, Sequence
from math import exp, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Arcs = Sequence[tuple[int, int]]


def gcn(x: Floats, arcs: Arcs, weights: Sequence[float], matrix: Floats, bias: Floats) -> Floats:
    """x'_i = W Σ_{j ∈ N(i) ∪ {i}} a_ji x_j / √(d_j d_i) + b, with a_ii = 1 and d_i the sum of what comes in."""
    own = [(node, node) for node in range(len(x))]
    every = [*zip(arcs, weights, strict=True), *((loop, 1.0) for loop in own)]
    degree = [sum(weight for (_, target), weight in every if target == node) for node in range(len(x))]
    result = np.tile(bias, (len(x), 1))
    for (source, target), weight in every:
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
        near = [(source, feature) for (source, target), feature in zip(arcs, features, strict=True) if target == node]
        near.append((node, 0.0))
        scores = [
            float(at_source @ matrix @ x[source] + at_target @ matrix @ x[node] + at_edge @ edge_matrix[:, 0] * feature)
            for source, feature in near
        ]
        raised = [exp(score if score > 0 else 0.2 * score) for score in scores]
        parts = [weight / sum(raised) * (matrix @ x[source]) for weight, (source, _) in zip(raised, near, strict=True)]
        rows.append(sum(parts) + bias)
    return np.array(rows).reshape(len(x), -1)


def two_layers(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Callable[[Floats], Floats]:
    """Two linear layers, matrix and bias each, with a ReLU between them."""
    return lambda row: second[0] @ np.maximum(first[0] @ row + first[1], 0.0) + second[1]
