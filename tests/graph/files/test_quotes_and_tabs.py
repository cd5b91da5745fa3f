"""Quoted names, repeated tabs and empty columns in edge lists."""

import pytest

from detours.errors import FileFormatError
from detours.graph import Graph
from detours.graph.files.shared import lines
from tests.graph.cases import edges, put, refused


def test_an_empty_first_column_is_refused(tmp_path):
    refused(put(tmp_path, "g.csv", ",u,v,weight\n0,a,b,1.0\n1,b,c,2.0\n"), 'such as "u" and "v"', line=1)
    refused(put(tmp_path, "g.csv", ",a,b,c\na,0,1,1\nb,1,0,1\nc,1,1,0\n"), "an adjacency matrix is read", line=1)


@pytest.mark.parametrize("sep", [" ", ",", "\t", ";"])
@pytest.mark.parametrize("fast", [False, True])
def test_quotes_do_not_change_a_node(tmp_path, monkeypatch, sep, fast):
    monkeypatch.setattr(lines, "SMALL", 0 if fast else 1 << 30)
    for text in ('1 2\n"1" 3\n', '"1" 2\n1 3\n', '1 "2"\n1 3\n', '"1" "2"\n1 3 "4"\n'):
        assert edges(Graph.read(put(tmp_path, "g.txt", text.replace(" ", sep)))) == [(1, 2), (1, 3)]
    names = '"Ada" "1"\nAda "Grace"\n1 Grace\n'.replace(" ", sep)
    assert edges(Graph.read(put(tmp_path, "g.txt", names))) == [("Ada", "1"), ("Ada", "Grace"), ("1", "Grace")]


def test_quotes_keep_blanks_in_a_name(tmp_path):
    text = '"Ada L" 1\n1  "say ""hi"""\t2.5\n"say ""hi""" 5"\n'
    found = edges(Graph.read(put(tmp_path, "g.txt", text)))
    assert found == [("Ada L", "1"), ("1", 'say "hi"'), ('say "hi"', '5"')]
    table = put(tmp_path, "t.txt", '"from" "to" "note"\n"Ada L" b "met in Rome"\nb c ""\n')
    assert edges(Graph.read(table)) == [("Ada L", "b"), ("b", "c")]
    refused(put(tmp_path, "g.txt", '"" b\n'), "a line must hold two nodes", line=1)


def test_quotes_after_a_comma_and_a_tab_are_not_part_of_a_name(tmp_path):
    for text in ('"Ada",\t"Grace"\n"Grace",\t"Hopper, G."\n', 'Ada,\tGrace\n\t"Grace", \t "Hopper, G."\t,\t2\n'):
        assert edges(Graph.read(put(tmp_path, "g.txt", text))) == [("Ada", "Grace"), ("Grace", "Hopper, G.")]
        table = put(tmp_path, "g.csv", "source,\ttarget, note\n" + text)
        assert edges(Graph.read(table)) == [("Ada", "Grace"), ("Grace", "Hopper, G.")]
    inside = '"say ""a"",\t""b""",Ada\n"""Ada""",\tx"y"\n'  # a name may hold both
    assert edges(Graph.read(put(tmp_path, "g.txt", inside))) == [('say "a",\t"b"', "Ada"), ('"Ada"', 'x"y"')]


@pytest.mark.parametrize(
    "text",
    [
        "Ada\t\tGrace\nChristopher\tAda\n",
        "# friends\n\nChristopher\tAda\r\nAda\t\t\tGrace\t\r\n",
        "Ada\t\tGrace\t\t1\nChristopher\tAda\t\t0.5\n",
        '"Ada"\t\t"Grace"\nChristopher\t"Ada"\n',
        "source\t\ttarget\nAda\t\tGrace\nChristopher\tAda\n",
        "source\t\ttarget\tweight\nAda\t\tGrace\t1\nChristopher\tAda\t2\n",
    ],
)
def test_tabs_may_align_names(tmp_path, text):
    assert set(edges(Graph.read(put(tmp_path, "g.txt", text)))) == {("Ada", "Grace"), ("Christopher", "Ada")}


def test_tabs_may_align_integers_below_words_and_stay_in_quotes(tmp_path):
    assert edges(Graph.read(put(tmp_path, "g.txt", "from\t\tto\n1\t2\n3\t\t4\n"))) == [(1, 2), (3, 4)]
    assert edges(Graph.read(put(tmp_path, "g.txt", '"a\t\tb"\t\tc\nc\td\n'))) == [("a\t\tb", "c"), ("c", "d")]


@pytest.mark.parametrize(
    ("text", "line", "other"),
    [
        ("Ada\tGrace\t1\nAda\t\t2\n", 2, "2"),  # no node, and a weight
        ("Ada\tGrace\nAda\t\t2\n", 2, "2"),
        ("Ada\t\t2\nGrace\t\t2\n", 1, "2"),
        ("Ada\t\tGrace\tfriend\nGrace\tHopper\tfriend\n", 1, "Grace"),  # or a column that is empty there
        ("Ada,,Grace\n", 1, "Grace"),
    ],
)
def test_an_empty_second_column_is_refused_with_advice(tmp_path, text, line, other):
    where = f'the second column is empty, between "Ada" and "{other}"'
    what = "write one tab or comma between two nodes, or name the columns of nodes, as in columns=(1, 3)."
    refused(put(tmp_path, "g.txt", text), f"{where}; {what}", line=line)


@pytest.mark.parametrize("end", ["Ada\t\t2", "Ada\t\t\t2"])
@pytest.mark.parametrize("weight", ["", "\t1"])
def test_a_missing_node_is_found_far_below_tabs_that_align(tmp_path, weight, end):
    rows = [f"a{number}\t\tb{number % 7}{weight}\n" for number in range(9000)]
    assert len(edges(Graph.read(put(tmp_path, "g.txt", "".join(rows))))) == 9000
    with pytest.raises(FileFormatError, match=r"the second column is empty|must hold two nodes") as caught:
        Graph.read(put(tmp_path, "g.txt", "".join([*rows, end, "\n"])))
    assert "line 9001" in str(caught.value)


def test_other_empty_columns_are_kept(tmp_path):
    kinds = put(tmp_path, "g.tsv", "source\tkind\ttarget\nAda\t\tGrace\t5\nGrace\t\tHopper\t6\n")
    assert edges(Graph.read(kinds)) == [("Ada", "Grace"), ("Grace", "Hopper")]
    assert edges(Graph.read(put(tmp_path, "g.txt", "Route\t\t66\n1\t\t2\n3\t\t4\n"))) == [(1, 2), (3, 4)]
    inside = put(tmp_path, "g.txt", "Ada;Grace;\tx\nAda;G.\t\tHopper\nGrace;\tAda\n")  # semicolons separate
    assert edges(Graph.read(inside)) == [("Ada", "Grace"), ("Ada", "G.\t\tHopper"), ("Grace", "Ada")]
    behind = put(tmp_path, "g.tsv", "Ada\tGrace\t\tfriend\nGrace\tHopper\t\t\n")
    assert edges(Graph.read(behind)) == [("Ada", "Grace"), ("Grace", "Hopper")]
