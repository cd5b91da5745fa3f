"""Data for the tests of the queue."""

from dataclasses import replace

import pytest

from detours.data import GraphSet, rings


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> GraphSet:
    """Rings under the name ENZYMES, so that they are data of a table."""
    monkeypatch.delenv("DETOURS_DATA", raising=False)
    return replace(rings(40, sizes=(3, 4)), name="ENZYMES")
