"""Recipes: presets, refused settings, and the formats they are read from."""

from dataclasses import fields, replace
from inspect import signature
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pytest

from detours.choices import ABSORBS_SCALE, Backbone
from detours.data import GRAPH_SETS, HETEROPHILOUS_SETS, MORE_SETS, NODE_SETS
from detours.errors import InputError
from detours.training import recipe as recipes
from detours.training.recipe import (
    RECIPES,
    Recipe,
    choices_of,
    parse_setting,
    presets,
    read_recipe,
    recipe,
    settings,
    shipped_recipe,
)


def recipe_of(level: Any = "graph", **changed: Any) -> Recipe:
    return recipe("a", "b", "c", level, **changed)


def test_presets_are_those_of_the_protocol() -> None:
    graph, node = (recipe_of(level, preset="paper") for level in ("graph", "node"))
    assert (graph.hidden, graph.layers, graph.transformer_layers, graph.heads) == (768, 4, 12, 1)
    assert (node.transformer_layers, node.heads, node.neighbours, node.batch_size) == (2, 4, (15, 10), 256)
    for each in (graph, node):
        assert (each.lr, each.warmup, each.epochs, each.patience, each.k) == (1e-5, 0.005, 500, 250, 2)
        assert (each.dropout, each.ties, each.preset) == (0.0, "first", "paper")
        assert not each.log and not each.standardise and each.detour_columns == 1
        assert (each.encoder, each.decoder, each.norm, each.token_norm) == ("conv", "conv", "none", "batch")
        assert (each.jump, each.pool, each.pool_of, each.head) == ("last", "max", "logits", "linear")
        assert (each.skip, each.input_dropout, each.pe, each.directions) == (False, 0.0, 8, "in")
        assert not (each.den_bias or each.detour_gate or each.cycle_features or each.edge_den or each.node_den)
    assert node.directed and not graph.directed
    ours = recipe_of("node")
    assert ours.k == 4 and ours.detour_columns == 3 and not ours.directed and ours.log and ours.input_dropout == 0.5
    assert (recipe_of().batch_size, recipe_of().dropout, recipe_of().lr, recipe_of().ties) == (32, 0.0, 1e-3, "loss")


def test_options_of_networks_are_settings() -> None:
    pytest.importorskip("torch_geometric")
    from detours.nn import MDNN
    from detours.nn.options import NetworkOptions

    own = [each.name for each in signature(MDNN).parameters.values() if each.kind is each.KEYWORD_ONLY]
    others = {*(each.name for each in fields(NetworkOptions)), *own} - settings().keys() - {"level"}
    expected = {"num_layers", "edge_channels", "den_channels", "pe_channels", "feed_forward", "attention"}
    assert others == expected, "options of networks without a setting of Recipe, or the opposite"
    page = (Path(__file__).parents[2] / "docs" / "networks.md").read_text("utf-8")
    assert "`num_layers` is `layers`, and `edge_channels` follows" in page
    assert "`pe_channels` is `pe`, `den_channels` follows" in page
    assert "`feed_forward` and `attention` do not exist" in page
    names = {*own, *(each.name for each in fields(NetworkOptions))} - {"level"}
    assert {name for name in names if f"`{name}`" not in page} == set(), "options that networks.md does not explain"


def test_pools_of_recipes_are_those_of_networks() -> None:
    pytest.importorskip("torch")
    from detours.nn.functional import POOLS

    sets = [frozenset(each) for count in range(1, len(POOLS) + 1) for each in combinations(POOLS, count)]
    assert {frozenset(each.split("+")) for each in choices_of("pool")} == set(sets)


def test_weights_of_gcn_are_logarithms_only_on_request() -> None:
    weights = {name: recipe_of(model="weighted", backbone=name).log for name in ("gcn", "gat", "gin")}
    assert weights == {"gcn": False, "gat": True, "gin": True}
    assert recipe_of(model="weighted", backbone="gcn", log=True).log


@pytest.mark.parametrize("log", [True, False])
def test_weights_are_what_the_recipe_of_a_data_set_says(log: bool, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / f"logs-{log}.toml").write_text(f"log = {log}\n".lower())
    monkeypatch.setattr(presets, "RECIPES", tmp_path)
    for backbone in get_args(Backbone):
        assert recipe(f"logs-{log}", "b", "c", "graph", model="weighted", backbone=backbone).log is log


def test_backbones_of_recipes_are_those_of_networks() -> None:
    pytest.importorskip("torch_geometric")
    from detours.nn.backbones import BACKBONES

    assert get_args(Backbone) == tuple(BACKBONES) and set(ABSORBS_SCALE) <= set(BACKBONES)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"model": "mdn"}, "model must be one of 'plain', 'weighted', 'mdnn', but it is 'mdn'"),
        ({"backbone": ["gin"]}, "backbone must be one of 'gcn', 'gat', 'gin'"),
        ({"preset": "theirs"}, "preset must be one of 'ours', 'paper'"),
        ({"precision": "16"}, "precision must be one of"),
        ({"k": 1}, "k must be an integer of at least 2, but it is 1"),
        ({"hidden": 0}, "hidden must be an integer of at least 1"),
        ({"hidden": True}, "hidden must be an integer of at least 1, but it is True"),
        ({"hidden": 8.5}, "hidden must be an integer of at least 1"),
        ({"hidden": 10, "heads": 4}, "4 heads do not divide the 10 hidden channels"),
        ({"lr": 0.0}, "lr must be a number above 0"),
        ({"lr": float("nan")}, "lr must be a number above 0"),
        ({"lr": float("inf")}, "lr must be a number above 0"),
        ({"lr": "fast"}, "lr must be a number above 0, but it is 'fast'"),
        ({"dropout": 1.0}, "dropout must be a number of at least 0 and below 1, but it is 1.0"),
        ({"pe": -1}, "pe must be an integer of at least 0"),
        ({"log": 1}, "log must be true or false, but it is 1"),
        ({"norm": True}, "norm must be one of 'batch', 'layer', 'none', but it is True"),
        ({"directions": "both"}, "directions=both needs directed=true"),
        ({"encoder": "hops"}, "encoder hops applies to node data"),
        ({"hop_den": True}, "hop_den=true needs model mdnn with encoder hops, not mdnn with conv"),
        ({"pool": "mean+max", "pool_of": "logits"}, r"pool=mean\+max needs pool_of=states"),
        ({"neighbours": (5, 5)}, "neighbours applies to node data"),
        ({"directed": True}, "directed applies to node data"),
        ({"neighbours": [5, 0]}, "neighbours must be 1 or more per hop, or -1"),
        ({"neighbours": "5,x"}, "neighbours must be integers separated by commas, but it is '5,x'"),
        ({"neighbours": (5, -2)}, "each of neighbours must be an integer of at least -1"),
        ({"use_den": False, "model": "plain"}, "use_den=false needs model mdnn"),
        ({"width": 3}, "a recipe has no setting 'width'"),
        (
            {"drop_out": 3},
            r"a recipe has no setting 'drop_out'; did you mean dropout\?",
        ),
        ({"pe_channels": 3}, r"a recipe has no setting 'pe_channels'; did you mean pe\?"),
    ],
)
def test_settings_that_a_recipe_refuses(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        recipe_of(**changed)


def test_data_sets_have_their_own_recipes() -> None:
    files = sorted(recipes.RECIPES.glob("*.toml"))
    assert files
    for file in files:
        assert file.stem in (*GRAPH_SETS, *NODE_SETS, *MORE_SETS)
        level: Any = "node" if file.stem in (*NODE_SETS, *HETEROPHILOUS_SETS) else "graph"
        for model in ("plain", "weighted", "mdnn"):
            shipped = recipes.shipped_recipe(file.stem, model)
            own = recipe(file.stem, "b", "c", level, model=model)
            assert shipped and all(getattr(own, name) == value for name, value in shipped.items())
            assert recipe(file.stem, "b", "c", level, model=model, lr=0.5).lr == 0.5
            paper = recipe(file.stem, "b", "c", level, model=model, preset="paper")
            assert paper == replace(recipe_of(level, model=model, preset="paper"), data=file.stem)


def test_tables_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some.toml").write_text("lr = 0.5\nlayers = 2\n[plain]\nlayers = 3\n")
    monkeypatch.setattr(presets, "RECIPES", tmp_path)
    assert recipes.shipped_recipe("some", "plain") == {"lr": 0.5, "layers": 3}
    assert recipes.shipped_recipe("some", "mdnn") == {"lr": 0.5, "layers": 2}


def test_none_keeps_the_preset() -> None:
    assert recipe_of(k=None, lr=None, norm=None) == recipe_of()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lr=1", ("lr", 1.0)),
        (" k = 3", ("k", 3)),
        ("log=False", ("log", False)),
        ("neighbours=", ("neighbours", ())),
        ("neighbours=[4, -1]", ("neighbours", (4, -1))),
        ("ties=first", ("ties", "first")),
    ],
)
def test_a_setting_from_a_string(text: str, expected: tuple[str, Any]) -> None:
    assert parse_setting(text) == expected


def test_a_string_without_a_value() -> None:
    with pytest.raises(InputError, match="'lr' is not of the form name=value"):
        parse_setting("lr")


@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("preset", ["ours", "paper"])
def test_a_recipe_file_holds_every_setting(tmp_path: Path, level: Any, preset: str) -> None:
    file, written = tmp_path / "recipe.toml", recipe_of(level, preset=preset, lr=3e-7)
    file.write_text(written.to_toml())
    found = read_recipe(file)
    assert found.pop("data") == "a" and found.keys() == settings().keys()
    assert recipe("a", "b", "c", level, **found) == written
    file.write_text(written.to_toml(), "utf-8-sig")  # as editors of Windows write
    assert read_recipe(file) == {"data": "a", **found}


def test_a_recipe_file_may_have_tables_of_models(tmp_path: Path) -> None:
    file = tmp_path / "recipe.toml"
    file.write_text("hidden = 16\n[plain]\nlr = 0.1\n[mdnn]\nlr = 0.2\nk = 6\n")
    assert read_recipe(file) == read_recipe(file, ["mdnn"]) == {"hidden": 16, "lr": 0.2, "k": 6}
    assert read_recipe(file, ["plain"]) == {"hidden": 16, "lr": 0.1} and read_recipe(file, ["weighted"]) == {
        "hidden": 16
    }
    with pytest.raises(InputError, match=r"the table \[plain\] is of one model, but the settings are for plain, mdnn"):
        read_recipe(file, ["plain", "mdnn"])
    file.write_text('model = "plain"\n' + file.read_text())
    assert read_recipe(file) == {"model": "plain", "hidden": 16, "lr": 0.1}
    for shipped in RECIPES.glob("*.toml"):
        for model in ("plain", "weighted", "mdnn"):
            assert read_recipe(shipped, [model]) == shipped_recipe(shipped.stem, model)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('model = "hidden"\nhidden = 4', "recipe.toml: model must be one of 'plain', 'weighted', 'mdnn'"),
        ("mdnn = 3", "recipe.toml: mdnn is the table of a model, but it is 3"),
        ("lr 3", "recipe.toml: a recipe is a TOML file, but it cannot be read as one"),
        ("[training]\nlr = 3", "recipe.toml: a recipe has no setting 'training'"),
        ("lr = -1", "recipe.toml: lr must be a number above 0, but it is -1"),
        ("data = 3", "recipe.toml: a recipe has no setting 'data'"),
        (None, "recipe.toml: there is no such recipe file"),
    ],
)
def test_a_recipe_file_that_cannot_be_used(tmp_path: Path, text: str | None, sentence: str) -> None:
    file = tmp_path / "recipe.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_recipe(file)


def test_values_from_before_a_setting_existed() -> None:
    ours, paper = recipes.as_before("ours", "node"), recipes.as_before("paper", "node")
    assert ours.keys() == paper.keys() == settings().keys()
    assert (paper["hidden"], paper["neighbours"], ours["hidden"], ours["neighbours"]) == (768, [15, 10], 64, [])
    # nothing was evaluated on samples before it could be, also in the preset that is today
    assert (
        recipe_of("node", preset="paper").evaluation == "sampled"
        and ours["evaluation"] == paper["evaluation"] == "whole"
    )
    for preset in ("ours", "paper"):  # every value is one that the setting takes
        assert recipe_of("node", **recipes.as_before(preset, "node")).preset == preset


def test_every_setting_is_documented() -> None:
    for name, each in settings().items():
        assert each.doc.endswith("."), name


def test_a_key_is_plain_and_distinguishes_recipes() -> None:
    one, other = recipe_of("node", neighbours=(3, 2)), recipe_of("node", neighbours=(3, 1))
    assert one.key()["neighbours"] == [3, 2] and one.differences(one.key()) == ""
    assert one.differences(other.key()) == "neighbours [3, 1] there and [3, 2] here"
