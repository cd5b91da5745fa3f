"""The reduction keeps every arc that lies on a cycle, and nothing else."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detours.counting.shrink.cyclic_part import CLUSTER, Reduced, reduce


def csr(graph: nx.Graph) -> tuple[np.ndarray, np.ndarray]:
    rows = [sorted(graph[v]) for v in range(len(graph))]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    return indptr.astype(np.int64), np.array([w for row in rows for w in row], dtype=np.int32)


def sources(indptr: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def check(graph: nx.Graph) -> Reduced:
    """Compare with NetworkX, block by block and arc by arc."""
    indptr, indices = csr(graph)
    reduced = reduce(indptr, indices, graph.is_directed())
    components = nx.biconnected_components(nx.Graph(graph))
    expected = sorted(sorted(block) for block in components if len(block) > 2)
    ranges = list(zip(reduced.block_ptr[:-1], reduced.block_ptr[1:], strict=True))
    assert sorted(sorted(reduced.node[a:b].tolist()) for a, b in ranges) == expected
    block_of = np.repeat(np.arange(reduced.num_blocks), np.diff(reduced.block_ptr))
    source, target = sources(reduced.indptr), reduced.indices
    assert (block_of[source] == block_of[target]).all()
    assert (np.diff(source * len(block_of) + target) > 0).all(), "rows are sorted, without repeats"
    assert (sources(indptr)[reduced.arc] == reduced.node[source]).all()
    assert (indices[reduced.arc] == reduced.node[target]).all()
    inside = sum(graph.subgraph(block).number_of_edges() for block in expected)
    assert reduced.num_arcs == inside * (1 if graph.is_directed() else 2)
    return reduced


@st.composite
def graphs(draw: st.DrawFn) -> nx.Graph:
    n = draw(st.integers(0, 14))
    graph = nx.DiGraph() if draw(st.booleans()) else nx.Graph()
    graph.add_nodes_from(range(n))
    if n > 1:
        pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
        graph.add_edges_from(pair for pair in draw(st.lists(pairs, max_size=3 * n)) if pair[0] != pair[1])
    return graph


@settings(deadline=None, max_examples=300)
@given(graphs())
def test_equals_networkx(graph: nx.Graph) -> None:
    check(graph)


@pytest.mark.parametrize("seed", range(5))
def test_large_random_graphs(seed: int) -> None:
    check(nx.gnm_random_graph(600, 700, seed=seed))
    check(nx.gnm_random_graph(600, 900, seed=seed, directed=True))
    cactus = nx.random_labeled_tree(300, seed=seed)
    cactus.add_edges_from((v, (v * 7 + seed) % 300) for v in range(0, 300, 9) if v != (v * 7 + seed) % 300)
    check(cactus)


def test_trees_vanish() -> None:
    for tree in (nx.empty_graph(0), nx.empty_graph(5), nx.path_graph(50), nx.star_graph(50)):
        reduced = check(nx.disjoint_union(tree, nx.balanced_tree(3, 4)))
        assert (reduced.num_nodes, reduced.num_arcs, reduced.num_blocks) == (0, 0, 0)


def test_two_opposite_arcs_are_not_a_cycle() -> None:
    assert reduce(np.array([0, 1, 2]), np.array([1, 0]), directed=True).num_arcs == 0


def test_feed_forward_triangle_is_kept() -> None:
    """There is no directed cycle, but the arc 0 -> 2 has a detour: strong components would lose it."""
    assert reduce(np.array([0, 2, 3, 3]), np.array([1, 2, 2]), directed=True).arc.tolist() == [0, 1, 2]


def test_joint_of_many_blocks() -> None:
    """A windmill of triangles: the work must not be proportional to blocks times degree of the hub."""
    blades = 100_000
    hub = np.arange(1, 2 * blades + 1)
    rows = np.column_stack([np.zeros(2 * blades, np.int64), np.where(hub % 2, hub + 1, hub - 1)])
    indptr = np.concatenate([[0], 2 * blades + 2 * np.arange(2 * blades + 1)])
    reduced = reduce(indptr, np.concatenate([hub, rows.ravel()]))
    assert reduced.num_blocks == blades
    assert reduced.num_nodes == 3 * blades
    assert (reduced.indices.reshape(-1, 6) % 3 == [1, 2, 0, 2, 0, 1]).all()


def test_dtypes_and_read_only_inputs() -> None:
    indptr, indices = csr(nx.petersen_graph())
    indptr.flags.writeable = indices.flags.writeable = False
    reduced = reduce(indptr, indices)
    assert [reduced.indptr.dtype, reduced.arc.dtype, reduced.block_ptr.dtype] == [np.int64] * 3
    assert [reduced.indices.dtype, reduced.node.dtype] == [np.int32] * 2
    assert reduced.indptr.flags.c_contiguous and reduced.indices.flags.c_contiguous


def test_consecutive_nodes_are_close_together() -> None:
    """On a grid with shuffled names, most windows of nodes fit into a small ball."""
    side, rng = 60, np.random.default_rng(1)
    name = rng.permutation(side * side).reshape(side, side)
    graph = nx.Graph(zip(name[:, :-1].ravel().tolist(), name[:, 1:].ravel().tolist(), strict=True))
    graph.add_edges_from(zip(name[:-1].ravel().tolist(), name[1:].ravel().tolist(), strict=True))
    position = np.empty((side * side, 2))
    position[name.ravel()] = np.stack(np.meshgrid(range(side), range(side), indexing="ij"), -1).reshape(-1, 2)
    reduced = check(graph)
    windows = [position[reduced.node[a : a + 16]] for a in range(0, side * side - 15, 16)]
    widths = [np.ptp(window, axis=0).sum() for window in windows]
    assert np.median(widths) < 2 * np.sqrt(CLUSTER)
