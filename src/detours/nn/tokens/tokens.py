"""Tokens: the messages that each node attends to, laid out so that attention needs no search and little padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from detours.errors import InputError
from detours.nn.checks import check_ends
from detours.nn.tokens.buckets import Bucket, bucketed
from detours.nn.tokens.layout import Layout, build_layout

T = TypeVar("T")


class _Derived(Generic[T]):
    """A property that is computed once, and serves training even if inference asks first. (What `torch.compile` traces
    in inference mode is an inference tensor whatever one says, so there nothing is kept.)"""

    def __init__(self, build: Callable[[Any], T]) -> None:
        self.build, self.name, self.__doc__ = build, build.__name__, build.__doc__

    def __get__(self, tokens: Any, _: type | None = None) -> T:
        if tokens is None:  # asked of the class, for its documentation
            return self  # type: ignore[return-value]
        if torch.compiler.is_compiling():
            return self.build(tokens)
        with torch.inference_mode(False), torch.no_grad():
            value = self.build(tokens)
        vars(tokens)[self.name] = value  # found before this property from now on
        return value


@dataclass(frozen=True, eq=False)
class Tokens:
    r"""The token sets :math:`\{\mathrm{MSG}_{ij} : j \in N(i) \cup \{i\}\}` of all nodes: E + N tokens in flat arrays.

    Sets are ordered by size (except in batches that training pads to one shape, see `layout`). The tokens of a set are
    contiguous and start with its self token, so all sets of one size are a plain view ``[sets, size, channels]`` of the
    array of tokens.

    Build one with :meth:`of`, or with :meth:`from_index` after `AddDetourTokens`; it depends only on
    the graph, so one object serves all layers, and all epochs if the batches stay the same.

    >>> Tokens.of(torch.tensor([[0, 1], [1, 0]]), 2).query.tolist()  # each node sees itself and the other
    [0, 0, 1, 1]
    """

    query: Tensor
    """[T] the node i whose set contains the token."""
    key: Tensor
    """[T] the node j that the token's message comes from."""
    arc: Tensor
    """[T] the row of `den` that belongs to the token; `rows` for self tokens, whose detour number is 0."""
    rows: int
    """The number of rows of `den`: E, one per column of ``edge_index`` (T for :meth:`from_index`)."""
    sets: Tensor
    """[N] the position of each node's set in the order of the sets."""
    first: Tensor
    """[N] the index of each set's first token, its self token, in the order of the sets."""
    layout: Layout | None
    """The sets in buckets of equal or similar size; None if they are not ordered by size; then, without a custom
    kernel, only self tokens can be queries."""

    @staticmethod
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    @torch.inference_mode(mode=False)  # type: ignore[untyped-decorator]
    def of(edge_index: Tensor, num_nodes: int, *, sizes: Sequence[int] | None = None) -> Tokens:
        """The tokens of a graph, or of a batch of graphs.

        Args:
            edge_index: [2, E] arcs j → i, both directions listed for an undirected graph; no loops.
            num_nodes: N, isolated nodes included.
            sizes: ``sizes[m]`` is the number of nodes with m tokens (m - 1 incoming arcs), for callers that know it on
                the host. Then nothing waits for the device, and ``edge_index`` is not checked.

        >>> tokens = Tokens.of(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4)
        >>> list(zip(tokens.query.tolist(), tokens.key.tolist()))
        [(3, 3), (0, 0), (0, 1), (2, 2), (2, 1), (1, 1), (1, 0), (1, 2)]
        """
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise InputError(
                f"edge_index must have two rows, sources and targets, but its shape is {_shape(edge_index)}."
            )
        if sizes is None:
            _check_arcs(edge_index, num_nodes)
        (source, target), num_arcs = edge_index, edge_index.size(1)
        nodes = torch.arange(num_nodes, device=edge_index.device)
        arcs = torch.arange(num_arcs, device=edge_index.device)
        return _ordered(
            query=torch.cat([nodes, target]),
            key=torch.cat([nodes, source]),
            arc=torch.cat([torch.full_like(nodes, num_arcs), arcs]),
            rows=num_arcs,
            num_nodes=num_nodes,
            sizes=sizes,
        )

    @staticmethod
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    @torch.inference_mode(mode=False)  # type: ignore[untyped-decorator]
    def from_index(token_index: Tensor, num_nodes: int, *, sizes: Sequence[int] | None = None) -> Tokens:
        """The tokens that `AddDetourTokens` has listed in ``data.token_index``; `den` is then ``data.token_den``.

        Args:
            token_index: [2, E + N], row 0 the node j and row 1 the node i of each token, one self token for each node.
            num_nodes: N.
            sizes: As for :meth:`of`.
        """
        if token_index.dim() != 2 or token_index.size(0) != 2:
            raise InputError(f"token_index must have two rows, but its shape is {_shape(token_index)}.")
        (key, query), num_tokens = token_index, token_index.size(1)
        if sizes is None:
            self_tokens = query[key == query]
            if self_tokens.numel() != num_nodes or self_tokens.unique().numel() != num_nodes:
                raise InputError(
                    f"token_index must have one self token for each of the {num_nodes} nodes, but it has "
                    f"{self_tokens.numel()}; create it with AddDetourTokens, and give the number of nodes of the batch."
                )
        arc = torch.arange(num_tokens, device=token_index.device).masked_fill(query == key, num_tokens)
        return _ordered(query=query, key=key, arc=arc, rows=num_tokens, num_nodes=num_nodes, sizes=sizes)

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """Runs of sets of equal or similar size, in the order of the sets; stored on the host."""
        return self.laid_out.buckets

    @property
    def laid_out(self) -> Layout:
        """The layout, which must exist."""
        assert self.layout is not None, "these sets are not ordered by size"
        return self.layout

    @property
    def num_tokens(self) -> int:
        """T, the number of tokens."""
        num_tokens: int = self.query.size(0)
        return num_tokens

    @property
    def num_sets(self) -> int:
        """N, the number of nodes: each has one set."""
        num_sets: int = self.first.size(0)
        return num_sets

    @property
    def largest(self) -> int:
        """The number of tokens of the largest set."""
        return max((bucket.size for bucket in self.buckets), default=0)

    @_Derived
    def set_of_token(self) -> Tensor:
        """[T] the position of each token's set in the order of the sets."""
        return self.sets.index_select(0, self.query)

    @_Derived
    def begins(self) -> Tensor:
        """[N + 1] the offsets of the sets: the first token of each, and the number of tokens."""
        # not `F.pad`, which `torch.compile` would recompile for each value
        return torch.cat([self.first, self.first.new_full((1,), self.num_tokens)])

    @_Derived
    def kinds(self) -> Tensor:
        """[T, 2] float32: (1, 0) for the token of an arc, (0, 1) for a self token."""
        itself = self.query == self.key
        return torch.stack([~itself, itself], dim=1).float()

    @_Derived
    def flipped(self) -> Tokens:
        """The tokens of the reversed arcs, with the same rows of `den`; computed once."""
        return _ordered(self.key, self.query, self.arc, self.rows, self.num_sets, None)

    @property
    def set_sizes(self) -> Tensor:
        """[N] the number of tokens of each set, in the order of the sets."""
        return torch.diff(self.begins)

    @property
    def num_pairs(self) -> int:
        """The number of pairs (query, key) in full attention: the sum of the squared sizes."""
        return sum(size * size * count for bucket in self.buckets for size, count in bucket.size_counts)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Tokens:
        """The same tokens on another device."""
        tensors = (self.query, self.key, self.arc, self.sets, self.first)
        query, key, arc, sets, first = (tensor.to(device, non_blocking=non_blocking) for tensor in tensors)
        layout = None if self.layout is None else self.layout.to(device, non_blocking)
        return Tokens(query, key, arc, self.rows, sets, first, layout)

    def __repr__(self) -> str:
        buckets = "no" if self.layout is None else len(self.buckets)
        return f"Tokens({self.num_tokens} of {self.num_sets} nodes, {buckets} buckets)"


def _ordered(query: Tensor, key: Tensor, arc: Tensor, rows: int, num_nodes: int, sizes: Sequence[int] | None) -> Tokens:
    """Sort tokens by the size of their sets; in a set the self token comes first, the others in the given order."""
    size = torch.zeros(num_nodes, dtype=torch.long, device=query.device)
    size.scatter_add_(0, query, torch.ones_like(query))
    if sizes is None:
        sizes = torch.bincount(size).tolist()
    _check_sizes(sizes, num_nodes, query.numel())
    size, nodes = torch.sort(size, stable=True)
    sets = torch.empty_like(nodes).scatter_(0, nodes, torch.arange(num_nodes, device=nodes.device))
    order = torch.sort(2 * sets.index_select(0, query) + (query != key), stable=True).indices
    query, key, arc = (each.index_select(0, order) for each in (query, key, arc))
    first = torch.cumsum(size, 0) - size
    layout = build_layout(bucketed(sizes, on_gpu=query.is_cuda), sets.index_select(0, query), first)
    return Tokens(query, key, arc, rows, sets, first, layout)


def _check_arcs(edge_index: Tensor, num_nodes: int) -> None:
    check_ends(edge_index, num_nodes, f"num_nodes={num_nodes}")
    loops = int((edge_index[0] == edge_index[1]).sum())
    if loops:
        raise InputError(
            f"edge_index has {loops} loop{'s' * (loops != 1)}, but every node already has a self token; "
            "remove them, for example with torch_geometric.utils.remove_self_loops."
        )


def _check_sizes(sizes: Sequence[int], num_nodes: int, num_tokens: int) -> None:
    sets, tokens = sum(sizes), sum(size * count for size, count in enumerate(sizes))
    if (sets, tokens) != (num_nodes, num_tokens):
        raise InputError(
            f"sizes counts {sets} nodes with {tokens} tokens, but there are {num_nodes} nodes with {num_tokens}; "
            "sizes[m] must be the number of nodes with m tokens, one more than their arcs."
        )


def _shape(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))
