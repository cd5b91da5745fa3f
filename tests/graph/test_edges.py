import re
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.errors import DroppedEdgesWarning, InputError
from detours.graph import Dropped, Graph
from tests.graph.cases import TRIANGLE, arc_lists, as_array, quiet, rows


@given(arc_lists, st.booleans())
def test_csr_agrees_with_sets(pairs, directed):
    graph = quiet(Graph.from_edge_index, as_array(pairs), 8, directed=directed)
    expected = {(u, v) for u, v in pairs if u != v}
    distinct = len(expected)
    one_way = sum((v, u) not in expected for u, v in expected)
    if not directed:
        expected |= {(v, u) for u, v in expected}
    assert rows(graph) == [sorted(v for u, v in expected if u == node) for node in range(8)]
    loops = sum(u == v for u, v in pairs)
    assert graph.dropped == Dropped(loops, len(pairs) - loops - distinct, 0 if directed else one_way)
    assert graph.indptr.dtype == np.int64 and graph.indices.dtype == np.int32
    assert graph.num_edges == (len(expected) if directed else len(expected) // 2)
    assert graph.degree.tolist() == [len(row) for row in rows(graph)]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint64, np.float32, np.float64])
def test_integers_of_any_type(dtype):
    assert Graph.from_edge_index(TRIANGLE.astype(dtype)) == Graph.from_edge_index(TRIANGLE)


def test_isolated_nodes_and_empty_graphs():
    assert Graph.from_edge_index(TRIANGLE, 5).num_nodes == 5
    empty = Graph.from_edge_index([[], []])
    assert (empty.num_nodes, empty.num_arcs, empty.edge_index.shape) == (0, 0, (2, 0))
    assert len(empty.edge_arc) == 0
    assert Graph.from_edge_index(np.empty((2, 0), np.int64), 3).degree.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("edges", "num_nodes", "says"),
    [
        ([[0, -1], [1, 2]], None, "-1"),
        ([[0, 7], [1, 2]], 5, "7"),
        ([[0, 1], [1]], None, "same length"),
        ([0, 1, 2], None, "(3,)"),
        ([[0, 1, 2]] * 3, None, "(3, 3)"),
        ([[0, 1], [1, 2], [2, 0]], None, "transpose"),
        ([[0.5, 1], [1, 2]], None, "0.5"),
        ([[np.nan, 1], [1, 2]], None, "nan"),
        ([[np.inf, 1], [1, 2]], None, "inf"),
        ([["a", "b"], ["b", "c"]], None, "must be integers"),
        ([[True, False], [False, True]], None, "bool"),
        ([[0, 10**30], [1, 2]], None, "2147483646"),
        ([[0, None], [1, 2]], None, "must be integers"),
        (np.array([[0, 2**64 - 1], [1, 2]], dtype=np.uint64), None, str(2**64 - 1)),
        ([[0, 2**31], [1, 2]], None, str(2**31)),
        ([[0, 2**31 - 2], [1, 2]], None, "renumber"),
        ([[0, 1], [1, 0]], 2**31, "num_nodes"),
        ([[0, 1], [1, 0]], -1, "num_nodes"),
        ([[0, 1], [1, 0]], 2.5, "num_nodes"),
        ([[0, 1], [1, 0]], True, "num_nodes"),
    ],
)
def test_bad_edge_index_is_refused_in_one_sentence(edges, num_nodes, says):
    with pytest.raises(InputError) as caught:
        Graph.from_edge_index(edges, num_nodes)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_dropped_edges_warn_once_and_are_refused_when_strict():
    edges = [[0, 0, 0, 1], [0, 1, 1, 2]]
    with pytest.warns(DroppedEdgesWarning, match="1 loop, 1 repeated edge and 2 one-way arcs") as caught:
        graph = Graph.from_edge_index(edges)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert graph.dropped == (1, 1, 2)
    with pytest.raises(InputError, match="1 loop, 1 repeated edge and 2 one-way arcs"):
        Graph.from_edge_index(edges, strict=True)
    with pytest.raises(InputError, match="strict"):
        Graph.from_any(graph, strict=True)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 0, 1], [0, 1, 0]], "1 loop: loops are dropped; strict=True makes this an error."),
        ([[0, 1, 0], [1, 0, 1]], "1 repeated edge: repeats are merged; strict=True makes this an error."),
        ([[0, 1, 1], [1, 0, 2]], "1 one-way arc: one-way arcs become undirected edges (directed=True keeps their "),
    ],
)
def test_the_warning_names_only_what_was_done(edges: list[list[int]], message: str) -> None:
    with pytest.warns(DroppedEdgesWarning, match="^" + re.escape(f"The graph had {message}")):
        Graph.from_edge_index(edges)


def test_clean_input_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Graph.from_edge_index(TRIANGLE, strict=True)
        Graph.from_networkx(nx.karate_club_graph(), strict=True)
