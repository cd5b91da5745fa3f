"""Batches: counted with their current edges, and separated into graphs again by `to_data_list`."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch_geometric")

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import AddSelfLoops, ToUndirected

from detours.transforms import AddDetourNumber
from detours.transforms.base import DetourTransform
from tests.oracles.brute import by_recursion
from tests.strategies import SmallGraph, small_graphs
from tests.transforms.cases import HOMOGENEOUS, data_of, equal, every, hetero, ring, same


@every
@settings(max_examples=10)
@given(graphs=st.lists(small_graphs(directed=False, max_nodes=7), min_size=1, max_size=3))
def test_batch_list_and_single_graphs_agree(transform: DetourTransform, graphs: list[SmallGraph]) -> None:
    alone = [transform(data_of(graph)) for graph in graphs]
    together = transform([data_of(graph) for graph in graphs])
    batch = Batch.from_data_list([data_of(graph) for graph in graphs])
    batch.extra = torch.ones(3)
    joined = transform(batch)
    assert torch.equal(joined.extra, batch.extra) and set(batch.keys()) < set(joined.keys())
    del joined.extra
    assert all(map(same, alone, together))
    assert same(joined, Batch.from_data_list(alone))
    assert all(map(same, joined.to_data_list(), alone))
    assert all(map(same, batch.to_data_list(), map(data_of, graphs))), "the input batch was modified"


@every
def test_a_batch_without_slices(transform: DetourTransform) -> None:
    batch = Batch(batch=torch.tensor([0, 0, 0]), edge_index=ring(3).edge_index, num_nodes=3)
    result = transform(batch)
    assert same(Data(**{name: result[name] for name in result.keys() if name != "batch"}), transform(ring(3)))  # noqa: SIM118


def with_chord(batch: Batch) -> Batch:
    batch.edge_index = torch.cat([batch.edge_index, torch.tensor([[0, 3], [3, 0]])], dim=1)
    return batch


def without_first_edge(batch: Batch) -> Batch:
    kept = ~((batch.edge_index == 0) | (batch.edge_index == 1)).all(0)
    batch.edge_index = batch.edge_index[:, kept]
    return batch


def shuffled(batch: Batch) -> Batch:
    batch.edge_index = batch.edge_index[:, torch.randperm(batch.num_edges, generator=torch.Generator().manual_seed(0))]
    return batch


def with_node(batch: Batch) -> Batch:
    batch.num_nodes += 1
    batch.edge_index = torch.cat([batch.edge_index, torch.tensor([[0, 11, 2, 11], [11, 0, 11, 2]])], dim=1)
    return batch


def undirected(batch: Batch) -> Batch:
    one_way = [Data(edge_index=each.edge_index[:, : each.num_nodes], num_nodes=each.num_nodes) for each in batch[:]]
    return ToUndirected()(Batch.from_data_list(one_way))


CHANGES = [with_chord, without_first_edge, shuffled, with_node, undirected, AddSelfLoops()]


@every
@pytest.mark.parametrize("change", CHANGES, ids=["chord", "cut", "shuffled", "node", "two-way", "loops"])
@pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")
def test_a_batch_is_counted_with_its_current_edges(transform: DetourTransform, change: Any) -> None:
    batch = change(Batch.from_data_list([ring(6), ring(5)]))
    arcs, nodes = batch.edge_index, batch.num_nodes
    result, plain = transform(batch), transform(Data(edge_index=arcs, num_nodes=nodes))
    assert torch.equal(result.edge_index, arcs) and result.num_nodes == nodes
    for name in plain.keys():  # noqa: SIM118
        assert equal(result[name], plain[name]), name
    if "den" in result and not transform.log:
        table = by_recursion(nodes, [(i, j) for i, j in arcs.T.tolist() if i != j], transform.k)
        assert result.den.tolist() == [table.get((i, j), [0] * (transform.k - 1)) for i, j in arcs.T.tolist()]


def test_a_chord_added_to_a_batch_is_counted() -> None:
    result = AddDetourNumber(5, log=False, by_length=False, squeeze=True)(with_chord(Batch.from_data_list([ring(6)])))
    assert result.den.tolist() == [2] * 14
    assert "den" not in result[0], "PyG returns graph 0 with its original edges"


def test_edges_added_to_a_heterogeneous_batch_are_counted() -> None:
    batch = Batch.from_data_list([hetero(), hetero()])
    first = HOMOGENEOUS[0]
    batch[first].edge_index = torch.cat([batch[first].edge_index, torch.tensor([[4, 6], [6, 4]])], dim=1)
    result = AddDetourNumber(3, log=False, by_length=False, squeeze=True, node_attr="phi")(batch)
    assert result[first].den.tolist() == [1] * 8 + [2] * 10
    assert result["paper"].phi[4:].flatten().tolist() == [8, 6, 8, 4]


@every
def test_a_batch_attribute_of_another_length_is_kept(transform: DetourTransform) -> None:
    batch = Batch.from_data_list([ring(3, x=torch.ones(3, 1), name="a"), ring(4, x=torch.ones(4, 1), name="b")])
    batch.y, batch.name = torch.arange(5), "both"
    result = transform(batch)
    assert result.y is batch.y and result.name == "both" and result.x is batch.x


@every
def test_heterogeneous_batches(transform: DetourTransform) -> None:
    joined = Batch.from_data_list(transform([hetero(), hetero()]))
    batch = transform(Batch.from_data_list([hetero(), hetero()]))
    alone = transform(hetero())
    for result in (batch, joined):
        for part in result.to_data_list():
            for store, expected in zip(part.stores, alone.stores, strict=True):
                assert all(equal(store[name], value) for name, value in expected.to_dict().items())
    for edge_type in HOMOGENEOUS:
        for name in alone[edge_type].to_dict():
            assert torch.equal(batch[edge_type][name], joined[edge_type][name])
