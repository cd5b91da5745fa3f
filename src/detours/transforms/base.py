"""`DetourTransform`: the base class of the transforms, which counts the graphs of all data objects together."""

from __future__ import annotations

import copy
import inspect
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise, starmap
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.data.data import BaseData
from torch_geometric.transforms import BaseTransform

from detours.checks import check_flag, check_k
from detours.counting.count import count
from detours.counting.result import Detours
from detours.errors import DroppedEdgesWarning, InputError, short_repr, warn_caller
from detours.graph.convert import check_weights
from detours.graph.edges import Dropped, EdgeList, check_edge_index, describe_dropped
from detours.graph.graph import build_graph
from detours.graph.union import join_edges
from detours.transforms.slices import set_edge_slices, set_node_slices, set_token_slices


class CountedGraph(NamedTuple):
    """A graph inside a data object, and its slice of the counts."""

    data: Data | HeteroData
    edge_store: Any
    """The store that holds `edge_index`: the `Data` itself, or the `HeteroData` at an edge type."""
    node_store: Any
    """The store of its nodes."""
    detours: Detours
    """The counts of all graphs that were counted together."""
    edge_slice: slice
    node_slice: slice

    @property
    def edge_index(self) -> Tensor:
        return self.edge_store.edge_index

    @property
    def num_nodes(self) -> int:
        return int(self.node_slice.stop - self.node_slice.start)

    def edge_counts(self, by_length: bool, log: bool) -> Tensor:
        """k-DeN of every column of `edge_index`, [edges, k - 1] by length or else [edges, 1]."""
        counts = self.detours.by_length[self.edge_slice] if by_length else self.detours.edge[self.edge_slice, None]
        return self.to_tensor(counts, log)

    def node_counts(self) -> NDArray[np.int64]:
        """The sum of k-DeN over the (outgoing) edges of every node."""
        return self.detours.node[self.node_slice]

    def to_tensor(self, counts: NDArray[np.int64], log: bool) -> Tensor:
        """Counts as int64, or log1p of them as float32, on the device of the graph."""
        values = np.log1p(counts).astype(np.float32) if log else np.array(counts)
        return torch.from_numpy(values).to(self.edge_index.device)

    def set_edge_attr(self, name: str, values: Tensor, cat: bool = False) -> None:
        """Set an attribute with a row for every column of `edge_index`; with `cat`, append to its columns."""
        _set_attr(self.edge_store, name, values, cat)
        if isinstance(self.data, Batch):
            set_edge_slices(self.data, self.edge_store, name)

    def set_node_attr(self, name: str, values: Tensor, cat: bool = False) -> None:
        """Set an attribute with a row for every node; with `cat`, append to its columns."""
        _set_attr(self.node_store, name, values, cat)
        if isinstance(self.data, Batch):
            set_node_slices(self.data, self.node_store, name)

    def set_tokens(self, index: Tensor, den: Tensor) -> None:
        """Set `token_index`, sorted by its second row, and `token_den`."""
        self.edge_store.token_index, self.edge_store.token_den = index, den
        if isinstance(self.data, Batch):
            set_token_slices(self.data, self.edge_store, self.node_store)


class DetourTransform(BaseTransform):  # type: ignore[misc]  # PyG's types are not followed
    """Counts detours of up to `k` edges and lets a subclass write them into the data.

    Called on a :class:`~torch_geometric.data.Data`, :class:`~torch_geometric.data.Batch` or
    :class:`~torch_geometric.data.HeteroData`, it returns a shallow copy with the new attributes, as every transform
    of PyG does. Called on a list, a data set or any other iterable of them, it returns a list of such copies and counts
    all graphs together, which is far faster for many small graphs. A batch is counted with its current edges, even if
    they have changed since it was created.

    Args:
        k (int): The maximum length of a detour in edges, at least 2.
        directed (bool, optional): If set to :obj:`True`, counts directed paths for every arc. Otherwise arcs are
            taken as undirected edges. (default: :obj:`False`)
    """

    def __init__(self, k: int, *, directed: bool = False) -> None:
        self.k = check_k(k)
        self.directed = check_flag("directed", directed)

    def __call__(self, data: Any) -> Any:
        single = isinstance(data, BaseData | str) or hasattr(data, "adj")  # a NetworkX graph is iterable, too
        iterable = isinstance(data, Iterable) or (hasattr(data, "__len__") and hasattr(data, "__getitem__"))
        if iterable and not single:
            return self._apply([copy.copy(each) for each in data])
        return self._apply([copy.copy(data)])[0]

    def forward(self, data: Any) -> Any:
        return self._apply([data])[0]

    @abstractmethod
    def add(self, graphs: Sequence[CountedGraph]) -> None:
        """Write the counts of the graphs of one data object into it."""

    def __repr__(self) -> str:
        # PyG compares the repr to see whether processed data are stale, so every argument is shown.
        arguments = (f"{name}={getattr(self, name)!r}" for name in inspect.signature(type(self)).parameters)
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _apply(self, items: list[Any]) -> list[Any]:
        stores = [(data, *pair) for data in items for pair in _stores(data, type(self).__name__)]
        edge_lists = [_edges(at, *pair) for at, (_, *pair) in enumerate(stores)]
        edges, node_offsets = join_edges(edge_lists)
        union = build_graph(edges, self.directed)
        _warn_dropped(union.dropped)
        detours = count(union, self.k)
        edge_offsets = accumulate((each.edge_index.shape[1] for each in edge_lists), initial=0)
        slices = zip(
            starmap(slice, pairwise(edge_offsets)), starmap(slice, pairwise(node_offsets.tolist())), strict=True
        )
        counted = [CountedGraph(*graph, detours, *both) for graph, both in zip(stores, slices, strict=True)]
        for _, graphs in groupby(counted, key=lambda graph: id(graph.data)):
            self.add(list(graphs))
        return items


def _edges(at: int, edge_store: Any, node_store: Any) -> EdgeList:
    try:
        check_weights(edge_store)
        return check_edge_index(edge_store.edge_index, node_store.num_nodes)
    except InputError as error:
        raise InputError(f"Graph number {at}: {error}") from None


def _warn_dropped(dropped: Dropped) -> None:
    if any(dropped):
        effects = ", ".join(effect for edges, effect in zip(dropped, _EFFECTS, strict=True) if edges)
        warn_caller(
            f"edge_index has {describe_dropped(dropped)}: it is left unchanged, but counted {effects}.",
            DroppedEdgesWarning,
        )


_EFFECTS = (
    "without loops",
    "with repeats as one edge",
    "with one-way arcs as undirected edges (directed=True keeps their direction)",
)


def _stores(data: Any, transform: str) -> list[tuple[Any, Any]]:
    """The edge and node store of every graph in a data object: of a `HeteroData`, the edge types within a node type."""
    if isinstance(data, HeteroData):
        within = [edge_type for edge_type in data.edge_types if edge_type[0] == edge_type[-1]]
        stores = [(data[edge_type], data[edge_type[0]]) for edge_type in within if "edge_index" in data[edge_type]]
    elif isinstance(data, Data):
        stores = [(data, data)] if data.edge_index is not None else []
    else:
        raise InputError(
            f"{transform} takes a PyG Data, Batch or HeteroData, or a list of them, but {short_repr(data)} was given."
        )
    if not stores:
        missing = "edge_index within one node type" if isinstance(data, HeteroData) else "edge_index"
        raise InputError(
            f"{transform} needs an {missing}, but {short_repr(data)} has none; "
            "set one, and put this transform before any that converts it to a sparse matrix."
        )
    return stores


def _set_attr(store: Any, name: str, values: Tensor, cat: bool) -> None:
    """Set an attribute; with `cat`, append the values to its columns."""
    if cat and store.get(name) is not None:
        existing = store[name].view(-1, 1) if store[name].dim() == 1 else store[name]
        if existing.dim() != 2 or len(existing) != len(values):
            raise InputError(
                f"{name} must have {len(values)} rows for columns to be appended, but its shape is "
                f"{tuple(store[name].shape)}; fix it, or give another name or cat=False."
            )
        values = values.unsqueeze(-1) if values.dim() == 1 else values
        if existing.is_floating_point() and existing.dtype.itemsize < 4:
            values = values.float()  # 16 bits cannot hold counts
        values = torch.cat([existing, values], dim=-1)  # promotes integers to floats
    store[name] = values


def check_name(name: object, argument: str) -> str:
    """Return `name`, or raise `InputError` if PyG would treat an attribute of that name specially in a batch."""
    if not isinstance(name, str) or not name:
        raise InputError(f"{argument} must be the name of an attribute, but {short_repr(name)} was given.")
    if "index" in name or "batch" in name or "adj" in name:
        raise InputError(
            f"{argument} must not contain 'index', 'batch' or 'adj', because PyG would treat the counts of a batch "
            f"as node ids or matrices, but it is {name!r}; give another name."
        )
    return name
