"""`DetourTransform`: finds the graphs inside PyG's data objects and counts the detours of all of them together."""

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
from detours.errors import DroppedEdgesWarning, InputError, shown, warn_caller
from detours.graph.edges import Dropped, EdgeList, check_edge_index, described
from detours.graph.graph import build_graph
from detours.graph.union import join_edges
from detours.transforms import batches


class CountedGraph(NamedTuple):
    """A graph inside a data object, and where its counts are."""

    data: Data | HeteroData
    arcs: Any
    """The store that holds `edge_index`: the `Data` itself, or the `HeteroData` at an edge type."""
    nodes: Any
    """The store of its nodes."""
    detours: Detours
    """Of all graphs that were counted together."""
    own_arcs: slice
    own_nodes: slice

    @property
    def edge_index(self) -> Tensor:
        return self.arcs.edge_index

    @property
    def num_nodes(self) -> int:
        return int(self.own_nodes.stop - self.own_nodes.start)

    def arc_values(self, by_length: bool, log: bool) -> Tensor:
        """k-DeN of every column of `edge_index`, [edges, k - 1] by length or else [edges, 1]."""
        counts = self.detours.by_length[self.own_arcs] if by_length else self.detours.edge[self.own_arcs, None]
        return self.scaled(counts, log)

    def node_counts(self) -> NDArray[np.int64]:
        """The sum of k-DeN over the (outgoing) edges of every node."""
        return self.detours.node[self.own_nodes]

    def scaled(self, counts: NDArray[np.int64], log: bool) -> Tensor:
        """Counts as float32 log1p, or exactly as they are, on the device of the graph."""
        values = np.log1p(counts).astype(np.float32) if log else np.array(counts)
        return torch.from_numpy(values).to(self.edge_index.device)

    def put_on_arcs(self, name: str, values: Tensor, cat: bool = False) -> None:
        """Write an attribute with a row for every column of `edge_index`; with `cat`, beside what it holds."""
        _put(self.arcs, name, values, cat)
        if isinstance(self.data, Batch):
            batches.tell_arcs(self.data, self.arcs, name)

    def put_on_nodes(self, name: str, values: Tensor, cat: bool = False) -> None:
        """Write an attribute with a row for every node; with `cat`, beside what it holds."""
        _put(self.nodes, name, values, cat)
        if isinstance(self.data, Batch):
            batches.tell_nodes(self.data, self.nodes, name)

    def put_tokens(self, index: Tensor, den: Tensor) -> None:
        """Write `token_index`, sorted by its second row, and `token_den`."""
        self.arcs.token_index, self.arcs.token_den = index, den
        if isinstance(self.data, Batch):
            batches.tell_tokens(self.data, self.arcs, self.nodes)


class DetourTransform(BaseTransform):  # type: ignore[misc]  # PyG's types are not followed
    """Counts detours of up to `k` edges and lets a subclass write them into the data.

    Called on a :class:`~torch_geometric.data.Data`, :class:`~torch_geometric.data.Batch` or
    :class:`~torch_geometric.data.HeteroData`, it returns a shallow copy with the new attributes, as every transform
    of PyG does. Called on a list, a data set or anything else that yields them, it returns a list of such copies. All
    graphs are counted together, which for many small graphs is far faster than one by one. A batch is counted with the
    edges that it has now, whatever they were when it was made.

    Args:
        k (int): The maximum length of a detour in edges, at least 2.
        directed (bool, optional): If set to :obj:`True`, counts directed paths for every arc. Otherwise arcs are
            taken as undirected edges. (default: :obj:`False`)
    """

    def __init__(self, k: int, *, directed: bool = False) -> None:
        self.k = check_k(k)
        self.directed = check_flag("directed", directed)

    def __call__(self, data: Any) -> Any:
        one = isinstance(data, BaseData | str) or hasattr(data, "adj")  # a NetworkX graph has a length, too
        listed = isinstance(data, Iterable) or (hasattr(data, "__len__") and hasattr(data, "__getitem__"))
        several = listed and not one
        results = self._count([copy.copy(each) for each in data] if several else [copy.copy(data)])
        return results if several else results[0]

    def forward(self, data: Any) -> Any:
        return self._count([data])[0]

    @abstractmethod
    def add(self, graphs: Sequence[CountedGraph]) -> None:
        """Write the counts of the graphs of one data object into it."""

    def __repr__(self) -> str:
        # PyG compares representations to find out whether processed data are stale, so every argument is shown.
        arguments = (f"{name}={getattr(self, name)!r}" for name in inspect.signature(type(self)).parameters)
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _count(self, every: list[Any]) -> list[Any]:
        found = [(data, *stores) for data in every for stores in _stores(data, type(self).__name__)]
        parts = [_edges(number, *stores) for number, (_, *stores) in enumerate(found)]
        edges, offsets = join_edges(parts)
        union = build_graph(edges, self.directed)
        _tell_dropped(union.dropped)
        detours = count(union, self.k)
        ends = accumulate((part.edge_index.shape[1] for part in parts), initial=0)
        spans = zip(starmap(slice, pairwise(ends)), starmap(slice, pairwise(offsets.tolist())), strict=True)
        counted = [CountedGraph(*graph, detours, *span) for graph, span in zip(found, spans, strict=True)]
        for _, graphs in groupby(counted, key=lambda graph: id(graph.data)):
            self.add(list(graphs))
        return every


def _edges(number: int, arcs: Any, nodes: Any) -> EdgeList:
    try:
        return check_edge_index(arcs.edge_index, nodes.num_nodes)
    except InputError as error:
        raise InputError(f"Graph number {number}: {error}") from None


def _tell_dropped(dropped: Dropped) -> None:
    if any(dropped):
        said = zip(dropped, _COUNTED, strict=True)
        counted = ", ".join(how for number, how in said if number)
        warn_caller(
            f"edge_index has {described(dropped)}: it stays as it is, but is counted {counted}.", DroppedEdgesWarning
        )


_COUNTED = (
    "without loops",
    "with repeats as one edge",
    "with one-way arcs as undirected edges (directed=True keeps their direction)",
)


def _stores(data: Any, transform: str) -> list[tuple[Any, Any]]:
    """The stores of arcs and nodes of every graph in a data object; in a `HeteroData` those within one node type."""
    if isinstance(data, HeteroData):
        own = [edge_type for edge_type in data.edge_types if edge_type[0] == edge_type[-1]]
        stores = [(data[edge_type], data[edge_type[0]]) for edge_type in own if "edge_index" in data[edge_type]]
    elif isinstance(data, Data):
        stores = [(data, data)] if data.edge_index is not None else []
    else:
        raise InputError(
            f"{transform} takes a PyG Data, Batch or HeteroData, or a list of them, but {shown(data)} was given."
        )
    if not stores:
        missing = "edge_index within one node type" if isinstance(data, HeteroData) else "edge_index"
        raise InputError(
            f"{transform} needs an {missing}, but {shown(data)} has none; "
            "set one, and put this transform before any that turns it into a sparse matrix."
        )
    return stores


def _put(store: Any, name: str, values: Tensor, cat: bool) -> None:
    """Write an attribute; with `cat`, values are appended as columns to those that exist."""
    if cat and store.get(name) is not None:
        existing = store[name].view(-1, 1) if store[name].dim() == 1 else store[name]
        if existing.dim() != 2 or len(existing) != len(values):
            raise InputError(
                f"{name} must have {len(values)} rows, to which columns are appended, but its shape is "
                f"{tuple(store[name].shape)}; mend it, or give another name or cat=False."
            )
        values = torch.cat([existing, values.view(len(values), -1)], dim=-1)  # promotes integers to floats
    store[name] = values


def check_name(name: object, argument: str) -> str:
    """Raise `InputError` for a name that PyG would change or mistake when it makes batches."""
    if not isinstance(name, str) or not name:
        raise InputError(f"{argument} must be the name of an attribute, but {shown(name)} was given.")
    if "index" in name or "batch" in name or "adj" in name:
        raise InputError(
            f"{argument} must not contain 'index', 'batch' or 'adj', because PyG would take the counts of a batch for "
            f"node ids or matrices, but it is {name!r}; give another name."
        )
    return name
