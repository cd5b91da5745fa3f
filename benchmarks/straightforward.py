"""MDNN as one would write it down first: tokens padded to the largest degree, every map applied to the padding too.

The parameters are those of our own network, so that both can be compared number by number.
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

    def forward(self, x: Tensor, edge_index: Tensor, den: Tensor, pe: Tensor, *, tokens: object = None) -> Tensor:
        """X_out of every node; `tokens` is ignored."""
        nodes = torch.arange(len(x), device=x.device)
        arcs = torch.cat([torch.stack([nodes, nodes]), edge_index], dim=1)
        numbers = torch.cat([den.new_zeros(len(x), den.size(1)), den])
        order = torch.argsort(arcs[1], stable=True)  # the loop comes first: it was listed first
        (key, query), numbers = arcs[:, order], numbers[order]
        messages = self.transformer.messages
        pairs = torch.cat([x[query], x[key]], dim=1)
        padded, real = to_dense_batch(pairs, query, batch_size=len(x))
        state = messages.phi_x(padded)
        state = state + messages.phi_i(to_dense_batch((query == key).long(), query, batch_size=len(x))[0])
        places = torch.cat([pe[query], pe[key]], dim=1)
        state = state + messages.phi_p(to_dense_batch(places, query, batch_size=len(x))[0])
        state = state + messages.phi_d(to_dense_batch(numbers, query, batch_size=len(x))[0])
        for layer in self.transformer.layers:
            state = _layer(layer, state, real)
        return state[:, 0]


def _layer(layer: TokenLayer, state: Tensor, real: Tensor) -> Tensor:
    query, key, value = layer.qkv(state).unflatten(2, (3, layer.heads, -1)).unbind(2)
    attended = nn.functional.scaled_dot_product_attention(
        query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), attn_mask=real[:, None, None, :]
    )
    state = _normed(layer.norms[0], state + layer.out(attended.transpose(1, 2).flatten(2)), real)
    return _normed(layer.norms[1], state + layer.feed_forward(state), real)


def _normed(norm: nn.Module, state: Tensor, real: Tensor) -> Tensor:
    normed = norm(state[real])
    return torch.zeros_like(state, dtype=normed.dtype).masked_scatter(real.unsqueeze(2), normed)


def padded(model: MDNN) -> MDNN:
    """The same network with the same parameters, its token sets padded; changes the network that is given."""
    for layer in model.layers:
        layer.transformer = PaddedTransformer(layer.transformer)
    return model
