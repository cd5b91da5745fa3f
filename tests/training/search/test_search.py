"""The search: what it chooses, that it resumes, and that it never sees a test part."""

from dataclasses import replace
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("lightning")

import torch

from detours.data import Split, Splits, rings, stratified_splits
from detours.data.splitting import inner_splits
from detours.errors import DetoursError, InputError
from detours.store import Cell, Store
from detours.training import fit, stacks, tune
from detours.training.loop import Diverged, OutOfTime, Training
from detours.training.search import search as module
from detours.training.search.scores import Effort, score
from detours.training.search.search import Search, Stage
from detours.training.search.space import Space
from detours.training.search.trials import Draws, Trial
from tests.training.cases import one_graph, small, task

SPACE = {
    "space": {"hidden": [4, 8], "lr": {"low": 1e-3, "high": 1e-1, "log": True}, "mdnn": {"k": [3, 4]}},
    "known": [{"hidden": 4, "lr": 0.01}],
}
FIXED: dict[str, Any] = {"epochs": 6, "layers": 1, "pe": 0, "heads": 1, "precision": "64-true"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def search_of(
    folder: Path, *, draws: int = 2, folds: int = 4, models: Any = ("plain", "mdnn"), **options: Any
) -> Search:
    data = one_graph()
    parts = stratified_splits(data, folds=folds)
    return Search(
        Draws(data, Space.of(SPACE), FIXED, 0, draws, models),
        parts,
        range(folds),
        Store(folder),
        device="cpu",
        **options,
    )


def table(search: Search) -> list[Any]:
    keys = ("score", "error", "loss", "folds", "epochs")
    return [(key, [getattr(each, name) for name in keys]) for key, each in sorted(search.results.items())]


def test_rounds_halving_and_equal_numbers_of_trials(tmp_path: Path) -> None:
    stages: list[Stage] = []
    search = search_of(tmp_path, report=stages.append)
    search.go_on(6)
    assert search.ended
    for model in ("plain", "mdnn"):
        first, full = search.of(model, full=False), search.of(model, full=True)
        assert sorted(each.trial.number for each in first) == list(range(6))
        assert {(each.folds, each.epochs) for each in first} == {(1, 2)}
        assert {(each.folds, each.epochs) for each in full} == {(4, 6)}
        assert {each.trial.number for each in full} == {each.trial.number for each in first[:2]}
        assert search.candidates(model) == full == sorted(full, key=lambda each: each.rank)
    # the trials of a structure are one stack
    assert [stage.trials for stage in stages[:4]] == [[0, 1], [0, 1], [2, 3], [2, 3]]
    assert [stage.model for stage in stages[:4]] == ["plain", "mdnn", "plain", "mdnn"]
    cells = list(Store(tmp_path))
    assert {cell.key["experiment"] for cell in cells} == {"tune"}
    assert not any(name.startswith("test") for cell in cells for name in cell.value)
    assert not list(tmp_path.rglob("*.csv")) and not list(tmp_path.rglob("*.ckpt"))


def test_without_halving_all_are_trained_in_full(tmp_path: Path) -> None:
    search = search_of(tmp_path, models=["plain"], halving=False)
    search.go_on(3)
    assert [each.trial.number for each in search.of("plain", full=True)] and not search.of("plain", full=False)
    assert {each.folds for each in search.candidates("plain")} == {4} and len(search.candidates("plain")) == 3


def test_a_search_is_determined_by_its_seed_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some: dict[str, Any] = {"draws": 1, "models": ["plain"]}
    whole = search_of(tmp_path / "whole", **some)
    whole.go_on(3)
    trained = module.run_all
    for allowed in (1, 2, 99):
        left = iter(range(allowed))

        def interrupted(*arguments: Any, left: Any = left) -> Any:
            if next(left, None) is None:
                raise KeyboardInterrupt
            return trained(*arguments)

        monkeypatch.setattr(module, "run_all", interrupted)
        broken = search_of(tmp_path / "broken", **some)
        if allowed == 99:
            broken.go_on(3)
        else:
            with pytest.raises(KeyboardInterrupt):
                broken.go_on(3)
    assert table(broken) == table(whole)
    monkeypatch.setattr(module, "run_all", lambda *_: pytest.fail("trained again"))
    again = search_of(tmp_path / "whole", **some)
    again.go_on(3)
    assert table(again) == table(whole)


def test_test_parts_are_never_seen() -> None:
    data = one_graph()
    parts = stratified_splits(data, folds=4)
    poisoned = data.y.copy()
    poisoned[parts[0].test] = (poisoned[parts[0].test] + 1) % 3
    assert set(poisoned) == set(data.y)
    found = []
    for y in (data.y, poisoned):
        given = replace(data, y=y)
        tuned = tune(given, space=SPACE, trials=4, draws=2, folds=Splits("own", [parts[0]]), device="cpu", **FIXED)
        found.append([(each.trial, each.score, each.error, each.loss) for each in tuned.trials])
    assert found[0] == found[1]


def test_of_errors_the_smallest_is_best() -> None:
    data = replace(task(20), y=np.linspace(0, 1, 20))
    order = np.arange(20)
    parts = [Split(order[:10], order[10:15], order[15:]), Split(order[5:15], order[15:], order[:5])]
    tuned = tune(data, model="plain", space=SPACE, trials=3, draws=3, folds=parts, halving=False, device="cpu", **FIXED)
    scores = [each.score for each in tuned.trials]
    assert tuned.best.metric == "mae" and scores == sorted(scores) and scores[0] > 0


def test_graph_data_and_the_chosen_settings_train() -> None:
    tuned = tune(task(20), model="plain", space=SPACE, trials=2, draws=1, folds=[0], device="cpu", **FIXED)
    assert tuned.best is tuned.trials[0] and tuned.settings == tuned.best.trial.settings
    (cell,) = fit(task(20), folds=[0], device="cpu", **tuned.settings)
    assert cell.key["hidden"] == tuned.settings["hidden"] and "test_accuracy" in cell.value


def test_a_data_set_whose_recipe_has_settings_that_other_structures_lack() -> None:
    """The recipe of Chameleon: encoder hops with `hop_den`, both directions."""
    data = replace(one_graph(30), name="Chameleon")
    some: dict[str, Any] = {"folds": [stratified_splits(data, folds=4)[0]], "epochs": 2, "hidden": 8, "k": 2}
    tuned = tune(data, trials=5, draws=1, halving=False, device="cpu", **some)
    found = [each.trial.settings for each in sorted(tuned.trials, key=lambda each: each.trial.number)]
    shown = [(each.get("encoder"), each.get("directed"), each.get("hop_den")) for each in found]
    assert shown[:3] == [(None, None, None), ("hops", True, True), ("conv", True, False)]
    assert shown[3:] == [("hops", True, False), ("hops", False, True)]


def test_no_stack_is_started_when_the_budget_is_spent(tmp_path: Path) -> None:
    search = search_of(tmp_path)
    search.go_on(6, seconds=0)
    assert not search.results and not search.ended
    with pytest.raises(DetoursError, match="one, mdnn: no trial was finished within the budget"):
        module_chosen(search, "mdnn")


def module_chosen(search: Search, model: str) -> Any:
    from detours.training.search.tune import chosen

    return chosen(search, model)


@pytest.mark.slow
def test_models_are_compared_on_rounds_that_all_have_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(tmp_path, draws=1)
    begun: list[str] = []
    trained = module.run_all

    def noted(store: Any, stack: Any, place: Any) -> Any:
        begun.append(stack[0].recipe.model)
        if len(begun) > 10:  # the first round has six stacks of trials and then two or more of promoted ones
            raise OutOfTime("the budget is spent.")
        return trained(store, stack, place)

    monkeypatch.setattr(module, "run_all", noted)
    search.go_on(9)
    assert {number for _, number, _ in search.comparable} == {0, 1, 2} and not search.ended
    for model in ("plain", "mdnn"):
        assert {each.trial.number for each in search.candidates(model)} <= {0, 1, 2}
        assert search.candidates(model)[0].full


def scripted(folder: Path, monkeypatch: pytest.MonkeyPatch, stacks: int, **options: Any) -> Search:
    """A search of two models, one trial per structure, whose budget ends after a number of stacks.

    Later rounds are worse, so that round 2 promotes a trial of round 1.
    """
    left = iter(range(stacks))
    search = search_of(folder, draws=1, **options)
    numbers = {
        (model, search.recipe(search.draws.trial(model, number)).lr): number
        for model in search.models
        for number in range(9)
    }

    def train(store: Any, stack: Any, place: Any) -> None:
        if next(left, None) is None:
            raise OutOfTime("the budget is spent.")
        for run in stack:
            score = 0.9 - 0.1 * numbers[run.recipe.model, run.recipe.lr]
            store.keep(run.recipe.key(), {"metric": "accuracy", "val_accuracy": score, "val_loss": 1.0}, 1.0)

    monkeypatch.setattr(module, "run_all", train)
    search.go_on(6)
    return search


def test_promotions_of_an_unfinished_round_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a round is three short trials of each model, then what is promoted: trial 0 in the first, trial 1 in the second
    search = scripted(tmp_path, monkeypatch, 8 + 6 + 1)
    assert [len(search.of(model, full=True)) for model in search.models] == [2, 1] and not search.ended
    for model in search.models:
        assert [(each.trial.number, each.full) for each in search.candidates(model)] == [(0, True)]
    again = scripted(tmp_path, monkeypatch, 1)  # the rest, after which both rounds count
    assert again.ended
    for model in search.models:
        assert [(each.trial.number, each.full) for each in again.candidates(model)] == [(0, True), (1, True)]


@pytest.mark.parametrize("stacks", [1, 2, 3, 4, 7, 9, 14, 15])
def test_wherever_the_budget_ends_all_models_have_the_same_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stacks: int
) -> None:
    for halving in (True, False):
        search = scripted(tmp_path / str(halving), monkeypatch, stacks, halving=halving)
        plain, mdnn = ([each.trial.number for each in search.candidates(model)] for model in search.models)
        assert plain == mdnn and bool(plain) == (stacks >= (2 if halving else 3))


def test_a_single_model_has_all_finished_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = scripted(tmp_path, monkeypatch, 4 + 3 + 1, models=["plain"])
    assert [each.trial.number for each in search.candidates("plain")] == [0, 1]


def test_a_trial_takes_its_share_of_the_time_of_its_stack() -> None:
    value = {"metric": "accuracy", "val_accuracy": 0.5, "val_loss": 1.0, "replicas": 6}
    cells = [Cell({"fold": fold}, value, seconds) for fold, seconds in ((0, 60.0), (1, 48.0))]
    trial = Trial("plain", 0, {})
    assert score(trial, Effort.FULL, cells, small(task(8))).seconds == 20  # two of six runs, in 60 seconds


def test_trials_that_diverge_or_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def train(store: Any, stack: Any, place: Any) -> None:
        sizes.append(len(stack))
        if len(stack) > 2:
            raise torch.cuda.OutOfMemoryError
        for run in stack[:-1]:
            store.keep(run.recipe.key(), {"metric": "accuracy", "val_accuracy": 0.5, "val_loss": 1.0}, 1.0)
        raise Diverged("the loss is nan")

    monkeypatch.setattr(module, "run_all", train)
    search = search_of(tmp_path, models=["plain"], halving=False, draws=1)
    search.go_on(1)
    assert sizes == [4, 2, 2]
    assert [each.diverged for each in search.candidates("plain")] == [True]
    with pytest.raises(DetoursError, match="every trial has diverged"):
        module_chosen(search, "plain")


def test_a_divided_stack_that_was_interrupted_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[list[int], int]] = []
    train, begin, go_on = stacks.train, Training.begin, Training.go_on

    def small(*given: Any, finished: Any, **options: Any) -> None:
        if finished.count(False) > 2:
            raise torch.cuda.OutOfMemoryError
        train(*given, finished=finished, **options)

    def noted(self: Training, finished: Any) -> None:
        begin(self, finished)
        begun.append(([self.runs[at].recipe.fold for at in self.members], self.fit.done))

    def interrupted(self: Training, *given: Any) -> None:
        go_on(self, 0.0 if begun[-1] == ([2, 3], 0) else inf)

    for name, function in (("begin", noted), ("go_on", interrupted)):
        monkeypatch.setattr(Training, name, function)
    monkeypatch.setattr(stacks, "train", small)
    for ended in (False, True):
        search = search_of(tmp_path, models=["plain"], halving=False, draws=1)
        search.go_on(1)
        assert search.ended is ended
    assert begun == [([0, 1], 0), ([2, 3], 0), ([2, 3], 1)]
    assert not list(tmp_path.rglob("*.ckpt"))


def test_a_space_with_nothing_to_draw_is_refused(tmp_path: Path) -> None:
    data = one_graph()
    parts, some = stratified_splits(data, folds=4), {"device": "cpu"}
    for space, fixed in (({"space": {"lr": [0.1]}}, {"lr": 0.1}), ({"space": {"mdnn": {"k": [3, 4]}}}, {})):
        draws = Draws(data, Space.of(space), fixed, 0, 1, ["plain"])
        with pytest.raises(InputError, match="nothing to draw for model plain besides the settings that are given"):
            Search(draws, parts, [0], Store(tmp_path), **some)
    draws = Draws(data, Space.of(space), fixed, 0, 1, ["plain", "mdnn"])
    Search(draws, parts, [0], Store(tmp_path), **some)  # plain is the same in all trials
    draws = Draws(data, Space.of({"known": [{"lr": 0.1}]}), {}, 0, 1, ["plain"])
    Search(draws, parts, [0], Store(tmp_path), **some)


def test_a_small_space_is_tried_once_and_whole(tmp_path: Path) -> None:
    space = {"space": {"hidden": [4, 8, 16], "lr": [0.01, 0.1]}}
    some: dict[str, Any] = {"folds": [0], "halving": False, "device": "cpu", **FIXED, "epochs": 1}
    for draws in (1, 6):
        tuned = tune(task(20), model="plain", space=space, trials=50, draws=draws, confirm=2, **some)
        found = [(each.trial.settings["hidden"], each.trial.settings["lr"]) for each in tuned.trials]
        assert sorted(found) == sorted(product([4, 8, 16], [0.01, 0.1]))
        assert len(tuned.again) == 3  # two different ones, and the current recipe


def test_a_model_that_has_nothing_to_draw_is_trained_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = one_graph()
    draws = Draws(data, Space.of({"space": {"mdnn": {"k": [2, 3, 4]}}}), FIXED, 0, 6, ["plain", "mdnn"])
    search = Search(draws, stratified_splits(data, folds=4), [0], Store(tmp_path), device="cpu", halving=False)
    trained = []

    def train(store: Any, stack: Any, place: Any) -> None:
        for run in stack:
            trained.append((run.recipe.model, run.recipe.k))
            store.keep(run.recipe.key(), {"metric": "accuracy", "val_accuracy": 0.5, "val_loss": 1.0}, 1.0)

    monkeypatch.setattr(module, "run_all", train)
    search.go_on(54)
    assert search.ended and sorted(k for model, k in trained if model == "mdnn") == [2, 3, 4]
    assert len(trained) == 4 and [len(search.candidates(model)) for model in search.models] == [3, 3]


def test_impossible_known_points_are_refused_before_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = one_graph()
    space = Space.of({"known": [{"lr": 0.1}, {"hidden": 8, "heads": 3}]})
    parts = stratified_splits(data, folds=4)
    search = Search(Draws(data, space, {}, 0, 1, ["mdnn"]), parts, [0], Store(tmp_path), device="cpu")
    monkeypatch.setattr(module, "run_all", lambda *_: pytest.fail("trained"))
    search.check(1)
    with pytest.raises(InputError, match="3 heads"):
        search.go_on(2)


def test_folds_without_test_parts_can_be_trained() -> None:
    order = np.arange(20)
    (cell,) = fit(task(20), folds=[Split(order[:12], order[12:], order[:0])], device="cpu", **FIXED, hidden=4)
    assert "val_accuracy" in cell.value and "test_accuracy" not in cell.value


def test_inner_parts_choose_the_epoch_and_validation_parts_compare(tmp_path: Path) -> None:
    data = one_graph()
    folds = stratified_splits(data, folds=4)
    search = search_of(tmp_path, models=["plain"], halving=False, inner=True)
    for outer, inner in zip(folds, search.folds, strict=True):
        assert inner.test.tolist() == outer.val.tolist()
        assert sorted([*inner.train, *inner.val]) == outer.train.tolist()
        assert len(inner.val) == pytest.approx(len(outer.train) / 10, abs=len(data.classes))
        assert not set(outer.test) & {*inner.train, *inner.val, *inner.test}
    search.go_on(2)
    (best, _) = search.of("plain", full=True)
    settings = dict(best.trial.settings)
    cells = fit(data, folds=list(search.folds), device="cpu", **settings)
    assert best.score == pytest.approx(np.mean([cell.value["test_accuracy"] for cell in cells]))
    assert best.loss == pytest.approx(np.mean([cell.value["test_loss"] for cell in cells]))
    assert table(search) != table(_gone_on(search_of(tmp_path, models=["plain"], halving=False)))  # other runs


def _gone_on(search: Search) -> Search:
    search.go_on(2)
    return search


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"draws": 0}, "draws must be an integer of at least 1, but it is 0"),
        ({"draws": 2.5}, "draws must be an integer"),
        ({"seed": -1}, "seed must be an integer of at least 0, but it is -1"),
        ({"budget": "a"}, "budget must be a number of at least 0, or None for no limit, but it is 'a'"),
        ({"budget": float("nan")}, "budget must be a number"),
        ({"space": [1]}, "space must be a Space, a mapping, the path of a TOML file, or None"),
    ],
)
def test_wrong_arguments_of_a_search(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tune(rings(40), device="cpu", **wrong)


def test_inner_parts_keep_pairs_together_and_need_more_than_one_unit() -> None:
    data = rings(40)
    for outer, inner in zip(stratified_splits(data), inner_splits(data, stratified_splits(data)), strict=True):
        assert len(inner.val) and set(inner.val ^ 1) == set(inner.val) <= set(outer.train)
        assert np.bincount(data.targets[inner.val]).tolist() == [len(inner.val) // 2] * 2
    tiny = Splits("tiny", [Split(np.arange(2), np.arange(2, 4), np.arange(0))])
    with pytest.raises(InputError, match="training part of fold 0 is too small to hold out a tenth"):
        inner_splits(data, tiny)
