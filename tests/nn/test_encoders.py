"""The encoder of hops against its formula, differentiated by autograd."""

import pytest
import torch
from torch import Tensor

from detours.nn import hop_features
from detours.nn.encoders import HopEncoder
from detours.nn.layers import GraphInputs

ARCS = torch.tensor([[0, 1, 1, 2, 2, 0, 3], [1, 0, 2, 1, 0, 2, 0]])


def given(dtype: torch.dtype) -> tuple[HopEncoder, Tensor]:
    torch.manual_seed(0)
    encoder = HopEncoder(5, 6, 2).to(dtype)
    torch.nn.init.normal_(encoder.scores)
    return encoder, torch.randn(4, 5, dtype=dtype, requires_grad=True)


def by_formula(encoder: HopEncoder, x: Tensor) -> Tensor:
    parts = hop_features(x, ARCS, 2).split(5, dim=1)
    encoded = torch.stack([each(part) for each, part in zip(encoder.maps, parts, strict=True)])
    units = encoded / encoded.norm(dim=2, keepdim=True)
    return 6**0.5 * torch.einsum("h,hnc->nc", encoder.scores.softmax(0), units)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("of_weight", [torch.float16, torch.float32, torch.float64, torch.int64])
def test_weights_of_any_type_give_the_type_of_x(dtype: torch.dtype, of_weight: torch.dtype) -> None:
    x, counts = torch.randn(4, 3, dtype=dtype), torch.tensor([3, 3, 1, 1, 7, 7, 2])
    found = hop_features(x, ARCS, 2, weight=counts.to(of_weight), both=True)
    expected = hop_features(x.double(), ARCS, 2, weight=counts.double(), both=True)
    torch.testing.assert_close(
        found, expected.to(dtype), rtol=4 * torch.finfo(dtype).eps, atol=4 * torch.finfo(dtype).eps
    )


@pytest.mark.parametrize("weight", [None, torch.tensor([3, 3, 1, 1, 7, 7, 2])])
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_features_that_are_no_floats_become_floats(dtype: torch.dtype, weight: Tensor | None) -> None:
    x = torch.eye(4)
    found = hop_features(x.to(dtype), ARCS, 2, weight=weight)
    assert found.dtype == torch.float32 and not torch.equal(found, found.round())
    torch.testing.assert_close(found, hop_features(x, ARCS, 2, weight=weight))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_output_and_gradients(dtype: torch.dtype) -> None:
    encoder, x = given(dtype)
    inputs = [x, *encoder.parameters()]
    found, expected = encoder(x, GraphInputs(ARCS, None, None, None, None, None)), by_formula(encoder, x)
    torch.testing.assert_close(found, expected)
    weight = torch.randn_like(found)
    for one, other in zip(
        *(torch.autograd.grad((each * weight).sum(), inputs) for each in (found, expected)), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_the_gradient_has_a_gradient() -> None:
    encoder, x = given(torch.float64)
    graph = GraphInputs(ARCS, None, None, None, None, None)
    assert torch.autograd.gradgradcheck(lambda x: encoder(x, graph), [x])


def test_autocast() -> None:
    encoder, x = given(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found = encoder(x, GraphInputs(ARCS, None, None, None, None, None))
    expected, weight = by_formula(encoder, x), torch.randn(4, 6)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), expected, rtol=0.05, atol=0.05)
    (grad,) = torch.autograd.grad((found.float() * weight).sum(), [x])
    torch.testing.assert_close(grad, torch.autograd.grad((expected * weight).sum(), [x])[0], rtol=0.05, atol=0.05)
