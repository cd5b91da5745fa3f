"""GPU kernels against plain sums and torch: on a GPU, or in Triton's interpreter (`make test-triton`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from detours.nn import MDNN, PlainNetwork, WeightedNetwork
from detours.nn.functional import neighbour_sum, relu_of_both, segment_sum
from detours.nn.fused import choice
from detours.nn.fused.groups import groups_of
from detours.nn.norm import TokenNorm
from detours.training.replicas import products
from detours.training.replicas.stack import Stack
from tests.nn.fused.cases import DEVICE, NEEDS_KERNELS, as_on_a_gpu, indices, randn  # noqa: F401

pytestmark = NEEDS_KERNELS

ARCS = 12
ONE, OTHER, WEIGHT = indices(ARCS, 5), indices(ARCS, 4, 1), randn(ARCS, seed=2)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("option", ["", "source", "weight", "positive"])
def test_sums_of_groups_one_by_one(option: str, many: bool) -> None:
    """Empty groups, and one with many more rows than a program handles at a time; too few columns for a full block."""
    from detours.nn.fused.sums_triton import sums_of_groups

    index = torch.cat([indices(20, 5), torch.full((150 if many else 1,), 3, device=DEVICE)])
    values = randn(len(index), 3, 45)
    options: dict[str, Tensor] = {
        "": {},
        "source": {"source": indices(len(index), len(index), 1)},
        "weight": {"weight": randn(len(index), seed=1)},
        "positive": {"positive": randn(*values.shape, seed=1)},
    }[option]
    expected = torch.zeros(7, 3, 45, dtype=torch.float64, device=DEVICE)
    for row, group in enumerate(index.tolist()):
        each = values[options["source"][row]] if option == "source" else values[row]
        each = each * options["weight"][row] if option == "weight" else each
        expected[group] += torch.where(options["positive"][row] > 0, each, 0) if option == "positive" else each
    torch.testing.assert_close(sums_of_groups(values, groups_of(index, 7), **options), expected)


def test_weights_of_a_wider_type() -> None:
    x, weight = randn(5, 3).float(), randn(ARCS, seed=2)
    sums = neighbour_sum(x, ONE, OTHER, weight)
    assert sums.dtype == torch.float64
    expected = torch.zeros(5, 3, dtype=torch.float64, device=DEVICE).index_add_(0, OTHER, x[ONE] * weight[:, None])
    torch.testing.assert_close(sums, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("rows", [1, 17, 1100, 5000])
def test_sums_of_columns(rows: int) -> None:
    from detours.nn.fused.columns_triton import column_sums

    values = randn(rows, 130)
    torch.testing.assert_close(column_sums(values), values.sum(0))
    narrow = values.bfloat16()
    torch.testing.assert_close(column_sums(narrow), narrow.float().sum(0))  # not rounded


@pytest.mark.parametrize("rows", [1, 17, 1100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("more", [torch.float32, None])
def test_a_row_is_added_to_all(rows: int, dtype: torch.dtype, more: torch.dtype | None) -> None:
    from detours.nn.fused.columns_triton import add_to_rows

    values, added = randn(rows, 3, 43).to(dtype), randn(3, 100, seed=1).to(more or dtype)[:, 20:63]
    expected = (values.double() + added.double()).to(dtype)
    add_to_rows(values, added)
    torch.testing.assert_close(values, expected)


def test_strides_between_networks_may_exceed_two_billion() -> None:
    """As for ten large networks; only the pages that are written take memory."""
    from detours.nn.fused import columns_triton, maps_triton, norm_triton

    networks, width, rows, apart = 3, 5, 4, 2**30 + 16
    memory = torch.empty(2 * apart + 4 * width * width, dtype=torch.bfloat16, device=DEVICE)

    def far(first: int, *shape: int) -> Tensor:
        own = memory.as_strided((networks, *shape), (apart, *torch.empty(shape).stride()), first)
        return own.copy_(randn(*own.shape, seed=first + 1))

    weight, bias, matrix = far(0, width), far(width, width), far(2 * width, width, width)
    x = randn(rows, networks, width).bfloat16()
    added = x.clone()
    columns_triton.add_to_rows(added, bias)
    torch.testing.assert_close(added, x + bias)
    transposed = x.transpose(0, 1)
    product = torch.einsum("nri,nio->rno", transposed.float(), matrix.float()) + bias.float()
    close = {"rtol": 1e-2, "atol": 1e-2, "check_dtype": False}
    if DEVICE == "cuda":  # the interpreter multiplies bfloat16 as integers
        torch.testing.assert_close(maps_triton.batched_linear(transposed, matrix, bias), product, **close)
    stats = norm_triton.Statistics(*(torch.full((networks * width,), each, device=DEVICE) for each in (0.5, 2.0, 0.0)))
    expected = (x.float() - 0.5) * 2 * weight.float() + bias.float()
    torch.testing.assert_close(norm_triton.normalise(x, stats, weight, bias), expected, **close)
    counted = torch.zeros(rows, networks, dtype=torch.bool, device=DEVICE)
    grad_x, _, _ = norm_triton.normalise_backward(torch.ones_like(x), x, counted, stats, weight)
    torch.testing.assert_close(grad_x, (2 * weight.float()).expand_as(x), **close)


@pytest.mark.parametrize("rows", [1, 70, 300])
@pytest.mark.parametrize(("channels", "width"), [(5, 3), (64, 64), (130, 20)])
@pytest.mark.parametrize("bias", [None, "one", "of rows", "of one row"])
def test_narrow_maps(rows: int, channels: int, width: int, bias: str | None) -> None:
    from detours.nn.fused import maps_triton

    networks = 3
    x = randn(rows, networks, channels).float().transpose(0, 1)
    weight = randn(networks, width, 2 * channels, seed=1).float()[:, :, channels:]  # a part of a wider map
    added = {
        **{None: None, "one": randn(networks, width), "of rows": randn(networks, rows, width)},
        "of one row": randn(networks, 1, width),
    }[bias]
    added = None if added is None else added.float()
    assert (
        maps_triton.is_narrow(x, width)
        and not maps_triton.is_narrow(x, 257)
        and not maps_triton.is_narrow(x.double(), width)
    )
    exact = torch.einsum("nri,noi->rno", x.double(), weight.double())
    if added is not None:
        exact += added.double() if added.dim() == 2 else added.double().transpose(0, 1)
    close = {"rtol": 1e-4, "atol": 1e-4, "check_dtype": False}
    torch.testing.assert_close(maps_triton.batched_linear(x, weight.transpose(1, 2), added), exact, **close)


def test_narrow_maps_are_used_where_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    from detours.nn.fused import maps_triton

    calls = []
    monkeypatch.setattr(maps_triton, "batched_linear", _recording(calls, maps_triton.batched_linear))
    x = randn(40, 6, requires_grad=True)

    def outputs(weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
        with products.BatchedProducts():
            return torch.nn.functional.linear(x.relu(), weight, bias)

    for dtype, expected_calls in ((torch.float32, ["batched_linear", "batched_linear"]), (torch.float64, [])):
        given = [randn(2, 4, 6, seed=3), randn(2, 4, seed=4), torch.stack([x, -x]).detach()]
        given = [each.to(dtype).requires_grad_() for each in given]
        stacked_output = torch.vmap(outputs)(*given)
        expected = torch.einsum("nri,noi->nro", given[2].relu(), given[0]) + given[1].unsqueeze(1)
        torch.testing.assert_close(stacked_output, expected, rtol=1e-4, atol=1e-4)
        for one, other in zip(
            *(torch.autograd.grad(of.square().sum(), given) for of in (stacked_output, expected)), strict=True
        ):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
        assert calls == expected_calls
        calls.clear()


def _recording(calls: list[str], function: Callable[..., Any]) -> Callable[..., Any]:
    def recorded(*positional: Any, **named: Any) -> Any:
        calls.append(function.__name__)
        return function(*positional, **named)

    return recorded


@pytest.mark.parametrize("shape", [(1, 5), (70, 130), (3, 1500), (40,), (6, 2, 9)])
@pytest.mark.parametrize("layout", ["shared", "networks first", "rows first"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dropout_of_stacked_networks(shape: tuple[int, ...], layout: str, dtype: torch.dtype) -> None:
    """Shapes that fill one program, several, and parts of one; every network drops what it drops in torch."""
    from detours.nn.fused.dropout_triton import dropout

    networks, ones = 3, [1] * (len(shape) - 1)
    if layout == "shared":
        x = randn(*shape).to(dtype).unsqueeze(1).expand(shape[0], networks, *shape[1:])
    elif layout == "networks first":
        x = randn(networks, *shape).to(dtype).transpose(0, 1)
    else:
        x = randn(shape[0], networks, *shape[1:]).to(dtype)
    drawn = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, shape, dtype=torch.int32, generator=drawn).to(DEVICE)
    factor = torch.tensor([1, -5, 2**31 - 1], dtype=torch.int32, device=DEVICE)
    rate = torch.tensor([0.0, 0.25, 0.9], dtype=torch.float64 if dtype == torch.float64 else None, device=DEVICE)
    kept = bits.unsqueeze(1) * factor.view(-1, *ones) >= rate.view(-1, *ones) * 2**32 - 2**31
    share = kept.double().mean([at for at in range(kept.dim()) if at != 1]).cpu()
    assert share[0] == 1 and (kept.numel() < 1000 or (share - torch.tensor([1, 0.75, 0.1])).abs().max() < 0.05)
    exact = (x.double() * kept / (1 - rate.double().view(-1, *ones))).to(dtype)
    torch.testing.assert_close(dropout(x, bits, factor, rate), exact)


@pytest.mark.parametrize("options", [{"encoder": "hops", "hops": 2}, {"encoder": "mlp"}])
def test_networks_drop_the_same_by_kernels(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """For shared features, and for states with gradients."""
    from detours.nn.fused import dropout_triton

    calls: list[str] = []
    monkeypatch.setattr(dropout_triton, "dropout", _recording(calls, dropout_triton.dropout))
    options = {**options, "input_dropout": 0.4, "dropout": 0.3, "layer_dropout": 0.5, "skip": True, "level": "node"}
    results = []
    for kernels in (True, False):
        monkeypatch.setattr(choice, "_has_triton", lambda kernels=kernels: kernels)
        results.append(_outputs_and_gradients(PlainNetwork, options))
    torch.testing.assert_close(*results, rtol=1e-9, atol=1e-9)
    assert len(calls) == {"hops": 4, "mlp": 6}[options["encoder"]]  # forward, and backward of the states


def test_nan_stays_nan() -> None:
    from detours.nn.fused import dropout_triton

    x = randn(2, 3)
    x[1, 2] = torch.nan
    first = torch.zeros(1, dtype=torch.long, device=DEVICE)
    assert relu_of_both(x, first + 1, x, first).isnan().tolist() == [[False, False, True]]
    bits = torch.full((2, 3), -(2**31), dtype=torch.int32, device=DEVICE)
    factor, rate = torch.ones(1, dtype=torch.int32, device=DEVICE), torch.full((1,), 0.5, device=DEVICE)
    results = dropout_triton.dropout(x.unsqueeze(1), bits, factor, rate)
    assert results.isnan().flatten().tolist() == [False] * 5 + [True] and results.nan_to_num().eq(0).all()


DIFFERENTIABLE: list[tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = [
    (lambda values: segment_sum(values, ONE, 6), ((ARCS, 2, 5),)),
    (lambda x: neighbour_sum(x, ONE, OTHER), ((5, 2, 3),)),
    (lambda x: neighbour_sum(x, ONE, OTHER, WEIGHT), ((5, 2, 3),)),
    (lambda x, other: relu_of_both(x, ONE, other, OTHER), ((5, 2, 3), (4, 2, 3))),
]


@pytest.mark.parametrize(("function", "shapes"), DIFFERENTIABLE, ids=["segment", "neighbours", "weighted", "both"])
def test_gradients_equal_finite_differences(function: Callable[..., Tensor], shapes: Any) -> None:
    given = [randn(*shape, seed=seed, requires_grad=True) for seed, shape in enumerate(shapes)]
    assert gradcheck(function, given)
    stacked = [each.detach().movedim(1, 0).requires_grad_() for each in given]
    assert gradcheck(torch.vmap(function), stacked)


def test_several_gradients_at_once() -> None:
    """As `torch.autograd.functional.jacobian(vectorize=True)` computes them."""
    x = randn(5, 3, requires_grad=True)
    for function in (lambda x: neighbour_sum(x, ONE, OTHER), lambda x: relu_of_both(x, ONE, x, OTHER)):
        result = function(x)
        grads = randn(2, *result.shape, seed=1)
        (stacked_output,) = torch.autograd.grad(result, x, grads, is_grads_batched=True, retain_graph=True)
        expected = [torch.autograd.grad(result, x, grad_output, retain_graph=True)[0] for grad_output in grads]
        torch.testing.assert_close(stacked_output, torch.stack(expected))


@pytest.mark.parametrize("counts", [0, 1, 2, 60])
def test_norm_of_counted_rows(counts: int) -> None:
    """Against plain torch operations, which `tests/nn/test_norm.py` compares with torch's batch norm."""
    rows, grad_output = randn(70, 5) * 3 + 100, randn(70, 5, seed=1)
    counted = torch.arange(70, device=DEVICE) < counts
    results = []
    for kernels in (True, False):
        norm = TokenNorm(5).double().to(DEVICE)
        with torch.no_grad():
            norm.weight.copy_(randn(5, seed=2))
            norm.running_mean.fill_(99.0)
        x = rows.clone().requires_grad_()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(choice, "_has_triton", lambda kernels=kernels: kernels)
            result = norm(x, counted)
            (result * grad_output).sum().backward()
        results.append([result.detach(), x.grad, norm.weight.grad, norm.bias.grad, *norm.buffers()])
    for mine, plain in zip(*results, strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-9, atol=1e-9)
    assert int(norm.num_batches_tracked) == (counts > 1)


@pytest.mark.parametrize("narrow", [torch.bfloat16, torch.float16])
def test_norm_of_narrow_rows_is_rounded_once(narrow: torch.dtype) -> None:
    """Sums and statistics have 32 bits, whatever the rows have: only the output is rounded."""
    rows, grad_output = (randn(700, 5) * 3 + 10).to(narrow), randn(700, 5, seed=1).to(narrow)
    counted = torch.arange(700, device=DEVICE) < 600
    results = []
    for dtype, wide in ((narrow, torch.float32), (torch.float64, torch.float64)):
        norm, x = TokenNorm(5).to(DEVICE, wide), rows.to(dtype, copy=True).requires_grad_()
        result = norm(x, counted)
        assert result.dtype == dtype
        result.backward(grad_output.to(dtype))
        assert x.grad is not None and x.grad.dtype == dtype
        results.append((result.detach(), x.grad, norm.weight.grad, norm.bias.grad, norm.running_mean, norm.running_var))
    unit = torch.finfo(narrow).eps
    for each, (mine, exact) in enumerate(zip(*results, strict=True)):
        allowed = unit if each < 2 else 1e-5
        torch.testing.assert_close(mine.double(), exact, rtol=allowed, atol=allowed * float(exact.abs().max()))


@pytest.mark.parametrize(("dim", "shared"), [(0, False), (1, False), (None, True)])
def test_stacked_norm_with_weights_in_any_dimension(dim: int | None, shared: bool) -> None:
    x, counted = randn(2, 9, 4), torch.ones(2, 9, dtype=torch.bool, device=DEVICE)
    weight = randn(4) if shared else randn(2, 4).movedim(0, dim or 0)
    norm = TokenNorm(4).double().to(DEVICE)

    def normed(x: Tensor, counted: Tensor, weight: Tensor, mean: Tensor, variance: Tensor, batches: Tensor) -> Tensor:
        state = {"weight": weight, "running_mean": mean, "running_var": variance, "num_batches_tracked": batches}
        result: Tensor = torch.func.functional_call(norm, state, (x, counted))
        return result

    def buffers() -> list[Tensor]:
        return [torch.stack([each, each]) for each in norm.buffers()]

    stacked_output = torch.vmap(normed, in_dims=(0, 0, dim, 0, 0, 0))(x, counted, weight, *buffers())
    each_weight = [weight, weight] if shared else weight.movedim(dim or 0, 0)
    expected = [normed(*each) for each in zip(x, counted, each_weight, *buffers(), strict=True)]
    torch.testing.assert_close(stacked_output, torch.stack(expected))
    with pytest.raises(NotImplementedError, match="running statistics of their own"):
        torch.vmap(normed, in_dims=(0, 0, dim, None, None, None))(x, counted, weight, *norm.buffers())


def test_running_statistics_count_in_place_updates() -> None:
    norm = TokenNorm(4).double().to(DEVICE)
    requires_grad = norm.eval()(randn(5, 4, requires_grad=True)).sum()
    norm.train()(randn(5, 4), torch.ones(5, dtype=torch.bool, device=DEVICE))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        requires_grad.backward()


NETWORKS: list[tuple[Any, dict[str, Any]]] = [
    (PlainNetwork, {}),
    (PlainNetwork, {"backbone": "gat"}),
    (WeightedNetwork, {"backbone": "gcn", "directions": "both"}),
    (MDNN, {"heads": 2, "pool": "mean+max+add", "pool_of": "states"}),
    (MDNN, {"heads": 2, "transformer_layers": 2}),
]


@pytest.mark.parametrize(("kind", "options"), NETWORKS)
def test_stacked_networks(kind: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for kernels in (True, False):
        monkeypatch.setattr(choice, "_has_triton", lambda kernels=kernels: kernels)
        results.append(_outputs_and_gradients(kind, options))
    torch.testing.assert_close(*results, rtol=1e-9, atol=1e-9)
    # kernels of narrow maps are for single precision
    monkeypatch.setattr(choice, "_has_triton", lambda: True)
    single = _outputs_and_gradients(kind, options, torch.float32)
    torch.testing.assert_close(single, results[0], rtol=1e-3, atol=1e-3, check_dtype=False)


def _outputs_and_gradients(kind: Any, options: dict[str, Any], dtype: torch.dtype = torch.float64) -> list[Tensor]:
    torch.manual_seed(0)
    nodes, half = 24, torch.randint(24, (2, 40))
    half = half[:, half[0] != half[1]]
    arcs = torch.cat([half, half.flip(0)], dim=1).unique(dim=1).to(DEVICE)
    own = {"den_channels": 1, "pe_channels": 0} if kind is MDNN else {}
    networks = [kind(3, 4, 2, num_layers=1, **options, **own) for _ in range(2)]
    stack = Stack(networks, torch.device(DEVICE), dtype)
    x, den = randn(nodes, 3).to(dtype), randn(arcs.size(1), seed=1).abs().to(dtype)
    batch = torch.arange(nodes, device=DEVICE) // 6
    flat = stack.flat.clone().requires_grad_()

    def call(counted: Tensor) -> Any:
        return (x, arcs, den), {"batch": batch, "num_graphs": 4, "counted": counted}

    outputs = stack.forward([flat], call, randn(2, nodes, seed=2) > -1)
    (grads,) = torch.autograd.grad((outputs * randn(*outputs.shape, seed=3).to(dtype)).sum(), flat)
    return [outputs.detach(), grads, *stack.buffers.values()]
