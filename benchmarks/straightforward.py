"""A naive implementation of MDNN: tokens padded to the largest degree, and every layer applied to the padding, too.

It uses the parameters of our network, so that the outputs of both can be compared.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.utils import to_dense_batch

from detours.nn import MDNN, DetourTransformer
from detours.nn.detour_transformer import TokenLayer


class PaddedTransformer(nn.Module):
    """The transformer of message detouring on an array [nodes, largest degree + 1, channels]."""

    def __init__(self, transformer: DetourTransformer) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(
        self, x: Tensor, edge_index: Tensor, den: Tensor, pe: Tensor, *, tokens: object = None, counted: None = None
    ) -> Tensor:
        """X_out of every node; `tokens` is ignored, and `counted` must be None: all nodes enter batch norm."""
        nodes = torch.arange(len(x), device=x.device)
        arcs = torch.cat([torch.stack([nodes, nodes]), edge_index], dim=1)
        features = torch.cat([den.new_zeros(len(x), den.size(1)), den])
        order = torch.argsort(arcs[1], stable=True)  # keeps the loop of each node first
        (key, query), features = arcs[:, order], features[order]
        messages = self.transformer.messages
        pairs = torch.cat([x[query], x[key]], dim=1)
        padded, mask = to_dense_batch(pairs, query, batch_size=len(x))
        state = messages.phi_x(padded)
        state = state + messages.phi_i(to_dense_batch((query == key).long(), query, batch_size=len(x))[0])
        positions = torch.cat([pe[query], pe[key]], dim=1)
        state = state + messages.phi_p(to_dense_batch(positions, query, batch_size=len(x))[0])
        state = state + messages.phi_d(to_dense_batch(features, query, batch_size=len(x))[0])
        for layer in self.transformer.layers:
            state = _layer(layer, state, mask)
        return state[:, 0]


def _layer(layer: TokenLayer, state: Tensor, mask: Tensor) -> Tensor:
    query, key, value = layer.qkv(state).unflatten(2, (3, layer.heads, -1)).unbind(2)
    attended = nn.functional.scaled_dot_product_attention(
        query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), attn_mask=mask[:, None, None, :]
    )
    state = _norm(layer.norms[0], state + layer.out(attended.transpose(1, 2).flatten(2)), mask)
    return _norm(layer.norms[1], state + layer.feed_forward(state), mask)


def _norm(norm: nn.Module, state: Tensor, mask: Tensor) -> Tensor:
    normed = norm(state[mask])
    return torch.zeros_like(state, dtype=normed.dtype).masked_scatter(mask.unsqueeze(2), normed)


def padded(model: MDNN) -> MDNN:
    """Replace the transformers of a network, in place, by padded ones with the same parameters."""
    for layer in model.layers:
        layer.transformer = PaddedTransformer(layer.transformer)
    return model
