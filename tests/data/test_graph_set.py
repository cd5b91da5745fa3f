from pathlib import Path
from typing import Any

import numpy as np
import pytest

from detours.data import GraphSet, load
from detours.errors import InputError
from detours.graph import Graph
from tests import real_data
from tests.data.conftest import with_edge_labels


def test_a_subset_keeps_what_belongs_together(tiny_tu: Path) -> None:
    data = load("MUTAG", tiny_tu)
    part = data.subset([2, 0])
    assert part.graphs == [data.graphs[2], data.graphs[0]] and part.y.tolist() == [1, -1]
    assert part.labels is not None and part.labels[0].tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"y": [0, 1]}, "y must be a NumPy array of numbers with one or two dimensions, but it is a list"),
        ({"y": np.array(["a", "b"])}, "but it has the type <U1"),
        ({"y": np.arange(3)}, "y must have a row for each of the 2 graphs, but it has 3"),
        ({"y": np.arange(3), "level": "node"}, "y must have a row for each of the 6 nodes, but it has 3"),
        ({"x": [np.zeros((3, 1)), [[0]] * 3]}, r"x must be NumPy arrays, one for each graph, but one is \[\[0\]"),
        ({"labels": [[0, 1, 2]] * 2}, r"labels must be NumPy arrays, one for each graph, but one is \[0, 1, 2\]"),
    ],
)
def test_targets_and_features_that_do_not_fit_are_refused(given: dict[str, Any], sentence: str) -> None:
    path = Graph.from_any([(0, 1), (1, 2), (1, 0), (2, 1)])
    with pytest.raises(InputError, match=sentence):
        GraphSet("two", [path, path], **given)


def test_the_digest_depends_on_the_content_only(tiny_tu: Path) -> None:
    data = load("MUTAG", tiny_tu)
    assert data.digest == load("MUTAG", tiny_tu).digest
    assert data.labels is not None
    changed = [
        GraphSet("MUTAG", data.graphs[::-1], data.y, data.labels),
        GraphSet("MUTAG", data.graphs, -data.y, data.labels),
        GraphSet("MUTAG", data.graphs, data.y, None),
        load("MUTAG", with_edge_labels(tiny_tu, "4 4 4 7 7 0 1 2")),
        load("MUTAG", with_edge_labels(tiny_tu, "4 4 4 7 7 0 1 1")),
    ]
    assert len({data.digest, *(other.digest for other in changed)}) == 6
    assert GraphSet("other name", data.graphs, data.y, data.labels).digest == data.digest


def test_the_digest_knows_to_which_edges_features_belong() -> None:
    edges = [(0, 1), (1, 2), (2, 0)]
    one, other = Graph.from_any(edges), Graph.from_any([edges[1], edges[0], edges[2]])
    for features in ({"edge_labels": [np.arange(3)]}, {"edge_x": [np.eye(3, dtype=np.float32)]}):
        first, second, again = (GraphSet("one", [graph], np.zeros(1, int), **features) for graph in (one, other, one))
        assert first.full_digest == again.full_digest != second.full_digest
    assert GraphSet("one", [one], np.zeros(1, int)).digest == GraphSet("one", [other], np.zeros(1, int)).digest
    x = [np.eye(3, dtype=np.float32)]
    assert GraphSet("one", [one], x=x).full_digest != GraphSet("one", [one], edge_x=x).full_digest


def test_classes_are_any_integers_and_targets_count_from_0(tiny_tu: Path, tiny_texas: Path) -> None:
    data = load("MUTAG", tiny_tu)
    assert data.classes.tolist() == [-1, 1] and data.targets.tolist() == [0, 1, 1]
    assert load("Texas", tiny_texas).targets.tolist() == [1, 0, 2]


# As these were before attributes were read: finished runs are kept by the digest.
@pytest.mark.parametrize(("name", "digest"), [("ENZYMES", "0f8f46e280c7f871"), ("Actor", "a4754c5b2608f56a")])
def test_attributes_leave_the_digest_alone(name: str, digest: str) -> None:
    if not real_data.data_folder().exists():
        pytest.skip("real data not found (set DETOURS_DATA to the folder that holds the data sets)")
    assert load(name, real_data.data_folder()).digest == digest
