"""Copies with marked and deleted nodes: refined as defined, and sound."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours import wl
from detours.errors import InputError
from tests.oracles import refinement as oracle
from tests.strategies import SmallGraph, small_graphs
from tests.wl.cases import batches, relabelled

WAYS: list[dict[str, Any]] = [
    {"init": "degree", "individualise": "mark"},
    {"init": "uniform", "individualise": "mark", "depth": 2},
    {"init": "degree", "individualise": "mark", "cell": "all"},
    {"init": "den", "k": 4, "individualise": "mark", "depth": 3},
    {"init": "den", "edges": "den-sum", "k": 3, "individualise": "mark"},
    {"init": "den", "pairs": "den", "k": 3, "individualise": "mark", "depth": 2},
    {"init": "degree", "pairs": "fwl", "k": 3, "individualise": "mark", "depth": 2},
    {"init": "den", "k": 4, "individualise": "delete"},
    {"init": "phi", "k": 3, "individualise": "delete", "depth": 2},
    {"init": "degree", "individualise": "delete", "cell": "all"},
    {"init": "den-sum", "pairs": "den", "k": 3, "individualise": "delete", "cell": "all"},
]


def name_of(way: dict[str, Any]) -> str:
    return " ".join(map(str, way.values()))


every_way = pytest.mark.parametrize("way", WAYS, ids=name_of)


@every_way
@given(graph=small_graphs(max_nodes=7), data=st.data())
def test_relabelled_graphs_are_never_told_apart(way: dict[str, Any], graph: SmallGraph, data: st.DataObject) -> None:
    first, second = graph.graph(), data.draw(relabelled(graph)).graph()
    assert wl.certificate(first, **way) == wl.certificate(second, **way)
    assert wl.same(first, second, **way)


@every_way
@given(graphs=batches(min_size=1))
def test_certificates_groups_and_colours_agree(way: dict[str, Any], graphs: list[SmallGraph]) -> None:
    own = [graph.graph() for graph in graphs]
    together = wl.certificates(own, **way)
    assert together == [wl.certificate(graph, **way) for graph in own]
    by_certificate: dict[str, list[int]] = {}
    for g, text in enumerate(together):
        by_certificate.setdefault(text, []).append(g)
    assert wl.groups(own, **way) == list(by_certificate.values()) == wl.refine(own, **way).groups()
    assert wl.same(own[0], own[-1], **way) == (together[0] == together[-1])


@given(graphs=batches(min_size=2), init=st.sampled_from(["uniform", "degree", "den"]))
def test_marked_copies_are_those_of_the_definition(graphs: list[SmallGraph], init: str) -> None:
    """Compare the multisets over all v of the stable colours of G with v labelled; singletons add nothing."""
    own = [graph.graph() for graph in graphs]
    found = wl.groups(own, init=init, k=3, individualise="mark", cell="all")
    root = wl.refine(own, init=init, k=3)
    reference: dict[Any, list[int]] = {}
    copies, labels, owner = [], [], []
    for g, graph in enumerate(graphs):
        for v in range(graph.num_nodes):
            copies.append(graph)
            labels.append([2 * int(c) + (u == v) for u, c in enumerate(root.of(g).tolist())])
            owner.append(g)
    refined = oracle.refined(copies, init="labels", labels=labels)
    texts = [str(sorted(colours)) for colours in refined[-1]]
    for g in range(len(graphs)):
        key = (sorted(root.of(g).tolist()), sorted(t for t, o in zip(texts, owner, strict=True) if o == g))
        reference.setdefault(str(key), []).append(g)
    assert found == list(reference.values())


@given(graph=small_graphs(directed=False, max_nodes=7))
def test_detours_are_recounted_without_the_deleted_node(graph: SmallGraph) -> None:
    """The copy without v differs from that of another graph if the detours of the rest do."""
    own = graph.graph().to_networkx()
    if not own.nodes:
        return
    whole, without = wl.certificate(own, k=4), wl.certificate(own, k=4, individualise="delete", cell="all")
    assert whole != without  # the options are part of the certificate
    colours = wl.refine([own], k=4, individualise="delete", cell="all").of(0)
    counts = []
    for v in own.nodes:
        rest = own.copy()
        rest.remove_node(v)
        counts.append(sorted(detours.count(rest, k=4).edge.tolist()) if rest.edges else [])
    for u in own.nodes:
        for v in own.nodes:
            assert colours[u] != colours[v] or counts[u] == counts[v]


@given(graphs=batches(min_size=2))
def test_refined_pairs_distinguish_what_2_fwl_does(graphs: list[SmallGraph]) -> None:
    own = [graph.graph() for graph in graphs]
    weaker, pairs = wl.tuple_certificates(own, 2, folklore=True), wl.certificates(own, pairs="fwl", k=2)
    assert pairs == [wl.certificate(graph, pairs="fwl", k=2) for graph in own]
    marked = wl.certificates(own, pairs="fwl", k=2, individualise="mark")
    for finer, coarser in ((pairs, weaker), (marked, pairs)):
        assert all(coarser[g] == coarser[h] for g, a in enumerate(finer) for h, b in enumerate(finer) if a == b)


def test_threads_and_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    from detours.wl.individual import copies

    graphs = [nx.random_regular_graph(3, 20, seed=seed) for seed in range(4)] + [nx.petersen_graph()]
    ways = [{"individualise": "mark", "depth": 2}, {"individualise": "delete", "k": 3, "depth": 2}]
    reference = [wl.certificates(graphs, **way) for way in ways]
    monkeypatch.setattr(copies, "CHUNK_ENTRIES", 50)
    assert [wl.certificates(graphs, **way, n_jobs=3) for way in ways] == reference


def test_progress_increases_to_one() -> None:
    seen: list[float] = []
    wl.certificate(
        nx.petersen_graph(), individualise="mark", depth=2, progress=lambda done, total: seen.append(done / total)
    )
    assert seen == sorted(seen) and seen[-1] == 1.0


def test_a_second_marked_node_distinguishes_more() -> None:
    """Marking nodes breaks the symmetry that refinement alone cannot."""
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    shrikhande = nx.Graph(
        (4 * a + b, 4 * ((a + x) % 4) + (b + y) % 4)
        for a in range(4)
        for b in range(4)
        for x, y in ((0, 1), (1, 0), (1, 1))
    )
    assert wl.same(rook, shrikhande, init="degree", individualise="mark")
    assert not wl.same(rook, shrikhande, init="degree", individualise="mark", depth=2)
    found = wl.compare(rook, shrikhande, k=4, individualise="delete")
    assert not found.same and found.round == 1 and sorted(found.counts) == [0, 16] and found.meaning is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"individualise": "remove"}, "individualise"),
        ({"individualise": "mark", "depth": 0}, "depth must be an integer of at least 1"),
        ({"individualise": "mark", "cell": "first"}, "cell"),
        ({"individualise": "mark", "rounds": 2}, "stable colours"),
        ({"depth": 2}, "belong to individualise"),
    ],
)
def test_invalid_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        wl.certificate(nx.path_graph(3), **options)


def test_empty_and_tiny_graphs() -> None:
    empty, one, two = (np.zeros((2, 0), np.int64), nx.empty_graph(1), nx.path_graph(2))
    for way in WAYS:
        texts = wl.certificates([detours.Graph.from_edge_index(empty, 0), one, two, nx.empty_graph(2)], **way)
        assert len(set(texts)) == 4
        assert wl.refine([], **way).groups() == []
