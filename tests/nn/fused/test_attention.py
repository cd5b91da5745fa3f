"""Attention by kernels against torch: on a GPU, or run by Triton's interpreter (`make test-triton`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.autograd import gradgradcheck

from detours.nn.tokens import Tokens, attention
from detours.training.batches.fixed import Arrangement, FixedBatches
from detours.training.batches.packed import Packed
from detours.training.batches.sampled import FixedSamples, SampledNodes
from detours.training.batches.streams import GraphBatches
from detours.training.build import arguments, network_of
from tests.nn.fused.cases import DEVICE, NEEDS_KERNELS, as_on_a_gpu, randn  # noqa: F401
from tests.training.cases import inputs_of, odd_graphs, one_graph, small

pytestmark = NEEDS_KERNELS


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("biased", [False, True])
def test_attention_of_one_query(heads: int, biased: bool) -> None:
    nodes, arcs = 12, [(leaf, 0) for leaf in range(1, 10)] + [(0, 1), (2, 1), (3, 11)]  # sets of 1, 2, 3 and 10
    tokens = Tokens.of(torch.tensor(arcs, device=DEVICE).T, nodes)
    inputs = [randn(nodes, heads, 5, requires_grad=True), randn(tokens.num_tokens, 5, seed=1, requires_grad=True)]
    inputs += [randn(tokens.num_tokens, heads, seed=3, requires_grad=True)] if biased else []

    def attend(kind: str) -> Tensor:
        return attention.attend_self(*inputs[:2], tokens, kind, *inputs[2:])

    torch.testing.assert_close(attend("auto"), attend("varlen"))
    grad_output = randn(nodes, heads, 5, seed=2)
    results, expected = (torch.autograd.grad((attend(kind) * grad_output).sum(), inputs) for kind in ("auto", "varlen"))
    torch.testing.assert_close(results, expected)


def test_attention_differentiated_twice() -> None:
    tokens = Tokens.of(torch.tensor([[0, 1], [1, 0]], device=DEVICE), 3)
    given = (randn(3, 2, 2, requires_grad=True), randn(tokens.num_tokens, 2, seed=1, requires_grad=True))
    assert gradgradcheck(lambda query, state: attention.attend_self(query, state, tokens), given)


def _sets(*sizes: int) -> Tokens:
    """The tokens of stars with these numbers of nodes, in any order; the leaves have no incoming arcs."""
    hubs = [sum(sizes[:at]) for at in range(len(sizes))]
    arcs = [(hub + leaf, hub) for hub, size in zip(hubs, sizes, strict=True) for leaf in range(1, size)]
    degrees = torch.zeros(sum(sizes), dtype=torch.long, device=DEVICE)
    degrees[torch.tensor(hubs, device=DEVICE)] = torch.tensor(sizes, device=DEVICE) - 1
    return Arrangement.of(degrees, len(arcs)).tokens(torch.tensor([source for source, _ in arcs], device=DEVICE))


@pytest.mark.parametrize("sizes", [(1,), (3, 1, 5, 2), (2, 33, 1, 16)])
@pytest.mark.parametrize(("networks", "heads", "width"), [(1, 1, 5), (2, 3, 20), (2, 1, 300)])
def test_attention_of_all_tokens(sizes: tuple[int, ...], networks: int, heads: int, width: int) -> None:
    """Several sets in a tile, and several tiles in a set; more channels than a program handles."""
    tokens = _sets(*sizes)
    given = randn(networks, tokens.num_tokens, 3, heads, width).float().requires_grad_()
    grad_output = randn(networks, tokens.num_tokens, heads, width, seed=1)
    expected = []
    for qkv in given.double():
        scores = torch.einsum("ahd,bhd->hab", qkv[:, 0], qkv[:, 1]) / width**0.5
        other_set = tokens.query[:, None] != tokens.query[None, :]
        expected.append(torch.einsum("hab,bhd->ahd", scores.masked_fill(other_set, -torch.inf).softmax(-1), qkv[:, 2]))
    results = torch.vmap(lambda qkv: attention.attend(qkv, tokens))(given)
    close = {"rtol": 1e-4, "atol": 1e-4, "check_dtype": False}
    torch.testing.assert_close(results, torch.stack(expected), **close)
    by_kernel, by_torch = (
        torch.autograd.grad((out * grad_output).sum(), given) for out in (results, torch.stack(expected))
    )
    torch.testing.assert_close(by_kernel, by_torch, **close)
    single = attention.attend(given[0], tokens)
    torch.testing.assert_close(single, results[0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(
        torch.autograd.grad((single * grad_output[0]).sum(), given)[0][0], by_kernel[0][0], **close
    )


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_nan_and_infinity_stay_in_their_set(part: int, wrong: float) -> None:
    """In queries, keys and values; the sets share a tile."""
    tokens = _sets(3, 1, 5)
    qkv = randn(tokens.num_tokens, 3, 1, 300).float()
    expected = attention.attend(qkv, tokens)
    at = int(torch.argmax((tokens.query == tokens.query.mode().values).int()))  # the first of the largest set
    own = tokens.query == tokens.query[at]
    assert int(own.sum()) == 5
    qkv[at, part, 0, 7] = wrong
    results = attention.attend(qkv, tokens)
    assert torch.equal(results[~own], expected[~own])
    affected = own if part else torch.arange(len(own), device=DEVICE) == at  # a query affects only its own output
    assert not results[affected][:, :, 7].isfinite().any() or (part == 1 and wrong > 0)
    assert torch.equal(results[~affected & own], expected[~affected & own])


@pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(torch.bfloat16, marks=pytest.mark.skipif(DEVICE == "cpu", reason="not in the interpreter")),
        torch.float64,
    ],
)
def test_attention_of_all_tokens_in_other_types(dtype: torch.dtype) -> None:
    arcs = torch.tensor([(leaf, 0) for leaf in range(1, 10)] + [(0, 1), (2, 1), (3, 11)], device=DEVICE).T
    tokens = Tokens.of(arcs, 12)
    qkv = randn(tokens.num_tokens, 3, 2, 20).to(dtype).requires_grad_()
    results, exact = (
        attention.attend(each, tokens, kind) for each, kind in ((qkv, "auto"), (qkv.double(), "bucketed"))
    )
    assert attention.has_custom_kernel(qkv) == (dtype != torch.float64) and results.dtype == dtype
    close = {"rtol": 3e-2, "atol": 3e-2, "check_dtype": False}
    torch.testing.assert_close(results, exact, **close)
    one, other = (torch.autograd.grad(each.square().sum(), qkv) for each in (results, exact))
    torch.testing.assert_close(one, other, **close)


def test_attention_of_all_tokens_differentiated_twice() -> None:
    tokens, qkv = _sets(3, 1, 5), randn(9 + 9 - 3, 3, 2, 4).float().requires_grad_()
    ordered = Tokens.of(torch.stack([tokens.key, tokens.query])[:, tokens.key != tokens.query], 9)
    assert tokens.num_tokens == len(qkv) == ordered.num_tokens
    to_ordered = torch.argsort(ordered.query * 100 + ordered.key)
    to_tokens = torch.argsort(tokens.query * 100 + tokens.key)
    same = torch.empty_like(to_ordered).scatter_(0, to_ordered, to_tokens)  # the index in `tokens` of each of `ordered`
    results = []
    for each, order, kind in ((tokens, slice(None), "auto"), (ordered, same, "varlen")):
        output = attention.attend(qkv[order], each, kind)
        (grads,) = torch.autograd.grad(output.pow(3).sum(), qkv, create_graph=True)
        results.append([grads, *torch.autograd.grad(grads.square().sum(), qkv)])
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-3)
    output = attention.attend(qkv, tokens)
    grad_outputs = randn(2, *output.shape, seed=1).float()
    (batched,) = torch.autograd.grad(output, qkv, grad_outputs, is_grads_batched=True, retain_graph=True)
    single = [torch.autograd.grad(output, qkv, grad_output, retain_graph=True)[0] for grad_output in grad_outputs]
    torch.testing.assert_close(batched, torch.stack(single), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("all_ask", [True, False])
def test_stacked_networks_share_one_graph(all_ask: bool) -> None:
    tokens = _sets(3, 2)
    orders = torch.stack([tokens.sets, tokens.sets])
    qkv = randn(2, tokens.num_tokens, 3, 1, 4).float()
    query, state = qkv[:, : tokens.num_sets, 0], qkv[:, :, 1, 0]

    def attend(sets: Tensor, qkv: Tensor, query: Tensor, state: Tensor) -> Tensor:
        own = replace(tokens, sets=sets)
        return attention.attend(qkv, own) if all_ask else attention.attend_self(query, state, own)

    with pytest.raises(NotImplementedError, match="the indices differ between them"):
        torch.vmap(attend)(orders, qkv, query, state)


@pytest.mark.parametrize("level", ["graph", "node"])
def test_batches_of_one_shape(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs and gradients of two transformer layers with unordered token sets equal those without padding."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = odd_graphs() if level == "graph" else one_graph(12)
    own = {} if level == "graph" else {"neighbours": (3, 2), "input_dropout": 0.0}
    recipe = small(data, model="mdnn", transformer_layers=2, norm="batch", **own)
    inputs = inputs_of(data, recipe)
    packed = Packed(inputs, DEVICE)
    if level == "graph":
        plain = GraphBatches(packed, 4, 2)
        fixed = FixedBatches(plain, epochs=1)
    else:
        plain = SampledNodes(packed, inputs, recipe.neighbours, 2)
        fixed = FixedSamples(plain)
    network = network_of(recipe, inputs.x.shape[1], 3).to(DEVICE)
    for one, other in zip(plain.training(1), fixed.training(1), strict=True):
        padded, results = other.assemble(), []
        assert padded.tokens.layout is None and padded.tokens.num_tokens > one.tokens.num_tokens
        for batch in (one, padded):
            positional, named = arguments(batch, recipe)
            named["counted"] = batch.real if batch.batch is None else batch.batch < len(one.ids)
            output = network(*positional, **named)
            output = (output if batch.rows is None else output[batch.rows])[: len(one.ids)]
            results.append([output, *torch.autograd.grad(output.square().sum(), [*network.parameters()])])
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-4)


def test_networks_stacked_twice() -> None:
    tokens = _sets(3, 1, 5)
    qkv, state = randn(2, 3, tokens.num_tokens, 3, 2, 4).float(), randn(2, 3, tokens.num_tokens, 4, seed=1)
    query = randn(2, 3, tokens.num_sets, 2, 4, seed=2)

    def grads(qkv: Tensor, query: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        def total(qkv: Tensor, query: Tensor, state: Tensor) -> Tensor:
            everyone, single = attention.attend(qkv, tokens), attention.attend_self(query, state, tokens)
            return everyone.square().sum() + single.square().sum()

        return torch.func.grad(total, argnums=(0, 1, 2))(qkv, query, state)

    def attend(qkv: Tensor, query: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        return attention.attend(qkv, tokens), attention.attend_self(query, state, tokens)

    for function in (attend, grads):
        batched = torch.vmap(torch.vmap(function))(qkv, query, state)
        for i, j in ((0, 0), (1, 2)):
            single = function(qkv[i, j], query[i, j], state[i, j])
            for one, other in zip(batched, single, strict=True):
                torch.testing.assert_close(one[i, j], other, rtol=1e-4, atol=1e-5)
