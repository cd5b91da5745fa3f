"""k-WL on tuples against its definition, and against known results."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import detours
from detours.data.hard import atlas, cfi_bases, cfi_pair, chang, cycle_unions, hard_pairs, rook, shrikhande, triangular
from detours.errors import InputError
from detours.wl import TupleColors, refine_tuples, tuple_bytes, tuple_certificates, tuple_size_counts
from detours.wl.tuples.faces import largest_code
from detours.wl.tuples.partition import Refinement
from tests.oracles.tuples import Coloring, put, stable_tuple_wl, tuple_wl
from tests.real_data import pair_graphs
from tests.strategies import SmallGraph, small_graphs

VARIANTS = [(1, False), (2, False), (3, False), (2, True), (3, True)]
PATH_CERTIFICATES = ["b02b8fd84101", "d063a672b7a6", "d08258de3949", "03b9ee513b33", "7b5c1edad6b8"]


def listed(graph: detours.Graph) -> tuple[int, list[tuple[int, int]]]:
    return graph.num_nodes, [(i, j) for i, j in graph.to_edge_index().T.tolist()]


def relabelled(graph: detours.Graph, seed: int) -> detours.Graph:
    names = np.random.default_rng(seed).permutation(graph.num_nodes)
    return detours.Graph.from_edge_index(names[graph.to_edge_index()], graph.num_nodes, directed=graph.directed)


def told_apart(pair: tuple[detours.Graph, detours.Graph], dim: int, folklore: bool) -> bool:
    one, other = tuple_certificates(pair, dim, folklore=folklore)
    return one != other


def check(found: TupleColors, reference: Coloring) -> None:
    """The same partition and the same sizes as the oracle's colouring of one graph."""
    colors = found.colors.ravel().tolist()
    expected = [reference[at] for at in sorted(reference)]
    assert len(set(zip(colors, expected, strict=True))) == len(set(colors)) == len(set(expected))
    sizes = sorted(Counter(expected).values())
    assert found.size_counts == tuple(sorted(Counter(sizes).items()))


def check_all(graphs: list[detours.Graph], dim: int, folklore: bool, rounds: int | None) -> None:
    plain = [listed(graph) for graph in graphs]
    reference = stable_tuple_wl(plain, dim, folklore) if rounds is None else tuple_wl(plain, dim, folklore, rounds)[-1]
    found = refine_tuples(graphs, dim, folklore=folklore, rounds=rounds)
    for colors, coloring in zip(found, reference, strict=True):
        check(colors, coloring)
    histograms = [Counter(coloring.values()) for coloring in reference]
    for i, first in enumerate(found):
        for j, second in enumerate(found):
            assert (first.certificate == second.certificate) == (histograms[i] == histograms[j])


# ------------------------------------------------------------------------------------------------ the definition


@pytest.mark.parametrize(("dim", "folklore"), VARIANTS)
@settings(max_examples=30)
@given(data=st.data(), directed=st.booleans(), rounds=st.sampled_from([None, 0, 1, 2]))
def test_as_defined(data: st.DataObject, dim: int, folklore: bool, directed: bool, rounds: int | None) -> None:
    drawn = data.draw(st.lists(small_graphs(directed=directed, max_nodes=6 if dim == 3 else 8), min_size=1, max_size=3))
    graphs = [graph.graph() for graph in drawn]
    check_all([*graphs, relabelled(graphs[0], seed=1)], dim, folklore, rounds)


@pytest.mark.parametrize("rounds", [None, 0, 1, 2, 3])
@pytest.mark.parametrize(("dim", "folklore"), VARIANTS)
def test_as_defined_on_graphs_that_look_alike(dim: int, folklore: bool, rounds: int | None) -> None:
    trees = [detours.Graph.from_networkx(tree) for tree in nx.nonisomorphic_trees(6)]
    check_all([*cycle_unions(3), *trees], dim, folklore, rounds)


@pytest.mark.parametrize("dim", [2, 3])
@settings(max_examples=30)
@given(drawn=small_graphs(max_nodes=7), rounds=st.integers(0, 2))
def test_signatures_are_the_sorted_vectors(drawn: SmallGraph, dim: int, rounds: int) -> None:
    faces = Refinement(drawn.graph(), dim)
    for _ in range(rounds):
        faces.round()
    faces.lay()
    n = drawn.num_nodes
    words = np.concatenate(list(faces.signatures())).reshape(faces.num_classes, n, dim - 1)
    halves = np.stack((words >> 32, words & (2**32 - 1)), axis=-1).reshape(faces.num_classes, n, -1)
    found = halves[:, :, [0, 1] if dim == 2 else [0, 1, 3]].tolist()
    colour = faces.colour.reshape((n,) * dim)
    for signature, member in zip(found, faces.members[faces.starts[:-1]].tolist(), strict=True):
        nodes = tuple(int(node) for node in np.unravel_index(member, colour.shape))
        vectors = sorted([int(colour[put(nodes, at, w)]) for at in range(dim)] for w in range(n))
        assert signature == vectors


@pytest.mark.parametrize("rounds", [1, 2, None])
@pytest.mark.parametrize("directed", [False, True])
def test_three_dimensions_as_defined_over_several_rounds(directed: bool, rounds: int | None) -> None:
    path = [(i, i + 1) for i in range(7)]
    arcs = np.array([*path, (2, 5), (5, 0)] if directed else [*path, *((j, i) for i, j in path)]).T
    check_all([detours.Graph.from_edge_index(arcs, directed=directed)], 3, True, rounds)


def test_sizes_distinguish_graphs_with_equal_signatures() -> None:
    # Single edges and triangles on 18 nodes: 3 and 4 of them, or 6 and 2.
    few, many = (
        nx.disjoint_union_all([nx.complete_graph(2)] * edges + [nx.complete_graph(3)] * triangles)
        for edges, triangles in ((3, 4), (6, 2))
    )
    assert len(set(tuple_certificates([few, many], 1))) == 2


def test_as_defined_where_mutual_arcs_matter() -> None:
    # Each node has one outgoing and one incoming arc: only the first graph has arcs in both directions.
    mutual = detours.Graph.from_edge_index([[0, 1, 2, 3], [1, 0, 3, 2]], directed=True)
    square = detours.Graph.from_edge_index([[0, 1, 2, 3], [1, 2, 3, 0]], directed=True)
    for dim, folklore in VARIANTS:
        check_all([mutual, square], dim, folklore, None)
        assert told_apart((mutual, square), dim, folklore)


@pytest.mark.parametrize("dim", [2, 3])
def test_k_wl_distinguishes_the_same_graphs_as_folklore_k_minus_1(dim: int) -> None:
    graphs = [*atlas(5), *cycle_unions(3)]
    reference = stable_tuple_wl([listed(graph) for graph in graphs], dim, folklore=False)
    oblivious = [frozenset(Counter(coloring.values()).items()) for coloring in reference]
    folklore = tuple_certificates(graphs, dim - 1, folklore=True)
    assert len(set(oblivious)) == len(set(folklore)) == len(set(zip(oblivious, folklore, strict=True)))


@pytest.mark.filterwarnings("ignore::UserWarning")  # NetworkX says that its hashes changed in version 3.5
def test_one_dimension_agrees_with_networkx() -> None:
    graphs = [*atlas(6), *cycle_unions(4)]
    found = tuple_certificates(graphs, 1)
    hashes = [nx.weisfeiler_lehman_graph_hash(graph.to_networkx(), iterations=8) for graph in graphs]
    assert len(set(found)) == len(set(hashes)) == len(set(zip(found, hashes, strict=True)))


# --------------------------------------------------------------------------------------------------- the promises


@pytest.mark.parametrize(("dim", "folklore"), VARIANTS)
@settings(max_examples=40)
@given(drawn=small_graphs(max_nodes=9), seed=st.integers(0, 10**6), rounds=st.sampled_from([None, 1]))
def test_names_of_nodes_do_not_matter(
    drawn: SmallGraph, dim: int, folklore: bool, seed: int, rounds: int | None
) -> None:
    graph = drawn.graph()
    other = relabelled(graph, seed)
    found = [refine_tuples([one], dim, folklore=folklore, rounds=rounds)[0] for one in (graph, other)]
    assert found[0].certificate == found[1].certificate
    assert found[0].size_counts == found[1].size_counts
    assert np.array_equal(np.bincount(found[0].colors.ravel()), np.bincount(found[1].colors.ravel()))


@pytest.mark.parametrize(("dim", "folklore"), VARIANTS)
@settings(max_examples=30)
@given(drawn=small_graphs(max_nodes=8))
def test_rounds_only_ever_split(drawn: SmallGraph, dim: int, folklore: bool) -> None:
    graph = drawn.graph()
    stable = refine_tuples([graph], dim, folklore=folklore)[0]
    by_round = [refine_tuples([graph], dim, folklore=folklore, rounds=rounds)[0] for rounds in range(stable.rounds + 2)]
    for before, after in pairwise(one.colors.ravel().tolist() for one in by_round):
        assert len(set(zip(before, after, strict=True))) == len(set(after))
    assert not any(one.stable for one in by_round[:-1])
    assert by_round[-1].stable
    assert by_round[-1].certificate == stable.certificate
    assert np.array_equal(by_round[-1].colors, stable.colors)


@pytest.mark.parametrize("dim", [1, 2, 3])
@settings(max_examples=30)
@given(drawn=small_graphs(max_nodes=8))
def test_digests_that_collide_change_nothing(drawn: SmallGraph, dim: int) -> None:
    graph = drawn.graph()
    reference, colliding = Refinement(graph, dim), Refinement(graph, dim, mask=np.uint64(1))
    renamed = Refinement(relabelled(graph, seed=2), dim, mask=np.uint64(1))
    grew = True
    while grew:
        grew = reference.round()
        assert colliding.round() == renamed.round() == grew
        assert [part.tolist() for part in colliding.table()] == [part.tolist() for part in renamed.table()]
        pairs = set(zip(reference.colour.tolist(), colliding.colour.tolist(), strict=True))
        assert len(pairs) == reference.num_classes == colliding.num_classes


def test_a_certificate_depends_on_nothing_but_the_graph() -> None:
    graphs = [pair[0] for pairs in hard_pairs().values() for pair in pairs[:2]]
    for dim, folklore in [(1, False), (3, False)]:
        together = tuple_certificates(graphs, dim, folklore=folklore)
        assert together[::-1] == tuple_certificates(graphs[::-1], dim, folklore=folklore)
        assert together == [tuple_certificates([one], dim, folklore=folklore)[0] for one in graphs]


def test_certificates_do_not_change_between_versions() -> None:
    # People keep certificates in files: a change of these needs a line in the changelog.
    path = detours.Graph.from_edge_index([[0, 1, 1, 2], [1, 0, 2, 1]])
    found = [tuple_certificates([path], dim, folklore=folklore)[0] for dim, folklore in VARIANTS]
    assert [certificate[:12] for certificate in found] == PATH_CERTIFICATES


# ----------------------------------------------------------------------------------------------- what is known


def test_strongly_regular_graphs_need_three_dimensions() -> None:
    for pair in [(rook(4), shrikhande()), *((triangular(8), graph) for graph in chang())]:
        assert [told_apart(pair, *variant) for variant in VARIANTS] == [False, False, False, False, True]


@pytest.mark.parametrize(("name", "treewidth"), [("K3", 2), ("K4", 3), ("prism", 3), ("cube", 3), ("K5", 4)])
def test_cfi_graphs_need_the_treewidth_of_their_base(name: str, treewidth: int) -> None:
    pair = cfi_pair(cfi_bases()[name])
    assert [told_apart(pair, dim, folklore=True) for dim in (1, 2, 3)] == [dim >= treewidth for dim in (1, 2, 3)]
    assert told_apart(pair, 3, folklore=False) == (treewidth <= 2)


def test_the_atlas() -> None:
    graphs = atlas()
    found = [len(set(tuple_certificates(graphs, dim, folklore=folklore))) for dim, folklore in VARIANTS]
    assert found == [976, 976, 996, 996, 996]


def test_exp() -> None:
    graphs = [detours.Graph.from_edge_index(arcs, num_nodes=n) for n, arcs in pair_graphs("EXP")]
    for dim in (1, 2):
        found = tuple_certificates(graphs, dim)
        assert found[::2] == found[1::2]
    some = tuple_certificates(graphs[:40], 3)
    assert all(one != other for one, other in zip(some[::2], some[1::2], strict=True))


# ------------------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize(("dim", "folklore"), VARIANTS)
def test_empty_and_tiny_graphs(dim: int, folklore: bool) -> None:
    assert tuple_certificates([], dim, folklore=folklore) == []
    empty, single, two = (detours.Graph.from_edge_index(np.zeros((2, 0), dtype=int), num_nodes=n) for n in (0, 1, 2))
    edge = detours.Graph.from_edge_index([[0, 1], [1, 0]])
    assert len(set(tuple_certificates([empty, single, two, edge], dim, folklore=folklore))) == 4
    assert tuple_size_counts(empty, dim, folklore=folklore) == ()
    assert tuple_size_counts(single, dim, folklore=folklore) == ((1, 1),)
    assert tuple_size_counts(two, 2, folklore=folklore) == ((2, 2),)
    assert refine_tuples([empty], dim, folklore=folklore)[0].colors.shape == (0,) * dim


def test_sizes_of_a_large_graph_need_no_array_of_all_pairs() -> None:
    n = 100_000
    ring = np.arange(n)
    graph = detours.Graph.from_edge_index([[*ring, *np.roll(ring, -1)], [*np.roll(ring, -1), *ring]])
    assert tuple_size_counts(graph, 2) == ((n, 1), (2 * n, 1), (n * (n - 3), 1))


def test_repr() -> None:
    (stable,) = refine_tuples([cfi_bases()["K3"]], 2)
    assert repr(stable) == "TupleColors(2-WL, 3 nodes: 2 colours, stable after 0 rounds)"
    (stopped,) = refine_tuples([cfi_bases()["prism"]], 2, folklore=True, rounds=1)
    assert repr(stopped) == "TupleColors(2-FWL, 6 nodes: 4 colours, not known to be stable after 1 round)"


def bare(num_nodes: int) -> detours.Graph:
    return detours.Graph.from_edge_index(np.zeros((2, 0), dtype=int), num_nodes=num_nodes)


def test_too_large() -> None:
    with pytest.raises(
        InputError, match=r"^3-WL on 1,400 nodes may need 20\.6 GB, more than memory_limit = 8 GB"
    ) as error:
        tuple_certificates([bare(1400)], 3)
    fits = int(str(error.value).split("up to ")[1].split(" nodes")[0].replace(",", ""))
    assert tuple_bytes(fits, 3) <= 8 * 2**30 < tuple_bytes(fits + 1, 3)
    with pytest.raises(InputError, match=r"memory_limit = 100 MB, in which graphs of up to"):
        tuple_certificates([bare(3000)], 2, folklore=True, memory_limit="100MB")
    with pytest.raises(InputError, match="has more tuples than the 2,147,483,647 that can be numbered"):
        tuple_certificates([bare(3000)], 3, folklore=True, memory_limit=1e18)
    assert tuple_bytes(1000, 3) < tuple_bytes(1000, 3, limited=True) < tuple_bytes(1000, 3, True)


@pytest.mark.parametrize(("dim", "most"), [(2, 1_358_187_913), (3, 1448)])
def test_codes_of_tuples_stay_below_64_bits(dim: int, most: int) -> None:
    """The code of a tuple whose faces all have the last colour and which has the last of the atomic types."""
    assert largest_code(most, dim) < 2**63 <= largest_code(most + 1, dim)


def test_too_many_colours() -> None:
    with pytest.raises(InputError, match="3-WL on 1,449 nodes may have more colours than fit into 64-bit"):
        tuple_certificates([bare(1449)], 3, rounds=1, memory_limit="1TB")
    with pytest.raises(InputError, match=r"3-WL on 1,448 nodes may need .* GB, more than memory_limit"):
        tuple_certificates([bare(1448)], 3, rounds=1)


@pytest.mark.parametrize("function", [refine_tuples, tuple_certificates], ids=lambda function: function.__name__)
@pytest.mark.parametrize("graph", [rook(4), "graph.txt", nx.path_graph(3)], ids=lambda graph: type(graph).__name__)
def test_a_single_graph_is_refused(function: Callable[..., Any], graph: Any) -> None:
    with pytest.raises(InputError, match=f"^{function.__name__} takes a list of graphs, but it was given a single"):
        function(graph, 2)


@pytest.mark.parametrize("dim", [0, 4, 2.0, True, "2"])
def test_bad_dim(dim: object) -> None:
    with pytest.raises(InputError, match="dim, the k of k-WL, must be an integer from 1 to 3"):
        tuple_certificates([], dim)  # type: ignore[arg-type]


@pytest.mark.parametrize("rounds", [-1, 1.5, True])
def test_bad_rounds(rounds: object) -> None:
    with pytest.raises(InputError, match="rounds must be an integer from 0 to 2147483647, or None"):
        tuple_certificates([], 2, rounds=rounds)  # type: ignore[arg-type]


def test_directed_and_undirected_do_not_mix() -> None:
    with pytest.raises(InputError, match="Some of the graphs are directed and some are not"):
        tuple_certificates([rook(4), rook(4).to_directed()], 1)
