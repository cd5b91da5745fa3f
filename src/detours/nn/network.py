"""Whole networks for graphs and nodes: MDNN, and the plain and DeN-weighted ones that it is compared with."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from detours.checks import check_choice, check_integer
from detours.errors import InputError
from detours.nn.backbones import Backbone, convolution
from detours.nn.detour_transformer import DetourTransformer
from detours.nn.detour_weighted import DetourWeighted
from detours.nn.mdnn_layer import MDNNLayer
from detours.nn.norm import TokenNorm
from detours.nn.tokens import Tokens

LEVELS = ("graph", "node")
POOLS = {"max": global_max_pool, "mean": global_mean_pool, "add": global_add_pool}


class _Given(NamedTuple):
    """What every layer sees besides the features."""

    edge_index: Tensor
    den: Tensor | None
    pe: Tensor | None
    tokens: Tokens | None


class _Network(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    """Encoder, layers with a skip from the encoder, decoder, pool: the same for all; a layer doubles the width."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        backbone: Backbone = "gin",
        *,
        num_layers: int = 4,
        level: str = "graph",
        pool: str = "max",
        dropout: float = 0.0,
        norm: bool = True,
    ) -> None:
        super().__init__()
        check_choice("level", level, LEVELS)
        check_choice("pool", pool, POOLS)
        check_integer("num_layers", num_layers, minimum=0)
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.out_channels = out_channels
        self.num_layers = num_layers
        self.level = level
        self.pool = pool
        self.dropout = dropout
        self.encoder = self._convolution(backbone, in_channels, hidden_channels)
        self.layers = nn.ModuleList(
            self._convolution(backbone, 2 * hidden_channels, hidden_channels) for _ in range(num_layers)
        )
        self.norms = nn.ModuleList(
            TokenNorm(2 * hidden_channels) if norm else nn.Identity() for _ in range(num_layers + 1)
        )
        self.decoder = self._convolution(backbone, 2 * hidden_channels, hidden_channels)
        self.readout = nn.Linear(hidden_channels, out_channels)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in (self.encoder, *self.layers, self.decoder, self.readout):
            module.reset_parameters()
        for norm in self.norms:
            if isinstance(norm, TokenNorm):
                norm.reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        den: Tensor | None = None,
        pe: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        num_graphs: int | None = None,
        tokens: Tokens | None = None,
    ) -> Tensor:
        """Logits: [num_graphs, out_channels], or [N, out_channels] at level "node".

        Args:
            x: [N, in_channels] features of the nodes.
            edge_index: [2, E] arcs j → i, both directions for an undirected graph.
            den: The detour numbers of the arcs, scaled by the caller: [E, den_channels] for `MDNN`, weights [E] for
                `WeightedNetwork`; `PlainNetwork` ignores them.
            pe: [N, pe_channels] positions of the nodes, for `MDNN`.
            batch: [N] the graph of every node; None for a single graph. A graph without nodes has logits 0.
            num_graphs: The number of graphs; without it, the device is asked for the last number in `batch`.
            tokens: The tokens of the graph, where the caller has them.
        """
        if x.dim() != 2 or x.size(1) != self.in_channels:
            raise InputError(f"x must have {self.in_channels} columns, but its shape is {tuple(x.shape)}.")
        given = self._prepared(x, _Given(edge_index, den, pe, tokens))
        first, *norms = self.norms
        start = state = first(self._encode(x, given)).relu()
        for layer, norm in zip(self.layers, norms, strict=True):
            state = norm(self._through(layer, state, given) + start).relu()
            state = F.dropout(state, self.dropout, self.training)
        logits: Tensor = self.readout(self._decode(state, given))
        if self.level == "node":
            return logits
        if batch is None:
            batch, num_graphs = edge_index.new_zeros(x.size(0)), 1
        pooled: Tensor = POOLS[self.pool](logits, batch, size=num_graphs)
        return pooled

    def _convolution(self, backbone: Backbone, in_channels: int, out_channels: int) -> nn.Module:
        return convolution(backbone, in_channels, out_channels)

    def _prepared(self, x: Tensor, given: _Given) -> _Given:
        return given

    def _encode(self, x: Tensor, given: _Given) -> Tensor:
        return _twice(self.encoder(x, given.edge_index))

    @abstractmethod
    def _through(self, layer: nn.Module, state: Tensor, given: _Given) -> Tensor:
        """One layer, [N, 2 · hidden_channels] to the same."""

    def _decode(self, state: Tensor, given: _Given) -> Tensor:
        decoded: Tensor = self.decoder(state, given.edge_index)
        return decoded

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.hidden_channels}, {self.out_channels}, num_layers={self.num_layers}, "
            f"level={self.level!r}, pool={self.pool!r}"
        )


class PlainNetwork(_Network):
    r"""Message passing without detours, equally wide: layers :math:`[\mathrm{conv}(X, A), \mathrm{conv}(X, A)]`.

    It cannot tell apart what 1-WL cannot. Both halves are one convolution with one set of parameters, computed once.

    From the paper: one encoder convolution, `num_layers` layers, one decoder convolution, ReLU. From its authors'
    code: the skip from the encoder to every layer, and the maximum over the nodes of a graph. Ours:

    - The decoder keeps the width, and a linear map follows to the classes. A GIN straight to two classes would have a
      hidden layer of two ReLUs, and with four seeds of eight such an MDNN never told triangles from hexagons.
    - The maximum is taken of the logits of the nodes.
    - Batch norm before every ReLU. The paper has none between layers (``norm=False``), but without it DeN-weighted
      networks learn slowly or not at all: after 100 epochs of ``detours.data.rings``, weighted GCN is right for 80, 95
      and 78 % of the test graphs (three seeds); with it, for all.

    Args:
        in_channels: Width of the node features.
        hidden_channels: Width of one half of a layer.
        out_channels: Number of classes.
        backbone: "gcn", "gat", "gin", a PyG class or a function (see `convolution`).
        num_layers: Layers between encoder and decoder.
        level: "graph" for logits of graphs, "node" for logits of nodes.
        pool: "max", "mean" or "add", over the nodes of a graph.
        dropout: After every layer, in training.
        norm: Batch norm before every ReLU.
    """

    def _through(self, layer: nn.Module, state: Tensor, given: _Given) -> Tensor:
        return _twice(layer(state, given.edge_index))


class WeightedNetwork(_Network):
    r"""DeN-weighted message passing: layers :math:`[\mathrm{conv}(X, A), \mathrm{conv}(X, A \odot \mathrm{DeN})]`.

    Both halves share their parameters (`DetourWeighted`); so do those of the encoder and of the decoder, which takes
    the mean of its two. Everything else, and the arguments, are as in `PlainNetwork`; `den` holds the weights of the
    arcs.
    """

    def _convolution(self, backbone: Backbone, in_channels: int, out_channels: int) -> nn.Module:
        return DetourWeighted(convolution(backbone, in_channels, out_channels, weighted=True))

    def _prepared(self, x: Tensor, given: _Given) -> _Given:
        if given.den is None:
            raise InputError("den is missing; WeightedNetwork needs a weight for every arc, see AddDetourWeights.")
        return given

    def _encode(self, x: Tensor, given: _Given) -> Tensor:
        return self._through(self.encoder, x, given)

    def _through(self, layer: nn.Module, state: Tensor, given: _Given) -> Tensor:
        doubled: Tensor = layer(state, given.edge_index, given.den)
        return doubled

    def _decode(self, state: Tensor, given: _Given) -> Tensor:
        plain, weighted = self.decoder.branches(state, given.edge_index, given.den)
        mean: Tensor = (plain + weighted) / 2
        return mean


class MDNN(_Network):
    r"""The message detouring neural network of the paper: layers :math:`[\mathrm{conv}(X, A), X^{out}]`.

    :math:`X^{out}` comes from a `DetourTransformer` that sees the same features as the convolution. Encoder, skip,
    decoder and pool are those of `PlainNetwork`, so a comparison of the two is one of layers.

    Args:
        in_channels: Width of the node features.
        hidden_channels: Width of one half of a layer: of the convolution, and of the tokens.
        out_channels: Number of classes.
        backbone: "gcn", "gat", "gin", a PyG class or a function (see `convolution`).
        num_layers: Layers between encoder and decoder.
        level: "graph" for logits of graphs, "node" for logits of nodes.
        pool: "max", "mean" or "add", over the nodes of a graph.
        dropout: After every layer and inside the transformers, in training.
        norm: Batch norm before every ReLU between the layers; the transformers always have their own.
        transformer_layers: Layers of attention in each layer of the network (the paper: 12 for graphs, 2 for nodes).
        heads, den_channels, pe_channels, feed_forward, use_den, attention: See `DetourTransformer`.

    >>> model = MDNN(3, 16, 2, transformer_layers=1, den_channels=2, pe_channels=0)
    >>> arcs = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    >>> model(torch.ones(3, 3), arcs, den=torch.ones(6, 2)).shape
    torch.Size([1, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        backbone: Backbone = "gin",
        *,
        num_layers: int = 4,
        level: str = "graph",
        pool: str = "max",
        dropout: float = 0.0,
        norm: bool = True,
        transformer_layers: int = 12,
        heads: int = 1,
        den_channels: int = 1,
        pe_channels: int = 8,
        feed_forward: int | None = None,
        use_den: bool = True,
        attention: str = "auto",
    ) -> None:
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            backbone,
            num_layers=num_layers,
            level=level,
            pool=pool,
            dropout=dropout,
            norm=norm,
        )
        transformer = partial(
            DetourTransformer,
            2 * hidden_channels,
            hidden_channels,
            num_layers=transformer_layers,
            heads=heads,
            den_channels=den_channels,
            pe_channels=pe_channels,
            feed_forward=feed_forward,
            dropout=dropout,
            use_den=use_den,
            attention=attention,
        )
        self.layers = nn.ModuleList(MDNNLayer(conv, transformer()) for conv in self.layers)

    def _prepared(self, x: Tensor, given: _Given) -> _Given:
        tokens = Tokens.of(given.edge_index, x.size(0)) if given.tokens is None else given.tokens
        return given._replace(tokens=tokens)

    def _through(self, layer: nn.Module, state: Tensor, given: _Given) -> Tensor:
        doubled: Tensor = layer(state, given.edge_index, given.den, given.pe, tokens=given.tokens)
        return doubled


def _twice(half: Tensor) -> Tensor:
    return torch.cat([half, half], dim=1)
