"""`DetourTransformer` and `MDNNLayer`: the paper's equations, recomputed token by token."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from detours.errors import InputError
from detours.nn import DetourTransformer, Tokens, convolution
from detours.nn.layers import GraphInputs, MDNNLayer
from tests.nn.cases import Case, case, cases, joined, permuted, random_graph, star_and_crowd
from tests.oracles import mdnn as oracle

NO_ARCS = torch.empty(2, 0, dtype=torch.long)


def model(**options: Any) -> DetourTransformer:
    torch.manual_seed(0)
    chosen = {"num_layers": 2, "heads": 2, "den_channels": 2, "pe_channels": 2} | options
    return DetourTransformer(3, 4, **chosen).double()


def settle(net: torch.nn.Module, given: Case) -> torch.nn.Module:
    """Running statistics that are not the first ones, so that eval mode shows whether they are used."""
    net.train()
    for _ in range(3):
        net(*given)
    return net.eval()


def close(first: torch.Tensor, second: torch.Tensor, tolerance: float = 1e-9) -> bool:
    return first.shape == second.shape and torch.allclose(first, second, rtol=0, atol=tolerance)


@settings(max_examples=15)
@given(cases(max_nodes=6), st.sampled_from([1, 2, 3]), st.booleans())
def test_against_loops(given: Case, num_layers: int, training: bool) -> None:
    net = model(num_layers=num_layers).train(training)
    if training and given.num_nodes == 1:
        return  # one token: see test_norm
    with torch.no_grad():
        expected, weights = oracle.transformer(net, *given)
        out, attention = net(*given, return_attention=True)
    assert close(out, expected)
    for node, by_head in enumerate(weights):
        mine = attention.weights[attention.tokens.query == node]
        assert close(mine, torch.tensor(by_head, dtype=torch.float64).t())


@pytest.mark.parametrize("directed", [False, True])
def test_mdnn_layer_against_loops(directed: bool) -> None:
    given = case(random_graph(8, 0.4, directed=directed), 8)
    layer = MDNNLayer(convolution("gin", 3, 4), model()).double()
    with torch.no_grad():
        out = layer(given.x, GraphInputs(given.edge_index, den=given.den, pe=given.pe))
        assert close(out, oracle.mdnn_layer(layer, *given))


def test_padded_buckets_against_loops() -> None:
    edge_index, num_nodes = star_and_crowd(20)
    given = case(edge_index, num_nodes)
    assert any(bucket.mixed for bucket in Tokens.of(edge_index, num_nodes).buckets)
    net = model()
    with torch.no_grad():
        assert close(net(*given), oracle.transformer(net, *given)[0])


def test_the_three_ways_agree_in_output_and_gradient() -> None:
    given = case(*star_and_crowd())
    found = []
    for attention in ("bucketed", "padded", "varlen"):
        net = model(num_layers=3, attention=attention)
        out = net(*given)
        out.square().sum().backward()
        found.append([out, *(parameter.grad for parameter in net.parameters())])
    for other in found[1:]:
        assert all(close(mine, theirs) for mine, theirs in zip(found[0], other, strict=True))


@settings(max_examples=30)
@given(cases(), st.randoms(use_true_random=False))
def test_nodes_and_arcs_in_another_order(given: Case, random: Any) -> None:
    net = settle(model(), case(random_graph(9, 0.4), 9))
    order = torch.tensor(random.sample(range(given.num_nodes), given.num_nodes))
    columns = torch.tensor(random.sample(range(given.den.size(0)), given.den.size(0)), dtype=torch.long)
    assert close(net(*permuted(given, order, columns)), net(*given)[order])


@settings(max_examples=20)
@given(st.lists(cases(), min_size=2, max_size=4))
def test_a_batch_is_its_graphs_one_by_one(parts: list[Case]) -> None:
    net = settle(model(), case(random_graph(9, 0.4), 9))
    together, _ = joined(parts)
    assert close(net(*together), torch.cat([net(*part) for part in parts]))


def test_the_tokens_of_the_transform() -> None:
    given = case(random_graph(7, 0.5), 7)
    loops = torch.arange(7).repeat(2, 1)
    index = torch.cat([loops, given.edge_index], dim=1)
    den = torch.cat([torch.zeros(7, 2, dtype=torch.float64), given.den])
    order = torch.argsort(index[1], stable=True)
    net = model()
    tokens = Tokens.from_index(index[:, order], 7)
    assert close(net(given.x, given.edge_index, den[order], given.pe, tokens=tokens), net(*given))


@pytest.mark.parametrize("num_layers", [1, 2])
def test_gradients(num_layers: int) -> None:
    given = case(random_graph(4, 0.6, directed=True), 4)
    net = model(num_layers=num_layers)
    tokens = Tokens.of(given.edge_index, 4)
    inputs = (given.x.requires_grad_(), given.den.requires_grad_(), given.pe.requires_grad_())

    def out(x: torch.Tensor, den: torch.Tensor, pe: torch.Tensor) -> torch.Tensor:
        return net(x, given.edge_index, den, pe, tokens=tokens)

    assert torch.autograd.gradcheck(out, inputs)


def test_every_parameter_learns() -> None:
    net = model()
    net(*case(random_graph(8, 0.4), 8)).square().sum().backward()
    assert [name for name, parameter in net.named_parameters() if parameter.grad is None] == []


def test_only_the_nodes_around_matter() -> None:
    given = case(torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]), 4)
    net = settle(model(), case(random_graph(9, 0.4), 9))
    changed = given._replace(x=given.x.index_fill(0, torch.tensor([3]), 5.0))
    moved = (net(*changed) - net(*given)).abs().amax(1) > 0
    assert moved.tolist() == [False, False, True, True]
    by_den = given._replace(den=given.den.index_fill(0, torch.tensor([0]), 5.0))  # the arc 0 -> 1
    moved = (net(*by_den) - net(*given)).abs().amax(1) > 0
    assert moved.tolist() == [False, True, False, False]


def test_directed_arcs_carry_messages_one_way() -> None:
    given = case(torch.tensor([[0], [1]]), 2)
    net = settle(model(), case(random_graph(9, 0.4), 9))
    changed = given._replace(x=given.x.index_fill(0, torch.tensor([0]), 5.0))
    assert not close(net(*changed)[1], net(*given)[1])
    changed = given._replace(x=given.x.index_fill(0, torch.tensor([1]), 5.0))
    assert close(net(*changed)[0], net(*given)[0])


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("num_nodes", [0, 1, 3])
def test_graphs_without_arcs(num_nodes: int, training: bool) -> None:
    given = case(NO_ARCS, num_nodes)
    out = model().train(training)(*given)
    assert out.shape == (num_nodes, 4)
    assert out.isfinite().all()


def test_ablation_ignores_the_detour_numbers() -> None:
    given = case(random_graph(7, 0.5), 7)
    net = model(use_den=False)
    assert not any(name.startswith("messages.phi_d") for name, _ in net.named_parameters())
    with torch.no_grad():
        expected, _ = oracle.transformer(net, given.x, given.edge_index, None, given.pe)
        assert close(net(*given), expected)
        assert close(net(given.x, given.edge_index, None, given.pe), expected)


def test_without_positions() -> None:
    given = case(random_graph(7, 0.5), 7)
    net = model(pe_channels=0)
    with torch.no_grad():
        expected, _ = oracle.transformer(net, given.x, given.edge_index, given.den, None)
        assert close(net(given.x, given.edge_index, given.den), expected)


def test_one_number_per_arc_needs_no_second_axis() -> None:
    given = case(random_graph(7, 0.5), 7, den_channels=1)
    net = model(den_channels=1)
    assert close(net(given.x, given.edge_index, given.den[:, 0], given.pe), net(*given))


def test_bfloat16_autocast() -> None:
    given = Case(*(each.float() if each.is_floating_point() else each for each in case(*star_and_crowd())))
    net = settle(model().float(), given)
    exact = net(*given)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = net(*given)
        net.train()(*given).sum().backward()
    assert rounded.dtype == torch.bfloat16
    assert close(rounded.float(), exact, 0.1)
    assert all(parameter.grad.isfinite().all() for parameter in net.parameters())


def test_dropout_is_for_training() -> None:
    given = case(random_graph(8, 0.4), 8)
    net = model(dropout=0.5)
    assert not close(net(*given), net(*given))
    net.eval()
    assert close(net(*given), net(*given))


def test_drawn_anew() -> None:
    net = settle(model(), case(random_graph(8, 0.4), 8))
    before = {name: value.clone() for name, value in net.state_dict().items()}
    net.reset_parameters()
    after = net.state_dict()
    same = [name for name in before if torch.equal(before[name], after[name])]
    assert all(".norms." in name and name.endswith(("weight", "bias")) for name in same)
    assert (after["layers.0.norms.0.running_var"] == 1).all()


def test_repr() -> None:
    assert repr(model()) == (
        "DetourTransformer(3, 4, num_layers=2, heads=2, den_channels=2, pe_channels=2, use_den=True, attention='auto')"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": torch.zeros(5, 4)}, r"x must have the shape \(5, 3\), but it has \(5, 4\)"),
        ({"den": torch.zeros(1, 2)}, r"den must have the shape \(\d+, 2\), but it has \(1, 2\)"),
        ({"den": None}, "use_den=False"),
        ({"pe": torch.zeros(5, 3)}, r"pe must have the shape \(5, 2\)"),
        ({"pe": None}, "pe_channels=0"),
    ],
)
def test_wrong_shapes(change: dict[str, Any], said: str) -> None:
    given = case(random_graph(5, 0.9), 5)
    with pytest.raises(InputError, match=said):
        model()(*given._replace(**change))


@pytest.mark.parametrize("wrong", [{"heads": 3}, {"heads": 0}, {"num_layers": 0}, {"attention": "fast"}])
def test_wrong_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        model(**wrong)


def test_tokens_of_another_graph_are_refused() -> None:
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    layer = DetourTransformer(4, 8, pe_channels=0)
    tokens = Tokens.of(edge_index[:, :2], 3)
    with pytest.raises(InputError, match="tokens are those of another graph: they have 2 arcs, but edge_index has 4"):
        layer(torch.ones(3, 4), edge_index, torch.zeros(4), tokens=tokens)
