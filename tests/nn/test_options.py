"""Every option of every network: equations by loops, orders, batches, gradients, and many networks stacked into one."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from detours.choices import DROPOUTS
from detours.errors import InputError
from detours.nn import MDNN, NetworkOptions, PlainNetwork, Tokens, WeightedNetwork, hop_features
from detours.nn.dropout import Dropout
from detours.nn.functional import pool, segment_max, segment_softmax, segment_sum
from detours.nn.layers import GraphInputs
from tests.nn.cases import Case, case, joined, permuted, random_graph

KINDS = ("plain", "weighted", "mdnn")
OPTIONS: dict[str, dict[str, Any]] = {
    "encoder linear": {"encoder": "linear"},
    "encoder mlp": {"encoder": "mlp"},
    "encoder hops": {"encoder": "hops", "hops": 3},
    "decoder none": {"decoder": "none"},
    "norm layer": {"norm": "layer"},
    "norm none": {"norm": "none"},
    "jump cat": {"jump": "cat"},
    "jump max, no decoder": {"jump": "max", "decoder": "none"},
    "jump mean": {"jump": "mean"},
    "skip": {"skip": True},
    "states, three pools": {"pool": "mean+max+add", "pool_of": "states", "head": "mlp"},
    "directions out": {"directions": "out"},
    "directions both": {"directions": "both"},
    "gate": {"gate": True},
    "hops both ways": {"encoder": "hops", "directions": "both"},
    "arcs with features": {"edge_channels": 2},
    "arcs with features, gcn": {"edge_channels": 2, "backbone": "gcn"},
    "arcs with features, gat": {"edge_channels": 2, "backbone": "gat"},
    "no layers": {"num_layers": 0, "encoder": "mlp", "decoder": "none"},
    "as for WebKB": {"encoder": "linear", "decoder": "none", "norm": "none", "skip": True, "num_layers": 1},
}
every_option = pytest.mark.parametrize("option", OPTIONS)
every_kind = pytest.mark.parametrize("kind", KINDS)


def network(kind: str, option: str, seed: int = 0, **more: Any) -> nn.Module:
    """A small network in eval mode, its running statistics those of a graph."""
    chosen = {"backbone": "gin", "num_layers": 1} | OPTIONS[option] | more
    torch.manual_seed(seed)
    if kind == "mdnn":
        tokens = {"heads": 2, "den_channels": 2, "pe_channels": 2, "den_bias": True, "token_norm": "layer"}
        net: nn.Module = MDNN(3, 4, 5, **(tokens | chosen))
    else:
        net = (PlainNetwork if kind == "plain" else WeightedNetwork)(3, 4, 5, **chosen)
    net = net.double().train()
    apply(net, graph(0))
    return net.eval()


def graph(seed: int) -> Case:
    return case(random_graph(7, 0.4, seed, directed=True), 7, seed)


def apply(net: nn.Module, given: Case, batch: Tensor | None = None, **more: Any) -> Tensor:
    den = given.den[:, 0] if isinstance(net, WeightedNetwork) else given.den
    edge_attr = given.den if net.options.edge_channels else None
    return net(given.x, given.edge_index, den, given.pe, batch, edge_attr=edge_attr, **more)


def close(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and torch.allclose(first, second, rtol=0, atol=1e-9)


@every_kind
@every_option
def test_orders_do_not_matter_and_batches_do_not_mix(kind: str, option: str) -> None:
    net, given = network(kind, option), graph(1)
    other = permuted(given, torch.randperm(7), torch.randperm(given.den.size(0)))
    assert close(apply(net, other), apply(net, given))
    parts = [graph(seed) for seed in (1, 2, 3)]
    together, batch = joined(parts)
    assert close(apply(net, together, batch, num_graphs=3), torch.cat([apply(net, part) for part in parts]))
    nodes, order = network(kind, option, level="node"), torch.randperm(7)
    turned = permuted(given, order, torch.arange(given.den.size(0)))
    assert close(apply(nodes, turned), apply(nodes, given)[order])


@every_kind
@every_option
def test_every_parameter_learns(kind: str, option: str) -> None:
    net = network(kind, option, dropout=0.1, input_dropout=0.1, layer_dropout=0.1).train()
    given, batch = joined([graph(seed) for seed in range(4)])
    net.zero_grad()
    apply(net, given, batch, num_graphs=4).square().sum().backward()
    # a map of the last layer that softmax or the maximum never chose would have no gradient at all, not a zero one
    assert [name for name, parameter in net.named_parameters() if parameter.grad is None] == []


@every_kind
def test_layer_dropout_leaves_out_whole_nodes_and_only_in_training(kind: str) -> None:
    plain, thinned, given = network(kind, "gate"), network(kind, "gate", layer_dropout=0.75), graph(1)
    assert close(apply(thinned, given), apply(plain, given))
    added = thinned.train()._drop_nodes(torch.ones(4000, 6))
    assert {tuple(row) for row in added.tolist()} == {(0.0,) * 6, (4.0,) * 6}
    assert added.mean().item() == pytest.approx(1, abs=0.15)
    alone = network(kind, "gate", num_layers=0, layer_dropout=0.75)
    assert close(apply(alone.train(), given), apply(alone, given))


@every_kind
@every_option
def test_stacked_networks_equal_a_loop(kind: str, option: str) -> None:
    nets = [network(kind, option, seed) for seed in range(3)]
    given, batch = joined([graph(seed) for seed in range(3)])
    tokens = Tokens.of(given.edge_index, given.num_nodes) if kind == "mdnn" else None
    more = {"num_graphs": 3, "tokens": tokens}
    edge_attr = given.den if nets[0].options.edge_channels else None
    for training in (True, False):
        parameters, buffers = stack_module_state([copy.deepcopy(net.train(training)) for net in nets])

        def one(parameters: Any, buffers: Any, net: nn.Module = nets[0], more: Any = more) -> Tensor:
            den = given.den[:, 0] if kind == "weighted" else given.den
            arguments = (given.x, given.edge_index, den, given.pe, batch)
            logits: Tensor = functional_call(net, (parameters, buffers), arguments, more | {"edge_attr": edge_attr})
            return logits

        stacked = torch.vmap(one, randomness="different")(parameters, buffers)
        looped = torch.stack([apply(net, given, batch, **more) for net in nets])
        assert close(stacked, looped)
        stacked.square().sum().backward()
        looped.square().sum().backward()
        for name, parameter in parameters.items():
            grads = [dict(net.named_parameters())[name].grad for net in nets]
            assert close(parameter.grad, torch.stack(grads)), name
            for net in nets:
                dict(net.named_parameters())[name].grad = None


@every_kind
def test_options_by_their_equations(kind: str) -> None:
    given = graph(1)
    net = network(kind, "as for WebKB", jump="cat", pool="mean+add", pool_of="states", head="mlp")
    weight = given.den[:, 0] if kind == "weighted" else given.den
    (layer,) = net.layers
    start = net.encoder.maps[0](given.x).clamp(min=0)
    state = (layer(start, GraphInputs(given.edge_index, None, weight, given.pe)) + start).clamp(min=0)
    seen = torch.cat([start, state, net.readout.raw(given.x)], dim=1)
    pooled = torch.cat([seen.sum(0) / 7, seen.sum(0)])
    first, _, _, second = net.readout.head
    assert close(apply(net, given)[0], second(first(pooled).clamp(min=0)))


@every_kind
def test_both_directions_are_the_mean_of_two_layers(kind: str) -> None:
    given, net = graph(1), network(kind, "directions both", level="node", encoder="linear", decoder="none")
    weight = given.den[:, 0] if kind == "weighted" else given.den
    along, against = GraphInputs(given.edge_index, None, weight, given.pe), given.edge_index[[1, 0]]
    start = net.norms[0](net.encoder(given.x, along)).relu()
    (layer,) = net.layers
    mean = (layer.along(start, along) + layer.against(start, along._replace(edge_index=against))) / 2
    assert close(apply(net, given), net.readout.head(net.norms[1](mean + start).relu()))
    assert not close(layer.along(start, along), layer.against(start, along))
    out = network(kind, "directions out", level="node")
    turned = network(kind, "norm layer", level="node", norm="batch")
    turned.load_state_dict(out.state_dict())
    assert close(apply(out, given), apply(turned, given._replace(edge_index=against)))


@pytest.mark.parametrize("weighted", [False, True])
def test_hops_against_dense_powers(weighted: bool) -> None:
    given = graph(2)
    weight = given.den[:, 0] if weighted else torch.ones_like(given.den[:, 0])
    matrix = torch.zeros(7, 7, dtype=torch.float64)
    plain = torch.zeros_like(matrix)
    for (j, i), w in zip(given.edge_index.t().tolist(), weight.tolist(), strict=True):
        matrix[i, j], plain[i, j] = w, 1.0

    def powers(a: Tensor) -> list[Tensor]:
        degree = a.sum(1)
        scale = torch.where(degree > 0, degree.clamp(min=1e-300) ** -0.5, 0.0).diag()
        hop = scale @ a @ scale
        return [hop @ given.x, hop @ hop @ given.x]

    ways = [plain, matrix] if weighted else [plain]
    blocks = [given.x] + [each for a in [*ways, *(way.t() for way in ways)] for each in powers(a)]
    found = hop_features(given.x, given.edge_index, 2, weight=weight if weighted else None, both=True)
    assert close(found, torch.cat(blocks, dim=1))
    net = network("weighted" if weighted else "plain", "hops both ways")
    assert close(apply(net, given._replace(x=found)), apply(net, given))
    encoded = torch.zeros(7, 8, dtype=torch.float64)
    shares = net.encoder.scores.softmax(0)
    for share, each, block in zip(shares, net.encoder.maps, blocks, strict=True):
        row = each(block)
        encoded += share * row / row.square().sum(1, keepdim=True).sqrt() * 8**0.5
    inputs = GraphInputs(given.edge_index, den=weight)
    assert close(net.encoder(given.x, inputs), encoded)


def test_hops_of_mdnn_are_weighted_by_the_sum_of_detour_numbers() -> None:
    given = graph(2)
    net = network("mdnn", "hops both ways", hop_den=True, den_bias=False)
    found = hop_features(given.x, given.edge_index, 2, weight=given.den.sum(1), both=True)
    assert found.size(1) == len(net.encoder.maps) * 3 > 15
    assert close(apply(net, given._replace(x=found)), apply(net, given))
    with pytest.raises(InputError, match="hop_den=True needs detour numbers"):
        network("plain", "hops both ways", hop_den=True)


@every_kind
def test_a_gated_network_starts_without_its_layers(kind: str) -> None:
    given = graph(4)
    net = network(kind, "gate", norm="none", decoder="none", level="node")
    without = network(kind, "gate", num_layers=0, norm="none", decoder="none", level="node")
    without.load_state_dict({name: each for name, each in net.state_dict().items() if name in without.state_dict()})
    assert close(apply(net, given), apply(without, given))
    with torch.no_grad():
        net.gates[0].fill_(0.5)
    assert not close(apply(net, given), apply(without, given))
    net.reset_parameters()
    assert net.gates[0] == 0


@pytest.mark.parametrize("backbone", ["gin", "gcn", "gat"])
@pytest.mark.parametrize("directions", ["in", "both"])
def test_detours_enter_a_plain_network_through_their_gate(backbone: str, directions: str) -> None:
    given, options = graph(4), {"backbone": backbone, "directions": directions, "num_layers": 2}
    net = network("mdnn", "jump cat", detour_gate=True, **options)
    plain = network("plain", "jump cat", **options)
    plain.load_state_dict({name: each for name, each in net.state_dict().items() if name in plain.state_dict()})
    assert close(apply(net, given), apply(plain, given))
    gates = [each for name, each in net.named_parameters() if name.endswith("detour_gate")]
    assert len(gates) == (4 if directions == "both" else 2)
    apply(net, given).sum().backward()
    assert all(gate.grad.abs() > 0 for gate in gates)  # it opens
    with torch.no_grad():
        gates[0].fill_(0.5)
    assert not close(apply(net, given), apply(plain, given))
    net.reset_parameters()
    assert not any(gates)


def test_the_detour_gate_by_its_equation() -> None:
    given, net = graph(4), network("mdnn", "norm none", detour_gate=True)
    layer, state = net.layers[0], torch.randn(7, 8, dtype=torch.float64)
    inputs = GraphInputs(given.edge_index, None, given.den, given.pe)
    with torch.no_grad():
        layer.detour_gate.fill_(0.25)
    transformed = layer.transformer(state, given.edge_index, given.den, given.pe)
    convolved = layer.conv(state, given.edge_index)
    assert close(layer(state, inputs), torch.cat([convolved, convolved + transformed / 4], dim=1))


@pytest.mark.parametrize("backbone", ["gin", "gcn"])
def test_features_of_arcs_by_loops(backbone: str) -> None:
    given, weight = graph(3), graph(3).den[:, 1]
    conv = network("weighted", "arcs with features", backbone=backbone, encoder="conv").encoder.conv
    matrix = conv.lin.weight if backbone == "gcn" else torch.eye(3, dtype=torch.float64)
    degree, total = torch.ones(7, dtype=torch.float64), given.x @ matrix.t()
    arcs = list(zip(*given.edge_index.tolist(), weight.tolist(), given.den, strict=True))
    for _, i, w, _ in arcs:
        degree[i] += w
    rows = list(total / degree[:, None] if backbone == "gcn" else total)
    for j, i, w, features in arcs:
        share = w / (degree[i] * degree[j]).sqrt() if backbone == "gcn" else w
        rows[i] = rows[i] + share * (total[j] + conv.lin_edge(features)).clamp(min=0)
    expected = torch.stack(rows) + conv.bias if backbone == "gcn" else conv.nn(torch.stack(rows))
    assert close(conv(given.x, given.edge_index, weight, given.den), expected)


def test_a_bias_of_attention_by_loops() -> None:
    given, net = graph(1), network("mdnn", "norm layer").layers[0].transformer
    x = torch.randn(7, 8, dtype=torch.float64)
    _, (tokens, weights) = net(x, given.edge_index, given.den, given.pe, return_attention=True)
    bias, net.bias = net.bias, None
    _, (_, without) = net(x, given.edge_index, given.den, given.pe, return_attention=True)
    arcs = given.edge_index.t().tolist()
    for node in range(7):
        mine = (tokens.query == node).nonzero().flatten()
        raised = []
        for token in mine.tolist():
            j = int(tokens.key[token])
            den = torch.zeros(2, dtype=torch.float64) if j == node else given.den[arcs.index([j, node])]
            raised.append(without[token] * (bias.weight @ den).exp())
        assert close(weights[mine], torch.stack(raised) / torch.stack(raised).sum(0))


def test_attention_with_a_bias_the_three_ways() -> None:
    given, x = graph(1), torch.randn(7, 8, dtype=torch.float64)
    outs = []
    for attention in ("bucketed", "padded", "varlen"):
        net = network("mdnn", "norm layer", transformer_layers=2, attention=attention)
        outs.append(net.layers[0].transformer(x, given.edge_index, given.den, given.pe))
    assert close(outs[1], outs[0])
    assert close(outs[2], outs[0])


def test_segments() -> None:
    values, index = torch.tensor([[1.0], [3.0], [-2.0]]), torch.tensor([2, 2, 0])
    assert segment_sum(values, index, 3).flatten().tolist() == [-2, 0, 4]
    assert segment_max(values, index, 3).flatten().tolist() == [-2, 0, 3]
    assert pool(values, index, 3, "mean+max+add").tolist() == [[-2, -2, -2], [0, 0, 0], [2, 3, 4]]
    assert torch.allclose(segment_softmax(values, index, 3)[:2], values[:2].softmax(0))
    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: segment_sum(x, index, 3), (x,))
    assert torch.autograd.gradcheck(lambda x: segment_softmax(x, index, 3), (x,))


def test_dropout_of_stacked_networks_depends_on_no_other() -> None:
    ones, layer = torch.ones(20_000), Dropout(0.5)
    assert list(layer.state_dict()) == []
    assert Dropout(0.0)(ones) is ones

    def dropped(rates: Tensor, factors: Tensor) -> Tensor:
        torch.manual_seed(0)
        one = lambda rate, factor: functional_call(layer, {"rate": rate, "factor": factor}, (ones,))  # noqa: E731
        return torch.vmap(one, randomness="same")(rates, factors)

    rates, factors = torch.tensor([0.5, 0.1, 0.8]), torch.tensor([1, -1640531527, 12345679], dtype=torch.int32)
    found = dropped(rates, factors)
    assert torch.allclose((found == 0).float().mean(1), rates, atol=0.02)
    assert torch.allclose(found.mean(1), torch.ones(3), atol=0.05)
    assert torch.equal(dropped(rates[1:], factors[1:]), found[1:])
    both = ((found[0] == 0) & (found[2] == 0)).float().mean()
    assert abs(both - 0.4) < 0.02  # as if drawn apart
    assert layer.eval()(ones) is ones


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("rate", [0.2, 0.9])
def test_dropout_in_any_precision(dtype: torch.dtype, rate: float) -> None:
    dropped = Dropout(rate).to(dtype)(torch.ones(20_000, dtype=dtype))
    assert dropped.dtype == dtype and abs((dropped == 0).double().mean() - rate) < 0.02
    assert abs(dropped.double().mean() - 1) < 0.1


@every_kind
def test_only_counted_nodes_make_statistics(kind: str) -> None:
    given, batch = joined([graph(seed) for seed in range(3)])
    first = graph(0)
    net = network(kind, "norm none", norm="batch", **({"token_norm": "batch"} if kind == "mdnn" else {})).train()
    other = copy.deepcopy(net)
    logits = apply(net, given, batch, num_graphs=3, counted=batch == 0)
    assert close(logits[:1], apply(other, first))
    for name, value in other.state_dict().items():
        assert close(net.state_dict()[name].double(), value.double()), name
    logits.sum().backward()
    before = copy.deepcopy(net.state_dict())
    none = apply(net, given, batch, num_graphs=3, counted=torch.zeros_like(batch, dtype=torch.bool))
    assert close(none, apply(net.eval(), given, batch, num_graphs=3))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"encoder": "fft"}, "encoder must be one of 'conv', 'linear', 'mlp', 'hops', but it is 'fft'"),
        ({"norm": "group"}, "norm must be one of 'batch', 'layer', 'none'"),
        ({"pool": "mean+sum", "pool_of": "states"}, "each part of pool must be one of 'mean', 'max', 'add'"),
        ({"pool": "mean+max"}, "pool_of must be 'states'"),
        ({"hops": 0}, "hops must be an integer of at least 1"),
        ({"dropout": 1.0}, "dropout must be a number of at least 0 and below 1"),
        ({"layers": 3}, "no option 'layers'.*; it has num_layers"),
        ({"gate": "no"}, "^gate must be True or False, but it is 'no'"),
        ({"skip": "no"}, "^skip must be True or False, but it is 'no'"),
        ({"pool": None}, "^each part of pool must be one of 'mean', 'max', 'add', but it is None"),
        ({"pool": "max+max", "pool_of": "states"}, "^pool must name each part once, but it is 'max"),
    ],
)
def test_wrong_options(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        PlainNetwork(3, 4, 5, **wrong)


def test_the_options_of_mdnn_are_named_with_its_own() -> None:
    with pytest.raises(
        InputError, match=r"^MDNN has no option 'foo'; it has transformer_layers, heads, .*, num_layers, "
    ):
        MDNN(13, 16, 2, foo=1)
    with pytest.raises(InputError, match=r"^PlainNetwork has no option 'heads' \(did you mean 'head'\?\); it has num_"):
        PlainNetwork(13, 16, 2, heads=2)
    with pytest.raises(InputError, match=r"^a network has no option 'foo'; it has num_layers, "):
        NetworkOptions.of({"foo": 1})
    with pytest.raises(InputError, match=r"^MDNN has no option 'detour_gates' \(did you mean 'detour_gate'\?\)"):
        MDNN(13, 16, 2, detour_gates=True)


@pytest.mark.parametrize("made", [MDNN, PlainNetwork, WeightedNetwork])
def test_arcs_end_at_nodes(made: Any) -> None:
    with pytest.raises(InputError, match=r"^edge_index names the nodes 1 to 3, but x with 3 rows allows 0 to 2\.$"):
        made(4, 8, 2)(torch.ones(3, 4), torch.tensor([[1, 3], [3, 1]]), torch.ones(2))


@pytest.mark.parametrize("name", ["use_den", "den_bias", "detour_gate"])
def test_flags_of_mdnn(name: str) -> None:
    with pytest.raises(InputError, match=f"^{name} must be True or False, but it is 'no'"):
        MDNN(4, 8, 2, **{name: "no"})


@pytest.mark.parametrize("made", [MDNN, PlainNetwork, WeightedNetwork])
def test_sizes_are_positive_integers(made: Any) -> None:
    names = ("in_channels", "hidden_channels", "out_channels")
    for place, name in enumerate(names):
        for wrong in (0, -3, "3", 2.5):
            sizes: list[Any] = [13, 16, 2]
            sizes[place] = wrong
            with pytest.raises(InputError, match=f"^{name} must be an integer of at least 1, but it is {wrong!r}.$"):
                made(*sizes)


@pytest.mark.parametrize(
    ("name", "wrong", "least"),
    [
        *[("transformer_layers", 0, 1), ("heads", 0, 1), ("feed_forward", 0, 1), ("heads", "2", 1)],
        *[("den_channels", -1, 0), ("pe_channels", -1, 0)],
    ],
)
def test_sizes_of_mdnn(name: str, wrong: Any, least: int) -> None:
    with pytest.raises(InputError, match=f"^{name} must be an integer of at least {least}, but it is {wrong!r}.$"):
        MDNN(13, 16, 2, **{name: wrong})


def test_truth_values_name_norms() -> None:
    assert (NetworkOptions(norm=True), NetworkOptions(norm=False)) == (NetworkOptions(), NetworkOptions(norm="none"))


def test_features_of_arcs_must_be_there() -> None:
    given, net = graph(1), network("plain", "arcs with features")
    with pytest.raises(InputError, match=r"edge_attr must have the shape .* but it is missing"):
        net(given.x, given.edge_index)


def test_every_dropout_is_listed_as_one() -> None:
    """Otherwise, results would depend on which folds are trained together."""
    numbers = [
        field.name for field in fields(NetworkOptions) if isinstance(getattr(NetworkOptions(), field.name), float)
    ]
    for name in numbers:
        net = MDNN(3, 4, 2, "gin", pe_channels=0, **{name: 0.5})
        drops = any(float(module.p) > 0 for module in net.modules() if isinstance(module, Dropout))
        assert drops == (name in DROPOUTS), name
    assert set(numbers) >= set(DROPOUTS)
