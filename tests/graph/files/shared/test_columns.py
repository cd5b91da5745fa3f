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


def test_other_blanks_do_not_separate_columns(tmp_path):
    for text in ('Ada\xa0L "1"\n', "Ada\xa0L 1\n"):
        path = put(tmp_path, "g.txt", text)
        assert edges(Graph.read(path)) == edges(Graph.read(path, columns=(1, 2))) == [("Ada\xa0L", "1")]


@pytest.mark.parametrize("name", ["g.txt", "g.tsv"])
@pytest.mark.parametrize("sep", [",", ";", "|"])
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
def test_tabs_next_to_other_separators_are_ignored(tmp_path, recwarn, name, sep, text):
    path = put(tmp_path, name, text.replace(",", sep))
    assert edges(Graph.read(path)) == [("Ada", "Grace"), ("Grace", "Alan")] and not recwarn


@pytest.mark.parametrize("sep", [",", ";", "|"])
def test_tabs_separate_nodes_whose_names_end_in_other_separators(tmp_path, sep):
    path = put(tmp_path, "g.txt", "Ada;\tGrace\t1\nGrace\tAlan;\t2\n".replace(";", sep))
    assert edges(Graph.read(path)) == [(f"Ada{sep}", "Grace"), ("Grace", f"Alan{sep}")]


def test_a_tab_after_the_nodes_is_ignored(tmp_path):
    assert edges(Graph.read(put(tmp_path, "g.txt", "Ada,Grace,5\tfriends\nGrace,Alan,2\tfoes\n"))) == [
        ("Ada", "Grace"),
        ("Grace", "Alan"),
    ]


def test_a_number_at_the_end_of_a_name_is_not_a_weight(tmp_path):
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
