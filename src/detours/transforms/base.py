"""`DetourTransform`: finds the graphs inside PyG's data objects and counts them all at once."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise, starmap
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data, HeteroData
from torch_geometric.data.data import BaseData
from torch_geometric.transforms import BaseTransform

from detours.checks import check_k
from detours.counting.count import count
from detours.errors import InputError, shown
from detours.graph import Graph
from detours.transforms.counted import Counted


class DetourTransform(BaseTransform):  # type: ignore[misc]  # PyG's types are not followed
    """Counts detours up to length k and lets a subclass write them down.

    Called on a `Data`, `Batch` or `HeteroData` it gives a shallow copy with the new attributes, as every transform of
    PyG does. Called on a list or a data set it gives a list of such copies, counted in one go, which for many small
    graphs is far cheaper than one by one.

    Args:
        k: The longest detour counted, in edges; an integer >= 2.
        directed: Count directed paths for every arc. Default: arcs are taken as undirected edges.
    """

    def __init__(self, k: int, *, directed: bool = False) -> None:
        self.k = check_k(k)
        self.directed = directed

    def __call__(self, data: Any) -> Any:
        many = not isinstance(data, BaseData) and hasattr(data, "__len__") and hasattr(data, "__getitem__")
        copies = [copy.copy(each) for each in data] if many else [copy.copy(data)]
        self._count(copies)
        return copies if many else copies[0]

    def forward(self, data: Any) -> Any:
        self._count([data])
        return data

    @abstractmethod
    def add(self, graphs: Sequence[Counted]) -> None:
        """Write the counts of the graphs of one data object into it."""

    def _count(self, every: Sequence[Any]) -> None:
        found = [(data, *stores) for data in every for stores in _graphs(data, type(self).__name__)]
        plain = [Data(edge_index=arcs.edge_index, num_nodes=nodes.num_nodes) for _, arcs, nodes in found]
        union, offsets = Graph.disjoint_union(plain, directed=self.directed)
        detours = count(union, self.k)
        ends = accumulate((graph.edge_index.size(1) for graph in plain), initial=0)
        spans = zip(starmap(slice, pairwise(ends)), starmap(slice, pairwise(offsets.tolist())), strict=True)
        counted = [Counted(*graph, detours, *span) for graph, span in zip(found, spans, strict=True)]
        for _, graphs in groupby(counted, key=lambda graph: id(graph.data)):
            self.add(list(graphs))


def _graphs(data: Any, asking: str) -> Iterable[tuple[Any, Any]]:
    """The stores of arcs and nodes of every graph in a data object; in a `HeteroData` those within one node type."""
    if isinstance(data, HeteroData):
        own = [(source, relation, target) for source, relation, target in data.edge_types if source == target]
        stores = [(data[edge_type], data[edge_type[0]]) for edge_type in own if "edge_index" in data[edge_type]]
    elif isinstance(data, Data):
        stores = [(data, data)] if data.edge_index is not None else []
    else:
        raise InputError(
            f"{asking} takes a PyG Data, Batch or HeteroData, or a list of them, but {shown(data)} was given."
        )
    if not stores:
        missing = "edge_index within one node type" if isinstance(data, HeteroData) else "edge_index"
        raise InputError(
            f"{asking} needs an {missing}, but {shown(data)} has none; "
            "set one, and put this transform before any that turns it into a sparse matrix."
        )
    return stores


def scaled(counts: NDArray[np.int64], log: bool) -> Tensor:
    """Counts as float32 log1p, or exactly as they are."""
    return torch.from_numpy(np.log1p(counts).astype(np.float32) if log else np.array(counts))


def check_name(name: object, what: str) -> str:
    """Refuse a name that PyG would change or mistake when it makes batches."""
    if not isinstance(name, str) or not name:
        raise InputError(f"{what} must be the name of an attribute, but {shown(name)} was given.")
    if "index" in name or "batch" in name or "adj" in name:
        raise InputError(
            f"{what} must not contain 'index', 'batch' or 'adj', because PyG would take the counts of a batch for "
            f"node ids or matrices, but it is {name!r}; give another name."
        )
    return name
