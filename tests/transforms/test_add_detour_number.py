"""`AddDetourNumber` against brute force and the counts of `detours.count`, and the layout of its columns."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

pytest.importorskip("torch_geometric")

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.utils import remove_self_loops, sort_edge_index

import detours
from detours.errors import InputError
from detours.transforms import AddDetourNumber
from tests.real_data import molecule_graphs
from tests.strategies import SmallGraph, small_graphs
from tests.transforms.cases import data_of, hetero, ring


@settings(max_examples=25)
@given(graph=small_graphs())
def test_counts_equal_brute_force(graph: SmallGraph) -> None:
    data, table = data_of(graph), graph.table(4)
    exact = AddDetourNumber(4, log=False, node_attr="phi", directed=graph.directed)(data)
    assert exact.den.dtype == torch.int64 and np.array_equal(exact.den.numpy(), table)
    phi = np.zeros(graph.num_nodes, np.int64)
    np.add.at(phi, graph.edge_index[0], table.sum(axis=1))
    assert exact.phi.flatten().tolist() == phi.tolist()
    summed = AddDetourNumber(4, by_length=False, squeeze=True, directed=graph.directed)(data)
    assert summed.den.dtype == torch.float32
    np.testing.assert_allclose(summed.den.numpy(), np.log1p(table.sum(axis=1)), rtol=1e-6)


def test_mutag_at_once_equals_single_counts() -> None:
    graphs = [Data(edge_index=torch.from_numpy(arcs), num_nodes=nodes) for nodes, arcs in molecule_graphs("MUTAG")]
    result = AddDetourNumber(5, by_length=False, squeeze=True, log=False)(graphs)
    assert len(result) == 188
    for data in result[:20]:
        assert torch.equal(data.den, torch.from_numpy(np.array(detours.count(data, 5).edge)))
    assert int(Batch.from_data_list(result).den.sum()) == sum(int(data.den.sum()) for data in result)


def test_the_order_of_the_edges_does_not_matter() -> None:
    data = ring(6)
    shuffled = data.edge_index[:, torch.randperm(12)]
    sorted_index, den = sort_edge_index(shuffled, AddDetourNumber(5)(Data(edge_index=shuffled, num_nodes=6)).den)
    again = AddDetourNumber(5)(Data(edge_index=sorted_index, num_nodes=6))
    assert torch.equal(again.den, den)
    assert torch.equal(remove_self_loops(again.edge_index)[0], sorted_index)


def test_features_are_written_in_the_given_order() -> None:
    arcs = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])  # a triangle and a tail
    data = Data(edge_index=arcs, num_nodes=4)
    result = AddDetourNumber(3, features=("bridge", "by_length", "shortest", "den"), log=False)(data)
    assert result.den.tolist() == [[0, 1, 0, 3, 1]] * 6 + [[1, 0, 0, 0, 0]] * 2 and result.den.dtype == torch.int64
    logs = AddDetourNumber(3, features=["shortest", "den"])(data).den
    torch.testing.assert_close(logs, torch.tensor([[3.0, np.log(2)]] * 6 + [[0.0, 0.0]] * 2, dtype=torch.float32))
    assert AddDetourNumber(3, features="bridge", squeeze=True, log=False)(data).den.tolist() == [0] * 6 + [1] * 2
    assert AddDetourNumber(3, features=("shortest", "bridge"), attr_name=None)(data).edge_attr.shape == (8, 2)
    for wrong in ((), ("girth",), "girth", (3,)):
        with pytest.raises(InputError, match="features"):
            AddDetourNumber(3, features=wrong)
    with pytest.raises(InputError, match="squeeze"):
        AddDetourNumber(3, features=("shortest", "bridge"), squeeze=True)


def test_columns_are_appended_to_existing_features() -> None:
    data = ring(4, edge_attr=torch.arange(8), x=torch.ones(4, 2))
    result = AddDetourNumber(3, attr_name=None, node_attr=None, log=False)(data)
    assert result.edge_attr.tolist() == [[at, 0, 1] for at in range(8)]
    assert result.x.tolist() == [[1, 1, 2]] * 4 and result.x.dtype == torch.float32
    assert AddDetourNumber(3, attr_name="edge_attr")(data).edge_attr.dtype == torch.float32  # bond types and logarithms
    replaced = AddDetourNumber(3, attr_name="edge_attr", by_length=False, node_attr="x", log=False, cat=False)(data)
    assert replaced.edge_attr.tolist() == [[1]] * 8 and replaced.x.tolist() == [[2]] * 4
    assert data.edge_attr.shape == (8,) and data.x.shape == (4, 2)
    with pytest.raises(InputError, match=r"^edge_attr must have 8 rows .* but its shape is \(4, 2\); fix it, or "):
        AddDetourNumber(3, attr_name=None)(ring(4, edge_attr=torch.ones(4, 2)))


@pytest.mark.parametrize("options", [{}, {"by_length": False}, {"by_length": False, "squeeze": True}], ids=str)
def test_columns_are_appended_to_graphs_without_edges_and_nodes(options: dict[str, Any]) -> None:
    empty = torch.zeros(2, 0, dtype=torch.long)
    columns = 1 if options else 2
    for nodes in (1, 0):
        atom = Data(x=torch.ones(nodes, 2), edge_index=empty, edge_attr=torch.zeros(0, 3))
        transform = AddDetourNumber(3, attr_name=None, node_attr=None, **options)
        for result in (transform(atom), transform([ring(4, edge_attr=torch.ones(8, 3)), atom])[1]):
            assert result.edge_attr.shape == (0, 3 + columns) and result.x.shape == (nodes, 3)
        assert transform(transform(atom)).edge_attr.shape == (0, 3 + 2 * columns)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_counts_appended_to_half_precision_are_exact(dtype: torch.dtype) -> None:
    arcs = torch.combinations(torch.arange(14)).T
    data = Data(edge_index=torch.cat([arcs, arcs.flip(0)], 1), num_nodes=14, edge_attr=torch.ones(182, 1, dtype=dtype))
    result = AddDetourNumber(6, attr_name=None, log=False)(data)
    assert result.edge_attr[0].tolist() == [1, 12, 132, 1320, 11880, 95040] and result.edge_attr.dtype == torch.float32


def test_edge_attr_and_x_are_created_if_missing() -> None:
    result = AddDetourNumber(3, attr_name=None, node_attr=None)(ring(4))
    assert result.edge_attr.shape == (8, 2) and result.x.shape == (4, 1)


def test_shapes_fit_edge_dim() -> None:
    from torch_geometric.nn import GATv2Conv

    for options, columns in (({}, 3), ({"by_length": False}, 1)):
        data = AddDetourNumber(4, **options)(ring(5, x=torch.ones(5, 2)))
        assert data.den.shape == (10, columns)
        assert GATv2Conv(2, 4, edge_dim=columns)(data.x, data.edge_index, data.den).shape == (5, 4)
    assert AddDetourNumber(4, by_length=False, squeeze=True)(ring(5)).den.shape == (10,)
    with pytest.raises(InputError, match="squeeze=True needs by_length=False"):
        AddDetourNumber(4, squeeze=True)


def test_node_values_are_sums_over_edge_types() -> None:
    result = AddDetourNumber(3, node_attr="phi", log=False)(hetero())
    # every node of the square is on one 4-cycle, the first three on a triangle as well
    assert result["paper"].phi.tolist() == [[4], [4], [4], [2]]
    assert "phi" not in result["author"]
