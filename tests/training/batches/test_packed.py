"""Batches collated on the device: equal to those of PyG, detour numbers and tokens included."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from torch_geometric.data import Batch as PyGBatch  # noqa: E402
from torch_geometric.data import Data  # noqa: E402

import detours  # noqa: E402
from detours.data import Encoder, GraphSet  # noqa: E402
from detours.nn import Tokens  # noqa: E402
from detours.training.batches import choose  # noqa: E402
from detours.training.batches.choose import batches_of  # noqa: E402
from detours.training.batches.inputs import Scaling  # noqa: E402
from detours.training.batches.packed import Packed  # noqa: E402
from detours.training.batches.sampled import FixedSamples, SampledNodes  # noqa: E402
from detours.training.batches.spectral import eigenvectors  # noqa: E402
from detours.training.batches.streams import GraphBatches, WholeGraph, epoch_signs, steps_of  # noqa: E402
from detours.training.build import arguments, network_of  # noqa: E402
from tests.training.cases import inputs_of, odd_graphs, one_graph, small, task  # noqa: E402


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def by_pyg(data: GraphSet, ids: list[int], k: int, width: int) -> PyGBatch:
    """The slow way: a `Data` of each graph, counted separately, then a batch of PyG."""
    x, listed = Encoder.of(data).encode(data), []
    for at in ids:
        graph = data.graphs[at]
        arcs = graph.to_edge_index()[::-1].copy()
        den = np.log1p(detours.count(graph, k).arc_by_length.astype(float)).astype(np.float32)
        pe = eigenvectors([graph], width)
        listed.append(
            Data(
                x=torch.from_numpy(x[at].copy()),
                edge_index=torch.from_numpy(arcs),
                arc_features=torch.from_numpy(den),
                pe=torch.from_numpy(pe),
                y=torch.tensor([data.targets[at]]),
            )
        )
    return PyGBatch.from_data_list(listed)


@pytest.mark.parametrize("ids", [[0], [3, 1, 4, 0, 2], [2, 2, 0], [1], [1, 2]])
def test_equal_to_pyg_on_odd_graphs(ids: list[int]) -> None:
    compare(odd_graphs(), ids)


def test_equal_to_pyg() -> None:
    compare(task(), [7, 0, 39, 12, 13, 14])


def compare(data: GraphSet, ids: list[int]) -> None:
    recipe = small(data)
    ours = Packed(inputs_of(data, recipe)).batch(np.array(ids))
    theirs = by_pyg(data, ids, recipe.k, recipe.pe)
    assert ours.num_graphs == theirs.num_graphs == len(ids)
    for name in ("x", "edge_index", "arc_features", "y", "batch"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name), rtol=0, atol=0)
    torch.testing.assert_close(ours.pe, theirs.pe, rtol=0, atol=1e-6)
    plain = Tokens.of(theirs.edge_index, theirs.num_nodes)
    assert ours.tokens is not None
    assert torch.equal(ours.tokens.query, plain.query) and torch.equal(ours.tokens.arc, plain.arc)
    assert ours.tokens.buckets == plain.buckets


def test_many_batches_are_the_batches_one_by_one() -> None:
    data = task()
    packed = Packed(inputs_of(data, small(data)))
    groups = [np.array([3, 1]), np.array([0]), np.array([9, 8, 7])]
    for group, batch in zip(groups, packed.batches(groups), strict=True):
        single = packed.batch(group)
        assert torch.equal(batch.edge_index, single.edge_index) and torch.equal(batch.x, single.x)
        assert batch.ids.tolist() == group.tolist()
    assert list(packed.batches([])) == []


def test_signs_flip_eigenvectors_of_a_graph() -> None:
    data = task()
    packed = Packed(inputs_of(data, small(data)))
    signs = torch.ones(len(packed), 3)
    signs[4, 1] = -1
    flipped, plain = next(packed.batches([np.array([2, 4])], signs=signs)), packed.batch(np.array([2, 4]))
    second = (plain.batch == 1)[:, None] & torch.tensor([False, True, False])
    torch.testing.assert_close(flipped.pe, torch.where(second, -plain.pe, plain.pe))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, lambda by_length: np.log1p(by_length)),
        ({"log": False}, lambda by_length: by_length),
        ({"preset": "paper", "k": 4}, lambda by_length: by_length.sum(axis=1, keepdims=True)),
        ({"model": "weighted", "backbone": "gcn"}, lambda by_length: by_length.sum(axis=1, keepdims=True)),
        ({"model": "weighted"}, lambda by_length: np.log1p(by_length.sum(axis=1, keepdims=True))),
        ({"model": "plain"}, lambda by_length: by_length[:, :0]),
        ({"use_den": False}, lambda by_length: by_length[:, :0]),
    ],
)
def test_what_the_network_sees_of_detours(changed: dict, expected) -> None:
    data = one_graph(directed=False)
    recipe = small(data, **changed)
    by_length = detours.count(data.graphs[0], 4).arc_by_length.astype(float)
    np.testing.assert_allclose(inputs_of(data, recipe).arc_features, expected(by_length), rtol=1e-6)


def test_arcs_as_stored_or_both_ways() -> None:
    data = one_graph()
    stored = inputs_of(data, small(data, directed=True))
    arcs = data.graphs[0].to_edge_index()
    assert sorted(map(tuple, stored.edge_index.T)) == sorted(map(tuple, arcs.T))
    assert (np.diff(stored.edge_index[1]) >= 0).all()
    counts = dict(zip(map(tuple, arcs.T), detours.count(data.graphs[0], 4).arc_by_length[:, 0], strict=True))
    assert [round(np.expm1(row[0])) for row in stored.arc_features] == [
        counts[tuple(arc)] for arc in stored.edge_index.T
    ]
    both = inputs_of(data, small(data))
    assert {tuple(arc) for arc in both.edge_index.T} == {(a, b) for arc in arcs.T for a, b in (arc, arc[::-1])}


# ---------------------------------------------------------------- steps of an epoch


def test_an_epoch_is_every_graph_once_whatever_the_processes() -> None:
    data = task()
    packed = Packed(inputs_of(data, small(data)))
    alone = list(GraphBatches(packed, 8, 5).training(epoch=3))
    assert [len(batch.y) for batch in alone] == [8] * 5
    assert sorted(torch.cat([batch.ids for batch in alone]).tolist()) == list(range(40))
    parts = [list(GraphBatches(packed, 8, 5, rank, 2).training(epoch=3)) for rank in range(2)]
    for whole, one, other in zip(alone, *parts, strict=True):
        assert len(whole.y) == len(one.y) + len(other.y)
        # The same graphs with the same signs: the eigenvectors add up to the same.
        torch.testing.assert_close(one.pe.sum(0) + other.pe.sum(0), whole.pe.sum(0))
    again = list(GraphBatches(packed, 8, 5).training(epoch=3))
    assert all(torch.equal(a.pe, b.pe) for a, b in zip(alone, again, strict=True))
    later = list(GraphBatches(packed, 8, 5).training(epoch=4))
    assert not all(torch.equal(a.ids, b.ids) for a, b in zip(alone, later, strict=True))
    assert torch.cat([batch.ids for batch in GraphBatches(packed, 8, 5).evaluation()]).tolist() == list(range(40))


def test_signs_of_eigenvectors_are_drawn_anew_in_every_epoch() -> None:
    data = task(12)
    packed = Packed(inputs_of(data, small(data)))
    first, again, second = (epoch_signs(packed, epoch) for epoch in (1, 1, 2))
    assert first.shape == (12, 3) and set(first.unique().tolist()) == {-1, 1}
    assert torch.equal(first, again) and not torch.equal(first, second)


def test_steps_have_the_batch_size_of_a_training_part() -> None:
    graphs, nodes = small(task()), small(one_graph())
    assert steps_of(graphs, 32) == 4 and steps_of(graphs, 33) == 5 and steps_of(nodes, 33) == 1
    assert steps_of(small(one_graph(), neighbours=(3,)), 33) == 5


def test_sampling_every_neighbour_gives_the_outputs_of_the_whole_graph() -> None:
    data = one_graph()
    recipe = small(data, layers=1, neighbours=(-1, -1, -1), batch_size=7)  # encoder, layer and decoder: three hops
    inputs = inputs_of(data, recipe)
    network = network_of(recipe, inputs.x.shape[1], 3).eval()
    sampled, whole = batches_of(inputs, recipe, torch.device("cpu"), 9), WholeGraph(Packed(inputs))
    assert isinstance(sampled, SampledNodes) and sampled.steps == 9
    seen = []
    with torch.no_grad():
        (everything,) = whole.training(epoch=2)
        positional, named = arguments(everything, recipe)
        expected = network(*positional, **named)
        for batch in sampled.training(epoch=2):
            positional, named = arguments(batch, recipe)
            outputs = network(*positional, **named)[batch.rows]
            torch.testing.assert_close(outputs, expected[batch.ids], rtol=1e-4, atol=1e-5)
            assert torch.equal(batch.y, whole.full_batch.y[batch.ids])
            seen += batch.ids.tolist()
    assert sorted(seen) == list(range(60))


def test_samples_are_padded_for_training_only(monkeypatch: pytest.MonkeyPatch) -> None:
    data, built = one_graph(), []
    monkeypatch.setattr(choose, "may_be_fixed", lambda *_: True)
    monkeypatch.setattr(choose, "FixedSamples", lambda sampled: built.append(sampled) or FixedSamples(sampled))
    recipe = small(data, layers=1, neighbours=(3,), batch_size=7)
    for epochs in (0, 2):
        assert batches_of(inputs_of(data, recipe), recipe, torch.device("cpu"), 9, epochs=epochs)
        assert len(built) == bool(epochs)


def test_one_graph_is_not_shared_by_processes() -> None:
    data = one_graph()
    with pytest.raises(detours.errors.InputError, match="one graph, which one device holds"):
        batches_of(inputs_of(data, small(data)), small(data), torch.device("cpu"), 1, 0, 2)


# ---------------------------------------------------------------- features and classes


def test_standardised_columns() -> None:
    x = np.array([[0, 5.0, 3], [1, 7.0, 3], [1, 9.0, 3]], np.float32)
    scaling = Scaling.of(x)
    scaled = (x - scaling.shift) / scaling.scale
    np.testing.assert_allclose(scaled[:, 0], x[:, 0])  # 0 and 1 stay
    np.testing.assert_allclose([scaled[:, 1].mean(), scaled[:, 1].std()], [0, 1], atol=1e-6)
    np.testing.assert_allclose(scaled[:, 2], x[:, 2])  # a constant has nothing to be scaled by
    again = Scaling.from_json(scaling.to_json())
    assert np.array_equal(again.shift, scaling.shift) and np.array_equal(again.scale, scaling.scale)


def test_features_are_scaled_in_the_precision_of_the_network() -> None:
    data = one_graph()
    inputs = inputs_of(data, small(data))
    scaling = Scaling.of(np.random.default_rng(0).normal(1, 3, inputs.x.shape))
    exact = (inputs.x.astype(np.float64) - scaling.shift) / scaling.scale
    found = {precision: scaling.apply(inputs, precision).x for precision in ("64-true", "32-true", "bf16-mixed")}
    assert [each.dtype for each in found.values()] == [np.float64, np.float32, np.float32]
    assert np.array_equal(found["64-true"], exact) and not np.array_equal(found["32-true"], exact)
