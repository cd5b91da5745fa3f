"""`AddDetourWeights` against brute force, and where weights exist already."""

import pytest
from hypothesis import given, settings

pytest.importorskip("torch_geometric")

import torch

from detours.errors import InputError
from detours.transforms import AddDetourWeights
from tests.strategies import SmallGraph, small_graphs
from tests.transforms.cases import data_of, ring


@settings(max_examples=25)
@given(graph=small_graphs())
def test_weights_equal_brute_force(graph: SmallGraph) -> None:
    weighted = AddDetourWeights(4, log=False, directed=graph.directed)(data_of(graph))
    assert weighted.edge_weight.dtype == torch.float32
    assert weighted.edge_weight.tolist() == graph.table(4).sum(axis=1).tolist()


def test_existing_weights_are_replaced_only_with_replace() -> None:
    weighted = ring(3, edge_weight=torch.full((6,), 7.0))
    with pytest.raises(InputError, match="already have weights in 'edge_weight'; give replace=True"):
        AddDetourWeights(2)(weighted)
    assert AddDetourWeights(2, log=False, replace=True)(weighted).edge_weight.tolist() == [1] * 6
