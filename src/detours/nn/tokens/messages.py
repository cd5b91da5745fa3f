"""The paper's message tokens: features and positions of both ends, whether they are equal, and detours between."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from detours.nn.functional import relu_of_both
from detours.nn.tokens.tokens import Tokens


class Messages(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""Message tokens, the paper's equation for MSG:

    .. math::
        \mathrm{MSG}_{ij} = \varphi_X([X_i, X_j]) + \varphi_I(i = j) + \varphi_P([P_i, P_j])
        + \varphi_D(k\text{-}\mathrm{DeN}_{ij}), \qquad j \in N(i) \cup \{i\},\ k\text{-}\mathrm{DeN}_{ii} = 0

    φX, φP and φD are two linear maps with a ReLU between. φI is a table of two vectors: an MLP of one bit has
    only two outputs, which can be any two.

    Args:
        in_channels: Width of X.
        hidden_channels: Width of the tokens.
        den_channels: Width of the detour numbers; 0 leaves out φD.
        pe_channels: Width of P; 0 leaves out φP.
    """

    def __init__(self, in_channels: int, hidden_channels: int, den_channels: int, pe_channels: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.phi_x = _mlp(2 * in_channels, hidden_channels)
        self.phi_i = nn.Embedding(2, hidden_channels)
        self.phi_p = _mlp(2 * pe_channels, hidden_channels) if pe_channels else None
        self.phi_d = _mlp(den_channels, hidden_channels) if den_channels else None

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                module.reset_parameters()

    def forward(self, x: Tensor, den: Tensor | None, pe: Tensor | None, tokens: Tokens) -> Tensor:
        """Return [T, hidden_channels] from x [N, in_channels], den [T, den_channels] and pe [N, pe_channels]."""
        message = self._ends(x, tokens)
        # Sums are fused into products: on graphs of high degree, copies of `message` dominate the memory.
        message = torch.addmm(message, tokens.kinds.to(message.dtype), self.phi_i.weight.to(message.dtype))
        if self.phi_p is not None and pe is not None:
            # Positions are narrow and need no gradient, so gathering them before the first map is cheaper than after.
            positions = torch.cat([pe.index_select(0, tokens.query), pe.index_select(0, tokens.key)], dim=1)
            message = _plus(message, self.phi_p, positions)
        if self.phi_d is not None and den is not None:
            message = _plus(message, self.phi_d, den)
        return message

    def _ends(self, x: Tensor, tokens: Tokens) -> Tensor:
        """φX, plus the last biases of φP and φD."""
        first, _, second = self.phi_x
        # The first map of a pair is the sum of one map per end: computed per node and then gathered, it takes N rows of
        # work instead of T.
        for_query, for_key = first.weight.split(self.in_channels, dim=1)
        ends = relu_of_both(F.linear(x, for_query, first.bias), tokens.query, F.linear(x, for_key), tokens.key)
        biases = [phi[2].bias for phi in (self.phi_x, self.phi_p, self.phi_d) if phi is not None]
        return F.linear(ends, second.weight, sum(biases))


def _mlp(in_channels: int, out_channels: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(in_channels, out_channels), nn.ReLU(), nn.Linear(out_channels, out_channels))


def _plus(message: Tensor, phi: nn.Sequential, values: Tensor) -> Tensor:
    """message + phi(values) without its last bias, with the sum fused into the last product."""
    first, _, second = phi
    return torch.addmm(message, first(values).relu_(), second.weight.t().to(message.dtype))
