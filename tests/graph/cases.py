"""What the tests of graphs share."""

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from detours.errors import DroppedEdgesWarning, FileFormatError
from detours.graph import Graph

TRIANGLE = np.array([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])


arc_lists = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=40)


def quiet(make, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedEdgesWarning)
        return make(*args, **kwargs)


def as_array(pairs):
    return np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def rows(graph):
    return [graph.indices[a:b].tolist() for a, b in zip(graph.indptr[:-1], graph.indptr[1:], strict=True)]


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def edges(graph: Graph) -> list[tuple]:
    return [(graph.name(u), graph.name(v)) for u, v in graph.edge_index.T]


def refused(path: Path, says: str, line: int | None = None, **options) -> None:
    with pytest.raises(FileFormatError) as caught:
        Graph.read(path, **options)
    message = str(caught.value)
    assert says in message, message
    assert str(path) in message and "\n" not in message
    assert caught.value.line == line and caught.value.path == path
    if line is not None:
        assert f"line {line}:" in message
