"""GAT by kernels against plain torch: on a GPU, or run by Triton's interpreter (`make test-triton`)."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from detours.nn import convolutions
from detours.nn.convolutions import GAT, softmax_received
from detours.nn.fused import choice
from tests.nn.fused.cases import DEVICE, NEEDS_KERNELS, as_on_a_gpu, indices, numbers  # noqa: F401

pytestmark = NEEDS_KERNELS

NODES, ARCS = 9, 40
# a node with more arcs in and one with more arcs out than a program takes at a time, and nodes without any
SOURCE = torch.cat([indices(ARCS // 2, 4), torch.full((ARCS // 2,), 5, device=DEVICE)])
TARGET = torch.cat([torch.full((ARCS // 2,), 6, device=DEVICE), indices(ARCS // 2, 7, seed=1)])


def learned(width: int, of_arcs: bool, networks: tuple[int, ...] = ()) -> list[Tensor]:
    """x, and what sources, targets and arcs add to scores."""
    shapes = [(NODES, *networks, width), (NODES, *networks), (NODES, *networks), (ARCS, *networks)]
    return [3 * numbers(*shape, seed=at, learned=True) for at, shape in enumerate(shapes[: 3 + of_arcs])]


def received(x: Tensor, *scores: Tensor) -> Tensor:
    return softmax_received(x, *scores, *[None] * (3 - len(scores)), SOURCE, TARGET, 0.2)


def plain(x: Tensor, *scores: Tensor) -> Tensor:
    return convolutions._softmax_received(x, *scores, *[None] * (3 - len(scores)), SOURCE, TARGET, 0.2)


@pytest.mark.parametrize("of_arcs", [False, True])
@pytest.mark.parametrize("width", [5, 64, 300])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_what_is_received_and_its_slopes(width: int, of_arcs: bool, dtype: torch.dtype) -> None:
    given = [each.detach().to(dtype).requires_grad_() for each in learned(width, of_arcs, (2,))]
    together = torch.vmap(received, in_dims=1, out_dims=1)(*given)
    alone = torch.stack([plain(*(each[:, at] for each in given)) for at in range(2)], dim=1)
    assert "SoftmaxReceived" in together.grad_fn.name() and "SoftmaxReceived" not in alone.grad_fn.name()
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype == torch.float64 else {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(together, alone, **close)
    slope = numbers(*alone.shape, seed=7).to(dtype)
    one, other = (torch.autograd.grad((each * slope).sum(), given) for each in (together, alone))
    torch.testing.assert_close(one, other, **close)
    single = [each[:, 0] for each in given]
    torch.testing.assert_close(received(*single), alone[:, 0], **close)


@pytest.mark.parametrize("of_arcs", [False, True])
def test_differentiated_twice_and_several_times_at_once(of_arcs: bool) -> None:
    given = [each.detach().requires_grad_() for each in learned(3, of_arcs)]
    found = []
    for function in (received, plain):
        slopes = torch.autograd.grad(function(*given).pow(3).sum(), given, create_graph=True)
        total = torch.stack([each.square().sum() for each in slopes]).sum()
        found.append([*slopes, *torch.autograd.grad(total, given)])
    torch.testing.assert_close(*found, rtol=1e-9, atol=1e-9)
    answers = received(*given)
    several = numbers(2, *answers.shape, seed=8)
    together = torch.autograd.grad(answers, given, several, is_grads_batched=True, retain_graph=True)
    for at, slope in enumerate(several):
        alone = torch.autograd.grad(answers, given, slope, retain_graph=True)
        torch.testing.assert_close([each[at] for each in together], list(alone))


def test_graphs_without_arcs_and_scores_of_another_type() -> None:
    x, of_source, of_target = (each.detach() for each in learned(4, False))
    nothing = SOURCE[:0]
    torch.testing.assert_close(softmax_received(x, of_source, of_target, None, nothing, nothing, 0.2), x)
    mixed = received(x, of_source.float(), of_target)
    torch.testing.assert_close(mixed, plain(x, of_source.float(), of_target))


def test_arcs_that_differ_between_networks_are_refused() -> None:
    x, of_source, of_target = (each.detach() for each in learned(4, False))
    targets = torch.stack([TARGET, SOURCE])

    def of_one(target: Tensor) -> Tensor:
        return softmax_received(x, of_source, of_target, None, SOURCE, target, 0.2)

    with pytest.raises(NotImplementedError, match="stacked networks share one graph"):
        torch.vmap(of_one)(targets)


@pytest.mark.parametrize("edge_dim", [None, 2])
def test_the_convolution_is_that_of_torch(edge_dim: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    conv = GAT(6, 8, edge_dim).to(DEVICE).double()
    torch.nn.init.normal_(conv.bias)
    x, arcs = numbers(NODES, 6, learned=True), torch.stack([SOURCE, TARGET], dim=1).T  # whose rows are not contiguous
    edge_attr = None if edge_dim is None else numbers(ARCS, edge_dim, seed=1)
    found = []
    for kernels in (True, False):
        monkeypatch.setattr(choice, "_has_triton", lambda kernels=kernels: kernels)
        answers = conv(x, arcs, edge_attr)
        found.append([answers, *torch.autograd.grad(answers.square().sum(), [x, *conv.parameters()])])
    torch.testing.assert_close(*found, rtol=1e-9, atol=1e-9)
