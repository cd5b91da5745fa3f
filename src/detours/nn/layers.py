"""The layers of the networks: each takes x [N, in_channels] and the graph, and returns two halves, concatenated."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from detours.nn.detour_transformer import DetourTransformer
from detours.nn.detour_weighted import DetourWeighted
from detours.nn.fused.groups import reversed_arcs
from detours.nn.tokens import Tokens


class GraphInputs(NamedTuple):
    """The inputs of every layer besides the state of the nodes."""

    edge_index: Tensor
    """[2, E] arcs j → i."""
    edge_attr: Tensor | None = None
    """[E, edge_channels] features of the arcs, for convolutions."""
    den: Tensor | None = None
    """[E, den_channels] for tokens, or [E] weights."""
    pe: Tensor | None = None
    """[N, pe_channels] positions of the nodes."""
    tokens: Tokens | None = None
    counted: Tensor | None = None
    """[N] mask of the nodes that enter the statistics of batch norms; None for all."""

    def flipped(self) -> GraphInputs:
        """Return the same graph with its arcs reversed."""
        tokens = None if self.tokens is None else self.tokens.flipped
        return self._replace(edge_index=reversed_arcs(self.edge_index), tokens=tokens)


class ConvLayer(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""Plain message passing: :math:`[\mathrm{conv}(X, A), \mathrm{conv}(X, A)]`, computed once."""

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        reset(self.conv)

    def forward(self, x: Tensor, graph: GraphInputs) -> Tensor:
        half = convolve(self.conv, x, graph)
        return torch.cat([half, half], dim=1)


class WeightedLayer(DetourWeighted):
    """`DetourWeighted` with the signature of the other layers."""

    def forward(self, x: Tensor, graph: GraphInputs) -> Tensor:  # type: ignore[override]
        assert graph.den is not None
        return torch.cat(self.branches(x, graph.edge_index, graph.den, graph.edge_attr), dim=-1)


class MDNNLayer(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""A layer of MDNN: :math:`[\mathrm{conv}(X, A),\ X^{out}]`, where `DetourTransformer` gives the second half.

    With `detour_gate` the second half is :math:`\mathrm{conv}(X, A) + \alpha X^{out}` with a learned number α that
    starts at 0 (as in ReZero, https://arxiv.org/abs/2003.04887), so the layer starts as one of the plain network.
    """

    def __init__(self, conv: nn.Module, transformer: DetourTransformer, *, detour_gate: bool = False) -> None:
        super().__init__()
        self.conv = conv
        self.transformer = transformer
        self.detour_gate = nn.Parameter(torch.zeros(())) if detour_gate else None

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        reset(self.conv)
        self.transformer.reset_parameters()
        if self.detour_gate is not None:
            nn.init.zeros_(self.detour_gate)

    def forward(self, x: Tensor, graph: GraphInputs) -> Tensor:
        convolved = convolve(self.conv, x, graph)
        transformed = self.transformer(
            x, graph.edge_index, graph.den, graph.pe, tokens=graph.tokens, counted=graph.counted
        )
        if self.detour_gate is not None:
            transformed = convolved + self.detour_gate * transformed
        return torch.cat([convolved, transformed], dim=1)


class BothDirections(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""Dir-GNN (`Edge Directionality Improves Learning on Heterophilic Graphs <https://arxiv.org/abs/2305.10498>`_):

    .. math::
        X^{\prime} = \tfrac12 \, \mathrm{layer}_{in}(X, A) + \tfrac12 \, \mathrm{layer}_{out}(X, A^{\top})
    """

    def __init__(self, build: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.along, self.against = build(), build()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.along.reset_parameters()
        self.against.reset_parameters()

    def forward(self, x: Tensor, graph: GraphInputs) -> Tensor:
        mean: Tensor = (self.along(x, graph) + self.against(x, graph.flipped())) / 2
        return mean


def convolve(conv: nn.Module, x: Tensor, graph: GraphInputs) -> Tensor:
    """Return conv(x, edge_index), with the features of the arcs if there are any."""
    options = {} if graph.edge_attr is None else {"edge_attr": graph.edge_attr}
    result: Tensor = conv(x, graph.edge_index, **options)
    return result
