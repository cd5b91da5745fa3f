"""The encoder: equal to a simple one and to PyG, and clear errors for nodes it cannot encode."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detours.data import Encoder, GraphSet, load, read_own
from detours.errors import InputError
from detours.graph import Graph
from tests import real_data
from tests.data.conftest import write
from tests.oracles.features import one_hot

PATH = Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])
STAR = Graph.from_edge_index([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])


def made(labels: list[list[int]] | None = None, x: list[Any] | None = None) -> GraphSet:
    rows = None if x is None else [np.array(each, np.float32) for each in x]
    named = None if labels is None else [np.array(each) for each in labels]
    return GraphSet("made", [PATH, STAR], np.array([0, 1]), named, x=rows)


LABELS = [[5, -1, 5], [9, 5, 5, 5]]
X = [[[0.5, 2], [1, 1], [0, 3]], [[1, 2], [3, 4], [5, 6], [7, 8]]]


def test_labels_after_attributes() -> None:
    data = made(LABELS, X)
    encoder = Encoder.of(data)
    assert encoder == Encoder(2, (-1, 5, 9)) and encoder.width == 5
    for encoded, x, labels in zip(encoder.encode(data), X, LABELS, strict=True):
        assert encoded.dtype == np.float32
        assert np.array_equal(encoded, np.hstack([x, one_hot(labels, [-1, 5, 9])]))


def test_degrees_without_labels_and_attributes() -> None:
    data = made()
    encoder = Encoder.of(data.subset([0]))
    assert encoder == Encoder(largest_degree=2) and encoder.width == 3
    path, star = encoder.encode(data)
    assert np.array_equal(path, one_hot([1, 2, 1], [0, 1, 2]))
    assert np.array_equal(star, one_hot([2, 1, 1, 1], [0, 1, 2]))  # degree 3 was never seen: the last column
    assert Encoder.of(made(x=X)) == Encoder(2)


@pytest.mark.parametrize("data", [made(), made(LABELS), made(LABELS, X), made(x=X)])
def test_json_round_trip(data: GraphSet) -> None:
    encoder = Encoder.of(data)
    assert Encoder.from_json(json.loads(json.dumps(encoder.to_json()))) == encoder
    with pytest.raises(InputError, match="An encoder is stored as attributes and labels of nodes and edges"):
        Encoder.from_json({"attributes": 3})


@pytest.mark.parametrize("features", [{"edge_labels": [np.array([4, 7])]}, {"edge_x": [np.ones((2, 3), np.float32)]}])
def test_graphs_without_edges_have_all_features_of_their_edges(features: dict[str, Any]) -> None:
    encoder = Encoder.of(GraphSet("one", [Graph.from_any([(0, 1), (1, 2)])], np.zeros(1, int), **features))
    dots = GraphSet("dots", [Graph.from_edge_index([[], []], num_nodes=2)] * 2)
    assert encoder.encode_edges(dots).shape == (0, encoder.edge_width) and encoder.edge_width in (2, 3)


def test_an_empty_data_set() -> None:
    with pytest.raises(InputError, match="contains no graph to learn the columns from"):
        Encoder.of(made().subset([]))
    assert Encoder.of(made()).encode(made().subset([])) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (made([[5, 5, 5], [5, 9, 7, 5]], X), r"Node 2 of graph 1 of made has the label 7, .*they have \[-1, 5, 9\]"),
        (made(None, X), "Every node is expected to have a label, but made has none"),
        (made([[5, 5], [5, 5]], X), "made has 4 labels for 7 nodes"),
        (made(LABELS), "2 attributes are expected for every node, but made has none"),
        (made(LABELS, [[[1], [1], [1]], [[1]] * 4]), "2 attributes are expected for every node, but made has 1"),
        (made(LABELS, [X[0], X[1][:3]]), "made has attributes for 6 nodes, but 7 nodes"),
        (made(LABELS, [[[1, np.nan], *X[0][1:]], X[1]]), "must be finite, but node 0 of graph 0 has nan in column 1"),
        (made(LABELS, [X[0], [*X[1][:3], [np.inf, 0]]]), "must be finite, but node 3 of graph 1 has inf in column 0 "),
    ],
)
def test_invalid_data(given: GraphSet, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Encoder.of(made(LABELS, X)).encode(given)


# ---------------------------------------------------------------- compared with PyG


def through_pyg(name: str, tmp_path: Path, **options: Any) -> Any:
    """PyG's own reading of a TU set, from a copy so that nothing is written beside the data."""
    from torch_geometric.datasets import TUDataset

    raw = real_data.data_folder() / "TUDataset" / name / "raw"
    if not raw.exists():
        pytest.skip("real data not found (set DETOURS_DATA to the folder that holds the data sets)")
    (tmp_path / name).mkdir()
    (tmp_path / name / "raw").symlink_to(raw.resolve())
    return TUDataset(str(tmp_path), name, **options)


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES"])
def test_the_columns_are_those_of_pyg(name: str, tmp_path: Path) -> None:
    theirs = through_pyg(name, tmp_path, use_node_attr=True)
    data = load(name, real_data.data_folder())
    ours = Encoder.of(data).encode(data)
    assert ours[0].shape[1] == theirs.num_features
    assert all(np.array_equal(x, graph.x.numpy()) for x, graph in zip(ours, theirs, strict=True))


def test_the_columns_of_edges_are_those_of_pyg(tmp_path: Path) -> None:
    """Attributes first, then a column for each label."""
    from torch_geometric.datasets import TUDataset

    arcs = "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n"
    files = {"A": arcs, "graph_indicator": "1\n1\n1\n2\n2\n", "graph_labels": "0\n1\n"}
    files |= {"edge_labels": "3\n3\n5\n5\n4\n4\n", "edge_attributes": "1, .5\n1, .5\n2, 0\n2, 0\n-3, 7\n-3, 7\n"}
    write(tmp_path / "MINE" / "raw", **{f"MINE_{name}": text for name, text in files.items()})
    theirs = TUDataset(str(tmp_path), "MINE", use_edge_attr=True)
    data = read_own(tmp_path / "MINE" / "raw")
    assert Encoder.of(data).edge_width == theirs.num_edge_features == 5
    ours = Encoder.of(data).encode_edges(data)
    assert [graph.edge_index.tolist() for graph in data.graphs] == [graph.edge_index.tolist() for graph in theirs]
    assert np.array_equal(ours, np.concatenate([graph.edge_attr.numpy() for graph in theirs]))


def test_degrees_are_those_of_pyg() -> None:
    from torch_geometric.transforms import OneHotDegree

    real_data.molecule_graphs("IMDB-BINARY")  # skips where there are no data
    data = load("IMDB-BINARY", real_data.data_folder())
    encoder = Encoder.of(data)
    degree = OneHotDegree(encoder.width - 1)
    for graph, x in list(zip(data.graphs, encoder.encode(data), strict=True))[:50]:
        assert np.array_equal(x, degree(graph.to_pyg()).x.numpy())
