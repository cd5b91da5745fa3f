"""Transforms to test, the graphs they are tested on, and comparisons of data objects."""

from typing import Any

import pytest

pytest.importorskip("torch_geometric")

import torch
from torch_geometric.data import Data, HeteroData

from detours.transforms import AddDetourNumber, AddDetourTokens, AddDetourWeights
from tests.strategies import SmallGraph

EVERY = [
    AddDetourNumber(4, node_attr="phi"),
    AddDetourNumber(3, attr_name="edge_den", by_length=False, squeeze=True, log=False),
    AddDetourNumber(4, "den", features=("bridge", "by_length", "shortest"), node_attr="phi"),
    AddDetourNumber(5, log=False),
    AddDetourTokens(3),
    AddDetourTokens(4, by_length=False, log=False),
    AddDetourWeights(4),
    AddDetourWeights(3, attr_name="w", log=False),
]
every = pytest.mark.parametrize("transform", EVERY, ids=repr)

HOMOGENEOUS = [("paper", "cites", "paper"), ("paper", "near", "paper")]


def data_of(graph: SmallGraph) -> Data:
    x = torch.arange(graph.num_nodes, dtype=torch.float32).view(-1, 1)
    return Data(x=x, edge_index=torch.from_numpy(graph.edge_index), y=torch.tensor([graph.num_nodes]))


def ring(size: int, **attributes: Any) -> Data:
    nodes = torch.arange(size)
    arcs = torch.stack([nodes, (nodes + 1) % size])
    return Data(edge_index=torch.cat([arcs, arcs.flip(0)], 1), num_nodes=size, **attributes)


def hetero() -> HeteroData:
    data = HeteroData()
    data["paper"].x = torch.ones(4, 1)
    data["author"].x = torch.ones(3, 1)
    data["paper", "cites", "paper"].edge_index = ring(4).edge_index
    data["paper", "near", "paper"].edge_index = torch.cat([ring(3).edge_index, torch.tensor([[0, 3], [3, 0]])], 1)
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 1, 2], [0, 1, 3]])
    return data


def same(one: Data, other: Data) -> bool:
    """Equal attributes, order and type included."""
    names = set(one.keys())
    return names == set(other.keys()) and all(equal(one[name], other[name]) for name in names)


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return bool(one == other)
