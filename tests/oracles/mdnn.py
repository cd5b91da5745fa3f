"""The transformer of message detouring and an MDNN layer, one token at a time, straight from the equations."""

from __future__ import annotations

import torch
from torch import Tensor, nn

Vector = Tensor
Sets = list[list[Vector]]


def mlp(phi: nn.Sequential, value: Vector) -> Vector:
    first, _, second = phi
    return linear(second, linear(first, value).clamp(min=0))


def linear(layer: nn.Linear, value: Vector) -> Vector:
    return torch.stack([(row * value).sum() for row in layer.weight]) + layer.bias


def message_sets(messages: nn.Module, x: Tensor, edge_index: Tensor, den: Tensor | None, pe: Tensor | None) -> Sets:
    """MSG_ij for every node i: first MSG_ii, then one for every arc j -> i."""
    arcs = edge_index.t().tolist()
    sets: Sets = []
    for i in range(len(x)):
        numbered = [(i, None), *((j, column) for column, (j, target) in enumerate(arcs) if target == i)]
        sets.append([message(messages, x, den, pe, i, j, column) for j, column in numbered])
    return sets


def message(
    messages: nn.Module, x: Tensor, den: Tensor | None, pe: Tensor | None, i: int, j: int, column: int | None
) -> Vector:
    total = mlp(messages.phi_x, torch.cat([x[i], x[j]])) + messages.phi_i.weight[int(i == j)]
    if pe is not None:
        total = total + mlp(messages.phi_p, torch.cat([pe[i], pe[j]]))
    if den is not None:
        total = total + mlp(messages.phi_d, den.new_zeros(den.size(1)) if column is None else den[column])
    return total


def attention(layer: nn.Module, query: Vector, tokens: list[Vector]) -> tuple[Vector, list[list[float]]]:
    """The output of attention for one token over its set, and the weights by head."""
    width = len(query)
    by_token = [linear(layer.qkv, token) for token in tokens]
    projected = linear(layer.qkv, query)[:width]
    size = width // layer.heads
    heads, weights = [], []
    for head in range(layer.heads):
        part = slice(head * size, (head + 1) * size)
        scores = [float((projected[part] * qkv[width : 2 * width][part]).sum()) / size**0.5 for qkv in by_token]
        top = max(scores)
        exps = [torch.tensor(score - top, dtype=torch.float64).exp().item() for score in scores]
        softmax = [value / sum(exps) for value in exps]
        heads.append(
            torch.stack([weight * qkv[2 * width :][part] for weight, qkv in zip(softmax, by_token, strict=True)]).sum(0)
        )
        weights.append(softmax)
    return linear(layer.out, torch.cat(heads)), weights


def normalised(norm: nn.Module, sets: Sets) -> Sets:
    """Batch norm over all tokens of all sets."""
    tokens = [token for tokens in sets for token in tokens]
    if norm.training:
        mean = torch.stack(tokens).sum(0) / len(tokens)
        variance = torch.stack([(token - mean) ** 2 for token in tokens]).sum(0) / len(tokens)
    else:
        mean, variance = norm.running_mean, norm.running_var
    return [
        [(token - mean) / (variance + norm.eps).sqrt() * norm.weight + norm.bias for token in tokens] for tokens in sets
    ]


def transformer(
    model: nn.Module, x: Tensor, edge_index: Tensor, den: Tensor | None, pe: Tensor | None
) -> tuple[Tensor, list[list[list[float]]]]:
    """X_out of every node, and for every node the weights of its last self query, by head and token."""
    sets = message_sets(model.messages, x, edge_index, den, pe)
    weights: list[list[list[float]]] = []
    for depth, layer in enumerate(model.layers):
        last = depth == len(model.layers) - 1
        queries = [tokens[:1] if last else tokens for tokens in sets]
        attended = [
            [attention(layer, token, tokens) for token in own] for own, tokens in zip(queries, sets, strict=True)
        ]
        weights = [of_node[0][1] for of_node in attended]
        residual = [
            [token + output for token, (output, _) in zip(own, of_node, strict=True)]
            for own, of_node in zip(queries, attended, strict=True)
        ]
        normed = normalised(layer.norms[0], residual)
        residual = [[token + mlp(layer.feed_forward, token) for token in tokens] for tokens in normed]
        sets = normalised(layer.norms[1], residual)
    return torch.stack([tokens[0] for tokens in sets]), weights


def gin(conv: nn.Module, x: Tensor, edge_index: Tensor) -> Tensor:
    """GIN: the network of (1 + eps) x_i + the sum over arcs j -> i."""
    rows = []
    for i in range(len(x)):
        total = (1 + float(conv.eps)) * x[i]
        for j, target in edge_index.t().tolist():
            if target == i:
                total = total + x[j]
        rows.append(mlp(conv.nn, total))
    return torch.stack(rows)


def mdnn_layer(layer: nn.Module, x: Tensor, edge_index: Tensor, den: Tensor | None, pe: Tensor | None) -> Tensor:
    """[GIN(x, A), X_out]."""
    return torch.cat([gin(layer.conv, x, edge_index), transformer(layer.transformer, x, edge_index, den, pe)[0]], dim=1)
