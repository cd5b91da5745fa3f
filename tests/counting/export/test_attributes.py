"""Counts as attributes of a NetworkX graph, in addition to those of the graph that was counted."""

import pickle
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import detours
from detours.counting.export.attributes import write_markup
from detours.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::detours.errors.DroppedEdgesWarning")


def molecule() -> nx.Graph:
    graph = nx.cycle_graph(["C1", "C2", "C3", "C4", "C5", "C6"])
    graph.add_edge("C1", "Cl", order="single")
    nx.set_node_attributes(graph, {name: name[:1] for name in graph}, "element")
    nx.set_edge_attributes(graph, 1.5, "order")
    graph.graph["name"] = "chlorobenzene"
    return graph


def test_attributes_of_nodes_edges_and_graph_are_kept() -> None:
    source = molecule()
    exported = detours.count(source, 5).to_networkx()
    assert exported.graph == source.graph
    assert exported.nodes["C1"] == {"element": "C", "cycle_3": 0, "cycle_4": 0, "cycle_5": 0, "cycle_6": 1, "phi": 2}
    assert exported.edges["C1", "C2"]["order"] == 1.5 and exported.edges["C1", "C2"]["cycle_6"] == 1
    assert "phi" not in source.nodes["C1"] and "den" not in source.edges["C1", "C2"]  # it is a copy
    plain = detours.count(source, 5).to_networkx(attributes=False)
    assert "element" not in plain.nodes["C1"] and plain.nodes["C1"]["cycle_6"] == 1


@pytest.mark.parametrize("write, read", [(nx.write_gexf, nx.read_gexf), (nx.write_graphml, nx.read_graphml)])
def test_networkx_writes_the_counts_for_gephi(write: Any, read: Any) -> None:
    file = BytesIO()
    write(detours.count(molecule(), 5).to_networkx(), file)
    back = read(BytesIO(file.getvalue()))
    assert back.edges["C1", "C2"]["cycle_6"] == 1 and back.edges["C1", "Cl"]["den"] == 0
    assert back.nodes["C1"]["element"] == "C" and back.nodes["C1"]["phi"] == 2


def test_attributes_that_gexf_would_take_for_something_else() -> None:
    source = molecule()
    of_nodes = {"id": [1, 1, 2, 2, 3, 3, 3], "start": list("abcdefg"), "viz": ["red"] * 7, "spells": [[(1, 2)]] * 7}
    of_nodes |= {"mixed": [1, "x", 2.5, True, 1, 1, 1], "number": [1, 2.5, 1, 1, 1, 1, 1]}
    for name, values in of_nodes.items():
        nx.set_node_attributes(source, dict(zip(source, values, strict=True)), name)
    nx.set_edge_attributes(source, "directed", "type")
    nx.set_edge_attributes(source, "heavy", "weight")
    nx.set_edge_attributes(source, 7, "id")
    back = source
    for _ in range(2):  # what was read is written again
        file = BytesIO()
        write_markup(file, detours.count(back, 5), "gexf")
        back = nx.read_gexf(BytesIO(file.getvalue()))
        assert set(back) == set(source) and set(map(frozenset, back.edges)) == set(map(frozenset, source.edges))
    shown = [back.nodes["C2"][name] for name in ("id_", "start_", "viz_", "spells_", "mixed", "number", "phi")]
    assert shown == [1, "b", "red", "[(1, 2)]", "x", 2.5, 2]
    assert [back.edges["C1", "C2"][name] for name in ("type_", "weight_", "id_")] == ["directed", "heavy", 7]
    assert "id__" not in back.edges["C1", "C2"]


@pytest.mark.parametrize(("format", "read"), [("gexf", nx.read_gexf), ("graphml", nx.read_graphml)])
def test_characters_that_xml_cannot_hold(format: str, read: Any) -> None:
    source, file = molecule(), BytesIO()
    nx.set_node_attributes(source, "ring\x07\ufffe", "note")
    nx.set_edge_attributes(source, ["\x01"], "list")
    write_markup(file, detours.count(source, 5), format)
    back = read(BytesIO(file.getvalue()))
    assert back.nodes["C1"]["note"] == r"ring\x07\ufffe" and back.edges["C1", "C2"]["list"] == r"['\x01']"
    with pytest.raises(InputError, match=r"The node name 'a\\x01' cannot be written to G"):
        write_markup(file, detours.count(nx.Graph([("a\x01", "b")]), 2), format)


def test_parallel_edges_and_loops_are_kept() -> None:
    source = nx.MultiDiGraph([(0, 1, {"road": "a"}), (0, 1, {"road": "b"}), (1, 2), (2, 0), (2, 2), (0, 2)])
    exported = detours.count(source, 2).to_networkx()
    assert type(exported) is nx.MultiDiGraph and list(exported.edges) == list(source.edges)
    assert [exported.edges[0, 1, key]["road"] for key in (0, 1)] == ["a", "b"]
    assert [exported.edges[0, 1, key]["cycle_3"] for key in (0, 1)] == [1, 1]
    assert exported.edges[2, 2, 0]["cycle_3"] == 0 and exported.edges[0, 2, 0]["den"] == 1
    undirected = detours.count(source, 2, directed=False).to_networkx()
    assert not undirected.is_directed() and undirected.edges[0, 1, 0]["den"] == 1
    only_loops = detours.count(nx.Graph([(0, 0)]), 2).to_networkx()
    assert only_loops.edges[0, 0]["den"] == 0


def test_attributes_of_igraph_are_kept() -> None:
    igraph = pytest.importorskip("igraph")
    source = igraph.Graph([(0, 1), (1, 2), (2, 0)])
    source.vs["name"], source.vs["age"], source.es["kind"] = ["x", "y", "z"], [1, 2, 3], ["p", "q", "r"]
    exported = detours.count(source, 2).to_networkx()
    assert exported.nodes["y"]["age"] == 2 and exported.nodes["y"]["cycle_3"] == 1
    assert exported.edges["y", "z"]["kind"] == "q" and exported.edges["y", "z"]["den"] == 1


def test_attributes_of_a_file_and_of_a_list_of_graphs_are_kept(tmp_path: Path) -> None:
    nx.write_graphml(nx.Graph([("20", "3", {"road": "a"}), ("3", "100"), ("100", "20")]), tmp_path / "g.graphml")
    exported = detours.count(tmp_path / "g.graphml", 2).to_networkx()
    assert exported.edges[20, 3]["road"] == "a" and exported.edges[3, 20]["den"] == 1
    both = detours.count_many([molecule(), nx.cycle_graph(4)], 3)
    assert both[0].to_networkx().nodes["Cl"]["element"] == "C" and both[1].to_networkx().nodes[3]["cycle_4"] == 1
    loaded = pickle.loads(pickle.dumps(both[0]))  # without the attributes: they may be of any type and size
    assert loaded.to_networkx().nodes["C1"] == {"cycle_3": 0, "cycle_4": 0, "phi": 0}


@pytest.mark.parametrize("change", ["add_node", "add_edge", "remove_edge", "move_edge"])
def test_a_graph_that_has_changed_is_refused(change: str) -> None:
    source = molecule()
    result = detours.count(source, 5)
    if change == "add_node":
        source.add_node("H")
    if change in ("add_edge", "move_edge"):
        source.add_edge("C1", "C4")
    if change in ("remove_edge", "move_edge"):
        source.remove_edge("C1", "C2")
    with pytest.raises(InputError, match=r"changed since it was counted.*attributes=False"):
        result.to_networkx()
    assert result.to_networkx(attributes=False).edges["C1", "C2"]["den"] == 1
