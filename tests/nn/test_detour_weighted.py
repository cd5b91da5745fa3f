"""`DetourWeighted` against loops over the arcs, and what it promises of any convolution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch_geometric")

import torch
from torch import Tensor, nn
from torch_geometric import nn as pyg

from detours.errors import InputError
from detours.nn import MDNN
from detours.nn.backbones import BACKBONES, convolution
from detours.nn.convolutions import GCN, GIN
from detours.nn.detour_weighted import DetourWeighted, Weighting
from tests.oracles import convolutions as naive
from tests.strategies import SmallGraph, small_graphs

IN, OUT = 3, 4
WEIGHTS = torch.tensor([1.0, 2.0, 0.0, 5.0, 3.0, 0.5], dtype=torch.float64)
EDGES = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])


def layer_of(backbone: str) -> DetourWeighted:
    torch.manual_seed(7)
    return DetourWeighted(convolution(backbone, IN, OUT, weighted=True)).double()


def loops(layer: DetourWeighted, x: Tensor, edge_index: Tensor, weight: Tensor | None) -> np.ndarray:
    """One branch by loops; the plain one without a weight."""
    conv, arcs = layer.conv, [(j, i) for j, i in edge_index.T.tolist()]
    own = {name: value.detach().numpy() for name, value in conv.state_dict().items()}
    if isinstance(conv, GCN):
        weights = [1.0] * len(arcs) if weight is None else weight.tolist()
        return naive.gcn(x.numpy(), arcs, weights, own["lin.weight"], own["bias"])
    if isinstance(conv, GIN):
        weights = [1.0] * len(arcs) if weight is None else weight.tolist()
        network = naive.two_layers((own["nn.0.weight"], own["nn.0.bias"]), (own["nn.2.weight"], own["nn.2.bias"]))
        return naive.gin(x.numpy(), arcs, weights, network, own["eps"].item())
    attention = tuple(own[f"att_{end}"].ravel() for end in ("src", "dst", "edge"))
    features = [0.0] * len(arcs) if weight is None else weight.tolist()
    return naive.gat(x.numpy(), arcs, features, own["lin.weight"], attention, own["lin_edge.weight"], own["bias"])


@pytest.mark.parametrize("backbone", BACKBONES)
@settings(max_examples=25)
@given(graph=small_graphs(), seed=st.integers(0, 2**31))
def test_both_branches_equal_loops_over_the_arcs(backbone: str, graph: SmallGraph, seed: int) -> None:
    layer, random = layer_of(backbone), torch.Generator().manual_seed(seed)
    for parameter in layer.parameters():  # biases begin at zero, where a forgotten one would not show
        nn.init.normal_(parameter, generator=random)
    if backbone == "gin":
        layer.conv.eps.fill_(0.3)
    edge_index = torch.from_numpy(graph.edge_index)
    x = torch.randn(graph.num_nodes, IN, generator=random, dtype=torch.float64)
    weight = torch.randint(0, 6, (edge_index.size(1),), generator=random).double()
    with torch.no_grad():
        plain, weighted = layer.branches(x, edge_index, weight)
    np.testing.assert_allclose(plain.numpy(), loops(layer, x, edge_index, None), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted.numpy(), loops(layer, x, edge_index, weight), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_the_output_is_both_branches_side_by_side(backbone: str) -> None:
    layer, x = layer_of(backbone), torch.randn(3, IN, dtype=torch.float64)
    joined = layer(x, EDGES, WEIGHTS)
    assert joined.shape == (3, 2 * OUT)
    assert torch.equal(joined, torch.cat(layer.branches(x, EDGES, WEIGHTS), dim=1))
    assert not torch.allclose(joined[:, :OUT], joined[:, OUT:])


@pytest.mark.parametrize("backbone", BACKBONES)
def test_renaming_the_nodes_and_shuffling_the_arcs_changes_nothing_else(backbone: str) -> None:
    layer, x = layer_of(backbone), torch.randn(3, IN, dtype=torch.float64)
    new_name, arcs = torch.tensor([2, 0, 1]), torch.randperm(6)
    moved = torch.empty_like(x)
    moved[new_name] = x
    again = layer(moved, new_name[EDGES][:, arcs], WEIGHTS[arcs])
    torch.testing.assert_close(again[new_name], layer(x, EDGES, WEIGHTS), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_the_branches_share_their_parameters(backbone: str) -> None:
    conv = convolution(backbone, IN, OUT, weighted=True)
    layer = DetourWeighted(conv)
    assert list(map(id, layer.parameters())) == list(map(id, conv.parameters()))
    assert set(layer.state_dict()) == {f"conv.{name}" for name in conv.state_dict()}


@pytest.mark.parametrize("backbone", BACKBONES)
def test_every_parameter_is_used(backbone: str) -> None:
    layer = layer_of(backbone)
    layer(torch.randn(3, IN, dtype=torch.float64), EDGES, WEIGHTS).square().sum().backward()
    assert [name for name, parameter in layer.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize("backbone", ["gcn", "gin"])
def test_weights_of_one_are_the_plain_graph(backbone: str) -> None:
    plain, weighted = layer_of(backbone).branches(torch.randn(3, IN, dtype=torch.float64), EDGES, torch.ones(6))
    torch.testing.assert_close(plain, weighted, rtol=1e-12, atol=1e-12)


def test_features_of_zero_are_the_plain_branch_of_gat() -> None:
    plain, weighted = layer_of("gat").branches(torch.randn(3, IN, dtype=torch.float64), EDGES, torch.zeros(6))
    assert torch.equal(plain, weighted)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_gradients_are_those_of_finite_differences(backbone: str) -> None:
    layer = layer_of(backbone)
    x = torch.randn(3, IN, dtype=torch.float64, requires_grad=True)
    weight = (WEIGHTS + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, weight: layer(x, EDGES, weight), (x, weight))


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("nodes", [0, 1, 4])
def test_nodes_without_arcs_get_their_own_message(backbone: str, nodes: int) -> None:
    layer, x = layer_of(backbone), torch.randn(nodes, IN, dtype=torch.float64)
    plain, weighted = layer.branches(x, torch.empty(2, 0, dtype=torch.long), torch.empty(0))
    assert plain.shape == (nodes, OUT)
    assert torch.equal(plain, weighted)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_weights_of_zero_leave_every_node_itself(backbone: str) -> None:
    layer, x = layer_of(backbone), torch.randn(3, IN, dtype=torch.float64)
    weighted = layer.branches(x, EDGES, torch.zeros(6))[1]
    assert weighted.isfinite().all()
    if backbone != "gat":
        alone = layer.branches(x, torch.empty(2, 0, dtype=torch.long), torch.empty(0))[1]
        torch.testing.assert_close(weighted, alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("backbone", BACKBONES)
def test_exact_counts_and_columns_are_taken_as_weights(backbone: str) -> None:
    layer, x = layer_of(backbone), torch.randn(3, IN, dtype=torch.float64)
    counts = torch.tensor([3, 0, 1, 2**40, 7, 2])
    assert torch.equal(layer(x, EDGES, counts), layer(x, EDGES, counts.double().view(-1, 1)))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_autocast_and_half_precision_inputs(backbone: str) -> None:
    layer = layer_of(backbone).float()
    x, weight = torch.randn(3, IN), WEIGHTS.float()
    exact = layer(x, EDGES, weight)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = layer(x.bfloat16(), EDGES, weight)
    torch.testing.assert_close(rough.float(), exact, rtol=0.1, atol=0.1)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize(
    ("conv", "edge_channels"),
    [
        (GCN(IN, OUT), 0),
        (GCN(IN, OUT, 2), 2),
        (pyg.GCNConv(IN, OUT), 0),
        (pyg.ChebConv(IN, OUT, K=2), 0),
        (pyg.GraphConv(IN, OUT), 0),
        (pyg.GINConv(nn.Linear(IN, OUT)), 0),
        (pyg.GATConv(IN, OUT, edge_dim=3), 2),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else str(value),
)
def test_the_output_has_the_type_of_x(
    conv: nn.Module, edge_channels: int, wide: torch.dtype, dtype: torch.dtype
) -> None:
    layer, x, weight = DetourWeighted(conv, edge_channels).float(), torch.rand(3, IN), WEIGHTS.to(wide)
    edge_attr = torch.rand(6, edge_channels, dtype=torch.float64) if edge_channels else None
    exact = layer.double()(x.double(), EDGES, weight, edge_attr)
    rough = layer.to(dtype)(x.to(dtype), EDGES, weight, edge_attr)
    assert rough.dtype == dtype
    torch.testing.assert_close(rough.double(), exact, rtol=0.05, atol=0.05)


def test_gin_keeps_its_flow_and_aggregation() -> None:
    against = DetourWeighted(pyg.GINConv(nn.Identity(), flow="target_to_source")).double()
    x = torch.randn(3, IN, dtype=torch.float64)
    along = DetourWeighted(pyg.GINConv(nn.Identity())).double()
    assert torch.equal(against(x, EDGES, WEIGHTS), along(x, EDGES.flip(0), WEIGHTS))
    mean = DetourWeighted(pyg.GINConv(nn.Identity(), eps=-1.0, aggr="mean")).double()
    torch.testing.assert_close(2 * mean(x, EDGES, WEIGHTS) + torch.cat([x, x], 1), along(x, EDGES, WEIGHTS))


@pytest.mark.parametrize(
    ("conv", "way"),
    [
        (pyg.GCNConv(IN, OUT), Weighting.WEIGHT),
        (pyg.GraphConv(IN, OUT), Weighting.WEIGHT),
        (pyg.TAGConv(IN, OUT), Weighting.WEIGHT),
        (pyg.ChebConv(IN, OUT, K=2), Weighting.WEIGHT),
        (pyg.GATv2Conv(IN, OUT, edge_dim=1), Weighting.FEATURE),
        (pyg.TransformerConv(IN, OUT, edge_dim=1), Weighting.FEATURE),
        (pyg.GINEConv(nn.Sequential(nn.Linear(IN, OUT)), edge_dim=1), Weighting.FEATURE),
        (pyg.GENConv(IN, OUT, edge_dim=1), Weighting.FEATURE),
        (pyg.NNConv(IN, OUT, nn.Linear(1, IN * OUT)), Weighting.FEATURE),
        (pyg.GeneralConv(IN, OUT, in_edge_channels=1), Weighting.FEATURE),
        (pyg.GMMConv(IN, OUT, dim=1, kernel_size=2), Weighting.FEATURE),
        (pyg.PDNConv(IN, OUT, edge_dim=1, hidden_channels=4), Weighting.FEATURE),
        (pyg.GINConv(nn.Linear(IN, OUT)), Weighting.SUM),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_convolutions_of_pyg(conv: nn.Module, way: Weighting) -> None:
    layer = DetourWeighted(conv)
    assert layer.weighting is way
    torch.manual_seed(0)
    layer.reset_parameters()
    plain, weighted = layer.branches(torch.randn(3, IN), EDGES, WEIGHTS.float())
    assert plain.shape == weighted.shape == (3, OUT)
    assert not torch.allclose(plain, weighted)


def test_convolutions_whose_width_is_bound_to_another() -> None:
    for conv, width in ((pyg.CGConv(IN, dim=1), IN), (pyg.GENConv(IN, 1, edge_dim=1), 1)):
        assert DetourWeighted(conv)(torch.randn(3, IN), EDGES, WEIGHTS.float()).shape == (3, 2 * width)


class NeedsWeight(GCN):
    """A convolution that cannot be called without weights."""

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        return super().forward(x, edge_index, edge_weight)


class OwnFeatures(nn.Module):
    """A convolution that says nothing of the width of its edge features."""

    def __init__(self) -> None:
        super().__init__()
        self.of_nodes, self.of_arcs = nn.Linear(IN, OUT), nn.Linear(1, OUT)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        assert edge_attr is not None
        return self.of_nodes(x).index_add(0, edge_index[1], self.of_arcs(edge_attr))


def test_the_plain_branch_of_a_convolution_that_needs_weights_has_ones() -> None:
    layer, x = DetourWeighted(NeedsWeight(IN, OUT)).double(), torch.randn(3, IN, dtype=torch.float64)
    for found, weight in zip(layer.branches(x, EDGES, WEIGHTS), (torch.ones(6), WEIGHTS), strict=True):
        arcs, own = [(j, i) for j, i in EDGES.T.tolist()], layer.conv.state_dict()
        expected = naive.gcn(x.numpy(), arcs, weight.tolist(), own["lin.weight"].numpy(), own["bias"].numpy())
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-9, atol=1e-9)


def test_a_convolution_of_ones_own_reads_the_weight_as_a_feature() -> None:
    layer, x = DetourWeighted(OwnFeatures()), torch.randn(3, IN)
    plain, weighted = layer.branches(x, EDGES, WEIGHTS.float())
    assert torch.equal(plain, layer.conv(x, EDGES, torch.zeros(6, 1)))
    assert torch.equal(weighted, layer.conv(x, EDGES, WEIGHTS.float().view(-1, 1)))


class OwnMessages(pyg.GINConv):
    """A GIN whose messages are not the neighbours themselves, so that our sum would not be its own."""

    def message(self, x_j: Tensor) -> Tensor:
        return x_j.relu()


@pytest.mark.parametrize(
    ("conv", "sentence"),
    [
        (pyg.SAGEConv(IN, OUT), "SAGEConv takes neither edge_weight nor edge_attr"),
        (OwnMessages(nn.Linear(IN, OUT)), "OwnMessages takes neither"),
        (nn.Linear(IN, OUT), "Linear takes neither"),
        (pyg.GATConv(IN, OUT), r"GATConv has edge_dim=None.*create it with edge_dim=1"),
        (pyg.GATv2Conv(IN, OUT, edge_dim=3), "GATv2Conv has edge_dim=3"),
        (pyg.GINEConv(nn.Linear(IN, OUT)), "GINEConv has edge_dim=None"),
        (pyg.GCNConv(IN, OUT, cached=True), "cached=False"),
        (nn.Sequential(pyg.GCNConv(IN, OUT, cached=True)), "cached=False"),
        (pyg.GCN(IN, OUT, 1, cached=True), "cached=False"),
        (pyg.models.GIN(IN, OUT, 1), "GIN takes neither edge_weight nor edge_attr"),
        (pyg.models.GraphSAGE(IN, OUT, 1), "GraphSAGE takes neither"),
        (pyg.models.GAT(IN, OUT, 1), "GAT has edge_dim=None.*create it with edge_dim=1"),
        (pyg.GCN2Conv(OUT, alpha=0.1), "GCN2Conv needs x_0 in addition to x and edge_index"),
        (pyg.FAConv(IN), "FAConv needs x_0 in addition to x and edge_index"),
        (pyg.GENConv(IN, OUT), "GENConv has edge_dim=None.*create it with edge_dim=1"),
        (pyg.GENConv(IN, OUT, edge_dim=2), "GENConv has edge_dim=2"),
        (pyg.CGConv(IN), "CGConv has dim=0.*create it with dim=1"),
        (pyg.GeneralConv(IN, OUT), "GeneralConv has in_edge_channels=None.*create it with in_edge_channels=1"),
        (pyg.GCNConv, "^conv must be a convolution, but it is the class GCNConv; create an instance first"),
        ("gcn", "^conv must be a convolution, a torch module, but 'gcn' was given"),
        (pyg.FiLMConv(IN, OUT), "FiLMConv takes neither"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_convolution_that_cannot_be_weighted_is_refused(conv: nn.Module, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        DetourWeighted(conv)


class OwnConvolution(nn.Module):  # type: ignore[misc]
    """A module of one's own, without `reset_parameters`."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        found: Tensor = self.lin(x) if edge_weight is None else self.lin(x) * edge_weight.sum()
        return found


@pytest.mark.parametrize(
    "network", [DetourWeighted(OwnConvolution(IN, OUT)), MDNN(IN, OUT, 2, OwnConvolution, heads=1)]
)
def test_parameters_of_own_modules_are_drawn_anew(network: nn.Module) -> None:
    (own,) = [each for each in network.modules() if isinstance(each, OwnConvolution)][:1]
    before = own.lin.weight.clone()
    network.reset_parameters()
    assert not torch.equal(own.lin.weight, before)


@pytest.mark.parametrize(("model", "options"), [(pyg.models.GCN, {}), (pyg.models.GAT, {"edge_dim": 1})])
def test_models_of_pyg_are_weighted(model: type[nn.Module], options: dict[str, int]) -> None:
    # fixed parameters, and a node with two arcs: attention to a single one need not change with its weight, and units
    # that a ReLU switches off hide any change
    torch.manual_seed(0)
    edge_index, weight = torch.tensor([[0, 1, 2, 1], [1, 2, 0, 0]]), torch.tensor([0.5, 2, 3, 0.1])
    network = DetourWeighted(model(IN, OUT, 2, **options))
    plain, weighted = network(torch.randn(3, IN), edge_index, weight).chunk(2, 1)
    assert not torch.allclose(plain, weighted)


@pytest.mark.parametrize(
    ("conv", "sentence"),
    [
        (pyg.GINConv(nn.Linear(IN, OUT)), "GINConv takes no edge_attr, but edge_channels=2; take 0, or GINEConv with "),
        (pyg.GCNConv(IN, OUT), "GCNConv takes no edge_attr, but edge_channels=2; take 0"),
        (GCN(IN, OUT), "GCN has edge_dim=None, but edge_channels=2; create it with edge_dim=2"),
        (pyg.GATConv(IN, OUT, edge_dim=2), "GATConv has edge_dim=2.*create it with edge_dim=3"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_convolution_that_cannot_see_features_of_arcs_is_refused(conv: nn.Module, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{sentence}"):
        DetourWeighted(conv, edge_channels=2)


def test_features_of_arcs_that_do_not_fit() -> None:
    x, weight, features = torch.randn(3, IN), WEIGHTS.float(), torch.ones(6, 2)
    for conv in (pyg.GCNConv(IN, OUT), pyg.GINConv(nn.Linear(IN, OUT)), pyg.GATConv(IN, OUT, edge_dim=1)):
        with pytest.raises(InputError, match=r"^edge_attr was given, but edge_channels=0; give edge_channels=2 and "):
            DetourWeighted(conv)(x, EDGES, weight, features)
    layer = DetourWeighted(pyg.GATConv(IN, OUT, edge_dim=3), 2)
    for wrong, said in ((None, "missing"), (torch.ones(6, 3), r"of the shape \(6, 3\)")):
        with pytest.raises(InputError, match=rf"^edge_attr must have the shape \(6, 2\), .* but it is {said}.$"):
            layer(x, EDGES, weight, wrong)


def test_missing_weights_are_refused() -> None:
    with pytest.raises(InputError, match=r"^weight is missing; .* see AddDetourWeights.$"):
        DetourWeighted(pyg.GCNConv(IN, OUT))(torch.randn(3, IN), EDGES, None)


def test_weights_by_length_are_refused() -> None:
    with pytest.raises(InputError, match=r"one value for each of the 6 arcs, but its shape is \(6, 3\)"):
        layer_of("gcn")(torch.randn(3, IN, dtype=torch.float64), EDGES, torch.ones(6, 3))


def test_repr() -> None:
    assert repr(DetourWeighted(pyg.GCNConv(3, 4))) == "DetourWeighted(\n  (conv): GCNConv(3, 4)\n)"
