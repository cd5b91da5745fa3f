"""Samples of neighbourhoods, padded to one shape: the nodes and the answers of samples without padding."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning")

from detours.training.batches.choose import may_be_fixed  # noqa: E402
from detours.training.batches.packed import Batch, Packed  # noqa: E402
from detours.training.batches.sampled import FixedSamples, SampledNodes  # noqa: E402
from detours.training.build import arguments, network_of  # noqa: E402
from tests.training.cases import inputs_of, one_graph, small  # noqa: E402


def both(model: str) -> tuple:
    data = one_graph()
    made = small(data, model=model, precision="64-true", norm="batch", input_dropout=0.0, neighbours=(3, 2))
    inputs = inputs_of(data, made)
    packed = Packed(inputs, dtype=torch.float64, tokens=model == "mdnn")
    plain = SampledNodes(packed, inputs, made.neighbours, 4)
    return made, plain, FixedSamples(plain), network_of(made, inputs.x.shape[1], 3).double()


@pytest.mark.parametrize("model", ["mdnn", "weighted", "plain"])
def test_the_answers_are_those_without_padding(model: str) -> None:
    made, plain, fixed, network = both(model)
    shapes, padding = set(), 0
    for epoch in (1, 2, 7):
        for one, other in zip(plain.training(epoch), fixed.training(epoch), strict=True):
            assert other.fixed
            padded, number = other.assembled(), len(one.ids)
            shapes.add((padded.x.shape, padded.edge_index.shape, padded.tokens and padded.tokens.query.shape))
            padding += int((~padded.real).sum())
            assert padded.ids[:number].tolist() == one.ids.tolist() and torch.equal(padded.y[:number], one.y)
            assert (padded.ids[number:] == len(plain.packed.y)).all()
            network.train()  # batch norms count the real nodes alone
            (positional, named), (theirs, also) = arguments(one, made), arguments(padded, made)
            also["counted"] = padded.real
            answers = network(*theirs, **also)[padded.rows][:number]
            torch.testing.assert_close(answers, network(*positional, **named)[one.rows], rtol=1e-9, atol=1e-9)
    assert len(shapes) == 1 and padding
    assert fixed.waste() >= 1


def test_a_sample_that_does_not_fit_comes_as_it_is() -> None:
    _, plain, fixed, _ = both("mdnn")
    fixed.sizes = fixed.sizes.copy()
    largest = max(np.flatnonzero(fixed.sizes))
    fixed.sizes[largest] = 0
    kinds = []
    for one, other in zip(plain.training(1), fixed.training(1), strict=True):
        has = int(np.bincount(one.edge_index[1], minlength=1).max()) == largest - 1
        kinds.append(has)
        assert isinstance(other, Batch) == has
        if has:
            assert torch.equal(other.x, one.x) and torch.equal(other.edge_index, one.edge_index)
    assert any(kinds)


@pytest.mark.parametrize(
    ("model", "directions", "expected"), [("mdnn", "in", 1), ("mdnn", "both", 0), ("plain", "out", 1)]
)
def test_tokens_of_arcs_turned_round_have_no_fixed_shape(model: str, directions: str, expected: int) -> None:
    made = small(one_graph(), model=model, directed=True, directions=directions)
    assert may_be_fixed(made, torch.device("cuda")) == expected
    assert not may_be_fixed(made, torch.device("cpu"))
