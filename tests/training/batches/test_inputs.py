"""What networks are given: features of arcs and nodes against definitions, and every option through a training run."""

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

import detours
from detours.data import Encoder, GraphSet
from detours.errors import DroppedEdgesWarning, InputError
from detours.graph import Graph
from detours.nn import hop_features
from detours.training.batches.inputs import ArcColumns, cycle_features, prepared
from detours.training.batches.packed import Packed
from detours.training.build import arguments, network_of
from tests.training.cases import inputs_of, one_graph, small, task

MODELS = ("plain", "weighted", "mdnn")


def lollipop() -> Graph:
    """A triangle, a path to a pentagon, and a tail."""
    edges = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 3), (6, 8)]
    ends = np.array(edges).T
    return Graph.from_edge_index(np.hstack([ends, ends[::-1]]), num_nodes=9)


def test_cycle_features_by_their_definition() -> None:
    graph, k = lollipop(), 3
    found = cycle_features(graph, detours.count(graph, k), k)
    network = nx.Graph(np.stack(graph.to_edge_index()).T.tolist())
    bridges = {frozenset(edge) for edge in nx.bridges(network)}
    for row, i, j in zip(found, *graph.to_edge_index(), strict=True):
        without = network.copy()
        without.remove_edge(i, j)
        expected = k if frozenset((i, j)) in bridges else min(nx.shortest_path_length(without, i, j) - 2, k - 1)
        assert row.tolist() == np.eye(k + 1)[expected].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_bridges_of_arcs_are_those_of_the_undirected_graph(seed: int) -> None:
    network = nx.gnp_random_graph(30, 0.04, seed=seed, directed=True)
    graph, k = Graph.from_edge_index(np.array(network.edges).T, num_nodes=30, directed=True), 3
    counts = detours.count(graph, k, directed=True)
    found = cycle_features(graph, counts, k)[:, k] == 1
    bridges = {frozenset(edge) for edge in nx.bridges(network.to_undirected())}
    arcs = list(zip(*graph.to_edge_index(), strict=True))
    assert found.tolist() == [frozenset(arc) in bridges for arc in arcs] and 0 < found.sum() < len(arcs)
    assert (found <= counts.bridges).all() and (found != counts.bridges).any()  # these are on no directed cycle


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("edge_den", [False, True])
@pytest.mark.parametrize("use_den", [False, True])
def test_what_parts_of_a_network_see_of_arcs(model: str, edge_den: bool, use_den: bool) -> None:
    if model != "mdnn" and not use_den:
        pytest.skip("an option of MDNN")
    data = with_edges(task(6), 0)
    recipe = small(data, model=model, edge_den=edge_den, use_den=use_den, edge_features=True)
    inputs = inputs_of(data, recipe)
    weight, of_detours, of_edges = (inputs.arc_features[:, part] for part in ArcColumns.of(recipe))
    widths = (weight.shape[1], of_detours.shape[1], of_edges.shape[1])
    assert widths == (model == "weighted", recipe.detour_features, inputs.edge_width)
    positional, named = arguments(Packed(inputs, tokens=model == "mdnn").batch(np.arange(6)), recipe)
    of_convolutions = np.hstack([of_detours, of_edges]) if edge_den else of_edges
    assert np.array_equal(named["edge_attr"], of_convolutions)
    if model == "plain":
        assert positional[2] is None
    else:
        of_tokens = np.hstack([of_detours, of_edges]) if use_den else of_edges
        assert np.array_equal(positional[2], weight[:, 0] if model == "weighted" else of_tokens)


@pytest.mark.parametrize("directed", [False, True])
def test_arcs_carry_a_weight_and_then_features(directed: bool) -> None:
    data = one_graph(20, directed)
    settings = {"k": 3, "directed": directed, "edge_den": True, "cycle_features": True, "log": True}
    weighted, mdnn = (inputs_of(data, small(data, model=model, **settings)) for model in ("weighted", "mdnn"))
    assert weighted.arc_features.shape[1] == 7 and mdnn.arc_features.shape[1] == 6
    assert np.array_equal(weighted.arc_features[:, 1:], mdnn.arc_features)
    assert np.allclose(np.expm1(weighted.arc_features[:, 0]), np.expm1(mdnn.arc_features[:, :2]).sum(1), rtol=1e-4)
    assert (mdnn.arc_features[:, 2:].sum(1) == 1).all()
    plain = inputs_of(data, small(data, model="plain", **settings))
    assert np.array_equal(plain.arc_features, mdnn.arc_features)
    assert inputs_of(data, small(data, model="plain", directed=directed)).arc_features.shape[1] == 0


def test_nodes_carry_their_detours() -> None:
    data = task(4)
    with_den, without = (inputs_of(data, small(data, k=3, node_den=flag, model="plain")) for flag in (True, False))
    assert np.array_equal(with_den.x[:, :-2], without.x)
    phi = np.concatenate([detours.count(graph, 3).node for graph in data.graphs])
    assert np.allclose(np.expm1(with_den.x[:, -2:]).sum(1), phi, rtol=1e-4)


def test_nodes_of_a_directed_graph_carry_the_detours_of_their_outgoing_arcs() -> None:
    data = one_graph(20)
    inputs = inputs_of(data, small(data, k=3, node_den=True, model="plain", directed=True))
    phi = detours.count(data.graphs[0], 3, directed=True).node
    assert np.allclose(np.expm1(inputs.x[:, -2:]).sum(1), phi, rtol=1e-4) and phi.any()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("directions", ["in", "out", "both"])
def test_powers_are_those_of_the_network(model: str, directions: str) -> None:
    data = one_graph(20)
    hops = {"encoder": "hops", "hops": 2, "hop_den": model == "mdnn"}
    recipe = small(data, model=model, directed=True, directions=directions, **hops)
    inputs = inputs_of(data, recipe)
    edge_index, x = torch.from_numpy(inputs.edge_index), torch.from_numpy(inputs.x)
    edge_index = edge_index.flip(0) if directions == "out" else edge_index
    den = torch.from_numpy(inputs.arc_features)
    weight = {"plain": None, "weighted": den[:, :1].sum(1), "mdnn": den.double().expm1().sum(1).float()}[model]
    width = inputs.x.shape[1] // recipe.blocks
    expected = hop_features(x[:, :width], edge_index, 2, weight=weight, both=directions == "both")
    assert torch.allclose(x, expected, atol=1e-5)


GRAPH: dict[str, dict[str, Any]] = {
    "pools": {"pool": "mean+max+add", "pool_of": "states", "head": "mlp"},
    "arcs": {"edge_den": True, "cycle_features": True, "node_den": True, "den_bias": True, "gate": True},
    "plain parts": {"encoder": "mlp", "decoder": "none", "norm": "layer", "token_norm": "layer", "jump": "cat"},
}
NODE: dict[str, dict[str, Any]] = {
    "ours": {},
    "both": {"directed": True, "directions": "both", "edge_den": True},
    "hops": {"encoder": "hops", "directed": True, "directions": "both", "skip": True},
    "no layers": {"layers": 0},
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("option", [*GRAPH, *NODE])
def test_networks_take_the_inputs_of_their_recipe(model: str, option: str) -> None:
    data = task(6) if option in GRAPH else one_graph(20)
    recipe = small(data, model=model, backbone="gcn", **(GRAPH | NODE)[option])
    inputs = inputs_of(data, recipe)
    net = network_of(recipe, inputs.x.shape[1], 3)
    batch = Packed(inputs, tokens=model == "mdnn").batch(np.arange(inputs.num_graphs))
    positional, named = arguments(batch, recipe)
    logits = net(*positional, **named)
    assert logits.shape == (6 if option in GRAPH else 20, 3)
    logits.square().sum().backward()
    assert [name for name, parameter in net.named_parameters() if parameter.grad is None] == []


# ---------------------------------------------------------------- features of edges


def with_edges(data: GraphSet, seed: int) -> GraphSet:
    """The same graphs with a label and two attributes of every edge, the same on both of its arcs."""
    rng = np.random.default_rng(seed)
    labels, attributes = [], []
    for graph in data.graphs:
        low, high = np.sort(graph.edge_index, axis=0)
        _, edge = np.unique(low * graph.num_nodes + high, return_inverse=True)
        labels.append(np.append(rng.integers(0, 2, edge.max() + 1), 7)[edge])
        attributes.append(rng.standard_normal((edge.max() + 1, 2)).astype(np.float32)[edge])
    labels[0][0] = labels[0][graph_twin(data)] = 7
    return replace(data, edge_labels=labels, edge_x=attributes)


def graph_twin(data: GraphSet) -> int:
    """The arc of graph 0 that goes back along its first one."""
    source, target = data.graphs[0].edge_index
    return int(np.flatnonzero((source == target[0]) & (target == source[0]))[0])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("option", [{}, {"edge_den": True}, {"cycle_features": True, "k": 3}])
@pytest.mark.parametrize("use_den", [True, False])
def test_features_of_edges(model: str, option: dict[str, Any], use_den: bool) -> None:
    if model != "mdnn" and not use_den:
        pytest.skip("an option of MDNN")
    one, other = (with_edges(task(6), seed) for seed in (0, 1))
    outputs = {}
    for used in (False, True):
        recipe = small(one, model=model, edge_features=used, use_den=use_den, **option)
        for name, data in (("one", one), ("other", other)):
            inputs = prepared(data, Encoder.of(one), data.targets, recipe)
            assert inputs.edge_width == 5 * used and inputs.arc_features.shape[1] == recipe.detour_columns + 5 * used
            net = network_of(recipe, inputs.x.shape[1], 2, inputs.edge_width).eval()
            batch = Packed(inputs, tokens=model == "mdnn").batch(np.arange(6))
            positional, named = arguments(batch, recipe)
            outputs[used, name] = net(*positional, **named)
    assert torch.equal(outputs[False, "one"], outputs[False, "other"])
    assert not torch.allclose(outputs[True, "one"], outputs[True, "other"])


def test_features_of_edges_are_on_their_arcs() -> None:
    data = with_edges(task(4), 0)
    recipe = small(data, model="plain", edge_features=True)
    inputs = prepared(data, Encoder.of(data), data.targets, recipe)
    for at, graph in enumerate(data.graphs):
        arcs = slice(inputs.arcs[at], inputs.arcs[at + 1])
        found = dict(zip(map(tuple, inputs.edge_index[:, arcs].T.tolist()), inputs.arc_features[arcs], strict=True))
        for arc, label, attributes in zip(
            graph.edge_index.T.tolist(), data.edge_labels[at], data.edge_x[at], strict=True
        ):
            expected = [*attributes, label == 0, label == 1, label == 7]
            np.testing.assert_array_equal(found[tuple(arc)], np.array(expected, np.float32))


def test_data_without_features_of_edges_or_with_two() -> None:
    data = task(6)
    wrong = with_edges(data, 0)
    wrong.edge_x[2][0] += 1
    with pytest.raises(InputError, match=r"edge 1 3 of graph 2 of rings has other features in the opposite direction"):
        inputs_of(wrong, small(data, edge_features=True))
    with pytest.warns(DroppedEdgesWarning):
        twice = Graph.from_edge_index([[0, 1, 0, 1], [1, 0, 1, 2]], num_nodes=60, directed=True)
    repeated = replace(one_graph(directed=True), graphs=[twice], edge_labels=[np.array([0, 1, 2, 0])])
    with pytest.raises(InputError, match=r"edge 0 1 of .* has other features where it is repeated; give it once"):
        inputs_of(repeated, small(repeated, directed=True, edge_features=True))
    with pytest.raises(InputError, match="needs edges with labels or attributes, but rings has none"):
        inputs_of(data, small(data, edge_features=True))
