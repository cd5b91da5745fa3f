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
from tests.nn.fused.cases import DEVICE, NEEDS_KERNELS, as_on_a_gpu, numbers  # noqa: F401
from tests.training.cases import inputs_of, odd_graphs, one_graph, small

pytestmark = NEEDS_KERNELS


@pytest.mark.parametrize("heads", [1, 3])
def test_attention_of_one_query(heads: int) -> None:
    nodes, arcs = 12, [(leaf, 0) for leaf in range(1, 10)] + [(0, 1), (2, 1), (3, 11)]  # sets of 1, 2, 3 and 10
    tokens = Tokens.of(torch.tensor(arcs, device=DEVICE).T, nodes)
    query, state = numbers(nodes, heads, 5, learned=True), numbers(tokens.num_tokens, 5, seed=1, learned=True)

    def answers(query: Tensor, state: Tensor, way: str = "auto") -> Tensor:
        return attention.attend_self(query, state, tokens, way)

    torch.testing.assert_close(answers(query, state), answers(query, state, "varlen"))
    slope = numbers(nodes, heads, 5, seed=2)
    found, expected = (
        torch.autograd.grad((answers(query, state, way) * slope).sum(), (query, state)) for way in ("auto", "varlen")
    )
    torch.testing.assert_close(found, expected)


def test_attention_differentiated_twice() -> None:
    tokens = Tokens.of(torch.tensor([[0, 1], [1, 0]], device=DEVICE), 3)
    given = (numbers(3, 2, 2, learned=True), numbers(tokens.num_tokens, 2, seed=1, learned=True))
    assert gradgradcheck(lambda query, state: attention.attend_self(query, state, tokens), given)


def _sets(*sizes: int) -> Tokens:
    """The tokens of stars with so many leaves, less one, in any order of size; the leaves have no arcs in."""
    hubs = [sum(sizes[:at]) for at in range(len(sizes))]
    arcs = [(hub + leaf, hub) for hub, size in zip(hubs, sizes, strict=True) for leaf in range(1, size)]
    degrees = torch.zeros(sum(sizes), dtype=torch.long, device=DEVICE)
    degrees[torch.tensor(hubs, device=DEVICE)] = torch.tensor(sizes, device=DEVICE) - 1
    return Arrangement.of(degrees, len(arcs)).tokens(torch.tensor([source for source, _ in arcs], device=DEVICE))


@pytest.mark.parametrize("sizes", [(1,), (3, 1, 5, 2), (2, 33, 1, 16)])
@pytest.mark.parametrize(("networks", "heads", "width"), [(1, 1, 5), (2, 3, 20), (2, 1, 300)])
def test_attention_of_all_tokens(sizes: tuple[int, ...], networks: int, heads: int, width: int) -> None:
    """Several sets in a tile, and several tiles in a set; more channels than a program takes."""
    tokens = _sets(*sizes)
    given = numbers(networks, tokens.num_tokens, 3, heads, width).float().requires_grad_()
    slope = numbers(networks, tokens.num_tokens, heads, width, seed=1)
    expected = []
    for qkv in given.double():
        scores = torch.einsum("ahd,bhd->hab", qkv[:, 0], qkv[:, 1]) / width**0.5
        apart = tokens.query[:, None] != tokens.query[None, :]
        expected.append(torch.einsum("hab,bhd->ahd", scores.masked_fill(apart, -torch.inf).softmax(-1), qkv[:, 2]))
    found = torch.vmap(lambda qkv: attention.attend(qkv, tokens))(given)
    close = {"rtol": 1e-4, "atol": 1e-4, "check_dtype": False}
    torch.testing.assert_close(found, torch.stack(expected), **close)
    by_kernel, by_torch = (torch.autograd.grad((of * slope).sum(), given) for of in (found, torch.stack(expected)))
    torch.testing.assert_close(by_kernel, by_torch, **close)
    alone = attention.attend(given[0], tokens)
    torch.testing.assert_close(alone, found[0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(torch.autograd.grad((alone * slope[0]).sum(), given)[0][0], by_kernel[0][0], **close)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_what_is_no_number_stays_in_its_set(part: int, wrong: float) -> None:
    """Of queries, keys and values; the sets share a tile."""
    tokens = _sets(3, 1, 5)
    qkv = numbers(tokens.num_tokens, 3, 1, 300).float()
    expected = attention.attend(qkv, tokens)
    at = int(torch.argmax((tokens.query == tokens.query.mode().values).int()))  # the first of the largest set
    own = tokens.query == tokens.query[at]
    assert int(own.sum()) == 5
    qkv[at, part, 0, 7] = wrong
    found = attention.attend(qkv, tokens)
    assert torch.equal(found[~own], expected[~own])
    asking = own if part else torch.arange(len(own), device=DEVICE) == at  # a query spoils its own answer alone
    assert not found[asking][:, :, 7].isfinite().any() or (part == 1 and wrong > 0)
    assert torch.equal(found[~asking & own], expected[~asking & own])


@pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(torch.bfloat16, marks=pytest.mark.skipif(DEVICE == "cpu", reason="the interpreter has none")),
        torch.float64,
    ],
)
def test_attention_of_all_tokens_in_other_types(dtype: torch.dtype) -> None:
    arcs = torch.tensor([(leaf, 0) for leaf in range(1, 10)] + [(0, 1), (2, 1), (3, 11)], device=DEVICE).T
    tokens = Tokens.of(arcs, 12)
    qkv = numbers(tokens.num_tokens, 3, 2, 20).to(dtype).requires_grad_()
    found, exact = (attention.attend(each, tokens, way) for each, way in ((qkv, "auto"), (qkv.double(), "bucketed")))
    assert attention.has_own_kernel(qkv) == (dtype != torch.float64) and found.dtype == dtype
    close = {"rtol": 3e-2, "atol": 3e-2, "check_dtype": False}
    torch.testing.assert_close(found, exact, **close)
    one, other = (torch.autograd.grad(each.square().sum(), qkv) for each in (found, exact))
    torch.testing.assert_close(one, other, **close)


def test_attention_of_all_tokens_differentiated_twice() -> None:
    tokens, qkv = _sets(3, 1, 5), numbers(9 + 9 - 3, 3, 2, 4).float().requires_grad_()
    ordered = Tokens.of(torch.stack([tokens.key, tokens.query])[:, tokens.key != tokens.query], 9)
    assert tokens.num_tokens == len(qkv) == ordered.num_tokens
    place = torch.argsort(ordered.query * 100 + ordered.key)
    own = torch.argsort(tokens.query * 100 + tokens.key)
    same = torch.empty_like(place).scatter_(0, place, own)  # the token of the one that is each of the other
    found = []
    for each, order, way in ((tokens, slice(None), "auto"), (ordered, same, "varlen")):
        answers = attention.attend(qkv[order], each, way)
        (slopes,) = torch.autograd.grad(answers.pow(3).sum(), qkv, create_graph=True)
        found.append([slopes, *torch.autograd.grad(slopes.square().sum(), qkv)])
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-3)
    answers = attention.attend(qkv, tokens)
    several = numbers(2, *answers.shape, seed=1).float()
    (together,) = torch.autograd.grad(answers, qkv, several, is_grads_batched=True, retain_graph=True)
    alone = [torch.autograd.grad(answers, qkv, slope, retain_graph=True)[0] for slope in several]
    torch.testing.assert_close(together, torch.stack(alone), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("all_ask", [True, False])
def test_stacked_networks_share_one_graph(all_ask: bool) -> None:
    tokens = _sets(3, 2)
    orders = torch.stack([tokens.sets, tokens.sets])
    qkv = numbers(2, tokens.num_tokens, 3, 1, 4).float()
    query, state = qkv[:, : tokens.num_sets, 0], qkv[:, :, 1, 0]

    def answers(sets: Tensor, qkv: Tensor, query: Tensor, state: Tensor) -> Tensor:
        own = replace(tokens, sets=sets)
        return attention.attend(qkv, own) if all_ask else attention.attend_self(query, state, own)

    with pytest.raises(NotImplementedError, match="the indices differ between them"):
        torch.vmap(answers)(orders, qkv, query, state)


@pytest.mark.parametrize("level", ["graph", "node"])
def test_batches_of_one_shape(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers and slopes of two transformer layers, whose token sets lie in no order, are those without padding."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = odd_graphs() if level == "graph" else one_graph(12)
    own = {} if level == "graph" else {"neighbours": (3, 2), "input_dropout": 0.0}
    made = small(data, model="mdnn", transformer_layers=2, norm="batch", **own)
    inputs = inputs_of(data, made)
    packed = Packed(inputs, DEVICE)
    if level == "graph":
        plain = GraphBatches(packed, 4, 2)
        fixed = FixedBatches(plain, epochs=1)
    else:
        plain = SampledNodes(packed, inputs, made.neighbours, 2)
        fixed = FixedSamples(plain)
    network = network_of(made, inputs.x.shape[1], 3).to(DEVICE)
    for one, other in zip(plain.training(1), fixed.training(1), strict=True):
        padded, found = other.assembled(), []
        assert padded.tokens.layout is None and padded.tokens.num_tokens > one.tokens.num_tokens
        for batch in (one, padded):
            positional, named = arguments(batch, made)
            named["counted"] = batch.real if batch.batch is None else batch.batch < len(one.ids)
            answers = network(*positional, **named)
            answers = (answers if batch.rows is None else answers[batch.rows])[: len(one.ids)]
            found.append([answers, *torch.autograd.grad(answers.square().sum(), [*network.parameters()])])
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)


def test_networks_stacked_twice() -> None:
    tokens = _sets(3, 1, 5)
    qkv, state = numbers(2, 3, tokens.num_tokens, 3, 2, 4).float(), numbers(2, 3, tokens.num_tokens, 4, seed=1)
    query = numbers(2, 3, tokens.num_sets, 2, 4, seed=2)

    def slopes(qkv: Tensor, query: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        def total(qkv: Tensor, query: Tensor, state: Tensor) -> Tensor:
            everyone, alone = attention.attend(qkv, tokens), attention.attend_self(query, state, tokens)
            return everyone.square().sum() + alone.square().sum()

        return torch.func.grad(total, argnums=(0, 1, 2))(qkv, query, state)

    def answers(qkv: Tensor, query: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        return attention.attend(qkv, tokens), attention.attend_self(query, state, tokens)

    for function in (answers, slopes):
        together = torch.vmap(torch.vmap(function))(qkv, query, state)
        for i, j in ((0, 0), (1, 2)):
            alone = function(qkv[i, j], query[i, j], state[i, j])
            for one, other in zip(together, alone, strict=True):
                torch.testing.assert_close(one[i, j], other, rtol=1e-4, atol=1e-5)
