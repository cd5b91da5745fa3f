"""The row engine with every layout: lanes, order of the roots and word size must not change the counts."""

import numpy as np
import pytest

from detours.counting.engines.base import Tally
from detours.counting.engines.overflow import largest_count
from detours.counting.engines.rows.evaluate import RowCount
from detours.counting.engines.rows.graph import Layout
from detours.counting.shrink.cyclic_part import Reduced, reduce
from detours.graph import Graph


def random_graph(seed: int, n: int = 120, degree: float = 6.0, directed: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    # a few hubs among many nodes of low degree, so that blocks of roots see very different neighbourhoods
    weight = rng.pareto(1.5, n) + 0.2
    chance = np.minimum(1.0, degree * n * np.outer(weight, weight) / weight.sum() ** 2)
    arcs = np.argwhere(rng.random((n, n)) < chance).T
    arcs = arcs[:, arcs[0] != arcs[1]]
    if not directed:
        arcs = np.concatenate([arcs, arcs[::-1]], axis=1)
    return Graph.from_edge_index(np.unique(arcs, axis=1), num_nodes=n, directed=directed)


def count(graph: Graph, reduced: Reduced, k: int, word: type, layout: Layout, n_jobs: int = 1) -> list[np.ndarray]:
    shape = (graph.num_arcs, k - 1)
    tally = Tally(np.zeros(shape, np.int64), np.zeros(shape, np.int64) if graph.directed else None)
    RowCount.build(reduced, k, word, layout).run(tally, n_jobs)
    return [array for array in tally if array is not None]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("k", [2, 4, 6])
def test_counts_do_not_depend_on_layout_word_or_threads(k: int, directed: bool) -> None:
    graph = random_graph(k, directed=directed)
    reduced = reduce(graph.indptr, graph.indices, directed)
    assert largest_count(reduced, k) < 2**31
    narrow = largest_count(reduced, k) < 2**15
    assert narrow or k > 4
    first, *others = [
        count(graph, reduced, k, word, Layout(by_degree, lanes), n_jobs)
        for word, by_degree, lanes, n_jobs in [
            (np.int64, False, 16, 1),
            (np.int64, True, 7, 2),
            (np.int32, False, 1, 1),
            (np.int32, True, 64, 1),
            (np.int32, False, 500, 3),
            *[(np.int16, False, 16, 1), (np.int16, True, 1, 2)] * narrow,
        ]
    ]
    for other in others:
        for a, b in zip(first, other, strict=True):
            assert np.array_equal(a, b)


def test_intermediate_overflow_is_harmless() -> None:
    # K_40 at k = 5: products pass 2^31 on the way, though no count does
    n = 40
    graph = Graph.from_edge_index(np.argwhere(~np.eye(n, dtype=bool)).T)
    reduced = reduce(graph.indptr, graph.indices)
    (found,) = count(graph, reduced, 5, np.int32, Layout(False, 16))
    assert (found == [38, 38 * 37, 38 * 37 * 36, 38 * 37 * 36 * 35]).all()
    # K_12: walks pass 2^15, though no count does
    graph = Graph.from_edge_index(np.argwhere(~np.eye(12, dtype=bool)).T)
    (found,) = count(graph, reduce(graph.indptr, graph.indices), 6, np.int16, Layout(False, 4))
    assert (found == [10, 90, 720, 5040, 30240]).all()


def test_engine_runs_again_after_an_error() -> None:
    graph = random_graph(1)
    prepared = RowCount.build(reduce(graph.indptr, graph.indices), 4, np.int32, Layout(False, 4))
    tally = Tally(np.zeros((graph.num_arcs, 3), np.int64), None)
    with pytest.raises(ZeroDivisionError):
        prepared.with_layout(prepared.layout).run(tally, progress=lambda done, total: 1 / 0)  # type: ignore[arg-type,return-value]
    assert not tally.by_length.any()
    prepared.with_layout(prepared.layout).run(tally)
    assert tally.by_length.any()
