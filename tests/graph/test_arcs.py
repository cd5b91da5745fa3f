"""Where the caller's edges lie in the CSR."""

from typing import Any

import networkx as nx
import numpy as np
import pytest

import detours
from detours.graph import arcs as lookup


def test_few_edges_of_a_large_graph_are_found_without_a_look_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = detours.Graph.from_networkx(nx.circulant_graph(20_000, [1, 2, 5]))
    compiled, asked = lookup._compiled, []

    def watched() -> Any:
        asked.append(True)
        return compiled()

    monkeypatch.setattr(lookup, "_compiled", watched)
    edges = np.ascontiguousarray(graph.to_edge_index()[:, -5:])
    found = lookup.locate(graph.indptr, graph.indices, edges)
    assert asked
    np.testing.assert_array_equal(found, np.arange(graph.num_arcs - 5, graph.num_arcs))
