"""The cycle table: against NetworkX on small graphs, and against the paper's figures on its data."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.data import GraphSet, load
from detours.experiments.cycles import profiles as cycles
from detours.experiments.expressiveness.distinct import distinct
from detours.experiments.paper import paper_tables
from detours.graph import Graph
from detours.store import Store
from tests import real_data
from tests.wl.test_isomorphism import small_graphs


def data_set(name: str) -> GraphSet:
    if not real_data.data_folder().exists():
        pytest.skip("real data not found (set DETOURS_DATA to the folder that holds the data sets)")
    return load(name, real_data.data_folder())


@given(st.lists(small_graphs(), min_size=1, max_size=4))
def test_cycle_lengths_equal_listing_them(graphs: list[Graph]) -> None:
    expected = [
        tuple(sorted({len(cycle) for cycle in nx.simple_cycles(graph.to_networkx()) if len(cycle) <= 5}))
        for graph in graphs
    ]
    assert cycles.cycle_lengths(graphs, k=4) == expected


def test_both_conventions_of_node_data(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    arcs = np.array(
        [[0, 1, 2, 3, 0], [1, 2, 0, 0, 2]]
    )  # a directed triangle, and arcs that close cycles only undirected
    graph = Graph.from_edge_index(arcs, directed=True)
    data = GraphSet("Texas", [graph], np.zeros(4, int), level="node")
    directed, undirected = Store(tmp_path).run(cycles.node_tasks(data, k=3))
    made = nx.DiGraph(arcs.T.tolist())
    assert directed.value["cycles"]["3"] == str(sum(len(c) == 3 for c in nx.simple_cycles(made)))
    assert undirected.value["cycles"] == {"3": "1", "4": "0"}
    table = cycles.tables([directed, undirected])[0].plain()["rows"]
    assert [row["convention"] for row in table] == ["directed, ours", "directed, paper", "undirected, ours"]
    assert table[1]["length 3"] == 6 and table[2]["length 3"] == 1
    assert not recwarn.list


def test_skipped_graphs_count_as_acyclic(tmp_path: Path) -> None:
    graphs = [Graph.from_networkx(graph) for graph in (nx.complete_graph(4), nx.cycle_graph(5), nx.path_graph(3))]
    data = GraphSet("MUTAG", graphs, np.zeros(3, int))
    ours, papers = Store(tmp_path).run(cycles.graph_tasks(data, data))
    assert ours.value == {"lengths": {"34": 1, "5": 1, "none": 1}, "skipped": 0}
    assert papers.value == {"lengths": {"5": 1, "none": 2}, "skipped": 1}  # K4 is its own 3-factor


@pytest.mark.parametrize("name", ["Actor", "Cornell", "Wisconsin", "Texas"])
def test_the_papers_totals_of_node_data(name: str, tmp_path: Path) -> None:
    directed, undirected = Store(tmp_path).run(cycles.node_tasks(data_set(name)))
    paper = paper_tables()["cycle_totals_directed"][name]
    assert {length: int(directed.value["cycles"][length]) for length in paper} == paper
    if name == "Actor":
        assert [undirected.value["cycles"][length] for length in "345"] == ["7121", "69397", "1074830"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "undirected"),
    [("Chameleon", [343066, 28584895, 1957833611, 165697308357, 13888066223511]), ("Squirrel", None)],
)
def test_the_papers_totals_of_large_node_data(name: str, undirected: list[int] | None, tmp_path: Path) -> None:
    cells = Store(tmp_path).run(cycles.node_tasks(data_set(name)))
    paper = paper_tables()["cycle_totals_directed"][name]
    assert {length: int(cells[0].value["cycles"][length]) for length in paper} == paper
    if undirected:
        assert [int(cells[1].value["cycles"][length]) for length in "34567"] == undirected


@pytest.mark.parametrize("name", ["MUTAG", "PTC_FM", "ENZYMES", "CEXP"])
def test_the_papers_table_of_graph_data_exactly(name: str, tmp_path: Path) -> None:
    _check_table(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["NCI1", "IMDB-BINARY", "DD"])
def test_the_papers_table_of_larger_graph_data_exactly(name: str, tmp_path: Path) -> None:
    _check_table(name, tmp_path)


def _check_table(name: str, folder: Path) -> None:
    store = Store(folder)
    _, papers = store.run(cycles.graph_tasks(*distinct(data_set(name), store)))
    assert papers.value["lengths"] == paper_tables()["cycle_length_combinations"][name]


def test_exp_differs_from_the_paper(tmp_path: Path) -> None:
    data = data_set("EXP")
    ours, _ = Store(tmp_path).run(cycles.graph_tasks(data, data))
    assert ours.value["lengths"] == {"456": 873, "46": 35, "56": 283, "6": 9}  # NetworkX and igraph find the same
