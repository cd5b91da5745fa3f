"""What separates columns: signs within names and weights do not."""

import networkx as nx
import pytest

from detours.graph import Graph
from tests.graph.cases import edges, put


@pytest.mark.parametrize(
    "text",
    [
        '"Hopper, G." "Turing; A."\n"Turing; A." "Ada"\n',  # as R writes them
        '"Hopper, G." "Turing; A." 2\n"Turing; A." "Ada" 3\n',
        '"Hopper, G.", "Turing; A."\n"Turing; A.", "Ada"\n',
        ' "Hopper, G." , "Turing; A." , 2\n "Turing; A." , "Ada" , 3\n',
        '"Hopper, G."; "Turing; A."\n"Turing; A."; "Ada"\n',
        "Hopper, G.\tTuring; A.\nTuring; A.\tAda\n",
        "Hopper, G.\tTuring; A.\t2\nTuring; A.\tAda\t3\n",
    ],
)
@pytest.mark.parametrize("name", ["g.txt", "g.csv", "g.tsv"])
def test_names_may_hold_separators(tmp_path, recwarn, name, text):
    path = put(tmp_path, name, text)
    wanted = [("Hopper, G.", "Turing; A."), ("Turing; A.", "Ada")]
    assert edges(Graph.read(path)) == wanted and not recwarn
    assert edges(Graph.read(path, columns=(1, 2))) == wanted


def test_a_blank_of_another_kind_separates_no_columns(tmp_path):
    for text in ('Ada\xa0L "1"\n', "Ada\xa0L 1\n"):
        path = put(tmp_path, "g.txt", text)
        assert edges(Graph.read(path)) == edges(Graph.read(path, columns=(1, 2))) == [("Ada\xa0L", "1")]


@pytest.mark.parametrize("name", ["g.txt", "g.tsv"])
@pytest.mark.parametrize("sign", [",", ";", "|"])
@pytest.mark.parametrize(
    "text",
    [
        "Ada,\t\tGrace\nGrace,\tAlan\n",
        "Ada,\t\tGrace,\t1\nGrace,\tAlan,\t2\n",
        '"Ada",\t"Grace"\n"Grace",\t"Alan"\n',
        '"Ada"\t,"Grace"\nGrace\t,\t"Alan"\n',
        'Ada ,\t"Grace"\nGrace, \tAlan\n',
        "Ada\t,\tGrace\t,\nGrace\t,\tAlan\t,\n",
    ],
)
def test_tabs_beside_other_signs_separate_nothing(tmp_path, recwarn, name, sign, text):
    path = put(tmp_path, name, text.replace(",", sign))
    assert edges(Graph.read(path)) == [("Ada", "Grace"), ("Grace", "Alan")] and not recwarn


@pytest.mark.parametrize("sign", [",", ";", "|"])
def test_tabs_within_lines_separate_nodes_whose_names_end_in_signs(tmp_path, sign):
    path = put(tmp_path, "g.txt", "Ada;\tGrace\t1\nGrace\tAlan;\t2\n".replace(";", sign))
    assert edges(Graph.read(path)) == [(f"Ada{sign}", "Grace"), ("Grace", f"Alan{sign}")]


def test_a_tab_behind_the_nodes_separates_nothing(tmp_path):
    assert edges(Graph.read(put(tmp_path, "g.txt", "Ada,Grace,5\tfriends\nGrace,Alan,2\tfoes\n"))) == [
        ("Ada", "Grace"),
        ("Grace", "Alan"),
    ]


def test_a_name_that_ends_in_a_number_is_no_weight(tmp_path):
    path = put(tmp_path, "g.csv", "Route 66 1,2\n2,Elm Street\n")
    assert edges(Graph.read(path)) == [("Route 66 1", "2"), ("2", "Elm Street")]


@pytest.mark.parametrize("name", [str, "n{}".format])
@pytest.mark.parametrize("values", [(3, 4), (None, 4), ("a b", 4), (3, "x, y")])
def test_edge_lists_of_networkx(tmp_path, name, values):
    """Also those whose attributes hold commas and blanks, or whose first node is called graph."""
    graph = nx.relabel_nodes(nx.karate_club_graph(), {0: "graph"} | {node: name(node) for node in range(1, 34)})
    for edge, value in zip(graph.edges, [*values, *range(76)], strict=True):
        graph.edges[edge].update(weight=value, year=1970)
    nx.write_edgelist(graph, tmp_path / "g.edgelist")
    assert edges(Graph.read(tmp_path / "g.edgelist", strict=True)) == list(graph.edges)
    nx.write_edgelist(graph, tmp_path / "g.edgelist", data=["year"])
    assert edges(Graph.read(tmp_path / "g.edgelist", strict=True)) == list(graph.edges)
