"""The best trials again with other seeds: what is chosen then, on which folds, and what happens without time for it."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("lightning")

from detours.data import Split, Splits, stratified_splits
from detours.errors import DetoursError, InputError
from detours.store import Store
from detours.training import fit, tune
from detours.training.loop import Diverged, OutOfTime
from detours.training.search import search as module
from detours.training.search.scores import Effort
from detours.training.search.search import SEEDS, Search
from detours.training.search.space import Space
from detours.training.search.trials import TODAY, Draws
from detours.training.search.tune import chosen
from tests.training.cases import one_graph, task

SPACE = {"space": {"lr": {"low": 1e-3, "high": 1e-1, "log": True}}}
FIXED: dict[str, Any] = {"epochs": 6, "layers": 1, "hidden": 4, "pe": 0, "heads": 1, "precision": "64-true"}
TRIALS = 18
LUCK = dict.fromkeys(range(TRIALS), 0.1) | {0: 0.70, 1: 0.90, 2: 0.80}
"""The scores of the trials in the search, unless a test has others for a model …"""
WORTH = {0: 0.99, 1: 0.72, 2: 0.78, TODAY: 0.75}
"""… and with other seeds."""


class Scripted:
    """A search with prescribed results; it records what it would train."""

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        stacks: int = 99,
        folds: Any = range(4),
        luck: dict[str, dict[int, float]] | None = None,
    ) -> None:
        self.luck = luck or {}
        self.data, self.left, self.seen = one_graph(), iter(range(stacks)), set[tuple[str, int, int]]()
        self.search = Search(
            Draws(self.data, Space.of(SPACE), FIXED, 0, 3, ["plain", "mdnn"]),
            stratified_splits(self.data, folds=4),
            folds,
            Store(folder),
            device="cpu",
            halving=False,
        )
        draws = self.search.draws
        self.numbers = {
            (model, self.search.recipe(trial).lr): trial.number
            for model in self.search.models
            for trial in (*(draws.trial(model, number) for number in range(TRIALS)), draws.today(model))
        }
        monkeypatch.setattr(module, "run_all", self.train)

    def train(self, store: Any, stack: Any, place: Any) -> None:
        if next(self.left, None) is None:
            raise OutOfTime("the budget is spent.")
        for run in stack:
            recipe = run.recipe
            number = self.numbers[recipe.model, recipe.lr]
            self.seen.add((recipe.model, recipe.fold, recipe.seed))
            # half a point up and down from seed to seed, and from fold to fold
            luck = LUCK | self.luck.get(recipe.model, {})
            score = luck[number] if recipe.seed == 0 else WORTH[number] + 0.005 * (recipe.seed - 2)
            score += 0.005 * (-1) ** recipe.fold
            store.keep(recipe.key(), {"metric": "accuracy", "val_accuracy": score, "val_loss": 1.0}, 1.0)


def test_other_seeds_choose_among_the_best_and_the_recipe_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted(tmp_path, monkeypatch)
    scripted.search.go_on(3, confirm=2)
    assert scripted.search.ended and scripted.search.confirmed
    for model in ("plain", "mdnn"):
        assert [each.trial.number for each in scripted.search.candidates(model)] == [1, 2, 0]
        again = scripted.search.again(model)  # trial 0 is the best of all, but was not among the best two
        assert [each.trial.number for each in again] == [2, TODAY, 1]
        assert [each.score for each in again] == pytest.approx([0.78, 0.75, 0.72])
        # a fold counts once, whatever its seeds: four means that differ by a point
        assert [(each.folds, each.epochs) for each in again] == [(4, 6)] * 3
        assert again[0].error == pytest.approx(0.01 / 3**0.5 / 2)
        tuned = chosen(scripted.search, model)
        assert tuned.best == again[0] and tuned.again == again and tuned.settings == again[0].trial.settings
    assert {seed for _, _, seed in scripted.seen} == {0, *range(1, 1 + SEEDS)}


def test_the_best_trial_of_one_model_is_trained_again_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(tmp_path, monkeypatch, luck={"mdnn": {0: 0.95}})
    scripted.search.go_on(3, confirm=1)
    assert [scripted.search.candidates(model)[0].trial.number for model in ("plain", "mdnn")] == [1, 0]
    for model in ("plain", "mdnn"):
        again = scripted.search.again(model)
        assert [each.trial.number for each in again] == [0, TODAY, 1]
        assert {each.trial.model for each in again} == {model}
        assert chosen(scripted.search, model).best.trial.number == 0


def test_without_confirmation_the_search_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(tmp_path, monkeypatch)
    scripted.search.go_on(3)
    tuned = chosen(scripted.search, "plain")
    assert tuned.best.trial.number == 1 and not tuned.again and {seed for *_, seed in scripted.seen} == {0}


def test_earlier_confirmations_do_not_decide_once_a_search_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # six stacks: two of trials, two again, and two of more trials, after which there is no time to train these again
    scripted = Scripted(tmp_path, monkeypatch, stacks=6, luck={model: {9: 0.95} for model in ("plain", "mdnn")})
    scripted.search.go_on(9, confirm=2)
    assert scripted.search.confirmed and chosen(scripted.search, "plain").best.trial.number == 2
    scripted.search.go_on(9)
    assert scripted.search.ended and not scripted.search.finalists and not scripted.search.again("plain")
    scripted.search.go_on(9, confirm=2)  # read from the store
    assert scripted.search.confirmed and scripted.search.ended
    scripted.search.go_on(TRIALS, confirm=1)
    assert not scripted.search.confirmed and not scripted.search.ended and not scripted.search.again("plain")
    assert chosen(scripted.search, "plain").best.trial.number == 9


def test_folds_that_the_search_left_out_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(tmp_path, monkeypatch, folds=[0, 2])
    scripted.search.go_on(3, confirm=1)
    folds = {seed: {fold for _, fold, own in scripted.seen if own == seed} for _, _, seed in scripted.seen}
    assert folds == {0: {0, 2}} | {1 + more: {1, 3} for more in range(SEEDS)}
    assert {each.folds for each in scripted.search.again("mdnn")} == {2}


@pytest.mark.parametrize("stacks", [2, 3])
def test_without_confirmation_of_all_models_the_search_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stacks: int
) -> None:
    scripted = Scripted(tmp_path, monkeypatch, stacks=stacks)  # one stack of trials for each model, then one again
    scripted.search.go_on(3, confirm=2)
    assert not scripted.search.ended and not scripted.search.confirmed
    assert [chosen(scripted.search, model).best.trial.number for model in scripted.search.models] == [1, 1]
    goes_on = Scripted(tmp_path, monkeypatch)
    goes_on.search.go_on(3, confirm=2)
    assert goes_on.search.ended and chosen(goes_on.search, "plain").best.trial.number == 2
    assert {seed for *_, seed in goes_on.seen} == {1, 2, 3}  # the search itself was finished


def test_the_recipe_of_today_is_not_trained_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = one_graph()
    parts = stratified_splits(data, folds=4)
    space = Space.of({**SPACE, "known": [{}]})
    search = Search(Draws(data, space, FIXED, 0, 1, ["plain"]), parts, range(2), Store(tmp_path), device="cpu")

    def train(store: Any, stack: Any, place: Any) -> None:
        for run in stack:
            store.keep(run.recipe.key(), {"metric": "accuracy", "val_accuracy": 0.5, "val_loss": 1.0}, 1.0)

    monkeypatch.setattr(module, "run_all", train)
    search.go_on(1, confirm=3)
    assert [each.trial.number for each in search.again("plain")] == [0]


def test_wrong_confirming_folds_are_refused_before_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = one_graph()
    parts = list(stratified_splits(data, folds=4))
    parts[3] = Split(parts[3].train, parts[3].val[:0], parts[3].test)
    draws = Draws(data, Space.of(SPACE), FIXED, 0, 1, ["plain"])
    search = Search(draws, Splits("own", parts), [0, 1], Store(tmp_path), device="cpu")
    monkeypatch.setattr(module, "run_all", lambda *_: pytest.fail("trained"))
    with pytest.raises(InputError, match="fold 3"):
        search.go_on(3, confirm=1)


def test_a_recipe_of_today_that_does_not_go_with_the_settings_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted(tmp_path, monkeypatch)

    def impossible(model: str) -> Any:
        raise InputError("3 heads do not divide the 32 hidden channels.")

    monkeypatch.setattr(scripted.search.draws, "today", impossible)
    scripted.search.go_on(3, confirm=2)
    assert [each.trial.number for each in scripted.search.again("mdnn")] == [2, 1]


def test_nothing_is_trained_again_where_all_have_diverged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(tmp_path, monkeypatch)

    def diverged(store: Any, stack: Any, place: Any) -> None:
        scripted.seen |= {(run.recipe.model, run.recipe.fold, run.recipe.seed) for run in stack}
        raise Diverged("the loss is nan.")

    monkeypatch.setattr(module, "run_all", diverged)
    scripted.search.go_on(3, confirm=1)
    assert not scripted.search.confirmed and {seed for *_, seed in scripted.seen} == {0}
    assert scripted.search.ended  # more time would not help
    with pytest.raises(DetoursError, match="every trial has diverged"):
        chosen(scripted.search, "plain")


def test_a_model_that_always_diverges_does_not_stop_the_confirmation_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted = Scripted(tmp_path, monkeypatch)

    def train(store: Any, stack: Any, place: Any) -> None:
        if stack[0].recipe.model == "plain":
            raise Diverged("the loss is nan.")
        scripted.train(store, stack, place)

    monkeypatch.setattr(module, "run_all", train)
    scripted.search.go_on(3, confirm=2)
    assert scripted.search.ended and chosen(scripted.search, "mdnn").best.trial.number == 2
    assert [each.trial.number for each in chosen(scripted.search, "mdnn").again] == [2, TODAY, 1]
    with pytest.raises(DetoursError, match="every trial has diverged"):
        chosen(scripted.search, "plain")


def test_part_of_the_budget_is_reserved_for_confirmation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    scripted = Scripted(tmp_path, monkeypatch)
    trained = scripted.train

    def train(*arguments: Any) -> None:
        now[0] += 40
        trained(*arguments)

    monkeypatch.setattr(module, "run_all", train)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    # two rounds of nine trials, a stack for each model; the second would begin after 80 of 100 seconds
    scripted.search.go_on(TRIALS, seconds=100, confirm=1)
    assert {number for _, number, effort in scripted.search.results if effort is Effort.FULL} == set(range(9))
    assert [each.trial.number for each in scripted.search._of("plain", Effort.AGAIN)] == [TODAY, 1]
    assert not scripted.search.confirmed and not scripted.search.ended and now[0] == 120  # no time for that of MDNN


def test_trials_end_early_enough_for_confirmation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    scripted = Scripted(tmp_path, monkeypatch)
    trained = scripted.train

    def train(store: Any, stack: Any, place: Any) -> None:
        now[0] += len(stack)  # a second for each run
        trained(store, stack, place)

    monkeypatch.setattr(module, "run_all", train)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    # A round takes 36 seconds for each model, and so do the best again. A quarter of 160 seconds would let MDNN finish
    # its second round after 144; then there would be no time to train the best of both again.
    scripted.search.go_on(TRIALS, seconds=160, confirm=1)
    assert scripted.search.confirmed and not scripted.search.ended
    assert {number for model, number, effort in scripted.search.comparable} == set(range(9))
    assert all(len(scripted.search.again(model)) == 2 for model in scripted.search.models)


def test_reserved_time_leaves_no_model_without_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    scripted = Scripted(tmp_path, monkeypatch)
    trained = scripted.train

    def train(store: Any, stack: Any, place: Any) -> None:
        now[0] += len(stack)
        trained(store, stack, place)

    monkeypatch.setattr(module, "run_all", train)
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    # Plain has ended its first round after 36 of 70 seconds, and the best again would take 72.
    scripted.search.go_on(TRIALS, seconds=70, confirm=1)
    assert [chosen(scripted.search, model).best.trial.number for model in scripted.search.models] == [1, 1]
    assert now[0] == 72 and not scripted.search.confirmed


def test_from_python(tmp_path: Path) -> None:
    some: dict[str, Any] = {"model": "plain", "space": SPACE, "trials": 2, "draws": 2, "folds": [0], "device": "cpu"}
    tuned = tune(task(20), confirm=1, **some, **FIXED)
    assert len(tuned.again) == 2 and {each.folds for each in tuned.again} == {9} and tuned.best == tuned.again[0]
    (cell,) = fit(task(20), folds=[0], device="cpu", **tuned.settings)
    assert "test_accuracy" in cell.value
    with pytest.raises(InputError, match="confirm must be an integer of at least 0"):
        tune(task(20), confirm=-1, **some, **FIXED)
