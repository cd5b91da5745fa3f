"""Tokens: every arc and every node once, set by set, with at most the documented padding."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from detours.errors import InputError
from detours.nn import MDNN
from detours.nn.tokens import Tokens
from detours.nn.tokens.buckets import EXACT, SPREAD, bucketed, single
from tests.nn.cases import arcs_of, star_and_crowd
from tests.strategies import SmallGraph, small_graphs


@given(small_graphs())
def test_a_token_for_every_arc_and_every_node(graph: SmallGraph) -> None:
    arcs = arcs_of(graph)
    tokens = Tokens.of(arcs, graph.num_nodes)
    found = list(zip(tokens.query.tolist(), tokens.key.tolist(), tokens.arc.tolist(), strict=True))
    by_arc = [(i, j, column) for column, (j, i) in enumerate(graph.arcs)]
    by_node = [(i, i, len(graph.arcs)) for i in range(graph.num_nodes)]
    assert sorted(found) == sorted(by_arc + by_node)
    # Sets are consecutive, ascending in size, and start with their self token.
    order = list(dict.fromkeys(tokens.query.tolist()))
    sizes = [tokens.query.tolist().count(node) for node in order]
    assert tokens.query.tolist() == [node for node, size in zip(order, sizes, strict=True) for _ in range(size)]
    assert sizes == sorted(sizes) == tokens.set_sizes.tolist()
    assert [tokens.sets[node].item() for node in order] == list(range(graph.num_nodes))
    assert torch.equal(tokens.key[tokens.first[tokens.sets]], torch.arange(graph.num_nodes))
    assert tokens.num_pairs == sum(size * size for size in sizes)
    assert tokens.largest == max(sizes)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_buckets_cover_all_sets_with_little_padding(sizes: list[int]) -> None:
    sizes[0] = 0
    buckets = bucketed(sizes)
    assert [each for bucket in buckets for each in bucket.size_counts] == [(m, s) for m, s in enumerate(sizes) if s]
    assert sum(bucket.padded for bucket in buckets) <= SPREAD * sum(bucket.tokens for bucket in buckets)
    assert all(bucket.size == bucket.size_counts[-1][0] for bucket in buckets)
    if sum(count > 0 for count in sizes) <= EXACT:
        assert not any(bucket.mixed for bucket in buckets)
    assert sum(bucket.padded for bucket in single(buckets)) == sum(sizes) * max(
        (m for m, s in enumerate(sizes) if s), default=0
    )


@given(small_graphs())
def test_known_sizes_change_nothing(graph: SmallGraph) -> None:
    arcs = arcs_of(graph)
    computed = Tokens.of(arcs, graph.num_nodes)
    degrees = torch.bincount(arcs[1], minlength=graph.num_nodes)
    given_sizes = Tokens.of(arcs, graph.num_nodes, sizes=torch.bincount(degrees + 1).tolist())
    assert torch.equal(computed.arc, given_sizes.arc)
    assert computed.buckets == given_sizes.buckets


def test_padding_repeats_tokens_of_the_same_set() -> None:
    arcs, num_nodes = star_and_crowd()
    tokens = Tokens.of(arcs, num_nodes)
    assert any(bucket.mixed for bucket in tokens.buckets)
    parts = tokens.layout.split(tokens.query + 1)
    at = 0
    for bucket, part, real in zip(tokens.buckets, parts, tokens.layout.masks(), strict=True):
        assert part.shape == (bucket.sets, bucket.size)
        for row in range(bucket.sets):
            node = tokens.query[tokens.first[at]].item()
            size = int(tokens.set_sizes[at])
            assert part[row].tolist() == [node + 1] * bucket.size
            assert real is None or real[row].tolist() == [True] * size + [False] * (bucket.size - size)
            at += 1
    assert torch.equal(tokens.layout.join(parts), tokens.query + 1)


@given(small_graphs(), st.randoms(use_true_random=False))
def test_from_the_index_of_the_transform(graph: SmallGraph, random) -> None:  # type: ignore[no-untyped-def]
    listed = [(i, i) for i in range(graph.num_nodes)] + list(graph.arcs)
    random.shuffle(listed)
    index = torch.tensor(listed).t()
    tokens = Tokens.from_index(index, graph.num_nodes)
    same = Tokens.of(arcs_of(graph), graph.num_nodes)
    assert sorted(zip(tokens.query, tokens.key, strict=True)) == sorted(zip(same.query, same.key, strict=True))
    assert tokens.buckets == same.buckets
    assert tokens.rows == len(listed)
    own = tokens.query == tokens.key
    assert (tokens.arc[own] == tokens.rows).all()
    assert torch.equal(index[0][tokens.arc[~own]], tokens.key[~own])
    assert torch.equal(index[1][tokens.arc[~own]], tokens.query[~own])


def test_no_nodes_and_no_arcs() -> None:
    none = torch.empty(2, 0, dtype=torch.long)
    assert Tokens.of(none, 0).num_tokens == 0
    alone = Tokens.of(none, 3)
    assert alone.query.tolist() == alone.key.tolist() == [0, 1, 2]
    assert [(bucket.sets, bucket.size) for bucket in alone.buckets] == [(3, 1)]


def test_moving_keeps_everything() -> None:
    arcs, num_nodes = star_and_crowd()
    tokens = Tokens.of(arcs, num_nodes)
    moved = tokens.to("meta")
    assert moved.query.is_meta and moved.layout.position is not None and moved.layout.position.is_meta
    assert moved.buckets == tokens.buckets
    assert "42 nodes" in repr(tokens)


@pytest.mark.parametrize(
    ("arcs", "num_nodes", "sizes", "message"),
    [
        ([[0, 1], [1, 1]], 2, None, "1 loop"),
        ([[0, 2], [1, 0]], 2, None, "0 to 1"),
        ([[0, -1], [1, 0]], 2, None, "-1 to 1"),
        ([0, 1, 2], 3, None, "two rows"),
        ([[0, 1], [1, 0]], 2, [0, 2], "sizes counts 2 nodes with 2 tokens"),
    ],
)
def test_bad_arcs(arcs: list[list[int]], num_nodes: int, sizes: list[int] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Tokens.of(torch.tensor(arcs), num_nodes, sizes=sizes)


def test_bad_token_index() -> None:
    with pytest.raises(InputError, match="one self token for each of the 3 nodes, but it has 2"):
        Tokens.from_index(torch.tensor([[0, 1, 1], [0, 1, 0]]), 3)
    with pytest.raises(InputError, match="two rows"):
        Tokens.from_index(torch.tensor([0, 1]), 2)


@pytest.mark.parametrize("flipped", [False, True])
def test_tokens_first_seen_in_inference_serve_training(flipped: bool) -> None:
    """What tokens derive and keep must have gradients later."""
    torch.manual_seed(0)
    arcs = torch.tensor([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    net = MDNN(3, 8, 2, "gcn", heads=2, pe_channels=0, directions="out" if flipped else "in")
    x, den, tokens = torch.randn(3, 3), torch.ones(6, 1), Tokens.of(arcs, 3)
    with torch.inference_mode():
        net(x, arcs, den, tokens=tokens)
    net(x, arcs, den, tokens=tokens).sum().backward()
    expected = {name: each.grad.clone() for name, each in net.named_parameters()}
    net.zero_grad()
    net(x, arcs, den, tokens=Tokens.of(arcs, 3)).sum().backward()
    for name, each in net.named_parameters():
        torch.testing.assert_close(each.grad, expected[name])
