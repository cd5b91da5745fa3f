"""Attention inside sets: all implementations agree with each other, and with torch one set at a time."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from detours.errors import InputError
from detours.nn.tokens import Tokens
from detours.nn.tokens import attention as attention_module
from detours.nn.tokens.attention import attend, attend_self, check_attention, chosen, self_weights
from detours.nn.tokens.products import two_products
from tests.nn.cases import arcs_of, random_graph, star_and_crowd
from tests.strategies import SmallGraph, small_graphs

IMPLEMENTATIONS = ("bucketed", "padded", "varlen")
TORCHS = F.scaled_dot_product_attention


def values(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def one_by_one(qkv: Tensor, tokens: Tokens) -> Tensor:
    parts = []
    for part in qkv.split(tokens.set_sizes.tolist()):
        query, key, value = (each.transpose(0, 1) for each in part.unbind(1))
        parts.append(TORCHS(query, key, value).transpose(0, 1))
    return torch.cat(parts)


def agree(tokens: Tokens, heads: int) -> None:
    qkv = values(tokens.num_tokens, 3, heads, 4)
    expected = one_by_one(qkv, tokens)
    grad_output = torch.randn_like(expected)
    (grad,) = torch.autograd.grad(expected, qkv, grad_output)
    for kind in IMPLEMENTATIONS:
        got = attend(qkv, tokens, kind)
        assert torch.allclose(got, expected, rtol=0, atol=1e-12)
        assert torch.allclose(torch.autograd.grad(got, qkv, grad_output)[0], grad, rtol=0, atol=1e-11)
    query, state = values(tokens.num_sets, heads, 5, seed=1), values(tokens.num_tokens, 5, seed=2)
    pooled = []
    for q, states in zip(query, state.split(tokens.set_sizes.tolist()), strict=True):
        pooled.append((q @ states.t()).softmax(1) @ states)
    for kind in IMPLEMENTATIONS:
        assert torch.allclose(attend_self(query, state, tokens, kind), torch.stack(pooled), rtol=0, atol=1e-12)


@given(small_graphs(), st.sampled_from([1, 2]))
def test_all_implementations_agree(graph: SmallGraph, heads: int) -> None:
    agree(Tokens.of(arcs_of(graph), graph.num_nodes), heads)


@pytest.mark.parametrize("products", [False, True])
def test_padded_buckets_agree_with_either_kernel(products: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if products:
        monkeypatch.setattr(F, "scaled_dot_product_attention", by_two_products)
    tokens = Tokens.of(*star_and_crowd())
    assert any(bucket.mixed for bucket in tokens.buckets)
    agree(tokens, heads=2)


def by_two_products(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, scale: float) -> Tensor:
    """In place of torch's own: what a CUDA device uses for tiny sets."""
    return two_products(query, key, value, attn_mask, scale)


def test_weights_sum_to_one_over_a_set() -> None:
    tokens = Tokens.of(*star_and_crowd())
    weights = self_weights(values(tokens.num_sets, 3, 5), values(tokens.num_tokens, 5, seed=1), tokens)
    total = torch.zeros(tokens.num_sets, 3, dtype=torch.float64).index_add(0, tokens.query, weights)
    assert torch.allclose(total, torch.ones_like(total))


def test_gradients() -> None:
    tokens = Tokens.of(random_graph(5, 0.5, directed=True), 5)
    qkv = values(tokens.num_tokens, 3, 2, 2)
    query, state = values(5, 2, 3), values(tokens.num_tokens, 3, seed=1)
    for kind in IMPLEMENTATIONS:
        assert torch.autograd.gradcheck(lambda qkv, kind=kind: attend(qkv, tokens, kind), (qkv,))
        assert torch.autograd.gradcheck(lambda *given, kind=kind: attend_self(*given, tokens, kind), (query, state))


def test_no_tokens() -> None:
    tokens = Tokens.of(torch.empty(2, 0, dtype=torch.long), 0)
    for kind in IMPLEMENTATIONS:
        assert attend(values(0, 3, 2, 4), tokens, kind).shape == (0, 2, 4)
        assert attend_self(values(0, 2, 4), values(0, 4), tokens, kind).shape == (0, 2, 4)


def test_names() -> None:
    tokens = Tokens.of(random_graph(5, 0.5), 5)
    assert chosen("auto", values(tokens.num_tokens, 3, 1, 4), tokens) == "bucketed"
    assert chosen("padded", values(tokens.num_tokens, 3, 1, 4), tokens) == "padded"
    assert check_attention("varlen") == "varlen"
    with pytest.raises(InputError, match="'bucketed', 'padded', 'varlen', but it is 'flash'"):
        check_attention("flash")


@pytest.mark.parametrize("heads", [1, 2])
def test_single_queries_as_sums(heads: int) -> None:
    """Twice differentiable, as forces and penalties on gradients need it."""
    tokens = Tokens.of(random_graph(6, 0.5), 6)
    query, state = values(tokens.num_sets, heads, 3), values(tokens.num_tokens, 3)
    expected = attend_self(query, state, tokens, "bucketed")
    assert attention_module._use_sums(query, tokens)
    assert torch.allclose(attend_self(query, state, tokens), expected, rtol=1e-12, atol=1e-12)
    assert torch.autograd.gradcheck(lambda *given: attend_self(*given, tokens), (query, state))
    assert torch.autograd.gradgradcheck(lambda *given: attend_self(*given, tokens), (query, state))


def test_sums_are_for_small_sets_or_one_head(monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = (Tokens.of(random_graph(nodes, 1.0), nodes) for nodes in (9, 8))
    one, two = (values(9, heads, 3) for heads in (1, 2))
    assert attention_module._use_sums(two[:8], small) and not attention_module._use_sums(one, large)
    monkeypatch.setattr(attention_module, "rows_first", lambda _: True)  # as on a CUDA device
    assert attention_module._use_sums(one, large) and not attention_module._use_sums(two[:8], small)


def test_attention_with_a_bias_never_lists_all_pairs_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where torch has a kernel for sets of any size, as that takes no bias."""
    monkeypatch.setattr(attention_module, "has_kernel", lambda _: True)
    monkeypatch.setattr(attention_module, "VARLEN_BUCKETS", 1)
    monkeypatch.setattr(attention_module, "attend_pairs", None)
    tokens = Tokens.of(*star_and_crowd())
    qkv, bias = values(tokens.num_tokens, 3, 2, 4), values(tokens.num_tokens, 2, seed=1)
    assert chosen("auto", qkv, tokens) == "varlen"
    assert torch.equal(attend(qkv, tokens, bias=bias), attend(qkv, tokens, "bucketed", bias))


cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@cuda
@pytest.mark.parametrize("heads", [1, 4])
def test_the_variable_length_kernel_agrees(heads: int) -> None:
    tokens = Tokens.of(*star_and_crowd()).to("cuda")
    qkv = values(tokens.num_tokens, 3, heads, 32).detach().to("cuda", torch.bfloat16)
    if not attention_module.has_kernel(qkv):
        pytest.skip("this torch has no variable-length attention")
    exact = attend(qkv.double(), tokens, "bucketed")
    assert torch.allclose(attend(qkv, tokens, "varlen").double(), exact, rtol=0, atol=0.03)
    assert torch.allclose(attend(qkv, tokens, "bucketed").double(), exact, rtol=0, atol=0.03)
