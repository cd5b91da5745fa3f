"""Regular edge lists cause no warnings."""

import pytest

from detours.graph import Graph
from tests.graph.cases import edges, put

STAR = [(9, node) for node in range(1, 9)]
SOLD = [(user, f"b{item}") for user in (1, 2, 3) for item in range(7)]


@pytest.mark.parametrize("sep", [" ", "\t", "\t\t", ",", ",\t", ";"])
@pytest.mark.parametrize("third", ["weight", "Rating", "score"])
@pytest.mark.parametrize("rows", [STAR, [(node, node + 1) for node in range(1, 9)]])
def test_a_third_column_with_a_name_of_numbers_holds_no_nodes(tmp_path, recwarn, sep, third, rows):
    text = f"user item {third}\n" + "".join(f"{u} {v} {v % 5 + 1}\n" for u, v in rows)
    assert edges(Graph.read(put(tmp_path, "g.txt", text.replace(" ", sep)))) == rows and not recwarn


@pytest.mark.parametrize("sep", [" ", "\t", ","])
def test_many_distinct_words_are_nodes(tmp_path, recwarn, sep):
    text = "".join(f"{u} {v} {at % 4}\n" for at, (u, v) in enumerate(SOLD))
    assert len(edges(Graph.read(put(tmp_path, "g.txt", text.replace(" ", sep))))) == len(SOLD) and not recwarn


@pytest.mark.parametrize("sep", ["\t\t", " \t"])
def test_aligned_integers_have_no_empty_columns(tmp_path, recwarn, sep):
    rows = [(node, (node + 1) % 9) for node in range(9)]
    text = "".join(f"{u}{sep}{v}\n" for u, v in rows)
    assert edges(Graph.read(put(tmp_path, "g.txt", text))) == rows and not recwarn


def test_a_first_line_with_a_weight_does_not_hold_counts(tmp_path, recwarn):
    text = "".join(f"{node} {node - 1} {{}}\n" for node in range(9, 0, -1))
    assert Graph.read(put(tmp_path, "g.txt", text.replace("{}", "0.5"))).num_edges == 9
    assert Graph.read(put(tmp_path, "g.txt", "u v\n" + text.replace(" {}", ""))).num_edges == 9
    assert not recwarn
