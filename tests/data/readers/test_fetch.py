from pathlib import Path

import pytest

from detours.data import load
from detours.errors import InputError
from tests.data.conftest import write


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("DETOURS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "detours"


def test_pyg_downloads_missing_data(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch_geometric.datasets

    asked = []

    def fetch(root: str, name: str) -> None:
        asked.append((root, name))
        write(
            Path(root) / name / "raw",
            **{f"{name}_A": "1, 2\n2, 1\n", f"{name}_graph_indicator": "1\n1\n", f"{name}_graph_labels": "7\n"},
        )

    monkeypatch.setattr(torch_geometric.datasets, "TUDataset", fetch)
    assert load("NCI1").y.tolist() == [7] and load("NCI1").labels is None
    assert asked == [(str(no_data / "TUDataset"), "NCI1")]  # the second time from the cache


def test_a_failed_download(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch_geometric.datasets

    def fail(root: str, name: str) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(torch_geometric.datasets, "WebKB", fail)
    with pytest.raises(InputError, match=r"Texas could not be fetched .*no route to host.*DETOURS_DATA"):
        load("Texas")


def test_without_pyg_nothing_is_fetched(no_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detours.data.readers.fetch.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"MUTAG is not on this machine: set DETOURS_DATA .* or install torch_geometric"
    ):
        load("MUTAG")
    with pytest.raises(InputError, match=r"EXP cannot be fetched; put its GRAPHSAT.txt into DIR/EXP/raw"):
        load("EXP")
