"""Batches of one shape: the graphs and outputs are those of batches without padding."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from detours.data import GraphSet  # noqa: E402
from detours.nn.fused import groups  # noqa: E402
from detours.nn.fused.groups import groups_of  # noqa: E402
from detours.nn.tokens import attention  # noqa: E402
from detours.training.batches import choose  # noqa: E402
from detours.training.batches.fixed import LARGE, ROUND, Arrangement, FixedBatches  # noqa: E402
from detours.training.batches.packed import Packed  # noqa: E402
from detours.training.batches.streams import GraphBatches  # noqa: E402
from detours.training.build import arguments, network_of  # noqa: E402
from tests.training.cases import inputs_of, odd_graphs, one_graph, small, task  # noqa: E402


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("model", ["mdnn", "weighted", "plain"])
@pytest.mark.parametrize(("data", "steps"), [(task(14), 4), (odd_graphs(), 2)])
@pytest.mark.parametrize(("as_sums", "den_bias"), [(True, False), (False, False), (False, True)])
def test_outputs_are_those_without_padding(
    data: GraphSet, steps: int, model: str, as_sums: bool, den_bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Token sets of a padded batch are not sorted, for either kind of attention of self tokens."""
    monkeypatch.setattr(attention, "_use_sums", lambda *_: as_sums)
    recipe = small(data, model=model, precision="64-true", den_bias=den_bias)
    inputs = inputs_of(data, recipe)
    plain = GraphBatches(Packed(inputs, dtype=torch.float64, tokens=model == "mdnn"), 4, steps)
    fixed = FixedBatches(plain, epochs=3)
    network = network_of(recipe, inputs.x.shape[1], 2).double()
    for epoch in (1, 3):
        shapes = set()
        for one, other in zip(plain.training(epoch), fixed.training(epoch), strict=True):
            padded, num_real = other.assemble(), len(one.ids)
            shapes.add((padded.x.shape, padded.edge_index.shape, padded.tokens and padded.tokens.query.shape))
            assert padded.ids[:num_real].tolist() == one.ids.tolist()
            assert (padded.ids[num_real:] == len(data)).all() and torch.equal(padded.y[:num_real], one.y)
            real = torch.cat([torch.ones(num_real), torch.zeros(padded.num_graphs - num_real)]).bool()
            network.train()  # batch norms count only the real nodes
            (positional, named), (theirs, also) = arguments(one, recipe), arguments(padded, recipe)
            also["counted"] = real[padded.batch]
            outputs = network(*theirs, **also)[padded.rows][:num_real]
            torch.testing.assert_close(outputs, network(*positional, **named), rtol=1e-9, atol=1e-9)
        assert len(shapes) == 1
    assert fixed.waste() >= 1


def test_precomputed_groups_are_those_that_would_be_found() -> None:
    data = odd_graphs()
    fixed = FixedBatches(GraphBatches(Packed(inputs_of(data, small(data))), 4, 2), epochs=1)
    precomputed = 0
    for each in fixed.training(1):
        batch = each.assemble()
        nodes, tokens = len(batch.x), batch.tokens
        assert tokens is not None
        for index, size in (
            (tokens.query, nodes),
            (tokens.first, tokens.num_tokens),
            (tokens.sets, nodes),
            (batch.batch, batch.num_graphs),
        ):
            precomputed += index in groups._cache
            for one, other in zip(groups_of(index, size), groups_of(index.clone(), size), strict=True):
                assert one.tolist() == other.tolist()
        arranged = Arrangement.of(each.degrees, each.num_arcs)
        target = batch.edge_index[1].clone()  # precomputed for a GPU, too
        assert arranged.offsets.tolist() == groups_of(target, nodes).begins.tolist() and (target.diff() >= 0).all()
    assert precomputed == 2 * 4


def test_padding_is_spread_and_fills_the_shape() -> None:
    data = task(14)
    plain = GraphBatches(Packed(inputs_of(data, small(data))), 4, 4)
    fixed, tight = FixedBatches(plain, epochs=6), 0
    for epoch in range(1, 7):
        for one, other in zip(plain.training(epoch), fixed.training(epoch), strict=True):
            padded, real = other.assemble(), len(one.x)
            degrees = np.bincount(padded.edge_index[1], minlength=fixed.num_nodes)
            assert degrees.sum() == fixed.num_arcs
            assert (degrees[:real] == np.bincount(one.edge_index[1], minlength=real)).all()
            assert np.ptp(degrees[real:]) <= 1 and len(degrees) > real
            tight = max(tight, one.edge_index.size(1))
    assert tight == fixed.num_arcs


def test_large_batches_have_sizes_that_can_be_divided() -> None:
    data = task(160)
    plain = GraphBatches(Packed(inputs_of(data, small(data))), 80, 2)
    fixed = FixedBatches(plain, epochs=1)
    most = max(batch.edge_index.size(1) for batch in plain.training(1))
    assert fixed.num_nodes % ROUND == fixed.num_arcs % ROUND == 0
    assert LARGE < most <= fixed.num_arcs < most + ROUND


@pytest.mark.parametrize(
    ("settings", "kernels", "expected"),
    [
        ({}, False, True),
        ({"den_bias": True}, False, True),
        ({"transformer_layers": 2}, True, True),
        ({"transformer_layers": 2}, False, False),
        ({"transformer_layers": 2, "den_bias": True}, True, False),
        ({"model": "plain", "transformer_layers": 2}, False, True),
        ({"directed": True, "directions": "both"}, True, False),
        ({"directed": True, "directions": "out", "model": "plain"}, True, True),
    ],
)
def test_which_batches_may_have_one_shape(
    settings: dict[str, object], kernels: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those whose token sets need not be sorted by size, on a GPU."""
    data = one_graph() if "directed" in settings else task(6)
    recipe = small(data, **{"model": "mdnn", **settings})
    packed = Packed(inputs_of(data, recipe))
    assert not choose.may_be_fixed(recipe, packed)
    monkeypatch.setattr(choose, "has_custom_kernel", lambda _: kernels)
    packed.device = torch.device("cuda")
    assert choose.may_be_fixed(recipe, packed) == expected
