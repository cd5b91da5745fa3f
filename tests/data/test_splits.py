"""Splits: published ones as in their files, generated ones stratified and reproducible."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.data import NODE_SETS, GraphSet, Split, Splits, fused_rings, load, rings, splits, stratified_splits
from detours.data.split_files import SHIPPED
from detours.data.splitting import SEED, inner_splits
from detours.errors import InputError
from detours.graph import Graph
from tests import real_data

DOT = Graph.from_edge_index([[], []], num_nodes=1)
FOLDS = Path(__file__).parents[2] / "src" / "detours" / "data" / "folds"


def of_classes(y: Any, name: str = "made", pairs: list[tuple[int, int]] | None = None, **more: Any) -> GraphSet:
    return GraphSet(name, [DOT] * len(y), np.asarray(y), pairs=pairs, **more)


def check_folds(found: Any, number: int) -> None:
    for fold in found:
        assert isinstance(fold, Split) and all(len(part) and part.dtype == np.int64 for part in fold)
        assert sorted(np.concatenate(fold).tolist()) == list(range(number))


# ---------------------------------------------------------------- generated


@given(st.lists(st.integers(-2, 2), min_size=12, max_size=120), st.integers(2, 12), st.integers(0, 5))
def test_generated_folds_are_stratified(y: list[int], folds: int, seed: int) -> None:
    data = of_classes(y)
    found = stratified_splits(data, folds, seed)
    assert found.source == f"generated, seed {seed}" and len(found) == folds
    check_folds(found, len(y))
    assert sorted(np.concatenate([fold.test for fold in found]).tolist()) == list(range(len(y)))
    for label in data.classes:
        number = (data.y == label).sum()
        for train, val, test in found:
            assert abs((data.y[test] == label).sum() - number / folds) < 1
            rest = number - (data.y[test] == label).sum()
            assert abs((data.y[val] == label).sum() - rest / 10) < 1
            assert (data.y[train] == label).sum() == rest - (data.y[val] == label).sum()


def test_folds_depend_only_on_the_seed() -> None:
    data = of_classes([0, 1, 1] * 20)
    again, other = stratified_splits(data), stratified_splits(data, seed=1)
    for fold, same in zip(stratified_splits(data), again, strict=True):
        assert all(np.array_equal(part, its) for part, its in zip(fold, same, strict=True))
    assert not np.array_equal(again[0].test, other[0].test)


@pytest.mark.parametrize(
    "data", [rings(60), fused_rings(60, seed=4), of_classes([0, 1] * 30, pairs=[(0, 59), (59, 7)])]
)
def test_pairs_stay_together(data: GraphSet) -> None:
    found = splits(data)
    check_folds(found, 60)
    for fold in found:
        part_of = {int(i): name for name, part in fold._asdict().items() for i in part}
        assert data.pairs and all(part_of[i] == part_of[j] for i, j in data.pairs)


def test_pairs_that_share_a_graph_are_one_group() -> None:
    data = of_classes([0, 1] * 20, pairs=[(0, 1), (1, 2), (3, 2), *((i, i + 1) for i in range(4, 40, 2))])
    for fold in stratified_splits(data, folds=5):
        assert sum(bool({0, 1, 2, 3} & set(part.tolist())) for part in fold) == 1


def test_inner_folds_hold_out_others_in_every_fold() -> None:
    data, order = of_classes([0, 1] * 30), np.arange(60)
    outer = Splits("given", [Split(order[:40], order[40:50], order[50:])] * 2)
    (one, other), (again, _) = inner_splits(data, outer), inner_splits(data, outer)
    assert np.array_equal(one.val, again.val) and not np.array_equal(one.val, other.val)


@pytest.mark.parametrize(
    ("folds", "message"),
    [(1, "folds must be an integer of at least 2"), (13, "13 folds need at least 13 graphs, but made has 12")],
)
def test_impossible_folds(folds: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        stratified_splits(of_classes([0, 1] * 6), folds)


def test_too_few_pairs() -> None:
    with pytest.raises(InputError, match="10 folds need at least 10 pairs of graphs, but rings has 5"):
        splits(rings(10))


# ---------------------------------------------------------------- shipped with the library


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_folds_are_the_generated_ones(name: str) -> None:
    real_data.molecule_graphs(name)  # skips where there are no data
    data = load(name, real_data.data_folder())
    assert (FOLDS / f"{name}.json").read_text() == shipped_text(data)
    found = splits(data)
    assert found.source == "shipped" and len(found) == 10
    check_folds(found, len(data))
    assert splits(data.subset(range(40))).source == "generated, seed 142857"


def test_shipped_folds_are_for_exactly_their_classes() -> None:
    classes = json.loads((FOLDS / "MUTAG.json").read_text())["classes"]
    assert splits(of_classes(classes, "MUTAG")).source == "shipped"
    for others in (classes[::-1], classes[1:]):
        assert splits(of_classes(others, "MUTAG")).source == "generated, seed 142857"


def shipped_text(data: GraphSet) -> str:
    """Return the content of the shipped file of a data set: our own folds, generated again."""
    folds = [
        {"test": test.tolist(), "model_selection": [{"train": train.tolist(), "validation": val.tolist()}]}
        for train, val, test in stratified_splits(data)
    ]
    parts = {"data": data.name, "seed": SEED, "classes": data.y.tolist()}
    lines = ",\n".join(json.dumps(fold, separators=(",", ":")) for fold in folds)
    return f'{json.dumps(parts, separators=(",", ":"))[:-1]},"folds":[\n{lines}\n]}}\n'


# ---------------------------------------------------------------- published


def test_folds_of_errica() -> None:
    file = real_data.data_folder() / "splits" / "errica2019" / "COLLABORATIVE_DEGREE" / "IMDB-BINARY_splits.json"
    if not file.exists():
        pytest.skip("the splits of Errica et al. are not there")
    data = load("IMDB-BINARY", real_data.data_folder())
    found = splits(data)
    assert found.source == "errica2019" and len(found) == 10
    check_folds(found, 1000)
    for fold, plain in zip(found, json.loads(file.read_text()), strict=True):
        assert fold.test.tolist() == sorted(plain["test"])
        assert fold.val.tolist() == sorted(plain["model_selection"][0]["validation"])
        assert np.bincount(data.targets[fold.train]).tolist() == [405, 405]


@pytest.mark.parametrize("name", NODE_SETS)
def test_masks_of_geom_gcn(name: str) -> None:
    folder = real_data.data_folder() / real_data.NODE_DATA[name]
    if not folder.exists():
        pytest.skip(f"{name} is not there")
    data = load(name, real_data.data_folder())
    found = splits(data)
    assert found.source == "geom-gcn" and len(found) == 10
    check_folds(found, len(data.y))
    (file,) = folder.glob("*_0.6_0.2_7.npz")
    assert np.array_equal(np.flatnonzero(np.load(file)["test_mask"]), found[7].test)


@pytest.fixture
def errica(tmp_path: Path) -> Path:
    return _placed(tmp_path, [{"test": [0, 4], "model_selection": [{"train": [1, 2], "validation": [3]}]}])


def _placed(root: Path, plain: Any) -> Path:
    file = root / "splits" / "errica2019" / "CHEMICAL" / "DD_splits.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(plain if isinstance(plain, str) else json.dumps(plain))
    return root


def test_where_splits_are_searched_for(errica: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    y = [0, 1, 0, 1, 1]
    monkeypatch.setenv("DETOURS_DATA", str(tmp_path / "nowhere"))
    assert splits(of_classes(y, "DD"), errica).source == "errica2019"
    assert splits(of_classes(y, "DD", root=errica)).source == "errica2019"
    monkeypatch.setenv("DETOURS_DATA", str(errica))
    assert splits(of_classes(y, "DD"))[0].test.tolist() == [0, 4]
    assert splits(of_classes([0, 1] * 10, "DD", root=tmp_path / "nowhere")).source == "generated, seed 142857"


def test_parts_of_published_folds_keep_their_roles(errica: Path) -> None:
    (fold,) = splits(of_classes([0, 1, 0, 1, 1], "DD"), errica)
    assert [part.tolist() for part in fold] == [[1, 2], [3], [0, 4]]


def test_masks_of_geom_gcn_keep_their_roles(tmp_path: Path) -> None:
    parts = {"train_mask": [1, 2], "val_mask": [3], "test_mask": [0, 4]}
    raw = tmp_path / "WebKB" / "texas" / "raw"
    raw.mkdir(parents=True)
    for fold in range(10):
        masks = {name: np.isin(np.arange(5), part) for name, part in parts.items()}
        np.savez(raw / f"texas_split_0.6_0.2_{fold}.npz", **masks)
    graph = Graph.from_edge_index([[], []], num_nodes=5)
    found = splits(GraphSet("Texas", [graph], np.array([0, 1, 0, 1, 1]), level="node"), tmp_path)
    assert found.source == "geom-gcn" and [part.tolist() for part in found[0]] == list(parts.values())


FOLD = {"test": [0, 4], "model_selection": [{"train": [1, 2], "validation": [3]}]}


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ([FOLD | {"test": [0, 5]}], r"DD_splits.json: fold 0 has index 5, but the data set has 0 \.\. 4"),
        ([FOLD, FOLD | {"test": [0, 4, 3]}], "in fold 1, index 3 is in two parts"),
        ([FOLD | {"test": [0]}], "in fold 0, index 4 is in no part"),
        (
            [{"test": [0, 1, 2, 3, 4], "model_selection": [{"train": [], "validation": []}]}],
            "in fold 0, a part is empty",
        ),
        ([FOLD | {"test": [0, 4.5]}], "each a list of integers"),
        ([{"test": [0]}], 'a list of folds with "test" and "model_selection"'),
        ({}, "should be a list of folds"),
        ("[{", "this is not JSON"),
    ],
)
def test_damaged_folds(tmp_path: Path, plain: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        splits(of_classes([0, 1, 0, 1, 1], "DD"), _placed(tmp_path, plain))


@pytest.fixture
def texas(tmp_path: Path) -> Path:
    source = real_data.data_folder() / "WebKB" / "texas"
    if not source.exists():
        pytest.skip("Texas is not there")
    shutil.copytree(source, tmp_path / "WebKB" / "texas", copy_function=shutil.copyfile)
    for folder in (tmp_path / "WebKB" / "texas" / "raw", tmp_path / "WebKB" / "texas"):
        folder.chmod(0o755)
    return tmp_path


def test_damaged_masks(texas: Path) -> None:
    data = load("Texas", texas)
    raw = texas / "WebKB" / "texas" / "raw"
    file = raw / "texas_split_0.6_0.2_4.npz"
    masks = dict(np.load(file))
    np.savez(file, **{**masks, "val_mask": masks["train_mask"]})
    with pytest.raises(InputError, match=r"_4.npz: in fold 4, index \d+ is in two parts"):
        splits(data)
    np.savez(file, **{name: mask[:-1] for name, mask in masks.items()})
    with pytest.raises(InputError, match="one entry for each of the 183 nodes"):
        splits(data)
    file.write_bytes(b"PK")
    with pytest.raises(InputError, match="should contain the arrays train_mask"):
        splits(data)
    file.unlink()
    with pytest.raises(InputError, match=r"it should contain the splits 0 \.\. 9, but 4 is missing"):
        splits(data)
    for mask in raw.glob("*.npz"):
        mask.unlink()
    assert splits(data).source == "generated, seed 142857"


def test_unknown_targets_are_in_no_part() -> None:
    unknown = np.arange(60) % 3 == 0
    data = of_classes(np.where(unknown, 0, np.arange(60) % 2), unknown=unknown)
    for fold in stratified_splits(data, 5):
        assert sorted(np.concatenate(fold)) == np.flatnonzero(~unknown).tolist()
        assert np.bincount(data.y[fold.test]).tolist() == [4, 4]
    assert of_classes([0, 1] * 2, unknown=np.array([True, False] * 2)).subset([3, 0]).unknown.tolist() == [False, True]
