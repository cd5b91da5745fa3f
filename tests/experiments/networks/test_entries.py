"""The entries of the tables of networks, and their order."""

import pytest

from detours.errors import InputError
from detours.experiments.networks.entries import Entry, cost, entries, num_weights, rows_named


def test_a_table_has_nine_rows_on_every_data_set_under_both_presets() -> None:
    nodes = entries("nodes")
    assert len(nodes) == len(set(nodes)) == 9 * 6 * 2
    assert {entry.preset for entry in nodes} == {"ours", "paper"}
    assert {entry.row for entry in nodes if entry.model == "weighted"} == {
        "weighted GCN",
        "weighted GAT",
        "weighted GIN",
    }


def test_large_data_use_the_small_preset_unless_the_full_size_is_requested() -> None:
    graphs = entries("graphs")
    small = {entry.data for entry in graphs if entry.preset == "paper-small"}
    assert small == {"NCI1", "DD", "IMDB-BINARY"} and len(graphs) == 9 * 6 * 2
    assert {entry.data for entry in entries("graphs", presets=["paper"])} == {entry.data for entry in graphs}
    recipe = Entry("DD", "paper-small", "mdnn", "gin").recipe()
    assert (recipe.preset, recipe.hidden, recipe.transformer_layers, recipe.lr) == ("paper", 128, 2, 1e-5)
    assert Entry("MUTAG", "paper", "mdnn", "gin").recipe().hidden == 768


def test_cheap_entries_come_first_and_the_largest_data_last() -> None:
    nodes = entries("nodes")
    assert nodes[0].model == "plain" and nodes[0].preset == "ours" and nodes[-1].model == "mdnn"
    assert [cost(entry) for entry in nodes] == sorted(map(cost, nodes))
    assert [entry.data for entry in entries("graphs")][-18:] == ["DD"] * 18


def test_the_ablation_is_mdnn_gat_with_and_without_den() -> None:
    found = entries("ablation", presets=["ours"], only=["Texas"])
    assert {(entry.row, entry.recipe().use_den) for entry in found} == {
        ("MDNN GAT", True),
        ("MDNN GAT without φD", False),
    }


@pytest.mark.parametrize("preset", ["ours", "paper"])
def test_without_den_no_recipe_sees_detours(preset: str) -> None:
    found = [entry.recipe() for entry in entries("ablation", presets=[preset]) if not entry.use_den]
    assert len(found) == 4
    assert not any(each.use_den or each.hop_den or each.edge_den or each.node_den for each in found)


def test_rows_by_name() -> None:
    assert rows_named("nodes", ["MDNN GIN", "plain gcn"]) == [("mdnn", "gin", True), ("plain", "gcn", True)]
    with pytest.raises(InputError, match="there is no row 'GIN'; choose from plain GCN"):
        rows_named("nodes", ["GIN"])


def test_rows_of_the_ablation_by_name() -> None:
    for name in ("MDNN GAT", "MDNN GAT without φD"):
        assert {entry.row for entry in entries("ablation", rows=[name])} == {name}
    with pytest.raises(InputError, match=r"no row 'MDNN GIN'; choose from MDNN GAT without φD, MDNN GAT.$"):
        entries("ablation", rows=["MDNN GIN"])


def test_three_seeds_for_ours_one_for_the_paper() -> None:
    assert list(Entry("Texas", "ours", "plain", "gcn").default_seeds) == [0, 1, 2]
    assert list(Entry("Texas", "paper", "plain", "gcn").default_seeds) == [0]


def test_the_number_of_weights_is_about_right() -> None:
    from detours.training.build import network_of

    for preset, model in (("paper-small", "mdnn"), ("ours", "plain")):
        recipe = Entry("MUTAG", preset, model, "gcn").recipe()
        exact = sum(each.numel() for each in network_of(recipe, 7, 2).parameters())
        assert 0.4 < num_weights(recipe) / exact < 2.5
