"""The search engine against brute force, closed forms, other programs, and itself with the work split in other ways."""

from __future__ import annotations

from math import factorial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detours.counting.engines.base import Tally
from detours.counting.engines.search.count import Sample, SearchCount, Worker
from detours.counting.engines.threads import Progress
from detours.counting.shrink.chains import contract
from detours.counting.shrink.cyclic_part import Cyclic
from tests.interrupts import interrupted
from tests.real_data import data_folder


def csr(graph: nx.Graph) -> tuple[np.ndarray, np.ndarray]:
    rows = [sorted(graph[v]) for v in range(len(graph))]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    return indptr.astype(np.int64), np.array([w for row in rows for w in row], dtype=np.int32)


def empty(cyclic: Cyclic, k: int) -> Tally:
    shape = (len(cyclic.indices), k - 1)
    return Tally(np.zeros(shape, np.int64), np.zeros(shape, np.int64) if cyclic.directed else None)


def count(cyclic: Cyclic, k: int, n_jobs: int = 1, progress: Progress | None = None) -> Tally:
    tally = empty(cyclic, k)
    SearchCount(cyclic, k).run(tally, n_jobs, progress)
    return tally


def total(tally: Tally) -> list[int]:
    """Cycles of the whole graph, from length 3 on: each is counted once on every one of its arcs."""
    edges = np.arange(3, tally.by_length.shape[1] + 3)
    through = tally.by_length.sum(0) // 2 if tally.cycles is None else tally.cycles.sum(0)
    assert (through % edges == 0).all()
    return (through // edges).tolist()  # type: ignore[no-any-return]


def search(graph: nx.Graph, k: int, n_jobs: int = 1) -> tuple[np.ndarray, list[int], np.ndarray | None]:
    """Detours of all arcs, cycles of the graph, directed cycles through all arcs."""
    tally = count(Cyclic(*csr(graph), graph.is_directed()), k, n_jobs)
    return tally.by_length, total(tally), tally.cycles


def brute_force(graph: nx.Graph, k: int) -> tuple[np.ndarray, list[int], np.ndarray]:
    """Extend every path by every neighbour; count it if an arc joins its ends."""
    arcs = [(u, v) for u in range(len(graph)) for v in sorted(graph[u])]
    detours, through = {a: [0] * (k - 1) for a in arcs}, {a: [0] * (k - 1) for a in arcs}

    def extend(path: tuple[int, ...]) -> None:
        length = len(path) - 1
        if length >= 2 and graph.has_edge(path[0], path[-1]):
            detours[path[0], path[-1]][length - 2] += 1
        if length >= 2 and graph.has_edge(path[-1], path[0]):
            through[path[-1], path[0]][length - 2] += 1
        if length < k:
            for w in graph[path[-1]]:
                if w not in path:
                    extend((*path, w))

    for v in graph:
        extend((v,))
    shape = (len(arcs), k - 1)
    on_arcs = np.array([through[a] for a in arcs], np.int64).reshape(shape)
    seen_from = 1 if graph.is_directed() else 2
    cycles = [int(total) // (seen_from * length) for length, total in enumerate(on_arcs.sum(axis=0), start=3)]
    return np.array([detours[a] for a in arcs], np.int64).reshape(shape), cycles, on_arcs


@st.composite
def graphs(draw: st.DrawFn) -> nx.Graph:
    """Random graphs, some with subdivided edges, so that there are chains and parallel chains to contract."""
    n = draw(st.integers(1, 8))
    directed, longest_chain = draw(st.booleans()), draw(st.integers(1, 4))
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(n))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(1, longest_chain))
    for u, v, length in draw(st.lists(pairs, max_size=16)):
        if u != v:
            nx.add_path(graph, [u, *range(len(graph), len(graph) + length - 1), v])
    return graph


@settings(deadline=None, max_examples=300)
@given(graphs(), st.integers(2, 9))
def test_equals_brute_force(graph: nx.Graph, k: int) -> None:
    detours, cycles, through = search(graph, k)
    expected, expected_cycles, expected_through = brute_force(graph, k)
    assert (detours == expected).all()
    assert cycles == expected_cycles
    assert (through is None) != graph.is_directed()
    assert through is None or (through == expected_through).all()


@pytest.mark.parametrize("directed", [False, True])
def test_equals_networkx_on_larger_graphs(directed: bool) -> None:
    for seed in range(4):
        graph = nx.gnm_random_graph(40, 70, seed=seed, directed=directed)
        _, cycles, _ = search(graph, 7)
        lengths = [len(cycle) for cycle in nx.simple_cycles(graph, length_bound=8)]
        assert cycles == [lengths.count(length) for length in range(3, 9)]


def test_closed_forms() -> None:
    n, k = 8, 7
    complete, cycles, _ = search(nx.complete_graph(n), k)
    assert (complete == [factorial(n - 2) // factorial(n - 1 - length) for length in range(2, k + 1)]).all()
    assert cycles == [factorial(n) // factorial(n - length) // (2 * length) for length in range(3, k + 2)]
    for n in range(3, 9):
        ring, cycles, _ = search(nx.cycle_graph(n), 6)
        assert (ring == [int(length + 1 == n) for length in range(2, 7)]).all()
        assert cycles == [int(length == n) for length in range(3, 8)]
    assert search(nx.petersen_graph(), 8)[1] == [0, 0, 12, 10, 0, 15, 20]
    assert search(nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 30)), 7)[1] == [
        0, 19 * 29, 0, 19 * 28 + 18 * 29, 0, 19 * 27 + 17 * 29 + 5 * 18 * 28,
    ]  # fmt: skip


def test_parallel_chains() -> None:
    """A theta graph: two nodes joined by chains of lengths 1, 2, 3, 4."""
    graph = nx.Graph([(0, 1)])
    for length in (2, 3, 4):
        nx.add_path(graph, [0, *range(len(graph), len(graph) + length - 1), 1])
    detours, cycles, _ = search(graph, 8)
    assert cycles == [1, 1, 2, 1, 1, 0, 0]
    assert detours[0].tolist() == [1, 1, 1, 0, 0, 0, 0]


def test_chains_of_many_lengths() -> None:
    """If chains differ in length, the shortest way to a node is often not the first one found."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 9))
        graph = nx.empty_graph(n)
        for u, v in nx.gnm_random_graph(n, int(1.7 * n), seed=seed).edges:
            nx.add_path(graph, [u, *range(len(graph), len(graph) + int(rng.integers(0, 4))), v])
        k = int(rng.integers(4, 12))
        detours, cycles, _ = search(graph, k)
        expected, expected_cycles, _ = brute_force(graph, k)
        assert (detours == expected).all(), seed
        assert cycles == expected_cycles, seed


def test_chains() -> None:
    """Two triangles joined by an edge and by a chain, and a separate ring of five."""
    graph = nx.Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 6), (6, 7), (7, 4)])
    nx.add_cycle(graph, range(8, 13))
    chains = contract(Cyclic(*csr(graph)), 9)
    assert sorted(chains.length.tolist()) == [1] * 6 + [2] * 4 + [3] * 2
    assert (chains.count, chains.rings.tolist(), chains.ring_length.tolist()) == (7, [6], [5])
    assert len(contract(Cyclic(*csr(graph)), 3).indices) == 10


def test_edges_on_no_cycle_are_not_in_chains() -> None:
    """A triangle and a square, joined by a bridge of two edges and with a tail; a ring at each end of it."""
    graph = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 4), (6, 8), (8, 9)])
    cyclic = Cyclic(*csr(graph))
    chains = contract(cyclic, 9)
    assert (chains.count, sorted(chains.ring_length.tolist()), len(chains.indices)) == (2, [3, 4], 0)
    assert (cyclic.num_arcs, cyclic.num_nodes, cyclic.num_blocks) == (14, 7, 2)
    assert (chains.chain_of_arc >= 0).sum() == 14


def test_a_bundle_of_chains_needs_no_search() -> None:
    """Between two nodes: an edge, 300 chains of two edges and 200 of three."""
    graph = nx.Graph([(0, 1)])
    for v in range(2, 302):
        graph.add_edges_from([(0, v), (v, 1)])
    for v in range(302, 702, 2):
        graph.add_edges_from([(0, v), (v, v + 1), (v + 1, 1)])
    detours, cycles, _ = search(graph, 6)
    assert cycles == [300, 300 * 299 // 2 + 200, 300 * 200, 200 * 199 // 2, 0]
    assert detours[0].tolist() == [300, 200, 0, 0, 0]


def test_rings_with_a_common_node() -> None:
    """Cycles of lengths 3 to 6 that share only node 0, then a chord in the longest."""
    graph = nx.Graph()
    for length in range(3, 7):
        nx.add_cycle(graph, [0, *range(10 * length, 10 * length + length - 1)])
    graph = nx.convert_node_labels_to_integers(graph, ordering="sorted")
    assert search(graph, 6)[1] == [1, 1, 1, 1, 0]
    graph.add_edge(0, max(graph) - 2)
    assert search(graph, 6)[1] == [1, 3, 1, 1, 0]


def test_nothing_to_count() -> None:
    for graph in (nx.empty_graph(0), nx.empty_graph(3), nx.path_graph(4), nx.DiGraph([(0, 1), (1, 0)])):
        detours, cycles, _ = search(graph, 5)
        assert not detours.any()
        assert cycles == [0, 0, 0, 0]
        assert Sample(SearchCount(Cyclic(*csr(graph), graph.is_directed()), 5), 64).steps(2**21).steps == 0


def test_k_beyond_the_longest_cycle() -> None:
    detours, cycles, _ = search(nx.complete_graph(4), 50)
    assert cycles == [4, 3] + [0] * 47
    assert (detours[:, :2] == 2).all()
    assert not detours[:, 2:].any()


def same(one: Tally, other: Tally) -> bool:
    pairs = zip(one, other, strict=True)
    return all(a is b is None or np.array_equal(a, b) for a, b in pairs)  # type: ignore[arg-type]


@pytest.mark.parametrize("directed", [False, True])
def test_any_split_gives_the_same_counts(directed: bool) -> None:
    graph = nx.gnm_random_graph(60, 200 if directed else 110, seed=3, directed=directed)
    cyclic = Cyclic(*csr(graph), directed)
    expected = count(cyclic, 6)
    assert sum(total(expected)) > 100
    assert same(count(cyclic, 6, n_jobs=3), expected)
    for steps in (1, 7, 1000):
        search, tally = SearchCount(cyclic, 6), empty(cyclic, 6)
        workers = [search.worker(), search.worker()]
        for number, root in enumerate(np.random.default_rng(steps).permutation(search.num_roots).tolist()):
            workers[number % 2].assign(root, root + 1)
            while workers[number % 2].advance(steps):
                pass
        search.tell(tally)
        assert same(tally, expected)


def test_advance_returns_soon() -> None:
    """A single root of a complete graph is work for years."""
    search = SearchCount(Cyclic(*csr(nx.complete_graph(30))), 25)
    worker = Worker(search)
    worker.assign(0, search.num_roots)
    assert worker.advance(10_000)
    assert 10_000 <= worker.steps < 20_000


def test_error_in_progress_stops_the_count() -> None:
    cyclic = Cyclic(*csr(nx.complete_graph(30)))

    def fail(done: float, total: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(cyclic, 25, n_jobs=2, progress=fail)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt(n_jobs: int) -> None:
    """Ctrl-C ends years of work."""
    cyclic = Cyclic(*csr(nx.complete_graph(30)))
    count(cyclic, 2)
    with interrupted():
        count(cyclic, 25, n_jobs=n_jobs)


def test_progress_ends_at_the_total() -> None:
    seen: list[tuple[float, float]] = []
    cyclic = Cyclic(*csr(nx.convert_node_labels_to_integers(nx.grid_2d_graph(50, 50))))
    count(cyclic, 5, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 2000
    assert seen == sorted(seen)


def test_overflow_names_k() -> None:
    search = SearchCount(Cyclic(*csr(nx.complete_graph(4))), 3)
    search.worker().steps = 2**62
    with pytest.raises(OverflowError, match="k = 3"):
        search.tell(empty(search.cyclic, 3))


def test_estimate_is_close_and_repeatable() -> None:
    cyclic = Cyclic(*csr(nx.convert_node_labels_to_integers(nx.grid_2d_graph(60, 60))))
    search = SearchCount(cyclic, 7)
    worker = search.worker()
    worker.assign(0, search.num_roots)
    while worker.advance():
        pass
    estimate = Sample(search, 64).steps(2**21)
    assert estimate.complete
    assert worker.steps / 2 < estimate.steps < worker.steps * 2
    assert Sample(SearchCount(cyclic, 7), 64).steps(2**21).steps == estimate.steps


def test_estimate_of_a_hopeless_search_is_fast_and_incomplete() -> None:
    estimate = Sample(SearchCount(Cyclic(*csr(nx.complete_graph(60))), 20), 64).steps(100_000)
    assert not estimate.complete
    assert estimate.steps > 60 * 100_000 / 64


def test_a_root_that_is_drawn_often_is_searched_once() -> None:
    hub = nx.star_graph(2000)
    hub.add_edges_from((node, node + 1) for node in range(1, 2000, 2))
    hub.add_edges_from((node, node + 1) for node in range(2, 2000, 4))
    search = SearchCount(Cyclic(*csr(hub)), 5)
    ((_, steps_of_root, share, drawn),) = Sample(search, 64)._parts
    assert len(drawn) == 64 > len(steps_of_root) == len(share) and np.bincount(drawn).max() > 5
    assert drawn[0] == 0 and set(drawn.tolist()) == set(range(len(share)))


def test_draws_after_the_cut_do_not_count() -> None:
    """Two hubs, drawn often and searched fast, beside a dense part, which takes long."""
    dense = nx.convert_node_labels_to_integers(nx.gnp_random_graph(300, 0.15, seed=1), 10_002)
    graph = nx.Graph([(hub, node) for hub in (0, 1) for node in range(2, 10_002)])
    graph.add_edges_from([*dense.edges, (0, 10_002), (1, 10_003)])
    assert not Sample(SearchCount(Cyclic(*csr(graph)), 6), 128).steps(100_000).complete


def test_a_sample_goes_on_where_it_was() -> None:
    cyclic = Cyclic(*csr(nx.convert_node_labels_to_integers(nx.grid_2d_graph(60, 60))))
    sample = Sample(SearchCount(cyclic, 7), 64)
    assert not sample.steps(1000).complete
    assert sample.steps(2**22) == Sample(SearchCount(cyclic, 7), 64).steps(2**22)


def test_nci1() -> None:
    file = data_folder() / "TUDataset" / "NCI1" / "raw" / "NCI1_A.txt"
    if not file.exists():
        pytest.skip(f"{file} is not there; set DETOURS_DATA to the folder with the data sets")
    edges = np.loadtxt(file, delimiter=",", dtype=np.int64).T - 1
    order = np.lexsort((edges[1], edges[0]))
    indptr = np.searchsorted(edges[0][order], np.arange(edges.max() + 2))
    cycles = total(count(Cyclic(indptr, edges[1][order].astype(np.int32)), 8))
    # As listed by igraph and, block by block, by NetworkX.
    assert cycles == [186, 145, 3089, 11036, 501, 452, 2117]
