"""Samples of neighbourhoods, padded to one shape: nodes and outputs are those of samples without padding."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from detours.graph import Graph  # noqa: E402
from detours.training.batches import sampled as module  # noqa: E402
from detours.training.batches.packed import Batch, Packed  # noqa: E402
from detours.training.batches.sampled import FixedSamples, SampledNodes, SenderSampler  # noqa: E402
from detours.training.build import arguments, network_of  # noqa: E402
from tests.training.cases import inputs_of, one_graph, small  # noqa: E402


def both(model: str) -> tuple:
    data = one_graph()
    recipe = small(data, model=model, precision="64-true", norm="batch", input_dropout=0.0, neighbours=(3, 2))
    inputs = inputs_of(data, recipe)
    packed = Packed(inputs, dtype=torch.float64, tokens=model == "mdnn")
    plain = SampledNodes(packed, inputs, recipe.neighbours, 4)
    return recipe, plain, FixedSamples(plain), network_of(recipe, inputs.x.shape[1], 3).double()


@pytest.mark.parametrize("model", ["mdnn", "weighted", "plain"])
def test_outputs_are_those_without_padding(model: str) -> None:
    recipe, plain, fixed, network = both(model)
    shapes, padding = set(), 0
    for epoch in (1, 2, 7):
        for one, other in zip(plain.training(epoch), fixed.training(epoch), strict=True):
            assert other.fixed
            padded, num_real = other.assemble(), len(one.ids)
            shapes.add((padded.x.shape, padded.edge_index.shape, padded.tokens and padded.tokens.query.shape))
            padding += int((~padded.real).sum())
            assert padded.ids[:num_real].tolist() == one.ids.tolist() and torch.equal(padded.y[:num_real], one.y)
            assert (padded.ids[num_real:] == len(plain.packed.y)).all()
            network.train()  # batch norms count only the real nodes
            (positional, named), (theirs, also) = arguments(one, recipe), arguments(padded, recipe)
            also["counted"] = padded.real
            outputs = network(*theirs, **also)[padded.rows][:num_real]
            torch.testing.assert_close(outputs, network(*positional, **named)[one.rows], rtol=1e-9, atol=1e-9)
    assert len(shapes) == 1 and padding
    assert fixed.waste() >= 1


@pytest.mark.parametrize("directions", ["in", "out", "both"])
@pytest.mark.parametrize("model", ["mdnn", "plain"])
def test_samples_of_all_senders_give_the_outputs_of_the_whole_graph(model: str, directions: str) -> None:
    data = one_graph()
    source, target = data.graphs[0].to_edge_index()
    arcs = np.stack([source, target])[:, source < target]  # no node reaches all others
    data = replace(data, graphs=[Graph.from_edge_index(arcs, 60, directed=True)])
    options = {"norm": "none", "token_norm": "none", "input_dropout": 0.0, "layers": 1, "pe": 0}
    changed = {"directed": True, "directions": directions, "neighbours": (-1,) * 5, "precision": "64-true"}
    recipe = small(data, model=model, **options, **changed)
    inputs = inputs_of(data, recipe)
    packed = Packed(inputs, dtype=torch.float64, tokens=model == "mdnn")
    batches = SampledNodes(packed, inputs, recipe.neighbours, 1, 3, directions)
    network = network_of(recipe, inputs.x.shape[1], 3).double().eval()
    (whole,) = SampledNodes(packed, inputs, recipe.neighbours, 1).evaluation()
    positional, named = arguments(whole, recipe)
    expected = network(*positional, **named)
    drawn = 0
    for batch in batches.evaluation():
        positional, named = arguments(batch, recipe)
        torch.testing.assert_close(network(*positional, **named)[batch.rows], expected[batch.ids])
        assert len(batch.x) < len(whole.x) or directions == "both"
        drawn += len(batch.x)
    assert drawn > 60  # with neighbours


@pytest.mark.parametrize("directions", ["out", "both"])
def test_samples_against_the_arcs_have_arcs_of_the_graph(directions: str) -> None:
    inputs = inputs_of(one_graph(), small(one_graph(), neighbours=(2, 2), directed=True))
    samples = list(SenderSampler(inputs, (2, 2), 6, directions).epoch(3))
    assert len(samples) == 6
    for sampled in samples:
        ends = sampled.n_id[sampled.edge_index]
        assert np.array_equal(ends, inputs.edge_index[:, sampled.e_id]) and len(set(sampled.e_id)) == len(sampled.e_id)
        assert (np.diff(sampled.edge_index[1]) >= 0).all()
        assert np.isin(sampled.n_id[: sampled.batch_size], ends[0]).any()


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_an_evaluation_by_samples_has_every_node_once(batch_size: int) -> None:
    data = one_graph()
    recipe = small(data, model="mdnn", neighbours=(3, 2))
    inputs = inputs_of(data, recipe)
    packed = Packed(inputs)
    batches = SampledNodes(packed, inputs, recipe.neighbours, 4, batch_size).evaluation()
    assert torch.cat([batch.ids for batch in batches]).tolist() == list(range(len(packed.y)))
    assert all(len(batch.ids) <= batch_size and torch.equal(batch.y, packed.y[batch.ids]) for batch in batches)
    drawn = torch.cat([torch.bincount(batch.edge_index[1], minlength=len(batch.x)) for batch in batches])
    assert drawn.max() == 3 < torch.bincount(packed.edge_index[1]).max()
    for batch in batches:
        assert torch.equal(batch.x[batch.rows], packed.x[batch.ids])
    again = SampledNodes(packed, inputs, recipe.neighbours, 2, batch_size).evaluation()
    assert all(torch.equal(one.edge_index, other.edge_index) for one, other in zip(batches, again, strict=True))


def test_an_evaluation_of_the_whole_graph_has_every_arc() -> None:
    _, plain, fixed, _ = both("plain")
    (batch,) = plain.evaluation()
    assert batch.edge_index.size(1) == plain.packed.edge_index.size(1) and batch.rows is None
    assert len(fixed.evaluation()) == 1


@pytest.mark.parametrize("which", ["nodes", "arcs"])
def test_a_sample_that_does_not_fit_is_not_padded(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, plain, _, _ = both("mdnn")
    sizes = [len(each.x) if which == "nodes" else each.edge_index.size(1) for each in plain.training(1)]
    # a node is always padding
    tight = (max(sizes), 1000) if which == "nodes" else (1000, max(sizes) - 1)
    monkeypatch.setattr(module, "padded_sizes", lambda *_: tight)
    fixed, kinds = FixedSamples(plain), []
    for one, other, size in zip(plain.training(1), fixed.training(1), sizes, strict=True):
        kinds.append(size == max(sizes))
        assert isinstance(other, Batch) == kinds[-1]
        if kinds[-1]:
            assert torch.equal(other.x, one.x) and torch.equal(other.edge_index, one.edge_index)
    assert any(kinds)
