"""The learning rate over the epochs."""

from math import cos, pi
from typing import Any

import pytest

from detours.training.recipe import recipe
from detours.training.replicas.schedule import rate

pytest.importorskip("torch")


def rates(schedule: str, *epochs: float, **changed: Any) -> list[float]:
    settings = recipe("", "", "", "graph", schedule=schedule, lr=0.5, epochs=100, **{"warmup": 0.2, **changed})
    return [rate(settings, each) for each in epochs]


def test_it_rises_and_then_falls_to_zero() -> None:
    assert rates("constant", 5, 20, 60, 100) == [0.125, 0.5, 0.5, 0.5]
    assert rates("linear", 5, 20, 60, 100) == pytest.approx([0.125, 0.5, 0.25, 0])
    assert rates("cosine", 5, 20, 40, 60, 100) == pytest.approx([0.125, 0.5, 0.25 * (1 + cos(pi / 4)), 0.25, 0])


def test_after_the_last_epoch_the_rate_stays_zero() -> None:
    assert rates("linear", 130) == rates("cosine", 130) == [0]


def test_without_a_rise() -> None:
    assert rates("cosine", 0, 50, warmup=0) == pytest.approx([0.5, 0.25])
