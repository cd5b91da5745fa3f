import pickle
from pathlib import Path

import numpy as np
import pytest

from detours.data import load, read_own
from detours.errors import FileFormatError, InputError
from tests import real_data
from tests.data.conftest import with_edge_attributes, with_edge_labels, write
from tests.oracles.features import tu_attributes


def test_tu_graphs_are_undirected_and_cleaned_without_a_warning(
    tiny_tu: Path, recwarn: pytest.WarningsRecorder
) -> None:
    data = load("mutag", tiny_tu)
    assert data.name == "MUTAG" and len(data) == 3 and data.pairs is None and data.level == "graph"
    assert [(g.num_nodes, g.num_edges, g.directed) for g in data.graphs] == [
        (3, 2, False),
        (1, 0, False),
        (3, 3, False),
    ]
    assert data.graphs[0].indices.tolist() == [1, 0, 2, 1]
    assert data.y.tolist() == [-1, 1, 1]
    assert data.labels is not None and [labels.tolist() for labels in data.labels] == [[0, 1, 0], [5], [2, 2, 2]]
    assert not recwarn.list


def test_labels_of_edges_follow_the_edges(tiny_tu: Path) -> None:
    assert load("MUTAG", tiny_tu).edge_labels is None
    data = load("MUTAG", with_edge_labels(tiny_tu, "4 4 4 7 7 0 1 2"))  # 1–2 2–1 1–2 2–3 3–2, 5–6 6–7 7–5
    assert data.edge_labels is not None
    assert [labels.tolist() for labels in data.edge_labels] == [[4, 4, 7, 7], [], [0, 2, 0, 1, 2, 1]]
    part = data.subset([2, 0])
    assert part.edge_labels is not None and part.edge_labels[1].tolist() == [4, 4, 7, 7]
    assert data.graphs[2].edge_index.T.tolist()[1] == [0, 2]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("4 4 4 7 7 0 1", r"edge_labels.txt: there are 7 labels for 8 edges"),
        (
            "4 4 4 7 6 0 1 2",
            r"edge_labels.txt, line 4: the edge 2, 3 has the label 7 on this line and a different one on another",
        ),
        (
            "4 4 5 7 7 0 1 2",
            r"edge_labels.txt, line 1: the edge 1, 2 has the label 4 on this line and a different one on another",
        ),
    ],
)
def test_wrong_labels_of_edges(tiny_tu: Path, labels: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load("MUTAG", with_edge_labels(tiny_tu, labels))


def with_attributes(root: Path, rows: str) -> Path:
    write(root / "TUDataset" / "MUTAG" / "raw", MUTAG_node_attributes=rows.replace(";", "\n"))
    return root


def test_attributes_of_a_tu_set(tiny_tu: Path) -> None:
    assert load("MUTAG", tiny_tu).x is None
    plain = load("MUTAG", tiny_tu)
    data = load("MUTAG", with_attributes(tiny_tu, " 1, 2;-3,4.5;5,6;7,8;9,1e3;1,1; 0,0"))
    assert data.x is not None and [x.tolist() for x in data.x] == [
        [[1, 2], [-3, 4.5], [5, 6]],
        [[7, 8]],
        [[9, 1000], [1, 1], [0, 0]],
    ]
    assert data.x[0].dtype == np.float32
    assert data.digest == plain.digest and data.full_digest != plain.full_digest == plain.digest
    part = data.subset([2, 1])
    assert part.x is not None and part.x[1].tolist() == [[7, 8]] and len(part.x) == 2
    again = pickle.loads(pickle.dumps(data))
    assert type(again.x) is list and again.full_digest == data.full_digest


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "1,2;3,nan;5,6;7,8;9,0;1,1;0,0",
            r"attributes.txt, line 2: attributes must be finite, but number 2 is nan",
        ),
        ("1,2;3,4;;-inf,6;7,8;9,0;1,1;0,0", r"attributes.txt, line 4: .* number 1 is -inf"),
        ("1,2;3,4;5,6;7,8;9,1e60;1,1;0,0", r"attributes.txt, line 5: .* number 2 is 1e\+60"),
        ("1,2;3,4;5,6", r"attributes.txt: there are 3 rows for 7 nodes"),
        ("1,2;3;5,6", r"attributes.txt, line 2: a line should contain as many numbers as the first, but it contains 1"),
        ("1,2;3,x", r"attributes.txt, line 2: .* 'x' is not a number"),
    ],
)
def test_wrong_attributes(tiny_tu: Path, rows: str, message: str) -> None:
    data = load("MUTAG", with_attributes(tiny_tu, rows))
    assert data.x is not None
    with pytest.raises(FileFormatError, match=message):
        list(data.x)


def test_attributes_of_edges_follow_the_edges(tiny_tu: Path) -> None:
    plain = load("MUTAG", tiny_tu)
    assert plain.edge_x is None
    rows = "1,2;1,-.5;1,2;7, 1e3;8,9;0,1;0,2;0,3"  # 1–2 2–1 1–2 2–3 3–2, 5–6 6–7 7–5
    data = load("MUTAG", with_edge_attributes(tiny_tu, rows))
    assert data.edge_x is not None and [x.tolist() for x in data.edge_x] == [
        [[1, 2], [1, -0.5], [7, 1000], [8, 9]],  # each direction has its own
        [],
        [[0, 1], [0, 3], [0, 1], [0, 2], [0, 3], [0, 2]],
    ]
    assert data.edge_x[1].shape == (0, 2) and data.edge_x[0].dtype == np.float32
    assert data.digest == plain.digest and data.full_digest != plain.full_digest
    part = data.subset([2, 0])
    assert part.edge_x is not None and part.edge_x[1].tolist() == data.edge_x[0].tolist()
    assert type(pickle.loads(pickle.dumps(data)).edge_x) is list


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1;1;1;2;2;0;1", r"edge_attributes.txt: there are 7 rows for 8 edges; the file is cut off or of another set"),
        ("1;1;1;2;2;0;1;5;6", r"edge_attributes.txt: there are 9 rows for 8 edges"),
        ("1;1;3;2;2;0;1;5", r"line 1: the edge 1, 2 is on several lines and has other attributes on this one than on"),
        (";1;1;;3;2;2;0;1;5", r"line 2: the edge 1, 2 is on several lines"),  # blank lines count
        ("1;1;nan;2;2;0;1;5", r"edge_attributes.txt, line 3: attributes must be finite, but number 1 is nan"),
        ("1;1;1,2;2;2;0;1;5", r"line 3: a line should contain as many numbers as the first, but it contains 2"),
        ("1;1;x;2;2;0;1;5", r"edge_attributes.txt, line 3: .* 'x' is not a number"),
        ("", r"edge_attributes.txt: the file contains no numbers"),
    ],
)
def test_wrong_attributes_of_edges(tiny_tu: Path, rows: str, message: str) -> None:
    data = load("MUTAG", with_edge_attributes(tiny_tu, rows))
    assert data.edge_x is not None
    with pytest.raises(FileFormatError, match=message) as caught:
        list(data.edge_x)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("MUTAG_A", "1, 2\n\n2, x\n", r"_A.txt, line 3: a line should contain 2 integers, but 'x' is not an integer"),
        ("MUTAG_graph_labels", "0.5\n1\n1\n", r"labels.txt, line 1: .* one integer, but '0.5' is not an integer"),
        ("MUTAG_A", "1, 2\n2\n", r"_A.txt, line 2: a line should contain 2 integers, but it contains 1"),
        ("MUTAG_A", "1, 2, 3\n", r"_A.txt, line 1: a line should contain 2 integers, but it contains 3"),
        ("MUTAG_A", "1, 2\n2, 8\n", r"_A.txt, line 2: nodes are numbered 1 .. 7, but this edge is 2, 8"),
        ("MUTAG_A", "1, 2\n0, 1\n", r"_A.txt, line 2: nodes are numbered 1 .. 7, but this edge is 0, 1"),
        ("MUTAG_A", "1, 2\n3, 4\n", r"_A.txt, line 2: the ends of the edge 3, 4 are in two graphs"),
        ("MUTAG_A", "\n1, 2\n \n2, 8\n", r"_A.txt, line 4: nodes are numbered 1 .. 7, but this edge is 2, 8"),
        ("MUTAG_A", "\n1, 2\n \n3, 4\n", r"_A.txt, line 4: the ends of the edge 3, 4 are in two graphs"),
        (
            "MUTAG_A",
            "\n1, 2\n \n2, x\n",
            r"_A.txt, line 4: a line should contain 2 integers, but 'x' is not an integer",
        ),
        ("MUTAG_A", "", r"_A.txt: the file contains no numbers"),
        ("MUTAG_A", "\x00\xff", r"_A.txt"),
        ("MUTAG_graph_indicator", "1\n2\n1\n", r"indicator.txt, line 3: the graphs of the nodes should ascend"),
        ("MUTAG_graph_indicator", "1\n\n \n2\n1\n", r"indicator.txt, line 5: the graphs of the nodes should ascend"),
        ("MUTAG_graph_indicator", "1\n1\n4\n", r"indicator.txt, line 3: .* from 1 to 3.*this one is 4"),
        ("MUTAG_node_labels", "1\n2\n", r"node_labels.txt: there are 2 labels for 7 nodes"),
    ],
)
def test_damaged_tu_files(tiny_tu: Path, file: str, text: str, message: str) -> None:
    (tiny_tu / "TUDataset" / "MUTAG" / "raw" / f"{file}.txt").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=message):
        load("MUTAG", tiny_tu)


def test_lines_of_blanks_are_skipped(tiny_tu: Path) -> None:
    file = tiny_tu / "TUDataset" / "MUTAG" / "raw" / "MUTAG_A.txt"
    whole = load("MUTAG", tiny_tu).digest
    file.write_text(" \n" + file.read_text().replace("\n", "\n \t\n"))
    assert load("MUTAG", tiny_tu).digest == whole


def test_a_missing_file(tiny_tu: Path) -> None:
    (tiny_tu / "TUDataset" / "MUTAG" / "raw" / "MUTAG_A.txt").unlink()
    with pytest.raises(InputError, match=r"MUTAG_A.txt: there is no such file"):
        load("MUTAG", tiny_tu)


def test_targets_may_be_missing_where_nothing_is_learned(tiny_tu: Path) -> None:
    folder = tiny_tu / "TUDataset" / "MUTAG" / "raw"
    whole = read_own(folder)
    assert read_own(folder, targets=False).digest == whole.digest
    (folder / "MUTAG_graph_labels.txt").unlink()
    bare = read_own(folder, targets=False)
    assert not len(bare.y) and [g.num_nodes for g in bare.graphs] == [3, 1, 3] and "no targets" in repr(bare)
    with pytest.raises(InputError, match=r"graph_labels.txt: there is no such file with a class for each graph"):
        read_own(folder)
    (folder / "MUTAG_graph_indicator.txt").write_text(f"1\n1\n1\n2\n3\n3\n{10**15}\n")
    with pytest.raises(InputError, match=f"line 7: .* this one is {10**15}"):
        read_own(folder, targets=False)


def test_attributes_of_enzymes_equal_a_plain_reading() -> None:
    real_data.molecule_graphs("ENZYMES")  # skips where there are no data
    data = load("ENZYMES", real_data.data_folder())
    expected = tu_attributes(real_data.data_folder() / "TUDataset" / "ENZYMES" / "raw", "ENZYMES")
    assert data.x is not None and len(data.x) == 600
    assert all(np.array_equal(x, np.float32(rows)) for x, rows in zip(data.x, expected, strict=True))
