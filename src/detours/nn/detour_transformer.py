"""`DetourTransformer`: each node attends to its message tokens."""

from __future__ import annotations

from math import sqrt
from typing import Literal, NamedTuple, overload

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from detours.checks import check_flag, check_integer
from detours.errors import InputError
from detours.nn.dropout import Dropout
from detours.nn.functional import gather
from detours.nn.norm import norm_of, normed
from detours.nn.tokens import Tokens
from detours.nn.tokens.attention import attend, attend_self, check_attention, self_weights
from detours.nn.tokens.messages import Messages


class Attention(NamedTuple):
    """The attention weights of the last layer.

    >>> from detours.nn import DetourTransformer
    >>> edge_index = torch.tensor([[0, 1], [1, 0]])
    >>> layer = DetourTransformer(4, 8, pe_channels=0)
    >>> _, attention = layer(torch.ones(2, 4), edge_index, torch.zeros(2), return_attention=True)
    >>> attention.weights.shape
    torch.Size([4, 1])
    """

    tokens: Tokens
    """Token t is the message of node ``tokens.key[t]`` to node ``tokens.query[t]``."""
    weights: Tensor
    """[T, heads] the weight of the token for the self token of its set; the weights of a set sum to 1."""


class DetourTransformer(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    r"""The transformer of message detouring from the paper: :math:`X^{out}_i = \mathcal T(\{\mathrm{MSG}_{ij}\})`.

    Each node has a set of tokens, one for itself and one for each arc j → i (see `Messages`). `num_layers` times:
    scaled dot-product attention inside each set, add, batch norm, feed-forward, add, batch norm. :math:`X^{out}_i` is
    the self token of node i after the last layer, so that layer is computed only for self tokens, and its norms see
    only these.

    Args:
        in_channels: Width of the node features.
        hidden_channels: Width of the tokens and of the output.
        num_layers: Layers of attention (the paper: 12 for graphs, 2 for nodes). With one, only self tokens are queries.
        heads: Heads of attention, a divisor of `hidden_channels` (the paper: 1 for graphs, 4 for nodes).
        den_channels: Width of the detour numbers: 1, or k - 1 for the counts of each length.
        pe_channels: Width of the positions, eigenvectors of the Laplacian; 0 for none.
        feed_forward: Width inside the feed-forward part; twice `hidden_channels` by default.
        dropout: Dropout of the outputs of attention and feed-forward, in training.
        use_den: False leaves out the detour numbers, the paper's ablation.
        den_bias: Whether a linear map of the detour numbers is also added to the scores of attention, one for each
            head, as Graphormer (https://arxiv.org/abs/2106.05234) does with distances.
        norm: "batch" (the paper), "layer" or "none".
        attention: "bucketed", "padded" or "varlen" (see `detours.nn.tokens.attention`); "auto" takes the fastest.

    Shapes:
        - x [N, in_channels], edge_index [2, E] without loops, den [E, den_channels] or [E] when that is 1,
          pe [N, pe_channels]
        - output [N, hidden_channels]

    >>> edge_index = torch.tensor([[0, 1], [1, 0]])
    >>> DetourTransformer(4, 8, pe_channels=0)(torch.ones(2, 4), edge_index, torch.zeros(2)).shape
    torch.Size([2, 8])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        *,
        num_layers: int = 1,
        heads: int = 1,
        den_channels: int = 1,
        pe_channels: int = 8,
        feed_forward: int | None = None,
        dropout: float = 0.0,
        use_den: bool = True,
        den_bias: bool = False,
        norm: str = "batch",
        attention: str = "auto",
    ) -> None:
        super().__init__()
        sizes = {"in_channels": in_channels, "hidden_channels": hidden_channels, "num_layers": num_layers}
        optional = {} if feed_forward is None else {"feed_forward": feed_forward}
        for name, size in (sizes | optional | {"heads": heads}).items():
            check_integer(name, size, minimum=1)
        for name, size in (("den_channels", den_channels), ("pe_channels", pe_channels)):
            check_integer(name, size, minimum=0)
        for name, flag in (("use_den", use_den), ("den_bias", den_bias)):
            check_flag(name, flag)
        if hidden_channels % heads:
            raise InputError(f"heads must divide hidden_channels={hidden_channels}, but it is {heads}.")
        self.in_channels = in_channels
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.heads = heads
        self.den_channels = den_channels
        self.pe_channels = pe_channels
        self.use_den = use_den
        self.attention = check_attention(attention)
        self.messages = Messages(in_channels, hidden_channels, den_channels if use_den else 0, pe_channels)
        width = 2 * hidden_channels if feed_forward is None else feed_forward
        self.layers = nn.ModuleList(TokenLayer(hidden_channels, heads, width, dropout, norm) for _ in range(num_layers))
        self.bias = nn.Linear(den_channels, heads, bias=False) if den_bias and use_den and den_channels else None

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.messages.reset_parameters()
        for layer in self.layers:
            layer.reset_parameters()
        if self.bias is not None:
            self.bias.reset_parameters()

    @overload
    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        den: Tensor | None,
        pe: Tensor | None = None,
        *,
        tokens: Tokens | None = None,
        counted: Tensor | None = None,
        return_attention: Literal[False] = False,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        den: Tensor | None,
        pe: Tensor | None = None,
        *,
        tokens: Tokens | None = None,
        counted: Tensor | None = None,
        return_attention: Literal[True],
    ) -> tuple[Tensor, Attention]: ...

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        den: Tensor | None,
        pe: Tensor | None = None,
        *,
        tokens: Tokens | None = None,
        counted: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Attention]:
        """Return the features of the nodes, and with `return_attention` the attention weights of the last layer.

        `den`, one row per column of `edge_index`, is used as it is: take the logarithm before. `tokens` saves building
        them again if the caller has them. `counted` [N] masks the nodes whose tokens enter the statistics of batch
        norms in training; None for all.
        """
        if tokens is None:
            tokens = Tokens.of(edge_index, x.size(0))
        elif den is not None and den.size(0) == edge_index.size(1) != tokens.rows:
            raise InputError(
                f"tokens are those of another graph: they have {tokens.rows} arcs, but edge_index has "
                f"{edge_index.size(1)}; build them with Tokens.of(edge_index, {x.size(0)})."
            )
        x, den, pe = self._checked(x, den, pe, tokens)
        # the detour numbers of each token, 0 for self tokens
        den = None if den is None else F.pad(den, (0, 0, 0, 1)).index_select(0, tokens.arc)
        state = self.messages(x, den, pe, tokens)
        bias = None if self.bias is None else self.bias(den)
        *layers, last = self.layers
        counted_tokens = None if counted is None else gather(counted, tokens.query)
        for layer in layers:
            state = layer(state, tokens, self.attention, bias, counted_tokens)
        counted_sets = None if counted_tokens is None else gather(counted_tokens, tokens.first)
        out = gather(last.for_self_tokens(state, tokens, self.attention, bias, counted_sets), tokens.sets)
        if not return_attention:
            return out
        return out, Attention(tokens, last.weights(state, tokens, bias))

    def _checked(
        self, x: Tensor, den: Tensor | None, pe: Tensor | None, tokens: Tokens
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the inputs in the shapes that the layers expect, or raise `InputError` about the first misfit."""
        num_nodes = tokens.num_sets
        _check_shape("x", x, (num_nodes, self.in_channels))
        if not self.use_den:
            den = None
        elif den is None:
            raise InputError("den is missing; give the detour numbers, or build the model with use_den=False.")
        else:
            den = den.unsqueeze(1) if den.dim() == self.den_channels == 1 else den
            _check_shape("den", den, (tokens.rows, self.den_channels))
            den = den.to(x.dtype)
        if not self.pe_channels:
            if pe is not None and tuple(pe.shape) != (num_nodes, 0):
                width = pe.size(1) if pe.dim() == 2 else 1
                raise InputError(
                    f"pe was given, but pe_channels=0; build the model with pe_channels={width}, or leave it out."
                )
            pe = None
        elif pe is None:
            raise InputError(
                f"pe is missing; give the positions [N, {self.pe_channels}], as PyG's AddLaplacianEigenvectorPE does, "
                "or build the model with pe_channels=0."
            )
        else:
            _check_shape("pe", pe, (num_nodes, self.pe_channels))
            pe = pe.to(x.dtype)
        return x, den, pe

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.hidden_channels}, num_layers={self.num_layers}, "
            f"heads={self.heads}, den_channels={self.den_channels}, pe_channels={self.pe_channels}, "
            f"use_den={self.use_den}, attention={self.attention!r})"
        )


class _Map(NamedTuple):
    """One linear map per head."""

    weight: Tensor
    """[heads, channels / heads, channels]"""
    bias: Tensor
    """[channels]"""


class TokenLayer(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    """One layer of the transformer: attention, add, norm, feed-forward, add, norm."""

    def __init__(self, channels: int, heads: int, feed_forward: int, dropout: float, norm: str = "batch") -> None:
        super().__init__()
        self.heads = heads
        self.dropout = Dropout(dropout)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, feed_forward), nn.ReLU(), nn.Linear(feed_forward, channels)
        )
        self.norms = nn.ModuleList([norm_of(norm, channels), norm_of(norm, channels)])

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in (self.qkv, self.out, *self.feed_forward, *self.norms):
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def forward(
        self,
        state: Tensor,
        tokens: Tokens,
        attention: str,
        bias: Tensor | None = None,
        counted: Tensor | None = None,
    ) -> Tensor:
        """Return all tokens, [T, channels]."""
        qkv = self.qkv(state).unflatten(1, (3, self.heads, -1))
        return self._add_and_norm(state, attend(qkv, tokens, attention, bias).flatten(1), counted)

    def for_self_tokens(
        self,
        state: Tensor,
        tokens: Tokens,
        attention: str,
        bias: Tensor | None = None,
        counted: Tensor | None = None,
    ) -> Tensor:
        """Return only the self tokens, [N, channels] in the order of the sets.

        With one query q per set, q·(K s + b) = (Kᵀ q)·s + q·b, whose last term is constant in a set and does not change
        the softmax; and Σ a (V s + b) = V (Σ a s) + b, as the weights sum to 1. So keys and values are never
        computed per token: K is applied to the query, V to the result, and both cost N rows instead of T.
        """
        own = gather(state, tokens.first)
        queries, keys, values = self._maps()
        attended = attend_self(self._self_queries(own, queries, keys), state, tokens, attention, bias)
        valued = _by_head(attended, values.weight).flatten(1)
        return self._add_and_norm(own, valued + values.bias.to(valued.dtype), counted)

    def weights(self, state: Tensor, tokens: Tokens, bias: Tensor | None = None) -> Tensor:
        """Return [T, heads], the weights that `for_self_tokens` uses."""
        queries, keys, _ = self._maps()
        return self_weights(self._self_queries(gather(state, tokens.first), queries, keys), state, tokens, bias)

    def _self_queries(self, own: Tensor, queries: _Map, keys: _Map) -> Tensor:
        """Return [N, heads, channels], the scaled queries of self tokens times the map of the keys."""
        query = F.linear(own, queries.weight.flatten(0, 1), queries.bias).unflatten(1, (self.heads, -1))
        return _by_head(query / sqrt(query.size(-1)), keys.weight.transpose(1, 2))

    def _maps(self) -> list[_Map]:
        """Return the maps to queries, keys and values."""
        weights = self.qkv.weight.unflatten(0, (3, self.heads, -1)).unbind(0)
        return [_Map(*weight_and_bias) for weight_and_bias in zip(weights, self.qkv.bias.chunk(3), strict=True)]

    def _add_and_norm(self, state: Tensor, attended: Tensor, counted: Tensor | None) -> Tensor:
        first, second = self.norms
        state = normed(first, state + self.dropout(self.out(attended)), counted)
        return normed(second, state + self.dropout(self.feed_forward(state)), counted)


def _by_head(x: Tensor, weight: Tensor) -> Tensor:
    """Return [N, heads, out]: x [N, heads, in] times the weight [out, in] of each head."""
    if len(weight) == 1:
        return F.linear(x.squeeze(1), weight[0]).unsqueeze(1)
    return torch.einsum("nhc,hdc->nhd", x, weight)


def _check_shape(name: str, tensor: Tensor, shape: tuple[int, int]) -> None:
    if tensor.dim() != 2 or tuple(tensor.shape) != shape:
        raise InputError(f"{name} must have the shape {shape}, but it has {tuple(tensor.shape)}.")
