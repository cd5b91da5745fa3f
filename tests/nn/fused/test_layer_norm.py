"""Layer norm by kernels against torch: on a GPU, or run by Triton's interpreter (`make test-triton`)."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradgradcheck

from detours.nn.norm import LayerNorm
from tests.nn.fused.cases import DEVICE, NEEDS_KERNELS, as_on_a_gpu, randn  # noqa: F401

pytestmark = NEEDS_KERNELS


def _norms(channels: int, networks: int) -> list[tuple[LayerNorm, torch.nn.LayerNorm]]:
    """For each network our layer norm and torch's, with the same weights."""
    pairs = []
    for network in range(networks):
        pair = LayerNorm(channels).double().to(DEVICE), torch.nn.LayerNorm(channels).double().to(DEVICE)
        with torch.no_grad():
            for norm in pair:
                norm.weight.copy_(randn(channels, seed=2 * network + 1))
                norm.bias.copy_(randn(channels, seed=2 * network + 2))
        pairs.append(pair)
    return pairs


@pytest.mark.parametrize(("rows", "channels"), [(1, 1), (1, 5), (70, 1), (70, 5), (70, 64), (70, 300), (600, 300)])
def test_one_network(rows: int, channels: int) -> None:
    results = []
    for norm in _norms(channels, 1)[0]:
        x = (randn(rows, channels, seed=7) * 3 + 100).detach().requires_grad_()
        result = norm(x)
        result.backward(randn(rows, channels, seed=8))
        assert x.grad is not None
        results.append([result.detach(), x.grad, norm.weight.grad, norm.bias.grad])
    torch.testing.assert_close(*results, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("dim", [0, 1])
def test_stacked_networks_equal_a_loop(dim: int) -> None:
    pairs = _norms(6, 3)
    parameters = {
        name: torch.stack([getattr(norm, name).detach() for norm, _ in pairs]).requires_grad_()
        for name in ("weight", "bias")
    }
    x, grad_output = randn(3, 200, 6, seed=9).movedim(0, dim).requires_grad_(), randn(3, 200, 6, seed=10)

    def normed(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        result: Tensor = torch.func.functional_call(pairs[0][0], parameters, (x,))
        return result

    stacked = torch.vmap(normed, in_dims=(0, dim))(parameters, x)
    looped = torch.stack([norm(each) for (_, norm), each in zip(pairs, x.unbind(dim), strict=True)])
    torch.testing.assert_close(stacked, looped)
    grads = torch.autograd.grad(stacked, [x, *parameters.values()], grad_output)
    (expected,) = torch.autograd.grad(looped, x, grad_output, retain_graph=True)
    torch.testing.assert_close(grads[0], expected)
    for name, grad in zip(parameters, grads[1:], strict=True):
        each = torch.autograd.grad(looped, [getattr(norm, name) for _, norm in pairs], grad_output, retain_graph=True)
        torch.testing.assert_close(grad, torch.stack(each))


def test_shared_weights_of_stacked_rows() -> None:
    norm, plain = _norms(4, 1)[0]
    x = randn(3, 5, 4)
    torch.testing.assert_close(torch.vmap(norm)(x), plain(x))


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16])
def test_narrow_rows_are_rounded_once(narrow: torch.dtype) -> None:
    norm, plain = _norms(40, 1)[0]
    x, grad_output = (randn(50, 40) * 3 + 10).to(narrow).requires_grad_(), randn(50, 40, seed=1).to(narrow)
    exact_x = x.detach().double().requires_grad_()
    norm, exact = norm.float(), plain(exact_x)
    result = norm(x)
    assert result.dtype == narrow and norm.weight.dtype == torch.float32
    result.backward(grad_output)
    exact.backward(grad_output.double())
    assert x.grad is not None and exact_x.grad is not None and x.grad.dtype == narrow
    unit = torch.finfo(narrow).eps
    for mine, expected in ((result.detach(), exact.detach()), (x.grad, exact_x.grad)):
        torch.testing.assert_close(mine.double(), expected, rtol=unit, atol=unit)
    torch.testing.assert_close(norm.weight.grad.double(), plain.weight.grad, rtol=1e-4, atol=1e-4)


def test_second_derivatives() -> None:
    norm, _ = _norms(3, 1)[0]
    assert gradgradcheck(norm, (randn(4, 3, requires_grad=True),))


def test_an_infinite_value_stays_in_its_row() -> None:
    norm, _ = _norms(4, 1)[0]
    x = randn(5, 4)
    x[2, 1] = float("inf")
    finite = norm(x).isfinite().all(1)
    assert finite.tolist() == [True, True, False, True, True]
