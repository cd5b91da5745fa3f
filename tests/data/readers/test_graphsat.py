from pathlib import Path

import pytest

from detours.data import load
from detours.errors import InputError
from tests.data.conftest import write


def test_pairs_of_exp(tiny_exp: Path) -> None:
    data = load("EXP", tiny_exp)
    assert data.pairs == [(0, 1)] and data.y.tolist() == [1, 0]
    assert [graph.num_edges for graph in data.graphs] == [2, 1]
    assert data.labels is not None and data.labels[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2\n3 1\n0 1 1\n", "line 4: the file is cut off: the tag, degree and neighbours"),
        ("1\n2 1\n0 1 1\n1 2 0\n", "line 4: the node should have 2 neighbours, but 1 are listed"),
        ("1\n2 1\n0 1 2\n1 1 0\n", "line 3: node 2 is not in the graph, whose nodes are 0 .. 1"),
        ("1\n2 q\n", "line 2: the line should contain the number of nodes"),
        ("1\n1 0\n0 0\n1 0\n", "line 4: the first line says 1 graphs, but the file continues"),
        ("1\n1 0\n0 0\n", "should contain pairs"),
        (f"1\n1 {2**63}\n0 0\n", "line 2: the line should contain the number of nodes and the class"),
    ],
)
def test_damaged_pairs(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path / "CEXP" / "raw", GRAPHSAT=text)
    with pytest.raises(InputError, match=message):
        load("CEXP", tmp_path)
