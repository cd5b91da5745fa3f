import pytest

from detours.counting.on_disk import whole_graph


@pytest.fixture
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut small graphs into many blocks, like large ones."""
    monkeypatch.setattr(whole_graph, "MIN_BLOCK_SECONDS", 1e-6)
