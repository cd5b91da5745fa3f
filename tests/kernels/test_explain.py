"""The top features of a linear model, and where a graph has them."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC, LinearSVC

from detours.errors import InputError
from detours.kernels import ShortestPath, WLDetour, evidence, explain
from tests.kernels.cases import ONE_OF_EACH


def lollipop() -> nx.Graph:
    """A triangle 0 1 2 with a tail 2 3 4."""
    graph = nx.cycle_graph(3)
    nx.add_path(graph, [2, 3, 4])
    return graph


def test_cycles_are_found_and_shown() -> None:
    paths, triangles = [nx.path_graph(n) for n in range(3, 8)], [lollipop() for _ in range(5)]
    kernel = WLDetour(k=2, n_iter=0, labels="none", init="den-sum", plain=False, normalize=False)
    model = LinearSVC().fit(kernel.fit_transform(paths + triangles), [0] * 5 + [1] * 5)
    found = explain(kernel, model, top=3)
    weights = [abs(feature.weight) for feature in found]
    assert len(found) == 3 and weights == sorted(weights, reverse=True)
    on_cycles = [feature for feature in explain(kernel, model, top=99) if feature.weight > 0 and "1" in feature.name]
    shown = {feature.name: carriers.nodes.tolist() for feature, carriers in evidence(kernel, on_cycles, lollipop())}
    assert shown == {"den {1, 1}": [0, 1], "den {0, 1, 1}": [2]}
    assert evidence(kernel, on_cycles, nx.path_graph(6)) == []


def test_sparse_weights() -> None:
    """As an `SVC` has them that was fitted on sparse features."""
    kernel = WLDetour(2, 1)
    made = kernel.fit_transform([nx.path_graph(4), nx.path_graph(5), lollipop(), nx.cycle_graph(3)])
    sparse, dense = (SVC(kernel="linear").fit(features, [0, 0, 1, 1]) for features in (made, made.toarray()))
    found, expected = (
        {each.column: each.weight for each in explain(kernel, model, top=99)} for model in (sparse, dense)
    )
    assert not isinstance(sparse.coef_, np.ndarray) and found == pytest.approx(expected, abs=1e-6)


def test_the_number_of_carriers_is_the_count_of_the_feature() -> None:
    graphs = [lollipop(), nx.path_graph(5), nx.cycle_graph(5), nx.empty_graph(0)]
    for each in ONE_OF_EACH:
        kernel = clone(each).set_params(normalize=False)
        made = kernel.fit_transform(graphs).toarray()
        for column in range(made.shape[1]):
            for graph, row in zip(graphs, made, strict=True):
                nodes, pairs = kernel.carriers(graph, column)
                assert len(nodes if pairs is None else pairs) == row[column]


def test_pairs_are_at_the_given_distance() -> None:
    kernel = ShortestPath(labels="none").fit([nx.path_graph(4)])
    assert kernel.feature_name(2) == "node –3– node"
    nodes, pairs = kernel.carriers(nx.path_graph(4), 2)
    assert nodes.tolist() == [0, 3] and pairs is not None and pairs.tolist() == [[0, 3], [3, 0]]


def test_invalid_input() -> None:
    kernel = ShortestPath().fit([nx.path_graph(3)])
    for given, model in (
        (kernel, SimpleNamespace()),
        (ShortestPath(output="gram").fit([nx.path_graph(3)]), SimpleNamespace(coef_=np.zeros((1, 1)))),
        (ShortestPath(), SimpleNamespace(coef_=np.zeros((1, 3)))),
    ):
        with pytest.raises(InputError, match="top_features needs a kernel"):
            explain(given, model)
    with pytest.raises(InputError, match="7 weights but the kernel"):
        explain(kernel, SimpleNamespace(coef_=np.zeros((1, 7))))
    with pytest.raises(InputError, match="top must be an integer of at least 0, but it is -1"):
        explain(kernel, SimpleNamespace(coef_=np.zeros((1, 3))), top=-1)
