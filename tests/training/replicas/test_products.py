"""The layout of stacked networks on a CUDA device, tried on the CPU: it changes no results."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from detours.nn import MDNN, PlainNetwork, WeightedNetwork, functional
from detours.nn.tokens import Tokens, attention
from detours.nn.tokens.products import TINY
from detours.training.replicas import products
from detours.training.replicas.stack import Stack
from tests.nn.cases import star_and_crowd

NODES, REPLICAS = 300, 3

NETWORKS: list[tuple[Any, dict[str, Any]]] = [
    (PlainNetwork, {}),
    (PlainNetwork, {"backbone": "gat", "jump": "cat"}),
    (WeightedNetwork, {"backbone": "gcn"}),
    (WeightedNetwork, {"backbone": "gat", "edge_channels": 2}),
    (MDNN, {}),
    (MDNN, {"edge_channels": 2, "jump": "cat", "pool": "mean+max+add", "pool_of": "states", "head": "mlp"}),
    (MDNN, {"heads": 4}),  # sums on a CPU, products on a CUDA device
    (MDNN, {"heads": 4, "transformer_layers": 2, "attention": "padded"}),
    (MDNN, {"den_bias": True, "backbone": "gcn"}),
    (MDNN, {"detour_gate": True}),
]


def _lay_rows_first(patch: pytest.MonkeyPatch, chosen: bool) -> None:
    for module in (functional, attention, products):
        patch.setattr(module, "rows_first", lambda _: chosen)


def _outputs_and_gradients(
    kind: Any,
    options: dict[str, Any],
    nodes: int = NODES,
    dtype: torch.dtype = torch.float64,
    linear_dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    half = torch.randint(nodes, (2, 2 * nodes))
    half = half[:, half[0] != half[1]].unique(dim=1)
    arcs = torch.cat([half, half.flip(0)], dim=1).unique(dim=1)
    x, pe, den = (torch.randn(size, dtype=dtype) for size in ((nodes, 6), (nodes, 4), (arcs.size(1), 2)))
    if kind is MDNN:
        options = {**options, "den_channels": 2, "pe_channels": 4}
    networks = [kind(6, 16, 3, dropout=0.3, **options) for _ in range(REPLICAS)]
    for name, each in ((name, each) for network in networks for name, each in network.named_parameters()):
        if name.endswith("detour_gate"):
            torch.nn.init.constant_(each, 0.5)  # open, so that what is behind it has gradients
    stack = Stack(networks, torch.device("cpu"), dtype)
    for name in stack.buffers:
        if name.endswith(".factor"):
            stack.buffers[name] = torch.tensor([1, 3, 5], dtype=torch.int32)
    counted = torch.rand(REPLICAS, nodes) > 0.2
    edge_attr = den if "edge_channels" in options else None
    leaves = [each.detach().requires_grad_() for each in stack.leaves(stack.flat, linear_dtype)]
    stack.network.train()

    def call(counted: Tensor) -> Any:
        named = {"pe": pe, "batch": torch.arange(nodes) // 30, "num_graphs": nodes // 30, "counted": counted}
        return (x, arcs, den if kind is MDNN else den[:, 0].abs()), {**named, "edge_attr": edge_attr}

    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.float32):
        outputs = stack.forward(leaves, call, counted)
    gradients = torch.autograd.grad((outputs * torch.randn(outputs.shape)).sum(), leaves)
    return outputs.detach(), torch.cat([each.to(dtype) for each in gradients], dim=1)


@pytest.mark.parametrize(("kind", "options"), NETWORKS)
def test_both_layouts_give_the_same(kind: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    _lay_rows_first(monkeypatch, False)
    outputs, gradients = _outputs_and_gradients(kind, options)
    _lay_rows_first(monkeypatch, True)
    other_outputs, other_gradients = _outputs_and_gradients(kind, options)
    torch.testing.assert_close(other_outputs, outputs, rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(other_gradients, gradients, rtol=1e-10, atol=1e-10)
    assert gradients.abs().max() > 0


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # on a CPU that has no such products
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("kind", "options"), NETWORKS)
def test_maps_cast_at_once(kind: Any, options: dict[str, Any], first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    _lay_rows_first(monkeypatch, first)
    outputs, gradients = _outputs_and_gradients(kind, options, 60, torch.float32)
    other_outputs, other_gradients = _outputs_and_gradients(kind, options, 60, torch.float32, torch.bfloat16)
    torch.testing.assert_close(other_outputs, outputs, rtol=0, atol=0)
    error = 1e-2 if kind is WeightedNetwork else 0  # which uses each matrix twice, and sums its gradients
    torch.testing.assert_close(other_gradients, gradients, rtol=error, atol=error)
    assert gradients.abs().max() > 0


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
@pytest.mark.parametrize("shared", [False, True])
def test_gradients_of_biases_are_not_rounded(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    _lay_rows_first(monkeypatch, True)
    rows = 1001  # in bfloat16 it would be 1000
    x = torch.zeros(rows, 4) if shared else torch.zeros(REPLICAS, rows, 4)
    weight, bias = torch.zeros(REPLICAS, 5, 4), torch.zeros(REPLICAS, 5, requires_grad=True)
    linear = torch.vmap(products.stacked_linear, in_dims=(None if shared else 0, 0, 0))
    with torch.autocast("cpu", torch.bfloat16):
        outputs = linear(x, weight, bias)
    assert outputs.dtype == torch.bfloat16
    assert torch.autograd.grad(outputs.float().sum(), bias)[0].eq(rows).all()


cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # of the fused kernel of the CPU
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("device", "first"), [("cpu", False), ("cpu", True), pytest.param("cuda", True, marks=cuda)])
def test_attention_in_large_sets(device: str, first: bool, biased: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Padded sets of more tokens than the network itself takes two products for, with a bias that learns."""
    _lay_rows_first(monkeypatch, first)
    tokens = Tokens.of(*star_and_crowd(leaves=80)).to(device)
    assert any(bucket.mixed and bucket.size > TINY for bucket in tokens.buckets)
    shapes = ((REPLICAS, tokens.num_tokens, 3, 2, 8), (REPLICAS, tokens.num_tokens, 2))
    given = [torch.randn(shape, device=device, requires_grad=True) for shape in shapes]

    def attended(qkv: Tensor, bias: Tensor) -> Tensor:
        return attention.attend(qkv, tokens, "bucketed", bias if biased else None)

    def together() -> Tensor:
        with products.BatchedProducts():
            return torch.vmap(attended)(*given)

    separate = torch.stack([attended(*each) for each in zip(*given, strict=True)])
    learned = together()  # with gradients
    with torch.no_grad():
        torch.testing.assert_close(together(), separate, rtol=0, atol=1e-4)
    torch.testing.assert_close(learned, separate, rtol=0, atol=1e-4)
    for each in given[: 1 + biased]:
        gradients = [torch.autograd.grad(out.square().sum(), each, retain_graph=True)[0] for out in (learned, separate)]
        torch.testing.assert_close(*gradients, rtol=0, atol=1e-3)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("rows", [1, 5, 257, 1031])
def test_divided_sums_are_the_sum(rows: int, shared: bool) -> None:
    grad = torch.randn(rows, 3, 7, dtype=torch.float64).transpose(0, 1)
    x = torch.randn(rows, 3, 5, dtype=torch.float64).transpose(0, 1)
    x = x[0].expand(3, rows, 5) if shared else x
    expected = torch.einsum("rno,rni->roi", grad, x)
    torch.testing.assert_close(products.weight_gradient(x, grad), expected)
    torch.testing.assert_close(products.weight_gradient(x.contiguous(), grad.contiguous()), expected)


def test_rows_of_the_result_are_contiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    _lay_rows_first(monkeypatch, True)

    def forward(weight: Tensor) -> Tensor:
        with products.BatchedProducts():
            x = torch.nn.functional.linear(torch.ones(11, 4), weight)
            return torch.cat([x.relu_(), x], dim=1)

    output = torch.vmap(forward)(torch.randn(3, 2, 4))
    assert output.shape == (3, 11, 4)
    assert output.transpose(0, 1).is_contiguous()


def test_parameters_are_aligned() -> None:
    networks = [torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 1)) for _ in range(2)]
    stack = Stack(networks, torch.device("cpu"), torch.float32)
    assert stack.num_parameters == 15 + 5 + 5 + 1
    assert stack.flat.size(1) == 16 + 16 + 16 + 16
    views = stack.parameters(stack.flat)
    assert all((view.data_ptr() - stack.flat.data_ptr()) % 64 == 0 for view in views.values())
    assert torch.equal(views["1.weight"][1], networks[1][1].weight)
    assert torch.equal(stack.weights(1)["0.bias"], networks[1][0].bias)
