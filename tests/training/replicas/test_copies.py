"""The weights of the best epoch of each network, dropped and loaded with it."""

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from detours.training.replicas.copies import BestWeights  # noqa: E402


def weights(value: float) -> Any:
    """Three networks whose weights all have this value."""
    buffers = {"mean": torch.full((3, 4, 2), value), "steps": torch.full((3,), int(value))}
    return SimpleNamespace(flat=torch.full((3, 5), value), buffers=buffers)


def values(best: BestWeights) -> list[list[float]]:
    """The distinct values of each network."""
    parts = (best.flat, *best.buffers.values())
    rows = torch.cat([each.reshape(len(best.flat), -1).float() for each in parts], dim=1)
    return [row.unique().tolist() for row in rows]


def test_each_network_keeps_its_own_best_epoch() -> None:
    stack = weights(0)
    best = BestWeights(stack)
    stack.flat += 9  # a copy, not the weights themselves
    assert values(best) == [[0], [0], [0]]
    for epoch, better in ((1, [True, True, False]), (2, [False, True, False]), (3, [False, False, True])):
        now = weights(epoch)
        best.update(now.flat, now.buffers, torch.tensor(better))
    assert values(best) == [[1], [2], [3]]
    best.keep(torch.tensor([2, 0]))
    assert values(best) == [[3], [1]]
    again = BestWeights(weights(0))
    again.keep(torch.tensor([0, 1]))
    again.load(**best.state())  # type: ignore[arg-type]
    assert values(again) == [[3], [1]] and again.flat is not best.flat


def test_statistics_that_are_not_evaluated_stay() -> None:
    best, now = BestWeights(weights(0)), weights(1)
    best.update(now.flat, {"mean": now.buffers["mean"]}, torch.tensor([True] * 3))
    assert best.buffers["steps"].tolist() == [0, 0, 0] and best.buffers["mean"].eq(1).all()
