"""Spaces: what they are drawn from, and one sentence for whatever is wrong."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("lightning")

from detours.data import HETEROPHILOUS_SETS, NODE_SETS, GraphSet
from detours.errors import FileFormatError, InputError
from detours.training.loop import PER_REPLICA
from detours.training.recipe import MODELS, RECIPES, recipe
from detours.training.search import trials
from detours.training.search.space import Choices, Range, Space
from detours.training.search.trials import Draws
from tests.training.cases import numbers, one_graph, task


def draws(data: GraphSet, space: Space | None = None, seed: int = 0, number: int = 4, **fixed: Any) -> Draws:
    return Draws(data, space or Space.default(data.level), fixed, seed, number)


def test_fixed_settings_of_one_model_allow_draws_for_it() -> None:
    for fixed in ({"use_den": False}, {"hop_den": True, "encoder": "hops"}):
        some = draws(one_graph(), **fixed)
        for number in range(0, 40, 4):
            assert fixed.items() <= some.trial("mdnn", number).settings.items()
        with pytest.raises(InputError, match="needs model mdnn"):
            some.trial("plain", 0)


def test_the_loss_is_searched_for_regression_only() -> None:
    space = Space.of({"space": {"regression_loss": ["l1", "mse"], "lr": [0.01]}})
    for data, losses in ((numbers(8), {"l1", "mse"}), (task(8), {"l1"})):
        some = Draws(data, space, {}, 0, 1, ["plain"])
        drawn = [some.trial("plain", number) for number in range(len(losses))]
        assert {some.recipe(each.settings).regression_loss for each in drawn} == losses
        assert some.available(4) == len(losses)


@pytest.mark.parametrize("data", [task(8), one_graph(directed=True), one_graph(directed=False)], ids=str)
def test_default_spaces_give_possible_networks_of_one_structure(data: GraphSet) -> None:
    some, again = draws(data), draws(data)
    for number in range(40):
        of_model = {model: some.trial(model, number).settings for model in MODELS}
        assert of_model == {model: again.trial(model, number).settings for model in MODELS}
        for model, settings in of_model.items():
            first = recipe("", "", "", data.level, **some.trial(model, number - number % 4).settings)
            found = recipe("", "", "", data.level, **settings)
            changed = {name for name in first.differences(found.key()) and vars(first) if differ(first, found, name)}
            assert changed <= set(PER_REPLICA) and (found.dropout == 0) == (first.dropout == 0)
            assert data.graphs[0].directed or not found.directed
        shared = ["backbone", "encoder", "hidden", "lr", "weight_decay", "dropout", "schedule"]
        values = {tuple(settings.get(name) for name in shared) for settings in of_model.values()}
        assert len(values) == 1
        assert of_model["mdnn"].get("layers") != 0
    assert {some.trial("plain", number).settings.get("backbone") for number in range(12, 40)} > {"gcn", "gin"}
    assert some.trial("mdnn", 30) != draws(data, seed=1).trial("mdnn", 30)


NODES = (*NODE_SETS, *HETEROPHILOUS_SETS)


@pytest.mark.parametrize("name", sorted(file.stem for file in RECIPES.glob("*.toml")))
def test_every_structure_is_possible_with_the_recipe_of_a_data_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "ATTEMPTS", 1)  # no draw is refused
    data = one_graph(directed=True) if name in NODES else numbers(8) if name == "ZINC" else task(8)
    some = draws(replace(data, name=name), number=1)
    for model in MODELS:
        found = [some.recipe(some.trial(model, number).settings) for number in range(300)]
        for setting, domain in {**some.space.shared, **some.space.own[model]}.items():
            assert not isinstance(domain, Choices) or {getattr(each, setting) for each in found} >= set(domain.values)
        assert {each.model for each in found} == {model}
        assert {each.hops for each in found if each.encoder != "hops"} <= {2}
        if name in NODES:
            assert {(each.encoder, each.directed) for each in found} == set(
                product(["linear", "mlp", "conv", "hops"], [True, False])
            )


def test_settings_without_effect_have_the_value_of_the_preset() -> None:
    """Even if the recipe of the data set, such as that of Chameleon, has another."""
    known = [{}, {"encoder": "conv", "hops": 3}, {"directed": False}, {"hop_den": True, "encoder": "mlp"}]
    some = draws(replace(one_graph(), name="Chameleon"), Space.of({"known": known}), number=1)
    assert [some.trial("mdnn", number).settings for number in range(4)] == [
        {"model": "mdnn"},
        {"model": "mdnn", "encoder": "conv", "hop_den": False, "hops": 2},  # the recipe has three
        {"model": "mdnn", "directed": False, "directions": "in"},
        {"model": "mdnn", "encoder": "mlp", "hop_den": False, "hops": 2},
    ]
    assert some.trial("plain", 1).settings == {"model": "plain", "encoder": "conv", "hops": 2}
    some = draws(replace(task(8), name="ENZYMES"), Space.of({"known": [{"pool_of": "logits"}]}), number=1)
    assert some.trial("plain", 0).settings == {"model": "plain", "pool_of": "logits", "pool": "max"}


def test_fixed_settings_leave_others_without_effect() -> None:
    some = draws(replace(one_graph(), name="Chameleon"), number=1, directed=False, encoder="mlp")
    for number in range(20):
        found = some.recipe(some.trial("mdnn", number).settings)
        assert (found.encoder, found.directed, found.directions, found.hop_den) == ("mlp", False, "in", False)


def differ(one: Any, other: Any, name: str) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


def test_known_points_come_first() -> None:
    space = Space.of({"space": {"lr": [2e-3]}, "known": [{}, {"hidden": 8, "lr": 0.1, "mdnn": {"k": 6}}]})
    some = draws(task(8), space, number=2, epochs=3)
    assert some.trial("mdnn", 0).settings == {"model": "mdnn", "epochs": 3}
    assert some.trial("mdnn", 1).settings == {"model": "mdnn", "epochs": 3, "lr": 2e-3}
    assert some.trial("mdnn", 2).settings == {"model": "mdnn", "epochs": 3, "lr": 0.1, "hidden": 8, "k": 6}
    assert some.trial("mdnn", 3).settings == {"model": "mdnn", "epochs": 3, "lr": 2e-3, "hidden": 8, "k": 6}
    assert some.trial("plain", 2).settings == {"model": "plain", "epochs": 3, "lr": 0.1, "hidden": 8}


def test_fixed_settings_win() -> None:
    space = Space.of({"space": {"lr": [1e-3], "mdnn": {"k": [5]}}, "known": [{"lr": 0.1, "mdnn": {"k": 6}}]})
    some = draws(task(8), space, number=1, lr=0.2, k=3)
    assert some.trial("mdnn", 0).settings == {"model": "mdnn", "lr": 0.2, "k": 3}
    assert some.available(2) == 1 and some.exhausted


def test_no_two_trials_are_the_same() -> None:
    space = Space.of({"space": {"hidden": [4, 8, 16], "lr": [1e-3, 1e-2], "mdnn": {"k": [3, 4]}}})
    expected = {"plain": 6, "mdnn": 12}
    for models in (["plain"], ["mdnn"], ["plain", "mdnn"]):
        some = Draws(task(8), space, {}, 0, 4, models)
        number = some.available(100)
        drawn = [tuple(str(some.trial(model, each).settings) for model in models) for each in range(number)]
        assert number == max(expected[model] for model in models) == len(set(drawn)) and some.exhausted
        shorter = Draws(task(8), space, {}, 0, 4, models)
        assert [tuple(str(shorter.trial(model, each).settings) for model in models) for each in range(3)] == drawn[:3]
        with pytest.raises(IndexError, match=rf"the space has {number} trials, but trial {number} was requested"):
            some.trial(models[0], number)


def test_structures_are_kept_together() -> None:
    space = Space.of({"space": {"hidden": [4, 8, 16], "lr": [1e-3, 1e-2]}})
    some = Draws(task(8), space, {}, 0, 4, ["plain"])
    assert some.structures(range(some.available(9))) == [[0, 1], [2, 3], [4, 5]]
    assert some.structures(range(1, 4)) == [[1], [2, 3]]


def test_structures_are_different_while_there_are_others() -> None:
    space = Space.of({"space": {"hidden": [4, 8, 16, 32], "lr": {"low": 1e-3, "high": 1e-2}}})
    for seed in range(5):
        some = Draws(task(8), space, {}, seed, 3, ["plain"])
        found = [some.trial("plain", number).settings["hidden"] for number in range(24)]
        assert all(len(set(found[first : first + 3])) == 1 for first in range(0, 24, 3))
        assert set(found[:12]) == {4, 8, 16, 32} and len(set(found[12:])) >= 2


@pytest.mark.parametrize(
    ("space", "fixed", "number"),
    [
        ({"space": {"hidden": [30], "heads": [1, 2, 3]}}, {}, 3),
        ({"space": {"heads": [1, 2]}}, {"hidden": 6}, 2),
        ({"known": [{"hidden": 30, "heads": 3}], "space": {"lr": [0.01]}}, {}, 1),
    ],
)
def test_heads_that_divide_the_width_of_mdnn_alone(space: dict[str, Any], fixed: dict[str, Any], number: int) -> None:
    """Plain networks have none: with those of the preset, 4, their width need not be a multiple."""
    assert Draws(one_graph(40), Space.of(space), fixed, 0, 1, ("plain", "mdnn")).available(number) == number
    assert recipe("one", "", "", "node", model="plain", hidden=30, heads=4).hidden == 30
    with pytest.raises(InputError, match="4 heads do not divide the 30 hidden channels"):
        recipe("one", "", "", "node", model="mdnn", hidden=30, heads=4)


def test_settings_without_effect_give_no_other_trials() -> None:
    space = Space.of({"space": {"encoder": ["hops"], "hop_den": [True, False], "k": [3, 4, 5]}})
    assert Draws(one_graph(40), space, {}, 0, 1, ("plain",)).available(6) == 1
    space = Space.of({"space": {"k": [2, 3, 4], "log": [True, False], "by_length": [True, False]}})
    assert Draws(one_graph(40), space, {}, 0, 1, ("plain",)).available(6) == 1


def test_ranges() -> None:
    generator = np.random.default_rng(0)
    drawn = [Range(1e-3, 1e-1, log=True).draw(generator) for _ in range(400)]
    assert min(drawn) >= 1e-3 and max(drawn) <= 1e-1 and 0.4 < np.mean(np.array(drawn) < 1e-2) < 0.6
    narrow = Range(1.00049e-3, 1.00051e-3)  # rounded to four digits, all of it is outside
    assert all(narrow.draw(generator) in narrow for _ in range(20))
    assert {Range(2, 4, integer=True).draw(generator) for _ in range(100)} == {2, 3, 4}
    assert {Range(1, 4, log=True, integer=True).draw(generator) for _ in range(100)} == {1, 2, 3, 4}
    assert {Choices(("a", "b")).draw(generator) for _ in range(20)} == {"a", "b"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"space": {"layer": [1]}}, r"no setting 'layer'; did you mean layers\?"),
        ({"space": {"layers": [-1]}}, "layers must be an integer of at least 0, but it is -1"),
        ({"space": {"layers": []}}, "layers has no choices"),
        ({"space": {"layers": 3}}, "layers must be a list of choices or"),
        ({"space": {"lr": {"low": 1e-3}}}, "lr must be a list of choices or"),
        ({"space": {"lr": {"low": 1e-2, "high": 1e-3}}}, "high of lr must be a number above 0.01, but it is 0.001"),
        ({"space": {"dropout": {"low": 0.0, "high": 0.5, "log": True}}}, "low above 0 with log = true, but low is 0.0"),
        ({"space": {"norm": {"low": "batch", "high": "none"}}}, "norm is not a number, so it has no range"),
        ({"space": {"mdnn": 4}}, "mdnn must be a table of settings for that model"),
        ({"space": {"model": ["mdnn"]}}, "a space has no setting model"),
        ({"spaces": {}}, "a space has the tables space and known, but 'spaces' was given"),
        ({"space": {}}, "the space is empty"),
        ({"space": {"mdnn": {}}}, "the space is empty"),
        ({"known": [{"lr": "fast"}]}, "lr must be a number above 0"),
        ({"known": [3]}, "a known point must be a table of settings"),
        ({"known": {}}, r"a space is a table \[space\] and any number of tables \[\[known\]\]"),
    ],
)
def test_a_wrong_space_is_refused_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Space.of(given)


def test_files_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="no such space file"):
        Space.read(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_text("[space]\nlr = [1,")
    with pytest.raises(FileFormatError, match="cannot be read as one"):
        Space.read(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text("[space]\nlr = [-1]")
    with pytest.raises(FileFormatError, match=r"a\.toml.*lr must be a number above 0"):
        Space.read(tmp_path / "a.toml")


def test_a_file_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    """As editors of Windows write it."""
    (tmp_path / "a.toml").write_text("[space]\nlr = [1]", "utf-8-sig")
    assert Space.read(tmp_path / "a.toml") == Space.of({"space": {"lr": [1]}})


def test_a_space_without_a_possible_network() -> None:
    some = draws(one_graph(), Space.of({"space": {"hidden": [6], "heads": [4]}}))
    with pytest.raises(InputError, match="gave no network that is possible: 4 heads do not divide"):
        some.trial("mdnn", 0)
