"""The planner: sensible choices, limits kept, readable plans."""

import networkx as nx
import numpy as np
import pytest

import detours
from detours.counting.engines.threads import Ranges, run_ranges
from detours.errors import EngineError


def test_dense_graphs_go_to_closed_forms_and_molecules_to_search() -> None:
    assert detours.explain(nx.gnm_random_graph(300, 9000, seed=1), 4).engine == "rows"
    rings = nx.disjoint_union_all([nx.cycle_graph(6)] * 500)
    assert detours.explain(rings, 5).engine == "search"
    assert detours.explain(nx.gnm_random_graph(30, 90, seed=1), 9).engine == "search"
    for k in (2, 4, 6):
        assert detours.explain(nx.complete_graph(200), k).engine == "dense"


def test_plan_reads_well() -> None:
    text = str(detours.explain(nx.gnm_random_graph(3000, 20_000, seed=1), 6))
    assert "rows: closed forms" in text
    assert "about" in text
    assert "6 sparse products" in text
    few = nx.gnm_random_graph(3000, 20_000, seed=1)
    assert " 1 sparse product per block" in str(detours.explain(few, 3, engine="rows"))


def test_engines_that_do_not_fit_are_marked_at_the_end_of_the_line() -> None:
    plan = detours.explain(nx.gnm_random_graph(3000, 20_000, seed=1), 6, memory_limit="50MB")
    (dense,) = [line for line in plan.others if line.startswith("dense")]
    assert dense.endswith("; too much memory") and " MB, " not in dense


def test_a_tree_needs_no_engine() -> None:
    plan = detours.explain(nx.path_graph(5), 4)
    assert plan.seconds == 0
    assert "no edge lies on a cycle" in str(plan)


def test_memory_limit_shrinks_the_blocks() -> None:
    graph = detours.Graph.from_networkx(nx.gnm_random_graph(2000, 30_000, seed=2))
    roomy = detours.explain(graph, 6, engine="rows", n_jobs=8)
    tight = detours.explain(graph, 6, engine="rows", n_jobs=8, memory_limit=int(0.8 * roomy.bytes))
    assert tight.bytes < roomy.bytes
    with pytest.raises(EngineError, match="memory_limit"):
        detours.explain(graph, 6, engine="rows", memory_limit=1000)


def test_ranges_cover_everything_once() -> None:
    for n_jobs in (1, 3):
        seen = np.zeros(1000, np.int64)

        def work(worker: None, begin: int, end: int, stop: object, seen: np.ndarray = seen) -> None:
            seen[begin:end] += 1

        run_ranges(1000, 7, work, lambda: None, n_jobs)
        assert (seen == 1).all()


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def work(worker: None, begin: int, end: int, stop: object) -> None:
        if begin > 100:
            raise MemoryError("no more")

    with pytest.raises(MemoryError, match="no more"):
        run_ranges(1000, 7, work, lambda: None, 2)


def test_ranges_grow_for_fast_work_and_shrink_for_slow_work() -> None:
    ranges = Ranges(10**6, 16)
    share = ranges.take(1)
    assert share is not None
    ranges.finished(*share, seconds=1e-5)
    assert ranges.size == 64
    ranges.finished(0, 64, seconds=10.0)
    assert ranges.size == 16


def test_auto_keeps_to_the_limit_when_one_engine_can() -> None:
    ring = nx.circulant_graph(3000, [1, 2])
    rows = detours.explain(ring, 6, engine="rows", n_jobs=8)
    search = detours.explain(ring, 6, engine="search", n_jobs=8)
    small, large = sorted([rows.bytes, search.bytes])
    assert detours.explain(ring, 6, n_jobs=8, memory_limit=(small + large) // 2).bytes <= (small + large) // 2


def test_fewer_threads_where_that_fits() -> None:
    ring = nx.circulant_graph(3000, [1, 2])
    eight, two = (detours.explain(ring, 6, engine="search", n_jobs=jobs) for jobs in (8, 2))
    limit = (two.bytes + eight.bytes) // 2
    plan = detours.explain(ring, 6, engine="search", n_jobs=8, memory_limit=limit)
    assert plan.bytes <= limit < eight.bytes and 2 <= plan.task.n_jobs < 8
    with pytest.raises(EngineError, match=r"needs about .* with one thread, more than memory_limit = .* out="):
        detours.explain(ring, 6, engine="search", n_jobs=8, memory_limit="100KB")


def test_results_count_as_memory() -> None:
    assert detours.explain([(0,), (1,)], 10**6).bytes >= 8 * (10**6 - 1)
    with pytest.raises(EngineError, match="memory_limit"):
        detours.count(nx.path_graph(3), 10**6, memory_limit="1MB")


def test_hubs_do_not_inflate_the_bound() -> None:
    # Two hubs that share all their neighbours: many walks from a hub, few from its neighbours.
    n = 300_000
    arcs = np.stack([np.arange(2 * n) // n, 2 + np.arange(2 * n) % n])
    graph = detours.Graph.from_edge_index(np.concatenate([arcs, arcs[::-1]], axis=1))
    assert detours.count(graph, 6).edge.max() == n - 1


def wheel(rim: int) -> detours.Graph:
    on_rim = np.arange(1, rim + 1)
    return detours.Graph.from_edges(np.array([[*0 * on_rim, *on_rim], [*on_rim, *on_rim[1:], 1]]).T)


def test_a_sample_goes_on_where_the_best_engine_takes_long() -> None:
    """Closed forms walk through the hub again and again; a search of it takes less time than their estimate allows."""
    plan = detours.explain(wheel(30_000), 4)
    assert plan.engine == "search" and plan.sure and plan.estimate.longer is None
    assert "rows" in str(plan)
    small = wheel(3000)
    assert np.array_equal(detours.count(small, 4, engine="search").edge, detours.count(small, 4, engine="rows").edge)


def test_a_sample_does_not_miss_a_small_dense_part() -> None:
    """A search of the clique alone takes seconds, but one in a thousand nodes is in it."""
    mesh = nx.convert_node_labels_to_integers(nx.grid_2d_graph(170, 170))
    assert detours.explain(mesh, 6).engine == "search"
    assert detours.explain(nx.disjoint_union(mesh, nx.complete_graph(30)), 6).engine == "rows"


def test_more_threads_than_work_are_not_started() -> None:
    assert detours.count(nx.cycle_graph(5), 5, n_jobs=10_000).cycles[5] == 1


def test_a_long_search_of_a_small_graph_has_threads() -> None:
    """It takes one root at a time; short ones would end before a thread has started."""
    assert detours.explain(nx.random_regular_graph(8, 80, seed=1), 9, n_jobs=2).task.n_jobs == 2
    assert detours.explain(nx.circular_ladder_graph(10), 8, n_jobs=2).task.n_jobs == 1
    assert detours.explain(nx.complete_graph(5), 7, engine="search", n_jobs=64).task.n_jobs <= 5


def test_beyond_six_the_cheaper_of_search_and_dense_is_chosen() -> None:
    sparse = nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 30))
    dense = nx.random_regular_graph(18, 35, seed=1)
    assert detours.explain(sparse, 7).engine == "search"
    assert detours.explain(dense, 6).engine == "rows"
    for k in (7, 8):
        plan = detours.explain(dense, k)
        assert plan.engine == "dense"
        assert plan.seconds < 1
    assert detours.explain(dense, 9).engine == "search"
    assert detours.explain(dense, 7, memory_limit="100KB").engine == "search"
    with pytest.raises(EngineError, match="up to k = 8, not for k = 9"):
        detours.explain(dense, 9, engine="dense")


def test_one_root_at_a_time_where_its_vectors_stay_in_the_first_cache() -> None:
    """Measured with 100,000 nodes: 1.9 s against 3.0 s for sixteen roots at a time."""
    graph = detours.Graph.from_networkx(nx.barabasi_albert_graph(50_000, 5, seed=1))
    assert "one root at a time" in str(detours.explain(graph, 4))
