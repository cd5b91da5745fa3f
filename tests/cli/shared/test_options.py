"""Options that several commands share."""

from detours.cli.shared.options import Engine
from detours.counting.plan import engines


def test_every_engine_can_be_chosen() -> None:
    assert {choice.value for choice in Engine} == {"auto"} | {engine.name for engine in engines()}
