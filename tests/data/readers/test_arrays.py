"""ZINC and the heterophilous graphs: small files of the same form, the real ones, and damaged ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detours.data import GraphSet, load, splits
from detours.data.catalogue import found_folder
from detours.errors import FileFormatError, InputError
from tests.real_data import data_folder


def zinc(folder: Path, **changed: Any) -> Path:
    """A triangle with a tail, and an edge."""
    arrays = {
        "num_nodes": np.array([4, 2]),
        "num_arcs": np.array([8, 2]),
        "atom": np.array([0, 5, 5, 1, 2, 2]),
        "arcs": np.array([[0, 1, 1, 2, 2, 0, 2, 3, 0, 1], [1, 0, 2, 1, 0, 2, 3, 2, 1, 0]]),
        "y": np.array([0.5, -2.0], np.float32),
    }
    (folder / "ZINC12k").mkdir(parents=True, exist_ok=True)
    np.savez(folder / "ZINC12k" / "zinc12k.npz", **(arrays | changed))
    return folder


def heterophilous(folder: Path, **changed: Any) -> Path:
    masks = {name: np.arange(4)[None] % 3 == at for at, name in enumerate(("train_masks", "val_masks", "test_masks"))}
    arrays = {
        "edges": np.array([[0, 1], [1, 2], [0, 3]]),
        "node_labels": np.array([0, 1, 0, 1]),
        "node_features": np.eye(4, 3),
    }
    (folder / "heterophilous").mkdir(parents=True, exist_ok=True)
    np.savez(folder / "heterophilous" / "tolokers.npz", **(arrays | masks | changed))
    return folder


def test_molecules(tmp_path: Path) -> None:
    data = load("zinc", zinc(tmp_path))
    assert data.task == "regression" and data.y.tolist() == [0.5, -2.0] and data.edge_labels is None
    assert [graph.num_edges for graph in data.graphs] == [4, 1] and data.labels[0].tolist() == [0, 5, 5, 1]
    data = load("ZINC", zinc(tmp_path, bond=np.array([1, 1, 2, 2, 3, 3, 4, 4, 1, 1])))
    assert data.graphs[0].edge_index.tolist() == [[0, 0, 1, 1, 2, 2, 2, 3], [1, 2, 0, 2, 0, 1, 3, 2]]
    assert [each.tolist() for each in data.edge_labels] == [[1, 3, 1, 2, 3, 2, 4, 4], [1, 1]]


def test_nodes(tmp_path: Path) -> None:
    data = load("Tolokers", heterophilous(tmp_path))
    assert data.level == "node" and not data.graphs[0].directed and data.graphs[0].num_edges == 3
    found = splits(data)
    assert found.source == "platonov2023" and [part.tolist() for part in found[0]] == [[0, 3], [1], [2]]
    with pytest.raises(InputError, match=r"Questions is not in .*heterophilous/questions.npz"):
        load("Questions", tmp_path)


@pytest.mark.parametrize(
    ("make", "changed", "sentence"),
    [
        (zinc, {"atom": np.zeros(5)}, "numbers of nodes, arcs and targets do not agree"),
        (zinc, {"y": np.zeros(3)}, "numbers of nodes, arcs and targets do not agree"),
        (zinc, {"arcs": np.full((2, 10), 3)}, "an arc of molecule 1 has an end outside of it"),
        (heterophilous, {"edges": np.array([[0, 4]])}, r"two nodes of 0 \.\. 3 each"),
        (heterophilous, {"node_features": np.eye(3)}, "features of 3 nodes and classes of 4"),
    ],
)
def test_damaged_files(make: Any, changed: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=sentence):
        load("ZINC" if make is zinc else "Tolokers", make(tmp_path, **changed))


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    file = zinc(tmp_path) / "ZINC12k" / "zinc12k.npz"
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(FileFormatError, match="should contain the arrays num_nodes"):
        load("ZINC", tmp_path)


def test_pyg_downloads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("torch_geometric.datasets")
    import torch
    from torch_geometric.data import Data

    monkeypatch.delenv("DETOURS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    graph = Data(
        x=torch.tensor([[3], [4]]),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_attr=torch.tensor([2, 2]),
        y=torch.tensor([1.5]),
    )
    asked = []
    monkeypatch.setattr(datasets, "ZINC", lambda root, subset, split: asked.append(split) or [graph])
    for _ in range(2):  # the second time from the cache
        data = load("ZINC")
    assert asked == ["train", "val", "test"] and data.y.tolist() == [1.5] * 3 and data.edge_labels[0].tolist() == [2, 2]
    raw = heterophilous(tmp_path / "other") / "heterophilous" / "tolokers.npz"
    made = type("Made", (), {"raw_paths": [raw]})()
    monkeypatch.setattr(datasets, "HeterophilousGraphDataset", lambda root, name: made)
    assert load("Tolokers").graphs[0].num_nodes == 4


def real(name: str) -> GraphSet:
    if found_folder(name, data_folder()) is None:
        pytest.skip(f"{name} is not in {data_folder()}")
    return load(name, data_folder())


@pytest.mark.parametrize(
    ("name", "nodes", "edges"), [("Minesweeper", 10_000, 39_402), ("Chameleon-filtered", 890, 8_854)]
)
def test_real_graphs(name: str, nodes: int, edges: int) -> None:
    data = real(name)
    assert (data.graphs[0].num_nodes, data.graphs[0].num_edges) == (nodes, edges) and len(splits(data)) == 10


def test_real_molecules() -> None:
    data = real("ZINC")
    assert len(data) == 12_000 and len(splits(data)) == 1
    assert [len(part) for part in splits(data)[0]] == [10_000, 1_000, 1_000]
    assert np.abs(data.y[11_000:] - np.median(data.y[:10_000])).mean() == pytest.approx(1.5, abs=0.1)
