"""`refine` against its definition, NetworkX, and what must hold of any refinement."""

import weakref
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import detours
from detours import wl
from detours.errors import InputError
from detours.wl import preparation
from detours.wl.nodes import rounds as rounds_module
from detours.wl.nodes.rounds import NodeRefinement
from detours.wl.refinement import refine_counted
from tests.oracles import refinement as oracle
from tests.strategies import SmallGraph, small_graphs
from tests.wl.cases import METHODS, SOME_METHODS, batches, name_of

every_method = pytest.mark.parametrize("method", METHODS, ids=name_of)
some_methods = pytest.mark.parametrize("method", SOME_METHODS, ids=name_of)
TRIANGLE = SmallGraph(3, ((0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)), False)


def refine(graphs: list[SmallGraph], **options: Any) -> wl.Colors:
    return wl.refine([graph.graph() for graph in graphs], **options)


def flatten(rows: list[list[int]]) -> list[int]:
    return [colour for row in rows for colour in row]


def is_renaming(a: list[int], b: list[int]) -> bool:
    """Whether the two colourings define the same classes."""
    return len(a) == len(b) and len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@every_method
@given(graphs=batches(), rounds=st.sampled_from([None, None, 0, 1, 2]))
def test_agrees_with_the_definition(method: dict[str, Any], graphs: list[SmallGraph], rounds: int | None) -> None:
    colors = refine(graphs, **method, rounds=rounds)
    reference = oracle.refined(graphs, **method, rounds=rounds)
    assert colors.rounds == len(reference) - 1
    assert len(colors) == len(graphs)
    for round, expected in enumerate(reference):
        assert is_renaming(colors.all_nodes(round).tolist(), flatten(expected))
        assert [colors.of(g, round).tolist() for g in range(len(graphs))] == [own[round].tolist() for own in colors]


@given(batches(), st.data())
def test_labels_agree_with_the_definition(graphs: list[SmallGraph], data: st.DataObject) -> None:
    kind: st.SearchStrategy[Any] = data.draw(
        st.sampled_from([st.sampled_from(["C", "N", "", "Cl"]), st.integers(-2, 1), st.just(2**62)])
    )
    labels = [data.draw(st.lists(kind, min_size=graph.num_nodes, max_size=graph.num_nodes)) for graph in graphs]
    colors = refine(graphs, init="labels", labels=labels)
    reference = oracle.refined(graphs, init="labels", labels=labels)
    assert colors.rounds == len(reference) - 1
    for round, expected in enumerate(reference):
        assert is_renaming(colors.all_nodes(round).tolist(), flatten(expected))


LABELLED: list[dict[str, Any]] = [
    {"init": "den", "k": 4},
    {"init": "den-sum", "k": 3},
    {"init": "phi", "k": 3},
    {"init": "degree"},
    {"init": "uniform", "edges": "den", "k": 3},
]


@pytest.mark.parametrize("method", LABELLED, ids=name_of)
@given(graphs=batches(min_size=1), data=st.data())
def test_labels_of_nodes_and_edges_join_the_detours(
    method: dict[str, Any], graphs: list[SmallGraph], data: st.DataObject
) -> None:
    kind: st.SearchStrategy[Any] = data.draw(st.sampled_from([st.sampled_from(["C", "N", "Cl"]), st.integers(-1, 1)]))
    labels = [[data.draw(kind) for _ in range(graph.num_nodes)] for graph in graphs]
    bonds = [
        {(i, j): bond for (i, j), bond in drawn.items()}
        if graph.directed
        else {(i, j): drawn[min((i, j), (j, i))] for i, j in graph.arcs}
        for graph in graphs
        for drawn in [{arc: data.draw(kind) for arc in graph.arcs}]
    ]
    own = [graph.graph() for graph in graphs]
    edge_labels = [[bond[i, j] for i, j in g.edge_index.T.tolist()] for g, bond in zip(own, bonds, strict=True)]
    given_labels = {"labels": labels, "edge_labels": edge_labels}
    colors = wl.refine(own, **method, **given_labels)
    reference = oracle.refined(graphs, **method, labels=labels, edge_labels=bonds)
    assert colors.rounds == len(reference) - 1
    for round, expected in enumerate(reference):
        assert is_renaming(colors.all_nodes(round).tolist(), flatten(expected))
    together = wl.certificates(own, **method, **given_labels)
    for g, graph in enumerate(own):
        assert wl.certificate(graph, **method, labels=labels[g], edge_labels=edge_labels[g]) == together[g]
    for g, h in combinations(range(len(graphs)), 2):
        assert (together[g] == together[h]) == oracle.same(reference, g, h)


@given(graphs=batches().filter(bool))
def test_counted_graphs_get_the_same_colours(graphs: list[SmallGraph]) -> None:
    counted = refine_counted([detours.count(graph.graph(), 4) for graph in graphs])
    colors = refine(graphs, k=4)
    assert (counted.rounds, counted.stable) == (colors.rounds, colors.stable)
    assert all(np.array_equal(own, other) for own, other in zip(counted, colors, strict=True))


def test_labels_and_bonds_of_molecules() -> None:
    """Benzene and pyridine differ in one atom, benzene and cyclohexane in their bonds, neither in their rings."""
    ring = nx.cycle_graph(6)
    carbon, pyridine = ["C"] * 6, ["C"] * 5 + ["N"]
    assert wl.same(ring, ring, k=5) and wl.same(ring, ring, k=5, labels=[carbon, carbon])
    found = wl.compare(ring, ring, k=5, labels=[carbon, pyridine])
    assert not found.same and found.meaning in (f"label {atom!r}, two edges on one 6-cycle" for atom in "CN")
    aromatic, single = ["aromatic"] * 6, ["single"] * 6
    assert not wl.same(ring, ring, k=5, labels=[carbon, carbon], edge_labels=[aromatic, single])
    assert wl.same(ring, ring, k=5, labels=[carbon, carbon], edge_labels=[single, single])
    assert not wl.same(ring, ring, init="degree", edge_labels=[aromatic, single], individualise="mark")


@some_methods
@given(graphs=batches(min_size=1))
def test_a_round_never_merges_colours_and_keeps_their_order(method: dict[str, Any], graphs: list[SmallGraph]) -> None:
    colors = refine(graphs, **method)
    assert colors.stable
    for coarse, fine in pairwise(colors.history):
        parents = {(int(new), int(old)) for new, old in zip(fine, coarse, strict=True)}
        assert len(parents) == fine.max(initial=-1) + 1  # one parent each, and no colour is skipped
        ordered = [old for _, old in sorted(parents)]
        assert ordered == sorted(ordered)
    assert colors.num_colors == sorted(set(colors.num_colors))


@some_methods
@given(graphs=batches(min_size=2), data=st.data())
def test_colours_do_not_depend_on_the_order_of_graphs(
    method: dict[str, Any], graphs: list[SmallGraph], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(graphs))))
    colors, permuted = refine(graphs, **method), refine([graphs[g] for g in order], **method)
    assert colors.rounds == permuted.rounds
    for index, g in enumerate(order):
        assert np.array_equal(permuted[index], colors[g])


@given(graphs=batches(min_size=1, max_nodes=8))
def test_colours_do_not_depend_on_threads(graphs: list[SmallGraph]) -> None:
    one, two = (refine(graphs, edges="den", k=5, n_jobs=n) for n in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@some_methods
@given(graphs=batches(min_size=2), rounds=st.integers(0, 3))
def test_more_rounds_never_distinguish_less(method: dict[str, Any], graphs: list[SmallGraph], rounds: int) -> None:
    few, more = (groups_of(refine(graphs, **method, rounds=n).groups()) for n in (rounds, rounds + 1))
    for g, h in combinations(range(len(graphs)), 2):
        assert few[g] == few[h] or more[g] != more[h]


@pytest.mark.parametrize("options", [{}, {"init": "uniform", "edges": "den"}, {"pairs": "den"}], ids=str)
@given(graphs=batches(min_size=2), k=st.integers(2, 5))
def test_larger_k_by_length_never_distinguishes_less(options: dict[str, Any], graphs: list[SmallGraph], k: int) -> None:
    options = {"init": "den", **options}
    short, long = (refine(graphs, **options, k=longest) for longest in (k, k + 1))
    for g, h in combinations(range(len(graphs)), 2):
        assert groups_of(short.groups())[g] == groups_of(short.groups())[h] or (
            groups_of(long.groups())[g] != groups_of(long.groups())[h]
        )
    # The same for nodes: two that differ still differ.
    pairs = set(zip(short.all_nodes().tolist(), long.all_nodes().tolist(), strict=True))
    assert len({fine for _, fine in pairs}) == len(pairs)


def groups_of(groups: list[list[int]]) -> dict[int, int]:
    return {g: index for index, members in enumerate(groups) for g in members}


def test_larger_k_can_distinguish_less_when_lengths_are_summed() -> None:
    """Graphs 152 and 154 of the atlas: the smallest connected graphs told apart by k-DeN and not by (k + 1)-DeN."""
    pair = [nx.Graph(edges) for edges in (TWO_TRIANGLES_IN_A_RING, TWO_SQUARES)]
    told_apart = {k: not wl.same(*pair, init="den-sum", k=k) for k in (2, 3, 4, 5)}
    assert told_apart == {2: True, 3: True, 4: False, 5: True}
    assert not wl.same(*pair, init="den", k=4)


def test_a_larger_k_never_sees_less_by_default() -> None:
    """A hexagon has one detour of 5 edges around each edge, two triangles one of 2 edges: at k = 5 the sums agree."""
    hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert wl.same(hexagon, triangles, init="den-sum", k=5)
    for options in ({}, {"init": "den"}, {"init": "den-by-length"}, {"init": "uniform", "edges": "den"}):
        assert not any(wl.same(hexagon, triangles, **options, k=k) for k in (2, 3, 4, 5, 6))


TWO_TRIANGLES_IN_A_RING = [(0, 1), (0, 5), (1, 2), (1, 5), (2, 3), (2, 4), (3, 4), (4, 5)]
TWO_SQUARES = [(0, 1), (0, 5), (1, 2), (1, 4), (2, 3), (2, 5), (3, 4), (4, 5)]


@given(small_graphs(directed=False), small_graphs(directed=False))
def test_told_apart_as_by_networkx(first: SmallGraph, second: SmallGraph) -> None:
    hashes = [
        nx.weisfeiler_lehman_graph_hash(graph.to_networkx(), iterations=graph.num_nodes + 1)
        for graph in (first, second)
    ]
    equal = hashes[0] == hashes[1] and first.num_nodes == second.num_nodes
    assert wl.same(first.graph(), second.graph(), init="degree") == equal
    assert wl.same(first.graph(), second.graph(), init="uniform") == equal


@pytest.mark.parametrize("method", [{"init": "degree"}, {"pairs": "den"}], ids=name_of)
def test_rows_in_many_chunks_give_the_same_colours(method: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [detours.Graph.from_networkx(nx.gnp_random_graph(30, 0.12, seed=seed)) for seed in range(6)]
    whole = wl.refine(graphs, **method)
    monkeypatch.setattr(rounds_module, "CHUNK_ENTRIES", 40)
    chunked = wl.refine(graphs, **method)
    assert whole.rounds == chunked.rounds > 0
    assert all(np.array_equal(a, b) for a, b in zip(whole, chunked, strict=True))


@pytest.mark.parametrize("nodes", [600, 3000])
def test_long_rows_and_many_of_them(nodes: int) -> None:
    """Hubs with hundreds of neighbours, and thousands of equal leaves."""
    rng = np.random.default_rng(nodes)
    ends = np.concatenate([rng.integers(0, 4, (3 * nodes, 1)), rng.integers(0, nodes, (3 * nodes, 1))], axis=1)
    arcs = sorted({(int(i), int(j)) for i, j in np.vstack([ends, ends[:, ::-1]]) if i != j})
    graph = SmallGraph(nodes, tuple(arcs), False)
    colour = wl.refine([graph.graph()], init="uniform").all_nodes()
    table = nx.weisfeiler_lehman_subgraph_hashes(graph.to_networkx(), iterations=8)
    assert is_renaming(colour.tolist(), as_integers([table[node][-1] for node in range(nodes)]))


def as_integers(values: list[str]) -> list[int]:
    table: dict[str, int] = {}
    return [table.setdefault(value, len(table)) for value in values]


def test_colours_by_hand() -> None:
    """A path of three nodes and a triangle: only the ends of the path have one neighbour."""
    colors = wl.refine([[(0, 1), (1, 2)], TRIANGLE.graph()], init="degree")
    assert colors[0].tolist() == [[0, 1, 0], [0, 1, 0]]
    assert colors[1].tolist() == [[1, 1, 1], [2, 2, 2]]
    assert colors.histogram(0) == {0: 2, 1: 1} and colors.histogram(1, 0) == {1: 3}
    assert colors.sizes(0) == (1, 2) and colors.sizes(1) == (3,)
    assert colors.groups() == [[0], [1]]
    assert repr(colors) == "Colors(2 graphs, 6 nodes; stable after 1 round; colours by round: 2, 3)"
    long = wl.refine([nx.path_graph(100)], init="degree")
    counts = "2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …, 50"
    assert repr(long) == f"Colors(1 graph, 100 nodes; stable after 48 rounds; colours by round: {counts})"


def test_a_stable_colouring_has_the_colours_of_later_rounds() -> None:
    stable = wl.refine([TRIANGLE.graph()], init="degree", rounds=7)
    assert stable.stable and stable.rounds == 0 and stable.histogram(0, 7) == {0: 3}
    stopped = wl.refine([[(0, 1), (1, 2)]], init="uniform", rounds=0)
    assert not stopped.stable
    with pytest.raises(InputError, match="round must be an integer from 0 to 0, but it is 1"):
        stopped.all_nodes(1)


def test_no_graphs_and_no_nodes() -> None:
    for method in METHODS:
        none = wl.refine([], **method)
        assert len(none) == 0 and none.stable and none.groups() == []
        empty = wl.refine([SmallGraph(0, (), False).graph(), SmallGraph(1, (), False).graph()], **method)
        assert [own.shape for own in empty] == [(1, 0), (1, 1)] and empty.groups() == [[0], [1]]
        assert empty.histogram(0) == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "colour"}, "init must be one of 'uniform', .* but it is 'colour'"),
        ({"init": None}, "init must be one of"),
        ({"edges": "phi"}, "edges must be one of None, 'den', 'den-sum', but it is 'phi'"),
        ({"pairs": True}, "pairs must be one of None, 'den', 'fwl', but it is True"),
        ({"edges": "den", "pairs": "den"}, "give only one of them"),
        ({"k": 1}, "k, the most edges a detour may have"),
        ({"k": None}, "k, the most edges a detour may have"),
        ({"rounds": -1}, "rounds must be an integer from 0 to 2147483647, .* but it is -1"),
        ({"rounds": 10**30}, "rounds must be an integer from 0 to 2147483647"),
        ({"rounds": 1.5}, "rounds must be an integer"),
        ({"rounds": True}, "rounds must be an integer"),
        ({"init": "labels"}, "needs labels="),
        ({"edge_labels": [[1, 2, 3]], "pairs": "den"}, "edge_labels= cannot be combined with pairs='den'"),
        ({"edge_labels": [[1] * 6], "individualise": "delete"}, 'cannot be combined with individualise="delete"'),
        ({"edge_labels": [[1, 2]]}, r"The edge_labels of graph number 0 .* one label for each of its 6 edges"),
        ({"edge_labels": [range(6)]}, "of graph number 0 is listed with different labels"),
        ({"init": "labels", "labels": [[1, 2, 3]] * 2}, "one array for each of the 1 graphs, but it holds 2"),
        ({"init": "labels", "labels": [[1, 2]]}, r"one label for each of its 3 nodes, .* shape \(2,\)"),
        ({"init": "labels", "labels": [[[1], [2], [3]]]}, r"shape \(3, 1\)"),
        ({"init": "labels", "labels": [{0, 1, 2}]}, "labels of graph number 0 are {.*}; give a list"),
        ({"init": "labels", "labels": [[2**70, 1, 2]]}, "hold 1180591620717411303424, but integers must be below 2"),
        ({"init": "labels", "labels": [[0.5, 1, 2]]}, "all integers or all strings"),
        ({"init": "labels", "labels": [[1, "a", "b"]]}, "all integers or all strings"),
        ({"init": "labels", "labels": ["abc"]}, "a single string, 'abc'"),
        ({"init": "labels", "labels": [np.array([0, 1, 2**63], np.uint64)]}, "below 2"),
    ],
    ids=str,
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        wl.refine([TRIANGLE.graph()], **options)


def test_bad_graphs() -> None:
    with pytest.raises(InputError, match="takes a list of graphs"):
        wl.refine(TRIANGLE.graph())
    with pytest.raises(InputError, match="takes a list of graphs"):
        wl.refine(nx.path_graph(3))
    with pytest.raises(InputError, match="some are not; convert them"):
        wl.refine([TRIANGLE.graph(), TRIANGLE.graph().to_directed()])
    with pytest.raises(InputError, match="integers and of others strings"):
        wl.refine([TRIANGLE.graph()] * 2, init="labels", labels=[[1, 2, 3], ["a", "b", "c"]])


@pytest.mark.parametrize(
    ("spare", "density"), [(-1, 0.2), (0, 0.2), (0, 0.05)], ids=["at once", "by count_pairs", "while colouring"]
)
def test_all_pairs_of_too_large_graphs_are_refused(spare: int, density: float, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [nx.gnp_random_graph(n, density, seed=n) for n in (30, 40)]
    held, counts = 16 * (30**2 + 40**2), 8 * 3 * 40**2
    monkeypatch.setattr(preparation, "PAIRS_BYTES", held + counts + spare)
    with pytest.raises(InputError, match=r'^pairs="den" up to k = 4 needs more .* largest of which has 40') as error:
        wl.refine(graphs, init="uniform", pairs="den", k=4)
    assert "memory_limit" not in str(error.value)


def test_all_pairs_are_refused_before_anything_is_allocated() -> None:
    graph = detours.Graph.from_edge_index([[0, 1], [1, 0]], num_nodes=200_000)
    with pytest.raises(InputError, match=r"needs more than 8 GB for these graphs, .* has 200,000 nodes"):
        wl.refine([graph], pairs="den")


KEEPERS: list[Callable[..., Any]] = [wl.groups, wl.certificates, lambda graphs, **options: wl.same(*graphs, **options)]


@pytest.mark.parametrize("function", KEEPERS, ids=["groups", "certificates", "same"])
def test_only_refine_keeps_the_rounds(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[weakref.ref[Any]] = []
    most_alive = rounds = 0

    class Watched(NodeRefinement):
        def round(self) -> bool:
            nonlocal rounds
            rounds += (found := super().round())
            return found

        @property
        def colour(self) -> Any:
            nonlocal most_alive
            colour = super().colour
            if not any(ref() is colour for ref in created):
                created.append(weakref.ref(colour))
            most_alive = max(most_alive, sum(ref() is not None for ref in created))
            return colour

    monkeypatch.setattr(preparation, "NodeRefinement", Watched)
    function([nx.path_graph(60)] * 2, init="uniform")
    assert rounds == 29 and most_alive <= 3
    assert len(created) < 5  # numbered only to be read
