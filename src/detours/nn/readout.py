"""From the states of the nodes to logits: jumping knowledge, raw features, pooling and the head."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from detours.nn.dropout import Dropout
from detours.nn.functional import pool
from detours.nn.options import NetworkOptions


def jumping_knowledge(states: Sequence[Tensor], jump: str) -> Tensor:
    """Return the input of the decoder, the states of all layers reduced by "last", "cat", "max" or "mean"."""
    if jump == "last":
        return states[-1]
    if jump == "cat":
        return torch.cat(list(states), dim=1)
    stacked = torch.stack(list(states))
    joined: Tensor = stacked.amax(0) if jump == "max" else stacked.mean(0)
    return joined


class Readout(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""Logits of nodes, :math:`\mathrm{head}([h_i, \mathbf{W} x_i])`, or of graphs: the pool of these logits, or
    :math:`\mathrm{head}(\mathrm{pool}_i [h_i, \mathbf{W} x_i])`; :math:`\mathbf{W} x_i` only with `options.skip`.

    Args:
        channels: Width of the states.
        in_channels: Width of the raw features.
        hidden_channels: Width of the map of the raw features, and of the inner layer of the head.
        out_channels: Number of logits.
        options: level, skip, pool, pool_of, head and dropout.
    """

    def __init__(
        self, channels: int, in_channels: int, hidden_channels: int, out_channels: int, options: NetworkOptions
    ) -> None:
        super().__init__()
        self.options = options
        self.raw = nn.Linear(in_channels, hidden_channels) if options.skip else None
        width = channels + options.skip * hidden_channels
        if options.level == "graph" and options.pool_of == "states":
            width *= options.pool.count("+") + 1
        if options.head == "mlp":
            inner = (nn.Linear(width, hidden_channels), nn.ReLU(), Dropout(options.dropout))
            self.head = nn.Sequential(*inner, nn.Linear(hidden_channels, out_channels))
        else:
            self.head = nn.Linear(width, out_channels)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.reset_parameters()

    def forward(self, state: Tensor, x: Tensor, batch: Tensor | None, num_graphs: int) -> Tensor:
        """Return [num_graphs, out_channels], or [N, out_channels] without `batch`."""
        if self.raw is not None:
            state = torch.cat([state, self.raw(x)], dim=1)
        if batch is None:
            logits: Tensor = self.head(state)
            return logits
        if self.options.pool_of == "states":
            logits = self.head(pool(state, batch, num_graphs, self.options.pool))
            return logits
        return pool(self.head(state), batch, num_graphs, self.options.pool)
