"""Molecules and proteins: the same numbers as GraKeL, to the last digit."""

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest

from detours.data import GraphSet, load
from detours.kernels import GraphKernel, ShortestPath, WLDetour, WLShortestPath, WLSubtree
from tests.oracles import kernels as oracle
from tests.real_data import data_folder

grakel: Any = pytest.importorskip("grakel", reason="GraKeL is not installed (pip install grakel)")


def data_set(name: str) -> GraphSet:
    if not (data_folder() / "TUDataset" / name).exists():
        pytest.skip(f"real data not found: {name} below {data_folder()} (set DETOURS_DATA)")
    return load(name, data_folder())


def for_grakel(graphs: GraphSet, labels: str) -> list[Any]:
    made = []
    for at, graph in enumerate(graphs.graphs):
        rows = {node: graph.indices[graph.indptr[node] : graph.indptr[node + 1]] for node in range(graph.num_nodes)}
        arcs = {node: dict.fromkeys(row.tolist(), 1.0) for node, row in rows.items()}
        own = graph.degree if labels == "degree" else graphs.labels[at]  # type: ignore[index]  # these sets have some
        made.append(grakel.Graph(arcs, node_labels=dict(enumerate(own.tolist()))))
    return made


def theirs(kernel: GraphKernel) -> Any:
    if isinstance(kernel, ShortestPath):
        return grakel.ShortestPath()
    base = grakel.VertexHistogram if isinstance(kernel, WLSubtree) else grakel.ShortestPath
    return grakel.WeisfeilerLehman(n_iter=kernel.n_iter, base_graph_kernel=base)  # type: ignore[attr-defined]


def as_integers(gram: Any) -> Any:
    dense = gram.toarray() if hasattr(gram, "toarray") else np.asarray(gram)
    assert np.array_equal(dense, dense.round())
    return dense.astype(np.int64)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("labels", ["degree", "data"])
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("MUTAG", ShortestPath()),
        ("MUTAG", WLSubtree(10)),
        ("MUTAG", WLShortestPath(3)),
        ("PTC_FM", ShortestPath()),
        ("PTC_FM", WLSubtree(10)),
        pytest.param("PTC_FM", WLShortestPath(3), marks=pytest.mark.slow),
        ("ENZYMES", WLSubtree(10)),
        pytest.param("ENZYMES", ShortestPath(), marks=pytest.mark.slow),
        pytest.param("ENZYMES", WLShortestPath(1), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_as_grakel(name: str, kernel: GraphKernel, labels: str) -> None:
    graphs = data_set(name)
    kernel.set_params(labels=labels, output="gram", normalize=False)
    expected = as_integers(theirs(kernel).fit_transform(for_grakel(graphs, labels)))
    assert np.array_equal(kernel.fit_transform(graphs), expected)


@pytest.mark.filterwarnings("ignore")
def test_new_graphs_as_grakel() -> None:
    graphs = data_set("MUTAG")
    old, new = graphs.subset(range(100)), graphs.subset(range(100, 188))
    for kernel in (ShortestPath(), WLSubtree(5), WLShortestPath(2)):
        for normalize in (False, True):
            kernel.set_params(labels="data", output="gram", normalize=normalize)
            rival = theirs(kernel)
            rival.set_params(normalize=normalize)
            rival.fit_transform(for_grakel(old, "data"))
            expected = rival.transform(for_grakel(new, "data"))
            np.testing.assert_allclose(kernel.fit(old).transform(new), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["MUTAG", "PTC_FM"])
def test_labels_of_edges_split_more(name: str) -> None:
    graphs = data_set(name)
    for kernel in (WLSubtree(3), WLShortestPath(2), WLDetour(4, 2)):
        kernel.set_params(labels="data", output="gram", normalize=False)
        plain = kernel.fit_transform(graphs)
        with_edges = kernel.set_params(edge_labels=True).fit_transform(graphs)
        assert (with_edges <= plain).all() and (with_edges < plain).any()
        assert np.array_equal(kernel.transform(graphs), with_edges)


def test_labels_of_edges_as_networkx() -> None:
    """Its hashes of neighbourhoods, made of labels of nodes and edges, are the colours of the rounds."""
    graphs = data_set("MUTAG")
    assert graphs.labels is not None and graphs.edge_labels is not None
    rows = []
    for graph, labels, edge_labels in zip(graphs.graphs, graphs.labels, graphs.edge_labels, strict=True):
        theirs = graph.to_networkx()
        nx.set_node_attributes(theirs, dict(enumerate(labels.tolist())), "atom")
        arcs = map(tuple, graph.edge_index.T.tolist())
        nx.set_edge_attributes(theirs, dict(zip(arcs, edge_labels.tolist(), strict=True)), "bond")
        hashes = nx.weisfeiler_lehman_subgraph_hashes(theirs, "bond", "atom", iterations=4, include_initial_labels=True)
        rows.append(Counter((round, one) for own in hashes.values() for round, one in enumerate(own)))
    kernel = WLSubtree(4, labels="data", edge_labels=True, output="gram", normalize=False)
    assert np.array_equal(kernel.fit_transform(graphs), oracle.gram(rows, rows))


def test_detours_split_what_degrees_do_not() -> None:
    """{D, k-DeN} refines the degrees, so no graph is more alike to another, and some are less."""
    graphs = data_set("MUTAG")
    for base in ("subtree", "shortest-path"):
        with_detours = WLDetour(4, 2, base=base, plain=False, output="gram", normalize=False).fit_transform(graphs)
        plain_kernel = WLSubtree if base == "subtree" else WLShortestPath
        plain = plain_kernel(2, output="gram", normalize=False).fit_transform(graphs)
        assert (with_detours <= plain).all() and (with_detours < plain).any()
