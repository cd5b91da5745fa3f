"""Whole networks: orders do not matter, batches do not mix, and 1-WL is where plain ones stop."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.nn import GraphConv

from detours.errors import InputError
from detours.nn import MDNN, PlainNetwork, Tokens, WeightedNetwork
from tests.nn.cases import Case, case, cases, joined, permuted, random_graph

KINDS = ("plain", "weighted", "mdnn")
BACKBONES = ("gcn", "gat", "gin")
every_model = pytest.mark.parametrize(("kind", "backbone"), [(kind, each) for kind in KINDS for each in BACKBONES])
SMALL = {"transformer_layers": 2, "heads": 2, "den_channels": 2, "pe_channels": 2}


def network(kind: str, backbone: Any = "gin", **options: Any) -> torch.nn.Module:
    """A small one in eval mode, its running statistics those of some graphs."""
    torch.manual_seed(0)
    made = {"plain": PlainNetwork, "weighted": WeightedNetwork}.get(kind)
    net = MDNN(3, 4, 5, backbone, **(SMALL | options)) if made is None else made(3, 4, 5, backbone, **options)
    net = net.double().train()
    for seed in range(3):
        apply(net, case(random_graph(9, 0.4, seed), 9, seed))
    return net.eval()


def apply(net: torch.nn.Module, given: Case, batch: Tensor | None = None, **options: Any) -> Tensor:
    den = given.den[:, 0] if isinstance(net, WeightedNetwork) else given.den
    return net(given.x, given.edge_index, den, given.pe, batch, **options)


def close(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and torch.allclose(first, second, rtol=0, atol=1e-9)


NETWORKS = {(kind, each, level): network(kind, each, level=level) for kind in KINDS for each in BACKBONES
            for level in ("graph", "node")}  # fmt: skip


@every_model
@settings(max_examples=8)
@given(given=cases(), random=st.randoms(use_true_random=False))
def test_nodes_and_arcs_in_another_order(kind: str, backbone: str, given: Case, random: Any) -> None:
    order = torch.tensor(random.sample(range(given.num_nodes), given.num_nodes))
    columns = torch.tensor(random.sample(range(given.den.size(0)), given.den.size(0)), dtype=torch.long)
    other = permuted(given, order, columns)
    of_graphs, of_nodes = NETWORKS[kind, backbone, "graph"], NETWORKS[kind, backbone, "node"]
    assert close(apply(of_graphs, other), apply(of_graphs, given))
    assert close(apply(of_nodes, other), apply(of_nodes, given)[order])


@every_model
@settings(max_examples=8)
@given(parts=st.lists(cases(), min_size=2, max_size=4))
def test_a_batch_is_its_graphs_one_by_one(kind: str, backbone: str, parts: list[Case]) -> None:
    net = NETWORKS[kind, backbone, "graph"]
    together, batch = joined(parts)
    one_by_one = torch.cat([apply(net, part) for part in parts])
    assert close(apply(net, together, batch), one_by_one)
    assert close(apply(net, together, batch, num_graphs=len(parts)), one_by_one)


@every_model
def test_rings_of_equal_neighbourhoods(kind: str, backbone: str) -> None:
    def rings(*sizes: int) -> Case:
        starts = [sum(sizes[:at]) for at in range(len(sizes))]
        arcs = [(s + v, s + (v + 1) % size) for s, size in zip(starts, sizes, strict=True) for v in range(size)]
        edge_index = torch.tensor(arcs + [(j, i) for i, j in arcs]).t()
        den = torch.zeros(edge_index.size(1), 2, dtype=torch.float64)
        den[:, 0] = float(sizes == (3, 3))  # k = 2: only triangles have detours
        ones = torch.ones(6, 3, dtype=torch.float64)
        return Case(ones, edge_index, den, torch.zeros(6, 2, dtype=torch.float64))

    net = NETWORKS[kind, backbone, "graph"]
    same = close(apply(net, rings(3, 3)), apply(net, rings(6)))
    # With equal features everywhere, a mean over neighbours is the same whatever their weights, and GCN on a regular
    # graph and GAT take means; where degrees or features differ, they see the weights too.
    assert same == (kind == "plain" or (kind == "weighted" and backbone != "gin"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_are_put_together_as_said(kind: str) -> None:
    given = case(random_graph(8, 0.4), 8)
    net = network(kind, "gcn", num_layers=1)
    arcs, weight = given.edge_index, given.den[:, 0]

    def halves(conv: Any, x: Tensor) -> list[Tensor]:
        if kind == "weighted":
            return list(conv.branches(x, arcs, weight))
        return [conv.conv(x, arcs)] * 2

    start = net.norms[0](torch.cat(halves(net.encoder, given.x), dim=1)).clamp(min=0)
    (layer,) = net.layers
    if kind == "mdnn":
        layered = [layer.conv(start, arcs), layer.transformer(start, arcs, given.den, given.pe)]
    else:
        layered = halves(layer, start)
    state = net.norms[1](torch.cat(layered, dim=1) + start).clamp(min=0)
    first, second = halves(net.decoder, state)
    logits = net.readout.head((first + second) / 2)
    assert close(apply(net, given), logits.amax(0, keepdim=True))


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_learns(kind: str) -> None:
    for backbone in BACKBONES:
        net = network(kind, backbone).train()
        net.zero_grad()
        apply(net, case(random_graph(8, 0.4), 8)).square().sum().backward()
        assert [name for name, parameter in net.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("training", [True, False])
def test_graphs_without_arcs_and_empty_places(kind: str, training: bool) -> None:
    no_arcs = torch.empty(2, 0, dtype=torch.long)
    for backbone in BACKBONES:
        net = network(kind, backbone).train(training)
        assert apply(net, case(no_arcs, 1)).isfinite().all()
        given, batch = joined([case(no_arcs, 1), case(random_graph(2, 1.0), 2), case(no_arcs, 3)])
        logits = apply(net, given, batch + (batch > 0), num_graphs=5)
        assert logits.shape == (5, 5)
        assert logits.isfinite().all()
        assert (logits[[1, 4]] == 0).all()


def test_tokens_made_before_serve_all_layers() -> None:
    given = case(random_graph(8, 0.4), 8)
    net = network("mdnn")
    assert close(apply(net, given, tokens=Tokens.of(given.edge_index, 8)), apply(net, given))


def test_any_convolution_and_pool() -> None:
    given = case(random_graph(8, 0.4), 8)
    for kind in KINDS:
        nodes = apply(network(kind, GraphConv, level="node", num_layers=2, dropout=0.5, norm=False), given)
        for pool, expected in (("mean", nodes.mean(0)), ("add", nodes.sum(0)), ("max", nodes.amax(0))):
            net = network(kind, GraphConv, pool=pool, num_layers=2, dropout=0.5, norm=False)
            assert close(apply(net, given)[0], expected)


def test_learns_by_heart() -> None:
    graphs = [case(random_graph(6, 0.5, seed), 6, seed) for seed in range(8)]
    together, batch = joined(graphs)
    wanted = torch.arange(8) % 2
    for kind in KINDS:
        net = network(kind, num_layers=2).train()
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        losses = []
        for _ in range(40):
            optimizer.zero_grad()
            loss = F.cross_entropy(apply(net, together, batch), wanted)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.1 * losses[0], kind


def test_a_saved_model_is_the_same() -> None:
    given = case(random_graph(8, 0.4), 8)
    for kind in KINDS:
        net, other = network(kind), network(kind)
        other.reset_parameters()
        assert not close(apply(other, given), apply(net, given))
        other.load_state_dict(net.state_dict())
        assert close(apply(other, given), apply(net, given))


def test_repr() -> None:
    assert "3, 4, 5, num_layers=2, level='graph', pool='max'" in repr(network("plain"))
    assert "DetourTransformer(8, 4, num_layers=2" in repr(network("mdnn"))


def test_wrong_inputs() -> None:
    given = case(random_graph(8, 0.4), 8)
    with pytest.raises(InputError, match=r"x must have 3 columns, but its shape is \(8, 2\)"):
        apply(network("plain"), given._replace(x=given.x[:, :2]))
    with pytest.raises(InputError, match="AddDetourWeights"):
        network("weighted")(given.x, given.edge_index)
    with pytest.raises(InputError, match="den is missing"):
        network("mdnn")(given.x, given.edge_index, pe=given.pe)


@every_model
def test_inputs_of_a_wrong_shape(kind: str, backbone: str) -> None:
    given, net = case(random_graph(8, 0.4), 8), network(kind, backbone)
    rows, arcs = r"^edge_index must have two rows, sources and targets, but its shape is ", given.edge_index
    for wrong in (arcs.T, arcs[0], torch.cat([arcs, arcs])):
        with pytest.raises(InputError, match=rows):
            apply(net, given._replace(edge_index=wrong))
    for batch in (torch.zeros(7, dtype=torch.long), torch.zeros(8, 1, dtype=torch.long)):
        with pytest.raises(InputError, match=r"^batch must have the shape \(8,\), but it has "):
            apply(net, given, batch)


@every_model
def test_what_a_network_would_not_look_at_is_refused(kind: str, backbone: str) -> None:
    given, net = case(random_graph(8, 0.4), 8), network(kind, backbone)
    with pytest.raises(InputError, match=r"^edge_attr was given, but edge_channels=0; give edge_channels=2 and "):
        apply(net, given, edge_attr=given.den)
    assert torch.equal(apply(net, given, edge_attr=given.den[:, :0]), apply(net, given))


def test_positions_that_are_not_looked_at_are_refused() -> None:
    given, net = case(random_graph(8, 0.4), 8), MDNN(3, 4, 5, den_channels=2, pe_channels=0).double().eval()
    with pytest.raises(InputError, match=r"^pe was given, but pe_channels=0; build the model with pe_channels=2, or "):
        apply(net, given)
    assert close(net(given.x, given.edge_index, given.den, given.pe[:, :0]), net(given.x, given.edge_index, given.den))


@every_model
def test_graphs_out_of_range(kind: str, backbone: str) -> None:
    given, net = case(random_graph(8, 0.4), 8), network(kind, backbone)
    batch = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2])
    assert apply(net, given, batch, num_graphs=3).shape == (3, 5)
    with pytest.raises(InputError, match=r"^batch holds the graph 2, but with num_graphs=2 they end at 1.$"):
        apply(net, given, batch, num_graphs=2)
    for options in ({}, {"num_graphs": 3}):
        with pytest.raises(InputError, match=r"^batch holds the graph -1; graphs are numbered from 0.$"):
            apply(net, given, batch - 1, **options)


@every_model
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_in_half_precision(kind: str, backbone: str, dtype: torch.dtype) -> None:
    given, net = case(random_graph(8, 0.4), 8), network(kind, backbone)
    exact = apply(net, given)
    halved = net.to(dtype)(
        given.x.to(dtype), given.edge_index, given.den[:, 0].float() if kind == "weighted" else given.den, given.pe
    )
    assert halved.dtype == dtype
    torch.testing.assert_close(halved.double(), exact, rtol=0.1, atol=0.1)


@every_model
def test_inputs_of_a_wrong_type(kind: str, backbone: str) -> None:
    given, net = case(random_graph(8, 0.4), 8), network(kind, backbone)
    batch = torch.zeros(8, dtype=torch.long)
    for x in (given.x.float(), given.x.long(), given.x.bool()):
        with pytest.raises(InputError, match=rf"^x must be torch.float64, as the weights are, but it is {x.dtype}; "):
            apply(net, given._replace(x=x))
    with pytest.raises(InputError, match=r"^edge_index must hold integers, torch.int64, but it is torch.float32.$"):
        apply(net, given._replace(edge_index=given.edge_index.float()))
    with pytest.raises(InputError, match=r"^batch must hold integers, torch.int64, but it is torch.float64.$"):
        apply(net, given, batch.double())
    assert torch.equal(apply(net, given._replace(edge_index=given.edge_index.int())), apply(net, given, batch.int()))
    assert torch.equal(
        apply(net, given._replace(pe=given.pe.float().double())), apply(net, given._replace(pe=given.pe.float()))
    )
    net, small = net.float(), given._replace(x=given.x.float(), pe=given.pe.float(), den=given.den.float())
    with torch.autocast("cpu", torch.bfloat16):
        for x in (small.x, small.x.bfloat16()):
            assert apply(net, small._replace(x=x)).isfinite().all()
        with pytest.raises(
            InputError, match=r"^x must be torch.float32, as the weights are, but it is torch.float64; "
        ):
            apply(net, given)


@pytest.mark.parametrize("backbone", ["gcn", "gat", "gin"])
def test_weights_of_arcs_of_a_wrong_type(backbone: str) -> None:
    given, net = case(random_graph(8, 0.4), 8), WeightedNetwork(3, 4, 5, backbone)
    x, counts = given.x.float(), torch.arange(given.edge_index.size(1))
    with pytest.raises(
        InputError, match=r"^den must be torch.float32, as the weights are, but it is torch.float64; give den.to\(torch"
    ):
        net(x, given.edge_index, counts.double())
    assert torch.equal(net(x, given.edge_index, counts), net(x, given.edge_index, counts.float()))
    assert net.double()(given.x, given.edge_index, counts.float()).dtype == torch.float64


def test_features_of_arcs_of_a_wrong_type() -> None:
    given, net = case(random_graph(8, 0.4), 8), PlainNetwork(3, 4, 5, edge_channels=2).double()
    with pytest.raises(
        InputError, match=r"^edge_attr must be torch.float64, as the weights are, but it is torch.float32"
    ):
        net(given.x, given.edge_index, edge_attr=given.den.float())


def test_a_small_network_by_default_and_the_papers_by_its_arguments() -> None:
    small = MDNN(7, 64, 2)
    assert [layer.transformer.num_layers for layer in small.layers] == [1, 1]
    assert sum(parameter.numel() for parameter in small.parameters()) == 170_306
    size: dict[str, Any] = {"num_layers": 4, "norm": "none"}
    with torch.device("meta"):
        graphs = MDNN(7, 768, 2, transformer_layers=12, **size)
        nodes = MDNN(7, 768, 2, transformer_layers=2, heads=4, level="node", **size)
    millions = [sum(parameter.numel() for parameter in each.parameters()) // 10**6 for each in (graphs, nodes)]
    assert millions == [252, 63]
