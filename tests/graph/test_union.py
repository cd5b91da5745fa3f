import pickle
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detours.errors import DroppedEdgesWarning, InputError
from detours.graph import Dropped, Graph
from detours.graph.graph import as_graphs
from tests.graph.cases import TRIANGLE, arc_lists, as_array, quiet, rows


@given(st.lists(arc_lists, max_size=6), st.booleans())
def test_union_is_the_graphs_side_by_side(lists, directed):
    arrays = [as_array(pairs) for pairs in lists]
    parts = [quiet(Graph.from_edge_index, array, directed=directed) for array in arrays]
    union, offsets = Graph.disjoint_union(parts)
    assert offsets.tolist() == np.cumsum([0, *(part.num_nodes for part in parts)]).tolist()
    assert rows(union) == [
        [v + start for v in row] for part, start in zip(parts, offsets.tolist(), strict=False) for row in rows(part)
    ]
    edges = [part.edge_index + start for part, start in zip(parts, offsets.tolist(), strict=False)]
    assert pickle.loads(pickle.dumps(union)) == union
    assert np.array_equal(union.edge_index, np.concatenate([np.empty((2, 0)), *edges], axis=1))
    total = Counter()
    for part in parts:
        total.update(part.dropped._asdict())
    assert union.dropped == Dropped(**total)
    unprepared, same_offsets = quiet(Graph.disjoint_union, arrays, directed=directed)
    assert unprepared.dropped == union.dropped and np.array_equal(same_offsets, offsets)
    if parts:  # of no graphs at all, none is directed
        assert unprepared == union and np.array_equal(unprepared.edge_arc, union.edge_arc)


def test_union_of_mixed_sources(tmp_path):
    (tmp_path / "t.txt").write_text("0 1\n")
    mixed = [nx.path_graph(3), TRIANGLE, nx.path_graph(2).to_directed()]
    union, offsets = Graph.disjoint_union(mixed, directed=False)
    assert (union.num_nodes, union.num_edges, offsets.tolist()) == (8, 6, [0, 3, 6, 8])
    with pytest.raises(InputError, match="Some of the graphs are directed"):
        Graph.disjoint_union(mixed)
    union, _ = Graph.disjoint_union([nx.DiGraph([(0, 1)]), nx.MultiDiGraph([(1, 0)])])
    assert union.directed and union.num_arcs == 2
    union, _ = Graph.disjoint_union([Graph.from_edge_index(TRIANGLE), tmp_path / "t.txt", nx.path_graph(3)])
    assert union.num_nodes == 8


def test_union_warns_once_names_the_bad_graph_and_refuses_a_mix():
    with pytest.warns(DroppedEdgesWarning, match="30 loops") as caught:
        Graph.disjoint_union([np.array([[0, 0], [0, 0]])[:, :1]] * 30)
    assert len(caught) == 1
    for prepare in (Graph.disjoint_union, as_graphs):
        with pytest.warns(DroppedEdgesWarning, match="1 loop, 1 repeated edge and 2 one-way") as caught:
            prepare([nx.Graph([(0, 0)]), nx.MultiGraph([(0, 1), (0, 1)]), [[0, 1], [1, 2]]])
        assert len(caught) == 1
        with pytest.raises(InputError, match="Graph number 1"):
            prepare([TRIANGLE, [[0, -1], [1, 0]]])
    with pytest.raises(InputError, match="directed"):
        Graph.disjoint_union([Graph.from_edge_index(TRIANGLE), Graph.from_edge_index(TRIANGLE, directed=True)])
