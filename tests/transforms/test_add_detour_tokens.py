"""`AddDetourTokens`: one token for each node and each arc, in the order that attention expects."""

import pytest
from hypothesis import given, settings

pytest.importorskip("torch_geometric")

from detours.transforms import AddDetourTokens
from tests.strategies import SmallGraph, small_graphs
from tests.transforms.cases import data_of


@settings(max_examples=25)
@given(graph=small_graphs())
def test_tokens_are_all_nodes_and_arcs(graph: SmallGraph) -> None:
    result = AddDetourTokens(3, log=False, directed=graph.directed)(data_of(graph))
    den = dict(zip(graph.arcs, graph.table(3).tolist(), strict=True))
    expected = []
    for node in range(graph.num_nodes):
        expected.append(((node, node), [0, 0]))
        expected += [(arc, den[arc]) for arc in graph.arcs if arc[1] == node]
    listed = list(zip(map(tuple, result.token_index.T.tolist()), result.token_den.tolist(), strict=True))
    assert listed == expected
