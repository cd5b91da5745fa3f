"""GAT by kernels against plain torch: on a GPU, or run by Triton's interpreter (`make test-triton`)."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from detours.nn import convolutions
from detours.nn.convolutions import GAT, softmax_aggregate
from detours.nn.fused import choice
from tests.nn.fused.cases import DEVICE, NEEDS_KERNELS, as_on_a_gpu, indices, randn  # noqa: F401

pytestmark = NEEDS_KERNELS

NODES, ARCS = 9, 40
# a node with more incoming and one with more outgoing arcs than a program takes at a time, and nodes without arcs
SOURCE = torch.cat([indices(ARCS // 2, 4), torch.full((ARCS // 2,), 5, device=DEVICE)])
TARGET = torch.cat([torch.full((ARCS // 2,), 6, device=DEVICE), indices(ARCS // 2, 7, seed=1)])


def inputs_of(width: int, with_edge: bool, networks: tuple[int, ...] = ()) -> list[Tensor]:
    """x, alpha_src, alpha_dst and perhaps alpha_edge."""
    shapes = [(NODES, *networks, width), (NODES, *networks), (NODES, *networks), (ARCS, *networks)]
    return [3 * randn(*shape, seed=at, requires_grad=True) for at, shape in enumerate(shapes[: 3 + with_edge])]


def aggregate(x: Tensor, *scores: Tensor) -> Tensor:
    return softmax_aggregate(x, *scores, *[None] * (3 - len(scores)), SOURCE, TARGET, 0.2)


def plain(x: Tensor, *scores: Tensor) -> Tensor:
    return convolutions._softmax_aggregate(x, *scores, *[None] * (3 - len(scores)), SOURCE, TARGET, 0.2)


@pytest.mark.parametrize("with_edge", [False, True])
@pytest.mark.parametrize("width", [5, 64, 300])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_output_and_gradients(width: int, with_edge: bool, dtype: torch.dtype) -> None:
    given = [each.detach().to(dtype).requires_grad_() for each in inputs_of(width, with_edge, (2,))]
    stacked = torch.vmap(aggregate, in_dims=1, out_dims=1)(*given)
    expected = torch.stack([plain(*(each[:, at] for each in given)) for at in range(2)], dim=1)
    assert "SoftmaxAggregate" in stacked.grad_fn.name() and "SoftmaxAggregate" not in expected.grad_fn.name()
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(stacked, expected, **close)
    grad_output = randn(*expected.shape, seed=7).to(dtype)
    one, other = (torch.autograd.grad((each * grad_output).sum(), given) for each in (stacked, expected))
    torch.testing.assert_close(one, other, **close)
    single = [each[:, 0] for each in given]
    torch.testing.assert_close(aggregate(*single), expected[:, 0], **close)


@pytest.mark.parametrize("with_edge", [False, True])
def test_double_backward_and_several_gradients_at_once(with_edge: bool) -> None:
    given = [each.detach().requires_grad_() for each in inputs_of(3, with_edge)]
    results = []
    for function in (aggregate, plain):
        grads = torch.autograd.grad(function(*given).pow(3).sum(), given, create_graph=True)
        total = torch.stack([each.square().sum() for each in grads]).sum()
        results.append([*grads, *torch.autograd.grad(total, given)])
    torch.testing.assert_close(*results, rtol=1e-9, atol=1e-9)
    output = aggregate(*given)
    several = randn(2, *output.shape, seed=8)
    stacked = torch.autograd.grad(output, given, several, is_grads_batched=True, retain_graph=True)
    for at, grad_output in enumerate(several):
        expected = torch.autograd.grad(output, given, grad_output, retain_graph=True)
        torch.testing.assert_close([each[at] for each in stacked], list(expected))


def test_graphs_without_arcs_and_scores_of_another_type() -> None:
    x, alpha_src, alpha_dst = (each.detach() for each in inputs_of(4, False))
    nothing = SOURCE[:0]
    torch.testing.assert_close(softmax_aggregate(x, alpha_src, alpha_dst, None, nothing, nothing, 0.2), x)
    mixed = aggregate(x, alpha_src.float(), alpha_dst)
    torch.testing.assert_close(mixed, plain(x, alpha_src.float(), alpha_dst))


def test_arcs_that_differ_between_networks_are_refused() -> None:
    x, alpha_src, alpha_dst = (each.detach() for each in inputs_of(4, False))
    targets = torch.stack([TARGET, SOURCE])

    def of_one(target: Tensor) -> Tensor:
        return softmax_aggregate(x, alpha_src, alpha_dst, None, SOURCE, target, 0.2)

    with pytest.raises(NotImplementedError, match="stacked networks share one graph"):
        torch.vmap(of_one)(targets)


@pytest.mark.parametrize("edge_dim", [None, 2])
def test_the_convolution_equals_that_in_plain_torch(edge_dim: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    conv = GAT(6, 8, edge_dim).to(DEVICE).double()
    torch.nn.init.normal_(conv.bias)
    x, arcs = randn(NODES, 6, requires_grad=True), torch.stack([SOURCE, TARGET], dim=1).T  # rows not contiguous
    edge_attr = None if edge_dim is None else randn(ARCS, edge_dim, seed=1)
    results = []
    for kernels in (True, False):
        monkeypatch.setattr(choice, "_has_triton", lambda kernels=kernels: kernels)
        output = conv(x, arcs, edge_attr)
        results.append([output, *torch.autograd.grad(output.square().sum(), [x, *conv.parameters()])])
    torch.testing.assert_close(*results, rtol=1e-9, atol=1e-9)
