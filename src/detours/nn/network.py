"""Complete networks for graphs and nodes: MDNN, and the plain and DeN-weighted ones that it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from detours.checks import check_flag, check_integer
from detours.errors import InputError
from detours.nn.backbones import Backbone, convolution
from detours.nn.checks import check_batch, check_edge_attr, check_ends, check_integers
from detours.nn.detour_transformer import DetourTransformer
from detours.nn.dropout import Dropout
from detours.nn.encoders import HopEncoder, NodeEncoder
from detours.nn.layers import BothDirections, ConvLayer, GraphInputs, MDNNLayer, WeightedLayer
from detours.nn.norm import norm_of, normed
from detours.nn.options import NetworkOptions
from detours.nn.readout import Readout, jumping_knowledge
from detours.nn.tokens import Tokens

LayerFactory = Callable[[int, int], nn.Module]
SIZES = ("in_channels", "hidden_channels", "out_channels")


class Network(nn.Module):  # type: ignore[misc]  # PyTorch's types are not followed
    """Encoder, layers with a skip from the encoder, decoder and readout: the same for all three networks.

    Args:
        in_channels: Width of the node features.
        hidden_channels: Width of one half of a layer.
        out_channels: Number of logits.
        options: The parts around the layers.
        convolve: Builds the layers of encoder and decoder, from the input width and the width of each half.
        layer: Builds the layers between them; `convolve` by default.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        options: NetworkOptions,
        convolve: LayerFactory,
        layer: LayerFactory | None = None,
    ) -> None:
        super().__init__()
        for name, size in zip(SIZES, (in_channels, hidden_channels, out_channels), strict=True):
            check_integer(name, size, minimum=1)
        self.in_channels, self.hidden_channels, self.out_channels = in_channels, hidden_channels, out_channels
        self.options = options
        width, layers = 2 * hidden_channels, range(options.num_layers)
        self.input_dropout, self.dropout = Dropout(options.input_dropout), Dropout(options.dropout)
        self.layer_dropout = Dropout(options.layer_dropout)
        self.encoder = self._encoder(convolve)
        self.layers = nn.ModuleList(
            directed(layer or convolve, width, hidden_channels, options.directions) for _ in layers
        )
        self.gates = nn.ParameterList([nn.Parameter(torch.zeros(())) for _ in layers] if options.gate else [])
        self.norms = nn.ModuleList(norm_of(options.norm, width) for _ in range(options.num_layers + 1))
        width_in = width * (options.num_layers + 1 if options.jump == "cat" else 1)
        self.decoder = None
        if options.decoder == "conv":
            self.decoder = directed(convolve, width_in, hidden_channels, options.directions)
            width_in = hidden_channels
        self.readout = Readout(width_in, in_channels, hidden_channels, out_channels, options)

    def _encoder(self, convolve: LayerFactory) -> nn.Module:
        width, options = 2 * self.hidden_channels, self.options
        if options.encoder == "conv":
            return directed(convolve, self.in_channels, self.hidden_channels, options.directions)
        if options.encoder == "hops":
            weighted = options.hop_den or isinstance(self, WeightedNetwork)
            both = options.directions == "both"
            return HopEncoder(self.in_channels, width, options.hops, weighted=weighted, both=both)
        return NodeEncoder(self.in_channels, width, mlp=options.encoder == "mlp", dropout=options.dropout)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in (self.encoder, *self.layers, *self.norms, self.decoder, self.readout):
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
        for gate in self.gates:
            nn.init.zeros_(gate)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        den: Tensor | None = None,
        pe: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        num_graphs: int | None = None,
        tokens: Tokens | None = None,
        counted: Tensor | None = None,
    ) -> Tensor:
        """Return logits: [num_graphs, out_channels], or [N, out_channels] at level "node".

        Args:
            x: [N, in_channels] features of the nodes; for the encoder "hops", optionally the output of `hop_features`.
            edge_index: [2, E] arcs j → i, both directions for an undirected graph, without loops.
            den: The detour numbers of the arcs, scaled by the caller: [E, den_channels] for `MDNN`, weights [E] for
                `WeightedNetwork`; `PlainNetwork` ignores them.
            pe: [N, pe_channels] positions of the nodes for `MDNN`; the other two ignore them.
            batch: [N] the graph of every node; None for a single graph. States, or logits, of a graph without nodes are
                pooled to 0.
            edge_attr: [E, edge_channels] features of the arcs, for the convolutions.
            num_graphs: The number of graphs; without it, the largest index in `batch` is read from the device.
            tokens: The tokens of the graph, if the caller has them.
            counted: [N] mask of the nodes that enter the statistics of batch norms in training; None for all.
        """
        graph = self._checked_inputs(x, GraphInputs(edge_index, edge_attr, den, pe, tokens, counted))
        if batch is not None:
            check_batch(batch, x.size(0), num_graphs)
        if self.options.directions == "out":
            graph = graph.flipped()
        if isinstance(self.encoder, HopEncoder):
            x = self.encoder.expanded(x, graph)
        x = self.input_dropout(x)
        first, *norms = self.norms
        start = normed(first, self.encoder(x, graph), counted).relu()
        states = [start]
        gates = self.gates or [None] * len(norms)
        for layer, gate, norm in zip(self.layers, gates, norms, strict=True):
            update = self._drop_nodes(layer(states[-1], graph))
            state = normed(norm, start + (update if gate is None else gate * update), counted).relu()
            states.append(self.dropout(state))
        state = jumping_knowledge(states, self.options.jump)
        if self.decoder is not None:
            half, other = self.decoder(state, graph).chunk(2, dim=1)
            state = (half + other) / 2
        if self.options.level == "node":
            batch, num_graphs = None, 1
        elif batch is None:
            batch, num_graphs = edge_index.new_zeros(x.size(0)), 1
        elif num_graphs is None:
            num_graphs = int(batch.max()) + 1 if batch.numel() else 0
        logits: Tensor = self.readout(state, x[:, : self.in_channels], batch, num_graphs)
        return logits

    def _drop_nodes(self, update: Tensor) -> Tensor:
        """Drop the output of a layer for some nodes entirely (`layer_dropout`)."""
        if not (self.training and self.options.layer_dropout):
            return update
        return update * self.layer_dropout(torch.ones_like(update[:, :1]))

    def _checked_inputs(self, x: Tensor, graph: GraphInputs) -> GraphInputs:
        """Return the inputs of the layers, or raise `InputError` about the first that does not fit."""
        expanded = isinstance(self.encoder, HopEncoder) and x.size(-1) == len(self.encoder.maps) * self.in_channels
        if x.dim() != 2 or (x.size(1) != self.in_channels and not expanded):
            raise InputError(f"x must have {self.in_channels} columns, but its shape is {tuple(x.shape)}.")
        self._check_type("x", x)
        check_integers("edge_index", graph.edge_index)
        if graph.edge_index.dim() != 2 or graph.edge_index.size(0) != 2:
            shape = tuple(graph.edge_index.shape)
            raise InputError(f"edge_index must have two rows, sources and targets, but its shape is {shape}.")
        if x.device.type == "cpu" and not torch.compiler.is_compiling():  # a GPU would be waited for
            check_ends(graph.edge_index, x.size(0), f"x with {x.size(0)} rows")
        check_edge_attr(graph.edge_attr, graph.edge_index.size(1), self.options.edge_channels)
        if not self.options.edge_channels:
            return graph._replace(edge_attr=None)
        self._check_type("edge_attr", graph.edge_attr)
        return graph

    def _check_type(self, name: str, tensor: Tensor) -> None:
        """Raise `InputError` unless the dtype fits that of the weights."""
        dtype = next(self.parameters()).dtype
        autocast = torch.is_autocast_enabled(tensor.device.type) and torch.float64 not in (tensor.dtype, dtype)
        if tensor.dtype != dtype and not (autocast and tensor.is_floating_point()):
            raise InputError(
                f"{name} must be {dtype}, as the weights are, but it is {tensor.dtype}; give {name}.to({dtype})."
            )

    def extra_repr(self) -> str:
        options = self.options
        return (
            f"{self.in_channels}, {self.hidden_channels}, {self.out_channels}, num_layers={options.num_layers}, "
            f"level={options.level!r}, pool={options.pool!r}"
        )


class PlainNetwork(Network):
    r"""Message passing without detours, equally wide: layers :math:`[\mathrm{conv}(X, A), \mathrm{conv}(X, A)]`.

    It cannot distinguish what 1-WL cannot. Both halves are one convolution with one set of parameters, computed once.

    From the paper: one encoder convolution, `num_layers` layers, one decoder convolution, ReLU. From its authors'
    code: the skip from the encoder to every layer, and the maximum over the nodes of a graph. Ours:

    - The decoder keeps the width, and a linear map to the classes follows. A GIN directly to two classes would have a
      hidden layer of two ReLUs: for four of eight seeds, such an MDNN never distinguished triangles from hexagons.
    - The maximum is taken over the logits of the nodes.
    - Batch norm before every ReLU. The paper has none between layers (``norm="none"``), but without it DeN-weighted
      networks learn slowly or not at all: after 100 epochs of ``detours.data.rings``, weighted GCN classifies 80,
      95 and 78 % of the test graphs correctly (three seeds); with it, all of them.
    - The other choices of `NetworkOptions`.

    Args:
        in_channels: Width of the node features.
        hidden_channels: Width of one half of a layer.
        out_channels: Number of classes.
        backbone: "gcn", "gat", "gin", a PyG class or a function (see `convolution`).
        **options: See `NetworkOptions`.

    >>> edge_index = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    >>> PlainNetwork(4, 8, 2)(torch.ones(3, 4), edge_index).shape
    torch.Size([1, 2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, backbone: Backbone = "gin", **options: Any
    ) -> None:
        chosen = NetworkOptions.of(options, PlainNetwork)
        if chosen.hop_den:
            raise InputError("hop_den=True needs detour numbers, which PlainNetwork does not see.")

        def convolve(width: int, half: int) -> nn.Module:
            return ConvLayer(convolution(backbone, width, half, edge_channels=chosen.edge_channels))

        super().__init__(in_channels, hidden_channels, out_channels, chosen, convolve)


class WeightedNetwork(Network):
    r"""DeN-weighted message passing: layers :math:`[\mathrm{conv}(X, A), \mathrm{conv}(X, A \odot \mathrm{DeN})]`.

    Both halves share their parameters (`DetourWeighted`); so do those of the encoder, and of the decoder, which takes
    the mean of its halves. Everything else, and the arguments, are as in `PlainNetwork`; `den` holds the weights of the
    arcs.

    >>> edge_index = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    >>> WeightedNetwork(4, 8, 2)(torch.ones(3, 4), edge_index, torch.ones(6)).shape
    torch.Size([1, 2])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, backbone: Backbone = "gin", **options: Any
    ) -> None:
        chosen = NetworkOptions.of(options, WeightedNetwork)
        edge_channels = chosen.edge_channels

        def convolve(width: int, half: int) -> nn.Module:
            conv = convolution(backbone, width, half, weighted=True, edge_channels=edge_channels)
            return WeightedLayer(conv, edge_channels)

        super().__init__(in_channels, hidden_channels, out_channels, chosen, convolve)

    def _checked_inputs(self, x: Tensor, graph: GraphInputs) -> GraphInputs:
        den, graph = graph.den, super()._checked_inputs(x, graph)
        if den is None:
            raise InputError("den is missing; WeightedNetwork needs a weight for every arc, see AddDetourWeights.")
        if den.dtype == torch.float64:  # narrower types are promoted, but this one would promote the messages
            self._check_type("den", den)
        return graph


class MDNN(Network):
    r"""The message detouring neural network of the paper: layers :math:`[\mathrm{conv}(X, A), X^{out}]`.

    :math:`X^{out}` comes from a `DetourTransformer` that sees the same features as the convolution. Encoder, skip,
    decoder and readout are those of `PlainNetwork`, so comparing the two compares their layers. By default it has
    two layers with one transformer layer each: with 64 channels, 170,000 parameters. The paper's size, 253 million
    parameters for graphs, is ``MDNN(…, 768, …, num_layers=4, transformer_layers=12, norm="none")``; for nodes, 64
    million, ``MDNN(…, 768, …, num_layers=4, transformer_layers=2, heads=4, norm="none", level="node")``.

    Args:
        in_channels: Width of the node features.
        hidden_channels: Width of one half of a layer: of the convolution, and of the tokens.
        out_channels: Number of classes.
        backbone: "gcn", "gat", "gin", a PyG class or a function (see `convolution`).
        transformer_layers: Layers of attention in each layer of the network.
        heads, den_channels, pe_channels, feed_forward, use_den, den_bias, attention: See `DetourTransformer`.
        token_norm: The norm inside the transformers: "batch" (the paper), "layer" or "none".
        detour_gate: Whether the second half of a layer is :math:`\mathrm{conv}(X, A) + \alpha X^{out}`, where α is
            learned and starts at 0: the network starts as the plain one.
        **options: See `NetworkOptions`.

    >>> import torch
    >>> model = MDNN(3, 16, 2, den_channels=2, pe_channels=0)
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
        transformer_layers: int = 1,
        heads: int = 1,
        den_channels: int = 1,
        pe_channels: int = 8,
        feed_forward: int | None = None,
        use_den: bool = True,
        den_bias: bool = False,
        token_norm: str = "batch",
        detour_gate: bool = False,
        attention: str = "auto",
        **options: Any,
    ) -> None:
        chosen = NetworkOptions.of(options, MDNN)
        check_integer("transformer_layers", transformer_layers, minimum=1)
        check_flag("detour_gate", detour_gate)

        def conv(width: int, half: int) -> nn.Module:
            return convolution(backbone, width, half, edge_channels=chosen.edge_channels)

        def layer(width: int, half: int) -> nn.Module:
            transformer = DetourTransformer(
                width,
                half,
                num_layers=transformer_layers,
                heads=heads,
                den_channels=den_channels,
                pe_channels=pe_channels,
                feed_forward=feed_forward,
                dropout=chosen.dropout,
                use_den=use_den,
                den_bias=den_bias,
                norm=token_norm,
                attention=attention,
            )
            return MDNNLayer(conv(width, half), transformer, detour_gate=detour_gate)

        super().__init__(in_channels, hidden_channels, out_channels, chosen, lambda i, o: ConvLayer(conv(i, o)), layer)

    def _checked_inputs(self, x: Tensor, graph: GraphInputs) -> GraphInputs:
        graph = super()._checked_inputs(x, graph)
        tokens = Tokens.of(graph.edge_index, x.size(0)) if graph.tokens is None else graph.tokens
        return graph._replace(tokens=tokens)


def directed(build: LayerFactory, in_channels: int, half: int, directions: str) -> nn.Module:
    """Return a layer, or two for both directions."""
    if directions == "both":
        return BothDirections(lambda: build(in_channels, half))
    return build(in_channels, half)
