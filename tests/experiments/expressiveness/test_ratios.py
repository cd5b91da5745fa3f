"""Expressive power: both rules against a slow refinement, known results, and the tables."""

from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from detours.data import GraphSet, load
from detours.experiments.expressiveness import hard, pairs
from detours.experiments.expressiveness import ratios as expressiveness
from detours.experiments.expressiveness.distinct import distinct
from detours.experiments.expressiveness.methods import (
    FWL2,
    WL2,
    WL3,
    Method,
    den,
    den_by_length,
    den_edges,
    den_pairs,
    wl1,
)
from detours.graph import Graph
from detours.store import Cell, Store
from tests import real_data
from tests.oracles import colours


def graphs_of(*made: nx.Graph) -> list[Graph]:
    return [Graph.from_networkx(graph) for graph in made]


def data_set(name: str) -> GraphSet:
    if not real_data.data_folder().exists():
        pytest.skip("real data not found (set DETOURS_DATA to the folder that holds the data sets)")
    return load(name, real_data.data_folder())


@pytest.fixture(scope="module")
def small() -> list[Graph]:
    return graphs_of(*(graph for graph in nx.graph_atlas_g()[1:] if len(graph) in (4, 5)))


# ---------------------------------------------------------------- fingerprints


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_fingerprints_equal_slow_refinement(small: list[Graph], rounds: int) -> None:
    prints = wl1(rounds).fingerprints(small)
    assert prints.rounds is not None
    for i, j in combinations(range(len(small)), 2):
        first, second = small[i], small[j]
        same = colours.histogram(first, rounds) == colours.histogram(second, rounds)
        assert (prints.sound[i] == prints.sound[j]) == same
        sizes = [colours.class_sizes(first, at) == colours.class_sizes(second, at) for at in range(rounds + 1)]
        assert (prints.paper[i] == prints.paper[j]) == sizes[-1]
        assert (prints.rounds[i] == prints.rounds[j]) == all(sizes)


@pytest.mark.parametrize(
    "method", [wl1(None), den(4), den_by_length(3), den_edges(4), den_pairs(4), WL2, FWL2, WL3], ids=lambda m: m.name
)
def test_every_test_is_sound_and_sees_what_it_should(method: Method) -> None:
    relabelled = nx.relabel_nodes(nx.petersen_graph(), {i: 3 * i % 10 for i in range(10)})
    graphs = graphs_of(nx.petersen_graph(), relabelled, nx.path_graph(4), nx.star_graph(3))
    prints = method.fingerprints(graphs)
    assert prints.sound[0] == prints.sound[1] and prints.paper[0] == prints.paper[1]
    assert len(set(prints.sound[1:].tolist())) == 3
    assert (prints.rounds is None) == (method.dim > 1)


def test_two_triangles_and_a_hexagon() -> None:
    graphs = graphs_of(nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)))
    expected = {
        m.name: len(set(m.fingerprints(graphs).sound.tolist())) == 2 for m in (wl1(None), WL2, den(2), FWL2, WL3)
    }
    assert expected == {"1-WL": False, "2-WL": False, "2-DeN": True, "2-FWL": True, "3-WL": True}


# ---------------------------------------------------------------- cells and tables


@pytest.fixture
def tiny() -> GraphSet:
    graphs = graphs_of(nx.path_graph(4), nx.star_graph(3), nx.cycle_graph(4), nx.complete_graph(4))
    return GraphSet("MUTAG", graphs, np.array([0, 1, 0, 1]))


def test_a_test_beyond_the_limit_is_skipped_with_a_reason(tiny: GraphSet, tmp_path: Path) -> None:
    tasks = expressiveness.tasks(tiny, [wl1(1), WL3], limit=100)
    cells = Store(tmp_path).run(tasks)
    assert cells[0].value["sound"] == {"told_apart": 4, "of": 4, "ratio": 1.0, "pairs_confused": 0}
    assert cells[1].value == {"skipped": "2.6e+02 steps a round, beyond the limit of 1e+02"}
    assert expressiveness.ratio(cells[1], "sound") is None
    # with a higher limit it has another cell, and is run
    (run,) = Store(tmp_path).run(expressiveness.tasks(tiny, [WL3], limit=1e6))
    assert "sound" in run.value


def test_tables_have_every_rule_and_the_papers_results(tiny: GraphSet, tmp_path: Path) -> None:
    cells = Store(tmp_path).run(expressiveness.tasks(tiny, expressiveness.methods(5)))
    tables = {table.title: table for table in expressiveness.tables(cells)}
    sound = tables["Told apart, rule “sound”"]
    assert [row[0] for row in sound.rows] == [method.name for method in expressiveness.methods(5)]
    assert all(row[1] == 1.0 for row in sound.rows)
    assert [row[0] for row in tables["Told apart, rule “rounds”"].rows][-1] == "5-DeN"  # tests on tuples have none
    beside = tables["Beside the paper"].plain()["rows"]
    assert beside[0]["paper"] == 0.88 and beside[0]["ours, rule “sound”"] == 1.0
    tests, data, values = expressiveness.matrix(cells, "sound")
    assert data == ["MUTAG"] and values.shape == (len(tests), 1) and (values == 1).all()


def test_claims_about_real_data_are_compared_with_the_worst_data_set() -> None:
    def cell(data: str, ratio: float) -> Cell:
        value = {"told_apart": 1, "of": 2, "pairs_confused": 0, "ratio": ratio}
        return Cell({"data": data, "method": wl1().name}, dict.fromkeys(expressiveness.RULES, value), 1.0)

    cells = [cell("MUTAG", 0.9), cell("NCI1", 0.7), cell("ENZYMES", 0.8)]
    rows = {(row["data"], row["test"]): row for row in expressiveness.tables(cells)[-1].plain()["rows"]}
    assert rows["real data", "1-WL at worst"]["ours, rule “sound”"] == 0.7


def test_no_cells_no_tables() -> None:
    assert expressiveness.tables([]) == [] and pairs.tables([]) == [] and hard.tables([]) == []


# ---------------------------------------------------------------- known truth


@pytest.mark.parametrize(
    ("name", "expected"),
    [("EXP", {"1-WL, 10 rounds": 0, "2-DeN": 0, "3-DeN": 0}), ("CEXP", {"1-WL, 10 rounds": 300})],
)
def test_synthetic_pairs(name: str, expected: dict[str, int], tmp_path: Path) -> None:
    rows = [wl1(), WL2, *(den(k) for k in range(2, 7))]
    cells = Store(tmp_path).run(expressiveness.tasks(data_set(name), rows))
    found = {cell.key["method"]: cell.value["sound"]["told_apart"] for cell in cells}
    assert {method: found[method] for method in expected} == expected
    assert found["2-WL"] == found["1-WL, 10 rounds"]
    assert [found[f"{k}-DeN"] for k in (4, 5, 6)] == [600, 600, 600]


def test_one_wl_fails_on_cexp_pairs_with_odd_index() -> None:
    data = data_set("CEXP")
    prints = wl1().fingerprints(data.graphs).sound
    assert data.pairs is not None
    assert [prints[i] == prints[j] for i, j in data.pairs] == [False, True] * 300


@pytest.mark.parametrize(
    ("name", "distinct_graphs", "papers"),
    [("MUTAG", 139, 135), ("PTC_FM", 263, 242), ("ENZYMES", 595, 595), ("IMDB-BINARY", 537, 493)],
)
def test_real_graphs_of_different_classes_are_all_told_apart(
    name: str, distinct_graphs: int, papers: int, tmp_path: Path
) -> None:
    ours, theirs = distinct(data_set(name), Store(tmp_path))
    assert len(ours) == distinct_graphs and len(theirs) == papers
    for cell in Store(tmp_path).run(expressiveness.tasks(ours, [wl1(), den(2), den(5)])):
        assert cell.value["sound"]["ratio"] == 1.0 and cell.value["sound"]["pairs_confused"] == 0, cell.key


def test_seven_den_tells_strongly_regular_pairs_apart_but_not_six_den_or_three_wl() -> None:
    from detours.data.hard import rook, shrikhande

    expected = {
        method.name: len(set(method.fingerprints([rook(4), shrikhande()]).sound.tolist())) == 2
        for method in (WL3, den(6, None), den(7, None))
    }
    assert expected == {"3-WL": False, "6-DeN": False, "7-DeN": True}


def test_the_atlas(tmp_path: Path) -> None:
    tasks = [task for task in hard.tasks(largest_k=4) if task.key["data"] == hard.ATLAS]
    cells = Store(tmp_path).run(tasks)
    (table,) = hard.tables(cells)
    rows = {row[0]: row for row in table.rows}
    assert rows["1-WL"][1:4] == [495490, 20, 956]
    assert rows["2-FWL"][1:4] == rows["3-DeN"][1:4] == [495510, 0, 996]
    # Sums of detours can lose what a smaller k saw; counts by length cannot.
    assert rows["4-DeN"][1:4] == [495509, 1, 994] and rows["4-DeN by length"][2] == 0


def test_the_built_in_sets_have_pairs_of_graphs_that_are_not_isomorphic() -> None:
    from detours.wl.isomorphism import isomorphic

    sets = {data.name: data for data in hard.hard_sets()}
    assert {"cycles", "regular", "strongly-regular", "rook, Shrikhande", "CFI(K3)", "CFI(K4)", "CFI(cube)"} <= set(sets)
    for data in sets.values():
        assert data.pairs
        for i, j in data.pairs[:3]:
            assert not isomorphic(data.graphs[i], data.graphs[j]), data.name
