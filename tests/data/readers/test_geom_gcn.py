from pathlib import Path

import numpy as np
import pytest

from detours.data import NODE_SETS, load
from detours.errors import FileFormatError, InputError
from tests import real_data
from tests.data.conftest import write
from tests.oracles.features import geom_gcn_features


def test_node_data_keep_their_direction(tiny_texas: Path, recwarn: pytest.WarningsRecorder) -> None:
    data = load("Texas", tiny_texas)
    (graph,) = data.graphs
    assert data.level == "node" and graph.directed and graph.num_edges == 3 and data.y.tolist() == [1, 0, 4]
    assert graph.dropped.loops == 1 and graph.dropped.duplicates == 1
    assert not recwarn.list
    with pytest.raises(InputError, match="no subset"):
        data.subset([0])


def test_features_of_node_data(tiny_texas: Path) -> None:
    data = load("Texas", tiny_texas)
    assert data.x is not None and len(data.x) == 1
    assert data.x[0].tolist() == [[1, 1], [0, 0], [0, 1]] and data.x[0].dtype == np.float32


def test_features_given_by_their_columns(tmp_path: Path) -> None:
    write(
        tmp_path / "Actor" / "raw",
        out1_graph_edges="node_id\tnode_id\n0\t1\n",
        out1_node_feature_label="node_id\tfeature(feature_amount:4)\tlabel\n1\t3,0\t4\n0\t1\t1\n",
    )
    x = load("Actor", tmp_path).x
    assert x is not None and x[0].tolist() == [[0, 1, 0, 0], [1, 0, 0, 1]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("h\n0\t0,1\t2\n1\t0,nan\t2\n", "label.txt, line 3: features must be finite, but number 2 is nan"),
        ("h\n0\t0,1\t2\n1\tinf,1\t2\n", "label.txt, line 3: features must be finite, but number 1 is inf"),
        ("h\n0\t0,1\t2\n1\t0\t2\n", "label.txt, line 3: the nodes before have 2 features, but this one has 1"),
        ("h\n0\t0,1\t2\n1\t0;1\t2\n", "label.txt, line 3: the nodes before have 2 features, but this one has 1"),
        ("h\n0\t0,x\t2\n1\t0,1\t2\n", "label.txt, line 2: features should be numbers"),
        ("feature_amount\n0\t1,2\t2\n1\t-1\t2\n", "label.txt, line 3: the line should contain the columns that are 1"),
        ("feature_amount\n0\t1,2\t2\n1\t99999999999\t2\n", "line 3: the line should contain the columns"),
    ],
)
def test_wrong_features(tiny_texas: Path, lines: str, message: str) -> None:
    write(tiny_texas / "WebKB" / "texas" / "raw", out1_node_feature_label=lines, out1_graph_edges="h\th\n0\t1\n")
    x = load("Texas", tiny_texas).x
    assert x is not None
    with pytest.raises(FileFormatError, match=message):
        x[0]


def test_features_of_any_size(tiny_texas: Path) -> None:
    lines = "h\n0\t0,-1.5,7\t2\n1\t10,2,3\t2\n"
    write(tiny_texas / "WebKB" / "texas" / "raw", out1_node_feature_label=lines, out1_graph_edges="h\th\n0\t1\n")
    x = load("Texas", tiny_texas).x
    assert x is not None and x[0].tolist() == [[0, -1.5, 7], [10, 2, 3]]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("out1_graph_edges", "a\tb\n0\t1\n1\t9\n", "edges.txt, line 3: nodes are numbered 0 .. 2, but this arc is 1 9"),
        ("out1_graph_edges", "a\tb\n0\t1\nx\t1\n", "edges.txt, line 3: .*'x' is not an integer"),
        (
            "out1_node_feature_label",
            "h\n0\t1\t2\n0\t1\t2\n",
            "label.txt, line 3: the line should contain the id of another",
        ),
        ("out1_node_feature_label", "h\n0\t1\t2\n5\t1\t2\n", "label.txt: the 2 nodes should be numbered 0 .. 1"),
        ("out1_node_feature_label", "h\n0\t1\n", "label.txt, line 2"),
        (
            "out1_node_feature_label",
            f"h\n0\t1\t{2**63}\n",
            "line 2: a class must fit in 64 bits, but it is 9223",
        ),
    ],
)
def test_damaged_node_data(tiny_texas: Path, file: str, text: str, message: str) -> None:
    write(tiny_texas / "WebKB" / "texas" / "raw", **{file: text})
    with pytest.raises(InputError, match=message):
        load("Texas", tiny_texas)


@pytest.mark.parametrize("name", NODE_SETS)
def test_node_sets_hold_the_arcs_as_stored(name: str) -> None:
    stored = {(a, b) for a, b in real_data.node_graph(name).T.tolist() if a != b}
    data = load(name, real_data.data_folder())
    assert set(map(tuple, data.graphs[0].to_edge_index().T.tolist())) == stored
    assert len(data.y) == data.graphs[0].num_nodes and len(np.unique(data.y)) == 5


@pytest.mark.parametrize("name", ["Actor", "Cornell", "Wisconsin", "Chameleon"])
def test_features_equal_a_plain_reading(name: str) -> None:
    real_data.node_graph(name)  # skips where there are no data
    x = load(name, real_data.data_folder()).x
    file = real_data.data_folder() / real_data.NODE_DATA[name] / "out1_node_feature_label.txt"
    assert x is not None and np.array_equal(x[0], geom_gcn_features(file))


def test_features_are_those_of_pyg(tmp_path: Path) -> None:
    from torch_geometric.datasets import Actor

    real_data.node_graph("Actor")  # skips where there are no data
    (tmp_path / "raw").symlink_to((real_data.data_folder() / "Actor" / "raw").resolve())
    theirs = Actor(str(tmp_path))[0]
    data = load("Actor", real_data.data_folder())
    assert data.x is not None and np.array_equal(data.x[0], theirs.x.numpy())
    assert np.array_equal(data.targets, theirs.y.numpy())
