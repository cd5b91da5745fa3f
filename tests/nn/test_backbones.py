"""Convolutions by name, class or function."""

from collections.abc import Callable

import pytest

pytest.importorskip("torch_geometric")

import torch
from torch import nn
from torch_geometric import nn as pyg
from torch_geometric.typing import OptTensor

from detours.errors import InputError
from detours.nn.backbones import BACKBONES, convolution

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("backbone", [*BACKBONES, "GIN", pyg.GCNConv, pyg.GINConv, pyg.GATv2Conv, pyg.GraphConv])
def test_names_and_classes(backbone: str | type[nn.Module], weighted: bool) -> None:
    conv = convolution(backbone, 3, 5, weighted=weighted)
    expected = BACKBONES[backbone.lower()] if isinstance(backbone, str) else backbone
    assert type(conv) is expected
    assert conv(torch.randn(3, 3), EDGES).shape == (3, 5)


def test_a_function_makes_its_own() -> None:
    conv = convolution(lambda i, o: pyg.GATConv(i, o // 2, heads=2, edge_dim=1), 3, 6, weighted=True)
    assert (conv.heads, conv.out_channels) == (2, 3)


def test_heads_side_by_side_must_have_the_width_of_the_layer() -> None:
    with pytest.raises(InputError, match=r"should return 6 columns, but .* returns 2 heads of 6 columns; divide"):
        convolution(lambda i, o: pyg.GATConv(i, o, heads=2), 3, 6)
    assert convolution(lambda i, o: pyg.GATConv(i, o, heads=2, concat=False), 3, 6).heads == 2


@pytest.mark.parametrize("kind", [pyg.GATConv, pyg.GATv2Conv, pyg.TransformerConv, pyg.ResGatedGraphConv, pyg.GENConv])
def test_a_function_must_make_convolutions_for_the_features_of_arcs(kind: type[nn.Module]) -> None:
    """PyG ignores edge_attr where edge_dim was not given."""
    sentence = f"^{kind.__name__} has edge_dim=None, but edge_channels=2; create it with edge_dim=2.$"
    with pytest.raises(InputError, match=sentence):
        convolution(lambda i, o: kind(i, o), 3, 5, edge_channels=2)
    x, features = torch.randn(3, 3), torch.randn(4, 2)
    for made in (
        convolution(lambda i, o: kind(i, o, edge_dim=2), 3, 5, edge_channels=2),
        convolution(kind, 3, 5, edge_channels=2),
    ):
        assert not torch.equal(made(x, EDGES, edge_attr=features), made(x, EDGES, edge_attr=2 * features))
    own = convolution(lambda i, o: pyg.GINEConv(nn.Linear(i, o)), 3, 5, edge_channels=3)  # as wide as x
    assert own(x, EDGES, edge_attr=torch.randn(4, 3)).shape == (3, 5)


def test_the_width_of_gine_is_checked() -> None:
    def gine(width: int | None) -> Callable[[int, int], nn.Module]:
        return lambda i, o: pyg.GINEConv(nn.Linear(i, o), edge_dim=width)

    class Own(pyg.GINEConv):  # type: ignore[misc]
        def message(self, x_j: torch.Tensor, edge_attr: OptTensor) -> torch.Tensor:
            return x_j if edge_attr is None else x_j * edge_attr[:, :1]

    class Encoded(pyg.GINEConv):  # type: ignore[misc]
        def __init__(self, network: nn.Module) -> None:
            super().__init__(network)
            self.encode = nn.Linear(3, 5)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor) -> torch.Tensor:
            return super().forward(x, edge_index, self.encode(edge_attr))

    encoded = convolution(lambda i, o: Encoded(nn.Linear(i, o)), 5, 6, edge_channels=3)
    assert encoded(torch.randn(3, 5), EDGES, edge_attr=torch.ones(4, 3)).shape == (3, 6)
    for edge_channels, features in ((3, torch.ones(4, 3)), (0, None)):
        own = convolution(lambda i, o: Own(nn.Linear(i, o)), 5, 6, edge_channels=edge_channels)
        assert own(torch.randn(3, 5), EDGES, edge_attr=features).shape == (3, 6)
    fitting = convolution(gine(3), 5, 6, edge_channels=3)
    assert fitting(torch.randn(3, 5), EDGES, edge_attr=torch.ones(4, 3)).shape == (3, 6)
    for width in (4, None):  # without edge_dim, features must be as wide as x
        sentence = f"^GINEConv has edge_dim={width}, but edge_channels=3; create it with edge_dim=3.$"
        with pytest.raises(InputError, match=sentence):
            convolution(gine(width), 5, 6, edge_channels=3)
        with pytest.raises(InputError, match=r"^GINEConv needs edge_attr, but edge_channels=0; .*\.$"):
            convolution(gine(width), 5, 6)


def test_a_plain_convolution_has_no_parameter_that_nothing_uses() -> None:
    for backbone in BACKBONES:
        conv = convolution(backbone, 3, 5)
        conv(torch.randn(3, 3), EDGES).square().sum().backward()
        assert [name for name, parameter in conv.named_parameters() if parameter.grad is None] == []


def test_weights_add_only_what_reads_them() -> None:
    def size(backbone: str, weighted: bool) -> int:
        return sum(p.numel() for p in convolution(backbone, 3, 5, weighted=weighted).parameters())

    assert {backbone: size(backbone, True) - size(backbone, False) for backbone in BACKBONES} == {
        "gcn": 0,
        "gat": 2 * 5,
        "gin": 0,
    }


def test_gin_holds_two_layers_and_no_batch_norm() -> None:
    assert [type(part) for part in convolution("gin", 3, 5).nn] == [nn.Linear, nn.ReLU, nn.Linear]


@pytest.mark.parametrize(
    ("backbone", "weighted", "sentence"),
    [
        ("sage", False, r'no backbone \'sage\'; give "gcn", "gat", "gin", a PyG convolution class'),
        (7, False, "no backbone 7"),
        (lambda i, o: None, False, "should return a torch module, but .* returned None"),
        (pyg.SAGEConv, True, "SAGEConv takes neither"),
        (pyg.GATConv(3, 5), False, "already a module"),
        (
            pyg.ChebConv,
            False,
            r"ChebConv is built with \(in_channels, out_channels, K\), not with .*lambda i, o: ChebConv",
        ),
        (pyg.GINEConv, False, r"GINEConv is built with \(nn\), not with \(in_channels, out_channels\)"),
        (nn.Bilinear, False, r"Bilinear is built with \(in1_features, in2_features, out_features\)"),
    ],
)
def test_what_cannot_be_used_is_refused(backbone: object, weighted: bool, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        convolution(backbone, 3, 5, weighted=weighted)
