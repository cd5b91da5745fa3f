"""Runs of folds, seeds and k."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("lightning")

from detours.data import stratified_splits
from detours.errors import InputError
from detours.store import Cell, Store
from detours.training.runs import best_of, runs_of
from tests.training.cases import task


def test_runs_of_folds(tmp_path: Path) -> None:
    data, store = task(), Store(tmp_path)
    folds = stratified_splits(data, folds=4)
    runs = runs_of(data, folds, store, numbers=[1, 3], ks=[2, 4], model="weighted", epochs=2)
    assert [(run.recipe.fold, run.recipe.k) for run in runs] == [(1, 2), (1, 4), (3, 2), (3, 4)]
    assert len({run.path for run in runs}) == 4 and runs[0].split is folds[1]
    with pytest.raises(InputError, match=r"rings has the folds 0 \.\. 3, but fold 4"):
        runs_of(data, folds, store, numbers=[4])
    other = runs_of(
        data, stratified_splits(data, folds=4, seed=1), store, numbers=[1], ks=[2], model="weighted", epochs=2
    )
    assert other[0].path != runs[0].path  # other folds, another run


def test_seeds_may_be_an_iterator(tmp_path: Path) -> None:
    data = task()
    runs = runs_of(data, stratified_splits(data, folds=4), Store(tmp_path), numbers=[0, 1], seeds=iter([3, 4]))
    assert [(run.recipe.fold, run.recipe.seed) for run in runs] == [(0, 3), (0, 4), (1, 3), (1, 4)]


def test_names_of_models_have_k_seed_and_fold(tmp_path: Path) -> None:
    data = task()
    folds, store = stratified_splits(data, folds=4), Store(tmp_path)
    runs = runs_of(data, folds, store, numbers=[1], ks=[2, 3], seeds=[0, 7], save=tmp_path)
    names = [str(run.model and run.model.name.removeprefix(run.path.stem)) for run in runs]
    assert names == [f"-k{k}-seed{seed}-fold1.pt" for seed in (0, 7) for k in (2, 3)]
    (plain,) = runs_of(data, folds, store, numbers=[1], ks=[2], save=tmp_path, model="plain")
    assert plain.model is not None and plain.model.name == f"{plain.path.stem}-seed0-fold1.pt"


def test_validation_chooses_among_k() -> None:
    values = [(2, 0.8, 0.5), (3, 0.9, 0.6), (4, 0.9, 0.5), (5, 0.9, 0.5)]
    cells = [
        Cell({"k": k}, {"metric": "accuracy", "val_accuracy": accuracy, "val_loss": loss}, 0.0)
        for k, accuracy, loss in values
    ]
    assert best_of(cells[::-1]).key["k"] == 4
