"""Random numbers of torch are the same in every run: a network whose units happen to be switched off hides changes."""

import pytest


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    pytest.importorskip("torch").manual_seed(0)
