"""The options shared by all networks, so that comparisons are between their layers only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from inspect import signature
from typing import Any, get_args

from detours.checks import check_choice, check_flag, check_integer, check_number
from detours.choices import DROPOUTS, Decoder, Directions, Encoder, Head, Jump, Level, Norm, PoolOf
from detours.errors import InputError
from detours.nn.functional import POOLS


@dataclass(frozen=True)
class NetworkOptions:
    """The parts of a network around its layers. The defaults are the paper's, except for two layers and batch norm.

    >>> NetworkOptions(num_layers=3).num_layers
    3
    """

    num_layers: int = 2
    """Layers between encoder and decoder (the paper: 4)."""
    level: Level = "graph"
    """"graph" for logits of graphs, "node" for logits of nodes."""
    encoder: Encoder = "conv"
    """From the features to the first state: "conv" (the paper), a "linear" map, an "mlp" of two, or `hops` powers of
    the adjacency matrix with a linear map each (see `HopEncoder`)."""
    hops: int = 2
    """Encoder "hops": the longest walk, in arcs."""
    hop_den: bool = False
    """Encoder "hops" of `MDNN`: whether to add powers of the adjacency matrix weighted by detour numbers to those of
    the plain one, as `WeightedNetwork` always does."""
    decoder: Decoder = "conv"
    """From the last state to the input of the readout: "conv" (the paper), or "none"."""
    norm: Norm = "batch"
    """Before every ReLU between layers: "batch", "layer" or "none" (the paper); True means "batch" and False
    "none"."""
    jump: Jump = "last"
    """Which states the decoder sees: the "last" (the paper), or all, including the encoder's, concatenated ("cat")
    or reduced by "max" or "mean" (jumping knowledge, https://arxiv.org/abs/1806.03536)."""
    gate: bool = False
    """Whether the output of a layer is scaled by a learned scalar that starts at 0 (ReZero, https://arxiv.org/abs/2003.04887):
    the network starts as encoder and readout only."""
    skip: bool = False
    """Whether the readout also sees a linear map of the raw features, which separates a node from its neighbours, as in
    H2GCN (https://arxiv.org/abs/2006.11468)."""
    pool: str = "max"
    """Level "graph": "mean", "max" or "add" over the nodes, or several, such as "mean+max+add"."""
    pool_of: PoolOf = "logits"
    """Level "graph": what is pooled, the "logits" of the nodes (one pool; the paper's code), or their "states",
    from which the head computes the logits of the graph."""
    head: Head = "linear"
    """From the (pooled) states to the logits: a "linear" map, or an "mlp" of two."""
    dropout: float = 0.0
    """After every layer, inside transformers and the MLPs of encoder and head, in training."""
    input_dropout: float = 0.0
    """Dropout of the features, in training."""
    layer_dropout: float = 0.0
    """Share of the nodes to which a layer adds nothing in training; its output for the others is scaled up
    (stochastic depth, https://arxiv.org/abs/1603.09382)."""
    directions: Directions = "in"
    """Messages along the arcs ("in", j → i), against them ("out"), or the mean of both, each with its own parameters
    (Dir-GNN, https://arxiv.org/abs/2305.10498). For an undirected graph they are the same."""
    edge_channels: int = 0
    """Width of the features of arcs that convolutions see (GINE and similar, see `detours.nn.convolutions`)."""

    def __post_init__(self) -> None:
        if isinstance(self.norm, bool):
            object.__setattr__(self, "norm", "batch" if self.norm else "none")
        for name, allowed in _CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
        for name in ("hop_den", "gate", "skip"):
            check_flag(name, getattr(self, name))
        pools = self.pool.split("+") if isinstance(self.pool, str) else [self.pool]
        for pool in pools:
            check_choice("each part of pool", pool, POOLS)
        if len(set(pools)) < len(pools):
            raise InputError(f"pool must name each part once, but it is {self.pool!r}.")
        if len(pools) > 1 and self.pool_of == "logits":
            raise InputError(f"pool_of must be 'states' for several pools at once, but pool is {self.pool!r}.")
        for name, least in (("num_layers", 0), ("hops", 1), ("edge_channels", 0)):
            check_integer(name, getattr(self, name), minimum=least)
        for name in DROPOUTS:
            check_number(name, getattr(self, name), minimum=0, below=1)

    @classmethod
    def of(cls, given: Mapping[str, Any], network: type | None = None) -> NetworkOptions:
        """Return the options with these names, or raise `InputError` for a name that a network does not have."""
        names = [field.name for field in fields(cls)]
        if unknown := sorted(given.keys() - set(names)):
            known = {} if network is None else signature(network).parameters
            own = [each.name for each in known.values() if each.kind is each.KEYWORD_ONLY]
            kind = "a network" if network is None else network.__name__
            similar = get_close_matches(unknown[0], [*own, *names], n=1)
            hint = f" (did you mean {similar[0]!r}?)" if similar else ""
            raise InputError(f"{kind} has no option {unknown[0]!r}{hint}; it has {', '.join([*own, *names])}.")
        return cls(**given)


_CHOICES: dict[str, tuple[str, ...]] = {
    "level": get_args(Level),
    "encoder": get_args(Encoder),
    "decoder": get_args(Decoder),
    "norm": get_args(Norm),
    "jump": get_args(Jump),
    "pool_of": get_args(PoolOf),
    "head": get_args(Head),
    "directions": get_args(Directions),
}
